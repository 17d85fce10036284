// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/printable.h"
#include "profile/thread_trace.h"

namespace rochound::profile {
namespace {

using nlohmann::ordered_json;

constexpr uint32_t kAround = 3;      // lines of source shown before and after one that counts
constexpr size_t kLinesOfPage = 10;  // of each trace

// Files by their place in the list that is written.
class Files {
 public:
  size_t PlaceOf(const std::string& file) {
    const auto [found, is_new] = places_.try_emplace(file, names_.size());
    if (is_new) names_.push_back(file);
    return found->second;
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::map<std::string, size_t> places_;
  std::vector<std::string> names_;
};

template <typename T>
ordered_json OrNull(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json ToJson(const ThreadTrace& trace, Files* files) {
  const size_t kernel = trace.Kernel();
  auto functions = ordered_json::array();
  for (const ThreadTrace::Function& function : trace.functions)
    functions.push_back({{"symbol", function.symbol}, {"name", function.name}});
  auto units = ordered_json::object();
  for (const auto& [name, use] : UseOfUnits(trace)) {
    units[std::string(name)] = {{"instructions", use.instructions},
                                {"issue_cycles", use.issue_cycles},
                                {"stall_cycles", use.stall_cycles},
                                {"utilisation", OrNull(use.utilisation)}};
  }
  auto instructions = ordered_json::array();
  for (const TracedInstruction& one : trace.instructions) {
    auto source = ordered_json::array();
    for (const SourceLine& where : one.source)
      source.push_back({files->PlaceOf(where.file), where.line});
    instructions.push_back({one.function, one.address, one.text, one.unit, one.hits, one.latency,
                            one.stall, one.idle, std::move(source)});
  }
  auto lines = ordered_json::array();
  for (const LineCost& cost : CostOfLines(trace)) {
    lines.push_back({{"file", files->PlaceOf(cost.where.file)},
                     {"line", cost.where.line},
                     {"hits", cost.hits},
                     {"latency", cost.latency},
                     {"stall", cost.stall},
                     {"idle", cost.idle},
                     {"own_latency", cost.own_latency}});
  }
  auto occupancy = ordered_json::array();
  for (const auto& [time, waves] : trace.occupancy) occupancy.push_back({time, waves});
  return {{"kernel", trace.functions.empty() ? "" : trace.functions[kernel].symbol},
          {"name", trace.functions.empty() ? "" : trace.functions[kernel].name},
          {"folder", trace.folder},
          {"agent", trace.agent},
          {"dispatch", OrNull(trace.dispatch)},
          {"modelled", trace.modelled},
          {"waves", OrNull(trace.waves)},
          {"cycles", trace.span ? ordered_json(trace.span->cycles) : ordered_json(nullptr)},
          {"simds", trace.span ? ordered_json(trace.span->simds) : ordered_json(nullptr)},
          {"units", std::move(units)},
          {"functions", std::move(functions)},
          {"columns",
           {"function", "address", "instruction", "unit", "hits", "latency", "stall", "idle",
            "source"}},
          {"instructions", std::move(instructions)},
          {"lines", std::move(lines)},
          {"occupancy", std::move(occupancy)}};
}

std::string Share(uint64_t part, uint64_t whole) {
  return whole == 0 ? "-"
                    : fmt::format("{:.1f}%",
                                  100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string TextOf(const ThreadTraces& traces, const SourceLine& where) {
  const auto file = traces.sources.find(where.file);
  if (file == traces.sources.end() || where.line > file->second.size()) return "";
  const std::string& text = file->second[where.line - 1];
  const size_t begin = text.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : text.substr(begin, 80);
}

}  // namespace

std::string ThreadTraceJson(const ThreadTraces& traces) {
  Files files;
  auto list = ordered_json::array();
  std::set<std::pair<std::string, uint32_t>> wanted;  // lines of source, and those around them
  for (const ThreadTrace& trace : traces.traces) {
    list.push_back(ToJson(trace, &files));
    for (const LineCost& cost : CostOfLines(trace)) {
      for (uint32_t line = cost.where.line - std::min(cost.where.line - 1, kAround);
           line <= cost.where.line + kAround; ++line)
        wanted.insert({cost.where.file, line});
    }
  }
  auto texts = ordered_json::array();
  for (const auto& [file, line] : wanted) {
    const auto source = traces.sources.find(file);
    if (source == traces.sources.end() || line > source->second.size()) continue;
    texts.push_back({files.PlaceOf(file), line, source->second[line - 1]});
  }
  const ordered_json file = {{"format", "rochound thread trace"}, {"version", 1},
                             {"warnings", traces.warnings},       {"files", files.names()},
                             {"traces", std::move(list)},         {"texts", std::move(texts)}};
  return file.dump(-1, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

std::string ThreadTracePage(const ThreadTraces& traces) {
  std::string page;
  for (const std::string& warning : traces.warnings)
    page += "Note: " + base::Printable(warning) + "\n";
  for (const ThreadTrace& trace : traces.traces) {
    uint64_t all = 0;
    uint64_t stall = 0;
    for (const TracedInstruction& one : trace.instructions) {
      all += one.latency + one.idle;
      stall += one.stall;
    }
    const std::string dispatch =
        trace.dispatch ? fmt::format(", dispatch {}", trace.dispatch.value_or(0)) : "";
    page += fmt::format("\n{}{}: {} {} cycles of waves, {} of them stalled\n",
                        base::Printable(trace.functions[trace.Kernel()].name), dispatch, all,
                        trace.modelled ? "modelled" : "traced", Share(stall, all));
    std::vector<std::string> uses;
    for (const auto& [name, use] : UseOfUnits(trace)) {
      if (!use.utilisation.has_value() || name == "wait" || name == "other" || name == "barrier")
        continue;
      uses.push_back(fmt::format("{} {:.1f}%", name, 100 * use.utilisation.value_or(0)));
    }
    // Not how busy a unit is: LDS works on after an instruction with bank conflicts was issued.
    if (!uses.empty()) page += fmt::format("  issuing to: {}\n", fmt::join(uses, ", "));
    std::vector<std::string> stalls;
    for (const auto& [name, use] : UseOfUnits(trace)) {
      if (use.stall_cycles > 0)
        stalls.push_back(fmt::format("{} {}", name, Share(use.stall_cycles, all)));
    }
    if (!stalls.empty()) page += fmt::format("  stalled at: {}\n", fmt::join(stalls, ", "));
    const std::vector<LineCost> lines = CostOfLines(trace);
    for (size_t i = 0; i < std::min(lines.size(), kLinesOfPage); ++i) {
      const LineCost& line = lines[i];
      if (line.latency + line.idle == 0) break;
      page +=
          fmt::format("  {:>6} {:>6} stalled  {}:{}  {}\n", Share(line.latency + line.idle, all),
                      Share(line.stall, line.latency + line.idle), base::Printable(line.where.file),
                      line.where.line, base::Printable(TextOf(traces, line.where)));
    }
    if (!lines.empty()) continue;
    std::vector<const TracedInstruction*> order;
    for (const TracedInstruction& one : trace.instructions) order.push_back(&one);
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
      return a->latency + a->idle > b->latency + b->idle;
    });
    for (size_t i = 0; i < std::min(order.size(), kLinesOfPage); ++i) {
      const TracedInstruction& one = *order[i];
      if (one.hits == 0) break;
      page += fmt::format("  {:>6} {:>6} stalled  {:#x}  {}\n", Share(one.latency + one.idle, all),
                          Share(one.stall, one.latency + one.idle), one.address,
                          base::Printable(one.text));
    }
  }
  if (traces.traces.empty()) page += "No instruction was traced.\n";
  return page;
}

}  // namespace rochound::profile
