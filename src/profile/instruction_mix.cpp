// SPDX-License-Identifier: MIT
#include "profile/instruction_mix.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

namespace rochound::profile {
namespace {

constexpr std::string_view kFloatWords[] = {"f64", "f32", "f16", "bf16"};

// After "v_" or "s_", "dual_" and "pk_": the first row that a name starts with is its own.
// docs/softgpu-counters.md says what counts as how many. The software GPU has a table of its own: tests compare what both
// count, so neither is made from the other.
struct NameRow {
  std::string_view start;
  double count;
};
constexpr NameRow kWorkNames[] = {
    {"fma", 2},  {"mad", 2},  {"mac_", 2}, {"div_fmas_", 2}, {"add", 1},   {"sub", 1},  {"mul", 1},
    {"exp_", 1}, {"log_", 1}, {"rcp_", 1}, {"rsq_", 1},      {"sqrt_", 1}, {"sin_", 1}, {"cos_", 1},
};

bool Skip(std::string_view* text, std::string_view start) {
  if (!text->starts_with(start)) return false;
  text->remove_prefix(start.size());
  return true;
}

std::vector<std::string_view> Words(std::string_view name) {
  std::vector<std::string_view> words;
  while (!name.empty()) {
    const size_t end = std::min(name.find('_'), name.size());
    words.push_back(name.substr(0, end));
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return words;
}

// "iu8", "u8" -> "i8"; "fp8", "bf8" -> "fp8"; "": none that a product has.
std::string_view FactorType(std::string_view word) {
  if (word == "i8" || word == "u8" || word == "iu8") return "i8";
  if (word == "i4" || word == "u4" || word == "iu4") return "i4";
  if (word == "fp8" || word == "bf8") return "fp8";
  const auto* const found = std::find(std::begin(kFloatWords), std::end(kFloatWords), word);
  return found == std::end(kFloatWords) ? std::string_view() : *found;
}

// v_wmma_f32_16x16x16_f16: shape, then the factors' type. One that is sparse does half of it.
std::optional<InstructionWork> MatrixWork(const std::vector<std::string_view>& words) {
  double products = words[0] == "swmmac" ? 0.5 : 1;
  bool shaped = false;
  std::string_view type;
  for (std::string_view word : words) {
    if (shaped && type.empty()) type = FactorType(word);
    if (shaped || word.find('x') == std::string_view::npos) continue;
    shaped = true;
    while (!word.empty()) {
      unsigned size = 0;
      const auto read = std::from_chars(word.data(), word.data() + word.size(), size);
      if (size == 0) return std::nullopt;
      products *= size;
      word.remove_prefix(static_cast<size_t>(read.ptr - word.data()));
      if (!word.empty()) word.remove_prefix(1);
    }
  }
  if (type.empty()) return std::nullopt;
  return InstructionWork{"matrix." + std::string(type), 0, 2 * products};
}

std::optional<InstructionWork> WorkOfName(std::string_view name) {
  bool scalar = Skip(&name, "v_s_");  // the vector unit's functions for scalar registers
  if (!scalar && !Skip(&name, "v_")) {
    if (!Skip(&name, "s_")) return std::nullopt;
    scalar = true;
  }
  Skip(&name, "dual_");
  const double factor = Skip(&name, "pk_") ? 2 : 1;
  const std::vector<std::string_view> words = Words(name);
  if (words.empty()) return std::nullopt;
  if (words[0] == "wmma" || words[0] == "swmmac") return MatrixWork(words);
  std::string_view type;
  double count = 0;
  if (words[0].starts_with("dot") && words[0].size() > 3) {  // so many products, and their sum
    for (const std::string_view word : words)
      if (const std::string_view found = FactorType(word); !found.empty()) type = found;
    count = 2.0 * (words[0][3] - '0');
  } else {
    const auto* const row =
        std::find_if(std::begin(kWorkNames), std::end(kWorkNames),
                     [&](const NameRow& one) { return name.starts_with(one.start); });
    if (row == std::end(kWorkNames)) return std::nullopt;
    const auto found = std::find_if(words.begin(), words.end(), [](std::string_view word) {
      return std::find(std::begin(kFloatWords), std::end(kFloatWords), word) !=
             std::end(kFloatWords);
    });
    if (found == words.end()) return std::nullopt;
    type = name.starts_with("fma_mix") ? "f32" : *found;
    count = row->count * factor;
  }
  if (type.empty()) return std::nullopt;
  return scalar ? InstructionWork{"scalar." + std::string(type), 0, count}
                : InstructionWork{"vector." + std::string(type), count, 0};
}

// What the operands of masks are called says how many lanes there are.
std::optional<unsigned> WaveSizeIn(const ThreadTrace& trace) {
  std::optional<unsigned> size;
  for (const TracedInstruction& instruction : trace.instructions) {
    const std::string& text = instruction.text;
    if (text.find("exec_lo") != std::string::npos || text.find("vcc_lo") != std::string::npos)
      return 32;
    if (text.find(" exec") != std::string::npos || text.find(" vcc") != std::string::npos)
      size = 64;
  }
  return size;
}

uint64_t TracedWaves(const ThreadTrace& trace) {
  const TracedInstruction* first = nullptr;
  for (const TracedInstruction& instruction : trace.instructions)
    if (instruction.function == trace.Kernel() &&
        (first == nullptr || instruction.address < first->address))
      first = &instruction;
  return first == nullptr ? 0 : first->hits;
}

std::string_view WithoutEnding(std::string_view symbol) {
  if (symbol.ends_with(".kd")) symbol.remove_suffix(3);
  return symbol;
}

}  // namespace

std::vector<InstructionWork> WorkOf(std::string_view instruction) {
  std::vector<InstructionWork> work;
  while (!instruction.empty()) {
    const size_t end = std::min(instruction.find("::"), instruction.size());
    std::string_view one = instruction.substr(0, end);
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (auto found = WorkOfName(one.substr(0, one.find(' ')))) work.push_back(std::move(*found));
    instruction.remove_prefix(std::min(end + 2, instruction.size()));
  }
  return work;
}

std::vector<InstructionMix> MixesOf(const ThreadTraces& traces) {
  std::vector<InstructionMix> mixes;
  for (const ThreadTrace& trace : traces.traces) {
    const uint64_t waves = TracedWaves(trace);
    if (waves == 0) continue;
    const ThreadTrace::Function& kernel = trace.functions[trace.Kernel()];
    auto known = std::find_if(mixes.begin(), mixes.end(), [&](const InstructionMix& one) {
      return one.symbol == kernel.symbol && one.name == kernel.name;
    });
    if (known == mixes.end()) {
      mixes.push_back({kernel.symbol, kernel.name, 0, WaveSizeIn(trace).value_or(32), {}});
      known = std::prev(mixes.end());
    }
    // Sums here; divided by the waves at the end.
    known->waves += waves;
    for (const TracedInstruction& instruction : trace.instructions)
      for (const InstructionWork& work : WorkOf(instruction.text))
        if (instruction.hits != 0)
          known->per_wave[work.type] += static_cast<double>(instruction.hits) *
                                        (work.of_lane * known->wave_size + work.of_wave);
  }
  for (InstructionMix& mix : mixes)
    for (auto& [type, count] : mix.per_wave) count /= static_cast<double>(mix.waves);
  return mixes;
}

const InstructionMix* FindMix(const std::vector<InstructionMix>& mixes, std::string_view kernel) {
  const auto found = std::find_if(mixes.begin(), mixes.end(), [&](const InstructionMix& one) {
    return WithoutEnding(one.symbol) == WithoutEnding(kernel) || one.name == kernel;
  });
  return found == mixes.end() ? nullptr : &*found;
}

double WavesOf(const std::array<uint64_t, 3>& grid, const std::array<uint64_t, 3>& workgroup,
               unsigned wave_size) {
  uint64_t groups = 1, items = 1;
  for (size_t i = 0; i < 3; ++i) {
    const uint64_t size = std::max<uint64_t>(1, workgroup[i]);
    groups *= (std::max<uint64_t>(1, grid[i]) + size - 1) / size;
    items *= size;
  }
  const uint64_t waves = (items + wave_size - 1) / wave_size;
  return static_cast<double>(groups * waves);
}

}  // namespace rochound::profile
