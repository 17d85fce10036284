// SPDX-License-Identifier: MIT
#include "doctor/fault/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/printable.h"
#include "doctor/fault/judge.h"

namespace rochound::doctor {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Printable;
using base::Result;

// Of a process the fault counts, and without one the kernel that has not ended.
bool IsBetter(const fs::path& one, const fs::path& other) {
  return one.filename() == "fault.json" && other.filename() == "hang.json";
}

}  // namespace

std::string Sentence(const FaultDispatch& dispatch) {
  return fmt::format("{} (grid {}x{}x{}, workgroup {}x{}x{})", dispatch.readable, dispatch.grid[0],
                     dispatch.grid[1], dispatch.grid[2], dispatch.workgroup[0],
                     dispatch.workgroup[1], dispatch.workgroup[2]);
}

FaultSuspect SuspectOf(const InFlight& one, double odds, std::string reason) {
  return {one.dispatch->kernel,
          one.dispatch->readable,
          one.queue->index,
          one.dispatch->packet,
          one.dispatch->grid,
          one.dispatch->workgroup,
          odds,
          std::move(reason)};
}

void NameGpu(const FaultRecord& record, int agent, FaultExplanation* explanation) {
  int number = -1;
  for (int i = 0; i <= agent && i < static_cast<int>(record.agents.size()); ++i)
    if (record.agents[static_cast<size_t>(i)].gpu) ++number;
  if (agent < 0 || agent >= static_cast<int>(record.agents.size()) || number < 0) return;
  const FaultAgent& gpu = record.agents[static_cast<size_t>(agent)];
  explanation->gpu = number;
  explanation->gpu_name =
      gpu.product.empty() ? gpu.name : fmt::format("{}, {}", gpu.product, gpu.name);
}

FaultPlace PlaceOf(const FaultDispatch& dispatch, size_t instruction) {
  constexpr size_t kAround = 3;
  FaultPlace place;
  const size_t first = instruction > kAround ? instruction - kAround : 0;
  for (size_t i = first; i < dispatch.code.size() && i <= instruction + kAround; ++i)
    place.code.push_back(fmt::format("{} {:#x}: {}", i == instruction ? "->" : "  ",
                                     dispatch.code[i].address, dispatch.code[i].text));
  if (instruction >= dispatch.code.size()) return place;
  for (const codeobj::SourceFrame& frame : dispatch.code[instruction].source) {
    if (frame.line == 0) continue;
    place.file = frame.file;
    place.line = frame.line;
    place.function = frame.function;
    break;
  }
  return place;
}

std::vector<fs::path> FindFaults(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const fs::path& path = it->path();
    std::error_code ignored;
    if ((path.filename() != "fault.json" && path.filename() != "hang.json") ||
        fs::file_size(path, ignored) == 0)
      continue;
    const auto same = std::find_if(found.begin(), found.end(), [&](const fs::path& other) {
      return other.parent_path() == path.parent_path();
    });
    if (same == found.end())
      found.push_back(path);
    else if (IsBetter(path, *same))
      *same = path;
  }
  std::sort(found.begin(), found.end());
  return found;
}

Result<FaultExplanation> ExplainFault(const fs::path& path) {
  fs::path file = path;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    const std::vector<fs::path> found = FindFaults(path);
    if (found.empty()) {
      return Error{fmt::format(
          "there is no fault.json in '{}'. rochound run writes it when a GPU fails, beside the "
          "trace or, with --log-dir, in the log",
          path.string())};
    }
    file = found.front();
  }
  ROCHOUND_TRY(const FaultRecord record, ReadFaultRecord(file));
  if (record.kind == "memory") return ExplainMemoryFault(record);
  if (record.kind == "queue") return ExplainQueueError(record);
  if (record.kind == "hang") return ExplainHang(record);
  return Error{fmt::format("'{}' has a fault of kind '{}', which this rochound does not know",
                           file.string(), record.kind)};
}

std::string FaultText(const FaultExplanation& explanation) {
  std::string text =
      fmt::format("{}{}\n", explanation.sure ? "" : "Probably: ", Printable(explanation.headline));
  if (explanation.kernel_sure && !explanation.sure && explanation.waiting.empty())
    text += "  - no other kernel can have done it; what it did is a guess\n";
  if (!explanation.gpu_name.empty())
    text += fmt::format("  - GPU {} ({})\n", explanation.gpu, Printable(explanation.gpu_name));
  if (!explanation.place.file.empty())
    text += fmt::format("  - at {}:{}, in {}\n", Printable(explanation.place.file),
                        explanation.place.line, Printable(explanation.place.function));
  for (const std::string& line : explanation.evidence)
    text += fmt::format("  - {}\n", Printable(line));
  for (const FaultStack& stack : explanation.stacks) {
    text += fmt::format("  - {} by\n", Printable(stack.what));
    for (const std::string& frame : stack.frames) text += "      " + Printable(frame) + "\n";
  }
  for (const std::string& line : explanation.cleared)
    text += fmt::format("  - cleared: {}\n", Printable(line));
  if (!explanation.place.code.empty()) {
    text += explanation.waiting.empty() ? "  - the instruction that can have failed:\n"
                                        : "  - in this loop:\n";
    for (const std::string& line : explanation.place.code)
      text += "      " + Printable(line) + "\n";
  }
  if (explanation.suspects.size() > 1 && explanation.waiting.empty()) {
    text += "  Suspects:\n";
    for (const FaultSuspect& suspect : explanation.suspects)
      text += fmt::format("    {:3.0f}%  {}: {}\n", suspect.odds * 100, Printable(suspect.readable),
                          Printable(suspect.reason));
    text +=
        "  What to do: rochound doctor decide -- PROGRAM runs it again with one kernel at a time, "
        "and says which one failed.\n";
  }
  for (const std::string& line : explanation.advice)
    text += fmt::format("  What to do: {}\n", Printable(line));
  return text;
}

std::string FaultJson(const FaultExplanation& explanation) {
  using Json = nlohmann::ordered_json;
  Json suspects = Json::array();
  for (const FaultSuspect& suspect : explanation.suspects)
    suspects.push_back({{"kernel", suspect.kernel},
                        {"name", suspect.readable},
                        {"odds", suspect.odds},
                        {"reason", suspect.reason},
                        {"queue", suspect.queue},
                        {"packet", suspect.packet},
                        {"grid", suspect.grid},
                        {"workgroup", suspect.workgroup}});
  Json json = {{"cause", explanation.cause},
               {"sure", explanation.sure},
               {"headline", explanation.headline},
               {"kernel", explanation.kernel},
               {"kernel_sure", explanation.kernel_sure},
               {"argument", explanation.argument},
               {"reached_from", explanation.reached_from},
               {"gpu", {{"index", explanation.gpu}, {"name", explanation.gpu_name}}},
               {"suspects", suspects},
               {"cleared", explanation.cleared},
               {"evidence", explanation.evidence},
               {"advice", explanation.advice}};
  for (const FaultStack& stack : explanation.stacks) json["stacks"][stack.what] = stack.frames;
  if (explanation.cause == "hang" || explanation.cause == "slow" || explanation.cause == "none") {
    json["waiting"] = Json::array();
    for (const FaultWait& wait : explanation.waiting)
      json["waiting"].push_back({{"gpu", wait.gpu},
                                 {"queue", wait.queue},
                                 {"kernel", wait.kernel},
                                 {"name", wait.readable},
                                 {"seconds", wait.seconds},
                                 {"waits_for", wait.waits_for},
                                 {"argument", wait.argument},
                                 {"hangs", wait.hangs},
                                 {"deadlock", wait.deadlock},
                                 {"text", wait.text}});
  }
  if (!explanation.place.code.empty())
    json["place"] = {{"file", explanation.place.file},
                     {"line", explanation.place.line},
                     {"function", explanation.place.function},
                     {"code", explanation.place.code}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rochound::doctor
