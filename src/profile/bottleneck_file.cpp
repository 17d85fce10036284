// SPDX-License-Identifier: MIT
#include "profile/bottleneck_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "codeobj/demangle.h"

namespace rochound::profile {
namespace {

using nlohmann::ordered_json;

ordered_json ToJson(const Bottleneck& bottleneck) {
  auto evidence = ordered_json::array();
  for (const Evidence& one : bottleneck.evidence) {
    evidence.push_back({{"name", one.name},
                        {"value", one.value},
                        {"modelled", one.modelled},
                        {"about", one.about}});
  }
  return {{"primary", bottleneck.primary},
          {"confidence", bottleneck.confidence},
          {"reasoning", bottleneck.reasoning},
          {"evidence", evidence},
          {"would_change", bottleneck.changes}};
}

const KernelRoofline* RooflineOf(const KernelAnalysis& kernel,
                                 const std::vector<KernelRoofline>& rooflines) {
  for (const KernelRoofline& one : rooflines) {
    if (one.kernel == kernel.kernel && one.grid == kernel.grid && one.workgroup == kernel.workgroup)
      return &one;
  }
  return nullptr;
}

}  // namespace

std::string Disagreement(const std::string& limit, const KernelRoofline& roofline) {
  const bool on_memory_side = roofline.verdict == Verdict::kMemory;
  if (limit == "unknown" || (!on_memory_side && roofline.verdict != Verdict::kCompute)) return {};
  const bool of_memory = limit == "memory bandwidth" || limit == "memory latency";
  const bool of_compute = limit == "compute throughput" || limit == "divergence";
  if ((of_memory && on_memory_side) || (of_compute && !on_memory_side)) return {};
  const char* const side = on_memory_side ? "the memory's side" : "the side of computing";
  if (of_compute)
    return fmt::format(
        "the roofline puts it on {}: it takes every operation at the peak of its type, and slow "
        "instructions (transcendental, 64-bit, idle lanes) take more",
        side);
  if (of_memory)
    return fmt::format(
        "the roofline puts it on {}: it takes the fewest bytes that must be moved, and this kernel "
        "asks for more, or waits for them",
        side);
  return fmt::format(
      "the roofline puts it on {}: it knows arithmetic and bytes alone, not LDS, launches, waiting "
      "or how work is spread",
      side);
}

std::string AnalysisJson(const CounterSet& set, const Device& device,
                         const std::vector<KernelAnalysis>& kernels,
                         const std::vector<KernelRoofline>& rooflines, const Worths& worths) {
  ordered_json file = {{"format", "rochound analysis"},
                       {"version", 1},
                       {"source", set.source},
                       {"warnings", set.warnings},
                       {"device", {{"name", device.name}, {"target", device.target}}},
                       {"kernels", ordered_json::array()}};
  for (const KernelAnalysis& kernel : kernels) {
    const std::string name = codeobj::Demangle(kernel.kernel);
    const KernelRoofline* const roofline = RooflineOf(kernel, rooflines);
    ordered_json intensity, position, disagreement;
    if (roofline != nullptr) {
      position = NameOf(roofline->verdict);
      const std::string why = Disagreement(kernel.bottleneck.primary, *roofline);
      if (!why.empty()) disagreement = why;
      if (const auto most = roofline->MostIntensity()) intensity = *most;
    }
    const auto worth = worths.find(name);
    const bool known = worth != worths.end();
    file["kernels"].push_back(
        {{"kernel", kernel.kernel},
         {"name", name},
         {"grid", kernel.grid},
         {"workgroup", kernel.workgroup},
         {"launches", kernel.launches},
         {"time_ms", known ? ordered_json(worth->second.time_ms) : ordered_json()},
         {"critical_path_score", known && worth->second.critical_path_score
                                     ? ordered_json(*worth->second.critical_path_score)
                                     : ordered_json()},
         {"operational_intensity", intensity},
         {"roofline_position", position},
         {"disagreement", disagreement},
         {"bottleneck", ToJson(kernel.bottleneck)}});
  }
  return file.dump(1, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

std::string AnalysisPage(const std::vector<KernelAnalysis>& kernels,
                         const std::vector<KernelRoofline>& rooflines, const char* by) {
  std::string page;
  for (const KernelAnalysis& kernel : kernels) {
    const Bottleneck& bottleneck = kernel.bottleneck;
    page += fmt::format("{}\n  {} x grid {}x{}x{} workgroup {}x{}x{}: {} (confidence {:.0f}%)\n",
                        base::Printable(codeobj::Demangle(kernel.kernel)), kernel.launches,
                        kernel.grid[0], kernel.grid[1], kernel.grid[2], kernel.workgroup[0],
                        kernel.workgroup[1], kernel.workgroup[2], bottleneck.primary,
                        100 * bottleneck.confidence);
    for (const std::string& reason : bottleneck.reasoning) page += "  - " + reason + "\n";
    const KernelRoofline* const roofline = RooflineOf(kernel, rooflines);
    const std::string why = roofline == nullptr ? "" : Disagreement(bottleneck.primary, *roofline);
    if (!why.empty()) page += "  - not the same: " + why + "\n";
    for (const std::string& change : bottleneck.changes)
      page += "  - would change it: " + change + "\n";
  }
  if (page.empty()) return page;
  return fmt::format("What limits each kernel ({})\n\n{}\n", by, page);
}

}  // namespace rochound::profile
