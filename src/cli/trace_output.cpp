// SPDX-License-Identifier: MIT
#include "cli/trace_output.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/count.h"
#include "base/files.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/progress_bar.h"
#include "base/units.h"
#include "capture/proof.h"
#include "codeobj/kernel_name.h"
#include "doctor/fault/fault_report.h"
#include "doctor/program.h"
#include "launch/child_process.h"
#include "store/convert/conversion.h"
#include "store/convert/text_output.h"
#include "store/rpd/lost_kinds.h"
#include "swap/swap_verify.h"
#include "trace/reader.h"

namespace rochound::cli {
namespace {

namespace fs = std::filesystem;
using base::Count;
using base::Result;
using base::TimeText;
using store::Summary;

constexpr size_t kSummaryLines = 10;
constexpr size_t kNameWidth = 60;

using Entry = std::pair<std::string, Summary::Total>;
std::vector<Entry> MostTime(const std::map<std::string, Summary::Total, std::less<>>& totals,
                            size_t count) {
  std::vector<Entry> entries;
  for (const auto& entry : totals)
    if (entry.second.count > 0) entries.push_back(entry);
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.second.ns > b.second.ns; });
  if (entries.size() > count) entries.resize(count);
  return entries;
}

// How much of [start, end) was not recorded of some process.
int64_t UnrecordedTime(const Summary& summary, int64_t start, int64_t end) {
  std::vector<Summary::Span> spans = summary.unrecorded;
  std::sort(spans.begin(), spans.end(),
            [](const Summary::Span& a, const Summary::Span& b) { return a.start < b.start; });
  int64_t sum = 0, until = start;
  for (const Summary::Span& span : spans) {
    const int64_t to = std::min(span.end, end);
    sum += std::max<int64_t>(0, to - std::max(span.start, until));
    until = std::max(until, to);
  }
  return sum;
}

// What was not recorded comes first; the same loss of several processes is in one line.
std::vector<std::string> LostLines(const Summary& summary) {
  std::map<std::pair<std::string, std::string>, uint64_t> sums;
  std::string reasons;
  for (const Summary::Lost& lost : summary.lost) {
    if (lost.what != "time") {
      sums[{lost.what, lost.note}] += lost.count;
    } else if (reasons.find(lost.note) == std::string::npos) {
      reasons += (reasons.empty() ? "" : "; ") + lost.note;
    }
  }
  std::vector<std::string> lines;
  if (!reasons.empty()) {
    lines.push_back(fmt::format(
        "! partial: {} of {} were not recorded: {}",
        TimeText(UnrecordedTime(summary, summary.life_start, summary.life_end)),
        TimeText(summary.life_end - std::min(summary.life_start, summary.life_end)), reasons));
  }
  for (const auto& [key, count] : sums)
    lines.push_back(fmt::format("! missing: {} ({}): {}", key.first, count, key.second));
  return lines;
}

int64_t RecordedTime(const Summary& summary) {
  const int64_t start = std::min(summary.start, summary.end);
  return std::max<int64_t>(0, summary.end - start - UnrecordedTime(summary, start, summary.end));
}

Result<std::optional<store::TextOutput>> OpenText(const std::string& place) {
  if (place.empty()) return std::optional<store::TextOutput>();
  ROCHOUND_TRY(store::TextOutput output, store::TextOutput::Open(place));
  return std::optional<store::TextOutput>(std::move(output));
}

}  // namespace

std::optional<std::string> DurationsPlace(bool asked, const char* location) {
  if (location == nullptr) return asked ? std::optional<std::string>("-") : std::nullopt;
  std::string place = location;
  if (place == "console") return "-";
  if (place.empty()) return asked ? std::optional<std::string>("") : std::nullopt;
  return place;
}

namespace {

// What `rochound run` wrote beside the log; an empty object: nothing that can be read.
nlohmann::json RunFile(const std::filesystem::path& log_directory) {
  const auto text = base::ReadFile(log_directory / "run.json", base::kMostText);
  if (!text.ok()) return nlohmann::json::object();
  auto json = nlohmann::json::parse(text.value(), nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json : nlohmann::json::object();
}

// Whoever makes the trace is there yet, or one of the processes is.
bool GoesOn(const std::filesystem::path& log_directory) {
  const nlohmann::json run_file = RunFile(log_directory);
  if (run_file.contains("launcher") && run_file["launcher"].is_number_integer() &&
      kill(run_file["launcher"].get<pid_t>(), 0) == 0)
    return true;
  const auto run = trace::RunLog::Open(log_directory);
  return run.ok() && std::any_of(run.value().processes().begin(), run.value().processes().end(),
                                 [](const auto& process) { return process->running(); });
}

// What a run that was to make this trace left, the last one; as launch::PrepareLog calls it.
fs::path LogBeside(const fs::path& name) {
  std::error_code error;
  const fs::path trace = fs::absolute(name, error);
  const std::string prefix = trace.filename().string() + ".log-";
  fs::path log;
  for (const auto& entry : fs::directory_iterator(trace.parent_path(), error)) {
    if (!entry.path().filename().string().starts_with(prefix) || !IsLogFolder(entry.path()))
      continue;
    if (log.empty() || entry.last_write_time(error) > fs::last_write_time(log, error))
      log = entry.path();
  }
  return log;
}

bool WasKilled(const trace::RunLog& run) {
  bool killed = false;
  for (const auto& process : run.processes()) {
    if (process->running() && !process->finished()) return false;
    killed |= !process->finished();
  }
  return killed;
}

// Of the first process whose own code is for none of its GPUs.
std::string UnfitCode(const trace::RunLog& run) {
  for (const auto& process : run.processes()) {
    std::vector<std::string> gpus;
    for (const trace::Agent& agent : process->agents())
      if (agent.gpu && std::find(gpus.begin(), gpus.end(), agent.name) == gpus.end())
        gpus.push_back(agent.name);
    std::string unfit = doctor::UnfitCode(std::string(process->Info("exe")), gpus);
    if (!unfit.empty()) return unfit;
  }
  return {};
}

// What ended the run, and whether the GPU was used.
std::vector<std::string> StoryLines(const Summary& summary, const TraceOutput& output) {
  store::RunEnding ending = summary.ending;
  ending.kernels = static_cast<int64_t>(summary.kernels);
  ending.copies = static_cast<int64_t>(summary.runtime_kernels + summary.copies);
  for (const Summary::Lost& lost : summary.lost)
    ending.complete &= store::lost_kinds::IsEnd(lost.what);
  std::vector<std::string> lines;
  if (const auto told = store::TellEnding(ending, output.rpd.string()))
    lines.push_back(told->sentence);
  store::GpusBusy busy = summary.busy;
  if (const std::string usage = store::UsageSentence(busy, RecordedTime(summary)); !usage.empty())
    lines.push_back(usage + ".");
  return lines;
}

}  // namespace

std::string CommandOf(const std::filesystem::path& log_directory) {
  const nlohmann::json json = RunFile(log_directory);
  if (!json.contains("command") || !json["command"].is_array()) return {};
  std::string command;
  for (const auto& word : json["command"])
    if (word.is_string()) command += (command.empty() ? "" : " ") + word.get<std::string>();
  return command;
}

Result<Summary> MakeOutput(const std::filesystem::path& log_directory, const TraceOutput& output,
                           const std::string& why_empty) {
  store::ConversionOptions options;
  options.rpd = output.rpd;
  options.command = CommandOf(log_directory);
  const nlohmann::json run_file = RunFile(log_directory);
  if (run_file.contains("status") && run_file["status"].is_string())
    options.status = run_file["status"].get<std::string>();
  options.fault = output.fault;
  if (run_file.contains("cpu_ns") && run_file["cpu_ns"].is_number_integer())
    options.cpu_ns = run_file["cpu_ns"].get<int64_t>();
  if (run_file.contains("unrecorded") && run_file["unrecorded"].is_array())
    for (const auto& process : run_file["unrecorded"])
      if (process.is_object())
        options.unrecorded.push_back(
            {process.value("pid", int64_t{0}), process.value("note", std::string())});
  const auto text = [&](const char* key) {
    return run_file.contains(key) && run_file[key].is_string() ? run_file[key].get<std::string>()
                                                               : std::string();
  };
  options.swap_comparisons = swap::ReadSwapComparisons(swap::SwapSamples(log_directory));
  ROCHOUND_TRY(const store::Filter filter, store::Filter::Create(text("kernel"), text("api")));
  options.filter = &filter;
  ROCHOUND_TRY(std::optional<store::TextOutput> jsonl, OpenText(output.jsonl));
  ROCHOUND_TRY(std::optional<store::TextOutput> durations, OpenText(output.durations.value_or("")));
  options.jsonl = jsonl ? &*jsonl : nullptr;
  options.durations = durations ? &*durations : nullptr;

  if (!IsLogFolder(log_directory)) return store::ConvertNothing(why_empty, options);
  const auto run = trace::RunLog::Open(log_directory);
  // A process that was killed before it had written anything.
  if (!run.ok()) return store::ConvertNothing(run.error().message, options);
  options.unfit_code = UnfitCode(run.value());
  if (options.status.empty() && !run_file.empty() && WasKilled(run.value()))
    options.status = store::kKilled;

  base::ProgressBar bar(output.rpd.empty() ? "reading the log"
                                           : fmt::format("writing {}", output.rpd.string()));
  options.progress = [&](uint64_t done, uint64_t all) {
    if (all > 0) bar.Show(static_cast<double>(done) / static_cast<double>(all));
    return !launch::ChildProcess::Interrupted();
  };
  ROCHOUND_TRY(Summary summary, store::ConvertRun(run.value(), options));
  summary.ending.status = options.status;
  summary.ending.fault = options.fault;
  summary.ending.unfit_code = options.unfit_code;
  summary.ending.evidence = output.rpd.string() + ".fault";
  return summary;
}

std::string FindTrace(const std::string& name) {
  std::error_code error;
  const fs::path log = LogBeside(name);
  if (log.empty()) return name;
  if (fs::exists(name, error)) {
    if (fs::last_write_time(log, error) > fs::last_write_time(name, error))
      base::LogInfo(
          fmt::format("A later run than that of '{}' left its log in '{}': rochound log "
                      "recover makes a trace of it.",
                      name, log.string()));
    return name;
  }
  if (GoesOn(log)) {
    base::LogInfo(
        fmt::format("'{}' is not there yet: its run goes on. This is its log so far, '{}'.", name,
                    log.string()));
    return log.string();
  }
  base::LogInfo(
      fmt::format("'{}' was not made when its run ended: it is made now, of the log '{}'.", name,
                  log.string()));
  TraceOutput output;
  output.rpd = name;
  output.fault = doctor::ReportFaults(log, name);
  const auto made = MakeOutput(log, output, "the log holds nothing");
  if (made.ok()) return name;
  base::LogWarning(made.error().message);
  return log.string();
}

std::string SummaryText(const Summary& summary, const TraceOutput& output, bool story) {
  std::vector<std::string> lines = LostLines(summary);
  constexpr size_t kMostLost = 4;
  if (lines.size() > kMostLost) {
    const size_t more = lines.size() - (kMostLost - 1);
    lines.resize(kMostLost - 1);
    lines.push_back(fmt::format("! and {} more: select * from rochound_lost", more));
  }
  std::error_code error;
  const std::string file = output.rpd.empty() ? "" : output.rpd.string() + ": ";
  const uint64_t bytes = output.rpd.empty() ? 0 : std::filesystem::file_size(output.rpd, error);
  lines.push_back(fmt::format("{}{}, {}{}", file, Count(summary.processes, "process", "processes"),
                              TimeText(RecordedTime(summary)),
                              bytes > 0 && !error ? ", " + base::SizeText(bytes) : ""));
  if (output.software_gpu) lines.back() += "; software GPU: times are those of an interpreter";
  std::string calls = Count(summary.calls, "call", "calls");
  for (const auto& [name, total] : MostTime(summary.calls_by_name, 3))
    calls += fmt::format("; {} {} x {}", TimeText(total.ns), total.count, name);
  lines.push_back(calls);
  lines.push_back(fmt::format(
      "{} and {} of the runtime itself, {} ({}), {}", Count(summary.kernels, "kernel", "kernels"),
      summary.runtime_kernels, Count(summary.copies, "copy", "copies"),
      base::SizeText(summary.copied_bytes), Count(summary.ranges, "range", "ranges")));
  if (summary.swapped + summary.refused_swaps > 0)
    lines.push_back(fmt::format("{} swapped in {}, {} refused: rochound explain swaps{}",
                                Count(summary.swapped, "kernel", "kernels"),
                                Count(summary.swapped_launches, "launch", "launches"),
                                Count(summary.refused_swaps, "candidate", "candidates"),
                                output.rpd.empty() ? "" : " " + output.rpd.string()));
  if (const uint64_t compared =
          summary.equal_swaps + summary.different_swaps + summary.unverified_swaps;
      compared > 0)
    lines.push_back(fmt::format("{} compared with the original's: {} {}, {} different, {} {}",
                                Count(compared, "swapped launch", "swapped launches"),
                                summary.equal_swaps, capture::kEqualInEveryByte,
                                summary.different_swaps, summary.unverified_swaps,
                                capture::kNotVerified));
  int64_t kernel_ns = 0;
  for (const auto& [name, total] : summary.kernels_by_name) kernel_ns += total.ns;
  for (const auto& [name, total] :
       MostTime(summary.kernels_by_name, kSummaryLines - std::min(kSummaryLines, lines.size()))) {
    const double percent =
        kernel_ns > 0 ? 100.0 * static_cast<double>(total.ns) / static_cast<double>(kernel_ns) : 0;
    lines.push_back(fmt::format("{:5.1f}% {:>9} = {:>6} x {:>9}  {}", percent, TimeText(total.ns),
                                total.count, TimeText(total.ns / static_cast<int64_t>(total.count)),
                                codeobj::ShortKernelName(name, kNameWidth)));
  }
  if (story) {
    const std::vector<std::string> told = StoryLines(summary, output);
    lines.insert(lines.begin(), told.begin(), told.end());
  }
  std::string text;
  for (const std::string& line : lines) text += base::Printable(line) + "\n";
  return text;
}

}  // namespace rochound::cli
