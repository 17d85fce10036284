// SPDX-License-Identifier: MIT
#include "fleet/history/kernel_diff.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "codeobj/code_object.h"
#include "codeobj/demangle.h"
#include "codeobj/disassembly.h"
#include "codeobj/occupancy.h"

namespace rochound::fleet {
namespace {

using base::Error;
using base::Result;
using nlohmann::ordered_json;

// Myers' algorithm: for each number of changes, how far each diagonal reaches. Returns which lines
// of both are kept, in order; false: more than `most` changes.
bool Align(const std::vector<std::string>& before, const std::vector<std::string>& after,
           size_t most, std::vector<std::pair<size_t, size_t>>* kept) {
  const auto n = static_cast<ptrdiff_t>(before.size()), m = static_cast<ptrdiff_t>(after.size());
  const ptrdiff_t limit = std::min<ptrdiff_t>(n + m, static_cast<ptrdiff_t>(most));
  const auto at = [](std::vector<ptrdiff_t>& row, ptrdiff_t diagonal) -> ptrdiff_t& {
    return row[static_cast<size_t>(diagonal + static_cast<ptrdiff_t>(row.size() / 2))];
  };
  std::vector<std::vector<ptrdiff_t>> rows;
  for (ptrdiff_t changes = 0; changes <= limit; ++changes) {
    std::vector<ptrdiff_t> row(static_cast<size_t>(2 * changes + 3), -1);
    bool done = false;
    for (ptrdiff_t k = -changes; k <= changes && !done; k += 2) {
      ptrdiff_t x = 0;
      if (changes > 0) {
        auto& last = rows.back();
        const ptrdiff_t half = static_cast<ptrdiff_t>(last.size() / 2);
        const ptrdiff_t down = std::abs(k + 1) <= half ? at(last, k + 1) : -1;
        const ptrdiff_t right = std::abs(k - 1) <= half ? at(last, k - 1) : -1;
        x = k == -changes || (k != changes && right < down) ? down : right + 1;
      }
      while (x < n && x - k < m &&
             before[static_cast<size_t>(x)] == after[static_cast<size_t>(x - k)])
        ++x;
      at(row, k) = x;
      done = x >= n && x - k >= m;
    }
    rows.push_back(std::move(row));
    if (!done) continue;
    ptrdiff_t x = n, y = m;
    for (ptrdiff_t step = changes; step >= 0; --step) {
      const ptrdiff_t k = x - y;
      ptrdiff_t from = 0;
      bool went_down = false;
      if (step > 0) {
        auto& last = rows[static_cast<size_t>(step - 1)];
        const ptrdiff_t half = static_cast<ptrdiff_t>(last.size() / 2);
        const ptrdiff_t down = std::abs(k + 1) <= half ? at(last, k + 1) : -1;
        const ptrdiff_t right = std::abs(k - 1) <= half ? at(last, k - 1) : -1;
        went_down = k == -step || (k != step && right < down);
        from = went_down ? down : right + 1;
      }
      for (; x > from; --x, --y)
        kept->emplace_back(static_cast<size_t>(x - 1), static_cast<size_t>(y - 1));
      if (step > 0) (went_down ? y : x) -= 1;
    }
    std::reverse(kept->begin(), kept->end());
    return true;
  }
  return false;
}

std::string Fitted(const std::string& text, size_t width) {
  return text.size() <= width ? text + std::string(width - text.size(), ' ')
                              : text.substr(0, width - 3) + "...";
}

Result<const codeobj::Kernel*> Choose(const codeobj::CodeObject& object, const std::string& wanted,
                                      const char* which) {
  std::vector<const codeobj::Kernel*> found;
  for (const codeobj::Kernel& kernel : object.kernels()) {
    if (kernel.name == wanted || kernel.symbol == wanted) return &kernel;
    if (wanted.empty() || codeobj::Demangle(kernel.name).find(wanted) != std::string::npos)
      found.push_back(&kernel);
  }
  if (found.size() == 1) return found.front();
  std::vector<std::string> names;
  for (const codeobj::Kernel* kernel : found) names.push_back(codeobj::Demangle(kernel->name));
  if (found.empty())
    return Error{fmt::format("{} has no kernel '{}'; it has {} others", which, wanted,
                             object.kernels().size())};
  return Error{fmt::format("{} kernels of {} are meant by '{}': choose one with --kernel: {}",
                           found.size(), which, wanted, fmt::join(names, ", "))};
}

std::vector<std::pair<std::string, uint64_t>> Resources(const codeobj::CodeObject& object,
                                                        const codeobj::Kernel& kernel) {
  std::vector<std::pair<std::string, uint64_t>> rows = {
      {"VGPRs", kernel.vgpr_count},
      {"AGPRs", kernel.agpr_count},
      {"SGPRs", kernel.sgpr_count},
      {"spilled VGPRs", kernel.vgpr_spill_count},
      {"spilled SGPRs", kernel.sgpr_spill_count},
      {"LDS bytes", kernel.group_segment_fixed_size},
      {"scratch bytes", kernel.private_segment_fixed_size},
      {"kernarg bytes", kernel.kernarg_segment_size},
      {"workgroup at most", kernel.max_flat_workgroup_size},
      {"code bytes", kernel.code_size}};
  const auto occupancy =
      codeobj::TheoreticalOccupancy(object.target(), kernel, 0, kernel.group_segment_fixed_size);
  if (occupancy.ok()) rows.emplace_back("waves per SIMD", occupancy.value().waves_per_simd);
  return rows;
}

struct Side {
  codeobj::CodeObject object;
  const codeobj::Kernel* kernel = nullptr;
  std::vector<std::string> instructions;
  std::map<std::string, uint64_t> mnemonics;
};

Result<void> Disassemble(std::string_view bytes, Side* side) {
  ROCHOUND_TRY(const auto list, codeobj::Disassemble(bytes, side->object, *side->kernel, false));
  for (const codeobj::Instruction& one : list) {
    // Where a branch goes is told from its own place: absolute addresses would all differ.
    std::string text = one.text;
    if (one.target) {
      const auto distance = static_cast<int64_t>(*one.target) - static_cast<int64_t>(one.address);
      text = fmt::format("{} {:+}", text.substr(0, text.find(' ')), distance);
    }
    side->instructions.push_back(text);
    ++side->mnemonics[text.substr(0, text.find(' '))];
  }
  return {};
}

// Instructions that one has more of, by how many.
std::vector<std::pair<std::string, int64_t>> MoreOf(const Side& before, const Side& after) {
  std::map<std::string, int64_t> more;
  for (const auto& [name, count] : before.mnemonics) more[name] -= static_cast<int64_t>(count);
  for (const auto& [name, count] : after.mnemonics) more[name] += static_cast<int64_t>(count);
  std::vector<std::pair<std::string, int64_t>> sorted;
  for (const auto& one : more)
    if (one.second != 0) sorted.push_back(one);
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::abs(a.second) > std::abs(b.second);
  });
  return sorted;
}

const char* Mark(DiffLine::Kind kind) {
  switch (kind) {
    case DiffLine::Kind::kChanged:
      return "|";
    case DiffLine::Kind::kRemoved:
      return "<";
    case DiffLine::Kind::kAdded:
      return ">";
    default:
      return " ";
  }
}

std::string ListText(const std::vector<DiffLine>& lines, size_t context) {
  constexpr size_t kWidth = 56;
  std::string text;
  size_t hidden = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    bool near = false;
    for (size_t j = i - std::min(i, context); j <= i + context && j < lines.size() && !near; ++j)
      near = lines[j].kind != DiffLine::Kind::kSame;
    if (!near) {
      ++hidden;
      continue;
    }
    if (hidden != 0) text += fmt::format("  ... {} instructions that are the same\n", hidden);
    hidden = 0;
    const std::string line = fmt::format("  {} {} {}", Fitted(lines[i].before, kWidth),
                                         Mark(lines[i].kind), lines[i].after);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  if (hidden != 0) text += fmt::format("  ... {} instructions that are the same\n", hidden);
  return text;
}

}  // namespace

std::vector<DiffLine> DiffLines(const std::vector<std::string>& before,
                                const std::vector<std::string>& after, size_t most) {
  std::vector<std::pair<size_t, size_t>> kept;
  if (!Align(before, after, most, &kept)) {
    kept.clear();
    const size_t shorter = std::min(before.size(), after.size());
    size_t head = 0, tail = 0;
    while (head < shorter && before[head] == after[head]) ++head;
    while (tail < shorter - head &&
           before[before.size() - 1 - tail] == after[after.size() - 1 - tail])
      ++tail;
    for (size_t i = 0; i < head; ++i) kept.emplace_back(i, i);
    for (size_t i = tail; i > 0; --i) kept.emplace_back(before.size() - i, after.size() - i);
  }
  std::vector<DiffLine> lines;
  size_t x = 0, y = 0;
  kept.emplace_back(before.size(), after.size());
  for (const auto& [next_x, next_y] : kept) {
    for (; x < next_x && y < next_y; ++x, ++y)
      lines.push_back({DiffLine::Kind::kChanged, before[x], after[y]});
    for (; x < next_x; ++x) lines.push_back({DiffLine::Kind::kRemoved, before[x], ""});
    for (; y < next_y; ++y) lines.push_back({DiffLine::Kind::kAdded, "", after[y]});
    if (next_x == before.size() || next_y == after.size()) continue;
    lines.push_back({DiffLine::Kind::kSame, before[x], after[y]});
    ++x;
    ++y;
  }
  return lines;
}

Result<KernelDiff> DiffKernels(std::string_view before_bytes, std::string_view after_bytes,
                               const std::string& wanted, size_t context) {
  Side before, after;
  ROCHOUND_TRY(before.object, codeobj::CodeObject::Parse(before_bytes));
  ROCHOUND_TRY(after.object, codeobj::CodeObject::Parse(after_bytes));
  ROCHOUND_TRY(before.kernel, Choose(before.object, wanted, "the first code object"));
  // The same symbol in both, however the first was found.
  ROCHOUND_TRY(after.kernel, Choose(after.object, before.kernel->name, "the second code object"));
  KernelDiff diff;
  diff.json["kernel"] = before.kernel->name;
  diff.json["target"] = {before.object.target().Id(), after.object.target().Id()};
  diff.text = codeobj::Demangle(before.kernel->name) + "\n";
  if (before.object.target().Id() != after.object.target().Id())
    diff.text +=
        fmt::format("  compiled for {} before and {} after: instructions differ for that alone\n",
                    before.object.target().Id(), after.object.target().Id());
  const auto rows = Resources(before.object, *before.kernel);
  const auto others = Resources(after.object, *after.kernel);
  diff.text += fmt::format("  {:<20} {:>10} {:>10}\n", "", "before", "after");
  for (size_t i = 0; i < std::min(rows.size(), others.size()); ++i) {
    const uint64_t one = rows[i].second, two = others[i].second;
    diff.json["resources"][rows[i].first] = {one, two};
    if (one == 0 && two == 0) continue;
    diff.text +=
        fmt::format("  {:<20} {:>10} {:>10}{}\n", rows[i].first, one, two,
                    one == two ? "" : fmt::format("  {:+}", static_cast<int64_t>(two - one)));
  }
  Result<void> read = Disassemble(before_bytes, &before);
  if (read.ok()) read = Disassemble(after_bytes, &after);
  if (!read.ok()) {
    diff.json["no_instructions"] = read.error().message;
    diff.text += fmt::format("  no instructions: {}\n", read.error().message);
    return diff;
  }
  const auto lines = DiffLines(before.instructions, after.instructions);
  const auto more = MoreOf(before, after);
  size_t changed = 0;
  diff.json["instructions"] = {before.instructions.size(), after.instructions.size()};
  diff.json["more"] = ordered_json::object();
  for (const auto& [name, count] : more) diff.json["more"][name] = count;
  diff.json["lines"] = ordered_json::array();
  for (const DiffLine& line : lines) {
    changed += line.kind != DiffLine::Kind::kSame;
    diff.json["lines"].push_back({std::string(Mark(line.kind)), line.before, line.after});
  }
  diff.text += fmt::format("  {:<20} {:>10} {:>10}\n\n", "instructions", before.instructions.size(),
                           after.instructions.size());
  if (changed == 0) {
    diff.text += "The instructions are the same.\n";
    return diff;
  }
  if (!more.empty()) {
    std::vector<std::string> words;
    for (size_t i = 0; i < std::min<size_t>(more.size(), 8); ++i)
      words.push_back(fmt::format("{} {:+}", more[i].first, more[i].second));
    diff.text += fmt::format("Instructions by kind: {}\n\n", fmt::join(words, ", "));
  }
  diff.text += ListText(lines, context);
  return diff;
}

}  // namespace rochound::fleet
