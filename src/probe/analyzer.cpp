// SPDX-License-Identifier: MIT
#include "probe/analyzer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "probe/bounds.h"
#include "probe/heatmap.h"
#include "probe/memory_use.h"
#include "probe/messages.h"
#include "probe/races.h"
#include "probe/uninit.h"

namespace rochound::probe {
namespace {

template <typename T>
std::unique_ptr<Analyzer> Make(const AnalyzerOutput& output) {
  return std::make_unique<T>(output);
}

constexpr AnalyzerKind kKinds[] = {
    {"messages", "MessageLogger", "each of them", false, Make<MessageWriter>},
    {"memory", "MemoryAnalysis", "which places waste cache lines, or cycles of LDS", true,
     Make<MemoryAnalyzer>},
    {"races", "", "what waves of a workgroup access without a barrier between them", true,
     Make<RaceAnalyzer>},
    {"bounds", "", "accesses outside of their allocation, or in freed memory", true,
     Make<BoundsAnalyzer>},
    {"uninit", "", "reads of LDS that nobody has written", true, Make<UninitAnalyzer>},
    {"heatmap", "Heatmap", "how often pages and cache lines are accessed, and from where", true,
     Make<HeatmapAnalyzer>},
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
  for (const AnalyzerKind& kind : kKinds)
    if (name == kind.name || (*kind.omniprobe_name != '\0' && name == kind.omniprobe_name))
      return &kind;
  return nullptr;
}

std::string PlaceText(const Location& at) {
  return at.file.empty() ? "(no line)" : fmt::format("{}:{}:{}", at.file, at.line, at.column);
}

const Location& PlaceOf(const Site& site) {
  static const Location kNone;
  for (const Location& at : site.at)
    if (!IsRuntimes(at.file)) return at;
  return site.at.empty() ? kNone : site.at[0];
}

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
