// SPDX-License-Identifier: MIT
#include "probe/analyzer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "probe/blocks.h"
#include "probe/bounds.h"
#include "probe/heatmap.h"
#include "probe/memory_use.h"
#include "probe/messages.h"
#include "probe/races.h"
#include "probe/source_view.h"
#include "probe/uninit.h"

namespace rochound::probe {
namespace {

template <typename T>
std::unique_ptr<Analyzer> Make(const AnalyzerOutput& output) {
  return std::make_unique<T>(output);
}

constexpr AnalyzerKind kKinds[] = {
    {"messages", "MessageLogger", "each of them", false, Needs::kAny, false, false,
     Make<MessageWriter>},
    {"memory", "MemoryAnalysis", "which places waste cache lines, or cycles of LDS", true,
     Needs::kAccesses, false, true, Make<MemoryAnalyzer>},
    {"races", "", "what waves of a workgroup access without a barrier between them", true,
     Needs::kAccesses, false, false, Make<RaceAnalyzer>},
    {"bounds", "", "accesses outside of their allocation, or in freed memory", true,
     Needs::kAccesses, false, false, Make<BoundsAnalyzer>},
    {"uninit", "", "reads of LDS and device memory that nobody has written", true, Needs::kAccesses,
     false, false, Make<UninitAnalyzer>},
    {"blocks", "BasicBlockAnalysis",
     "how often and how long basic blocks run, and where lanes go\n  different ways (build "
     "--blocks)",
     true, Needs::kBlocks, false, false, Make<BlockAnalyzer>},
    {"heatmap", "Heatmap", "how often pages and cache lines are accessed, and from where", true,
     Needs::kAccesses, true, true, Make<HeatmapAnalyzer>},
    {"report", "", "source and instructions, for rochound report --probe", true, Needs::kAccesses,
     false, true, Make<SourceView>},
};

// The compiler's and HIP's own headers, whose functions are inlined.
bool IsRuntimes(std::string_view file) {
  for (const char* const part : {"/hip/amd_detail/", "/lib/clang/", "/c++/"})
    if (file.find(part) != std::string_view::npos) return true;
  return file.starts_with("/usr/include/");
}

}  // namespace

std::span<const AnalyzerKind> AnalyzerKinds() { return kKinds; }

const AnalyzerKind* FindAnalyzer(std::string_view name) {
  if (name == "MemAnalysis") name = "MemoryAnalysis";  // its Python interface's name for it
  if (name == "AddressLogger" || name == "BasicBlockLogger") name = "MessageLogger";
  for (const AnalyzerKind& kind : kKinds)
    if (name == kind.name || (*kind.omniprobe_name != '\0' && name == kind.omniprobe_name))
      return &kind;
  return nullptr;
}

std::string PlaceText(const Location& at) {
  return at.file.empty() ? "(no line)" : fmt::format("{}:{}:{}", at.file, at.line, at.column);
}

const Location& PlaceOf(const std::vector<Location>& at) {
  static const Location kNone;
  for (const Location& one : at)
    if (!IsRuntimes(one.file)) return one;
  return at.empty() ? kNone : at[0];
}

const Location& PlaceOf(const Site& site) { return PlaceOf(site.at); }

nlohmann::ordered_json PlaceJson(const Location& at) {
  return {{"file", at.file}, {"line", at.line}, {"column", at.column}};
}

std::string JsonText(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string DoubtText(const StreamSummary& summary) {
  return summary.Incomplete() ? "Messages are missing, so this may be wrong.\n" : "";
}

}  // namespace rochound::probe
