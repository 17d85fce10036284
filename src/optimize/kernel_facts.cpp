// SPDX-License-Identifier: MIT
#include "optimize/kernel_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "capture/bundle.h"
#include "codeobj/demangle.h"
#include "codeobj/disassembly.h"
#include "optimize/candidate.h"

namespace rochound::optimize {
namespace {

using base::Error;
using base::Result;
using nlohmann::ordered_json;

constexpr size_t kMostPlaces = 8;

// This kernel's entry in a file of rochound profile.
const ordered_json* Entry(const ordered_json& file, const std::string& kernel) {
  if (!file.is_object() || !file.contains("kernels")) return nullptr;
  for (const ordered_json& entry : file["kernels"]) {
    std::string name = entry.value("kernel", "");
    if (name.ends_with(".kd")) name.resize(name.size() - 3);
    if (name == kernel) return &entry;
  }
  return nullptr;
}

std::string Lines(const ordered_json& list) {
  std::string text;
  for (const ordered_json& line : list)
    if (line.is_string()) text += "- " + line.get<std::string>() + "\n";
  return text;
}

std::string ResourcesText(const Resources& one) {
  std::string text = fmt::format(
      "{} vector registers, {} scalar registers, {} spilled; LDS {} bytes, scratch {} bytes; code "
      "{} bytes",
      one.vgprs + one.agprs, one.sgprs, one.vgpr_spills + one.sgpr_spills, one.lds, one.scratch,
      one.code);
  if (one.slots != 0)
    text += fmt::format("; {} of {} waves per SIMD, limited by {}", one.waves, one.slots,
                        one.limited_by);
  return text;
}

}  // namespace

Result<KernelFacts> ReadKernelFacts(const std::vector<std::filesystem::path>& bundles) {
  KernelFacts facts;
  for (const std::filesystem::path& path : bundles) {
    ROCHOUND_TRY(const capture::Bundle bundle, capture::Bundle::Open(path));
    const capture::Manifest& manifest = bundle.manifest();
    const capture::Launch& launch = manifest.launch;
    facts.shapes.push_back(fmt::format("grid {}x{}x{} in workgroups of {}x{}x{}", launch.grid[0],
                                       launch.grid[1], launch.grid[2], launch.workgroup[0],
                                       launch.workgroup[1], launch.workgroup[2]));
    if (!facts.kernel.empty()) continue;
    if (manifest.agent < 0 || static_cast<size_t>(manifest.agent) >= manifest.agents.size())
      return Error{"the bundle does not say which GPU ran the launch"};
    const capture::Agent& agent = manifest.agents[static_cast<size_t>(manifest.agent)];
    ROCHOUND_TRY(const codeobj::Target gpu, codeobj::ParseTarget(agent.isa));
    facts.kernel = manifest.kernel;
    facts.demangled = codeobj::Demangle(manifest.kernel);
    facts.target = gpu.processor;
    facts.gpu = agent.product;
    const auto bytes = bundle.code_object();
    ROCHOUND_TRY(
        const auto file,
        KernelFile::Find(std::string(reinterpret_cast<const char*>(bytes.data()),  // NOLINT
                                     bytes.size()),
                         manifest.kernel, gpu));
    const uint64_t items =
        uint64_t{launch.workgroup[0]} * launch.workgroup[1] * launch.workgroup[2];
    facts.resources = ResourcesText(ResourcesOf(*file, items, launch.group_bytes));
    // Without the code object manager there are none.
    const auto instructions =
        codeobj::Disassemble(file->object_bytes(), file->object(), file->kernel(), false);
    if (!instructions.ok()) continue;
    for (const codeobj::Instruction& instruction : instructions.value())
      facts.instructions += instruction.text + "\n";
  }
  return facts;
}

std::string RooflineText(const std::string& json, const std::string& kernel) {
  const auto file = ordered_json::parse(json, nullptr, false);
  const ordered_json* const entry = Entry(file, kernel);
  if (entry == nullptr) return {};
  return fmt::format("{}\n{}", entry->value("verdict", ""),
                     Lines(entry->value("reasons", ordered_json::array())));
}

std::string LimitText(const std::string& json, const std::string& kernel) {
  const auto file = ordered_json::parse(json, nullptr, false);
  const ordered_json* const entry = Entry(file, kernel);
  if (entry == nullptr || !entry->contains("bottleneck")) return {};
  const ordered_json& limit = (*entry)["bottleneck"];
  return fmt::format("{}\n{}What would change that:\n{}", limit.value("primary", ""),
                     Lines(limit.value("reasoning", ordered_json::array())),
                     Lines(limit.value("would_change", ordered_json::array())));
}

std::string MemoryUseText(const std::string& json_lines) {
  struct Place {
    double wasted = 0;
    std::string text;
  };
  std::vector<Place> places;
  std::istringstream lines(json_lines);
  for (std::string line; std::getline(lines, line);) {
    const auto one = ordered_json::parse(line, nullptr, false);
    if (!one.is_object()) continue;
    const bool lds = one.value("space", "") == "lds";
    const double cost = one.value(lds ? "cycles" : "lines", 0.0);
    const double wasted =
        lds ? one.value("bank_conflicts", 0.0) + one.value("address_conflicts", 0.0)
            : cost - one.value("needed_lines", 0.0);
    if (cost <= 0) continue;
    places.push_back(
        {wasted, fmt::format("- {}:{}: {} of {} bytes, {}: {:.2g} times the {} that it needs\n",
                             // The name alone: where it is on this machine is nobody's business.
                             std::filesystem::path(one.value("file", "")).filename().string(),
                             one.value("line", 0), one.value("action", ""), one.value("bytes", 0),
                             one.value("addresses", ""), cost / std::max(1.0, cost - wasted),
                             lds ? "cycles of LDS" : "cache lines")});
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& one, const Place& other) { return one.wasted > other.wasted; });
  std::string text;
  for (size_t i = 0; i < std::min(places.size(), kMostPlaces); ++i) text += places[i].text;
  return text;
}

}  // namespace rochound::optimize
