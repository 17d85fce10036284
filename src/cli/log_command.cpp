// SPDX-License-Identifier: MIT
#include "cli/log_command.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/count.h"
#include "base/exit_codes.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/units.h"
#include "cli/trace_output.h"
#include "cli/usage_formatter.h"
#include "doctor/fault/fault_report.h"
#include "launch/child_process.h"
#include "trace/dump.h"

namespace rochound::cli {
namespace {

using base::Count;
using nlohmann::ordered_json;
using trace::DropReason;
using trace::ProcessLog;

constexpr const char* kLogActions[] = {"dump", "stat", "recover", "describe"};
constexpr size_t kFlushAt = 1 << 16;

struct Reason {
  DropReason reason;
  const char* words;
};
constexpr Reason kLosses[] = {{DropReason::kNoChunk, "no room in the log"},
                              {DropReason::kNoSignal, "no signal to time a kernel with"},
                              {DropReason::kNoString, "no room for a name"},
                              {DropReason::kNotSeen, "a packet was not seen in its queue"}};

std::string Records(uint64_t number) { return Count(number, "record", "records"); }

uint64_t Lost(const ProcessLog& log) {
  uint64_t sum = log.unknown_reasons_dropped();
  for (const Reason& loss : kLosses) sum += log.Dropped(loss.reason);
  return sum;
}

const char* EndOf(const ProcessLog& log) {
  return log.finished() ? "ended in order" : log.running() ? "still running" : "killed";
}

std::string FunctionName(const ProcessLog& log, uint16_t id) {
  const trace::Function* function = log.FindFunction(id);
  return function == nullptr ? fmt::format("function {}", id) : function->name;
}

std::vector<std::pair<std::string, uint64_t>> RecordCounts(const ProcessLog& log) {
  std::vector<std::pair<std::string, uint64_t>> counts;
  for (size_t kind = 1; kind < trace::kKinds; ++kind) {
    if (log.counts()[kind] != 0) {
      counts.emplace_back(trace::kDescriptions[kind]->name, log.counts()[kind]);
    }
  }
  if (log.counts()[0] != 0) counts.emplace_back("of kinds not known here", log.counts()[0]);
  return counts;
}

uint64_t BytesOf(const std::string& kind, uint64_t count) {
  for (const trace::Description* description : trace::kDescriptions) {
    if (description != nullptr && description->name == kind) return count * description->size;
  }
  return 0;
}

double BytesPerRecord(const ProcessLog& log) {
  return log.records() == 0
             ? 0
             : static_cast<double>(log.record_bytes()) / static_cast<double>(log.records());
}

ordered_json StatJson(const ProcessLog& log) {
  ordered_json json;
  ordered_json dropped = ordered_json::object();
  for (const Reason& loss : kLosses) {
    dropped[trace::DropReasonName(static_cast<uint64_t>(loss.reason))] = log.Dropped(loss.reason);
  }
  dropped["other"] = log.unknown_reasons_dropped();
  json["dropped"] = dropped;
  json["recycled"] = log.Dropped(DropReason::kRecycled);
  json["problems"] = log.problems();
  json["pid"] = log.pid();
  json["command"] = std::string(log.Info("command"));
  json["folder"] = log.folder().string();
  json["end"] = log.finished() ? "finished" : log.running() ? "running" : "killed";
  json["first_ns"] = log.first_ns();
  json["last_ns"] = log.last_ns();
  json["realtime_offset_ns"] = log.realtime_offset_ns();
  json["threads"] = log.threads().size();
  json["records"] = log.records();
  json["record_bytes"] = log.record_bytes();
  json["bytes_per_record"] = BytesPerRecord(log);
  json["disk_bytes"] = log.file_bytes();
  json["kernels"] = log.kernels().size();
  json["queues"] = log.queues().size();
  ordered_json kinds = ordered_json::object();
  for (const auto& [name, count] : RecordCounts(log)) kinds[name] = count;
  json["kinds"] = kinds;
  json["open_calls"] = ordered_json::array();
  for (const trace::OpenCall& call : log.open_calls()) {
    json["open_calls"].push_back({{"function", FunctionName(log, call.function)},
                                  {"tid", call.tid},
                                  {"begin_ns", call.begin_ns},
                                  {"correlation", call.correlation}});
  }
  return json;
}

void PrintStat(const ProcessLog& log) {
  fmt::print(
      "\nprocess {} ({}): {}\n", log.pid(), EndOf(log),
      log.Info("command").empty() ? "command not known" : base::Printable(log.Info("command")));
  for (const std::string& problem : log.problems())
    fmt::print("  ! {}\n", base::Printable(problem));
  for (const Reason& loss : kLosses) {
    if (log.Dropped(loss.reason) == 0) continue;
    fmt::print("  ! {} dropped: {}\n", Records(log.Dropped(loss.reason)), loss.words);
  }
  if (log.unknown_reasons_dropped() != 0) {
    fmt::print("  ! {} dropped for reasons this rochound does not know\n",
               Records(log.unknown_reasons_dropped()));
  }
  if (log.Dropped(DropReason::kRecycled) != 0) {
    fmt::print("  flight recorder: {} older records made room for later ones\n",
               log.Dropped(DropReason::kRecycled));
  }
  const uint64_t start_ns = log.first_ns() + static_cast<uint64_t>(log.realtime_offset_ns());
  fmt::print("  {:.3f} s from {:%Y-%m-%d %H:%M:%S}, {}, {}, {}\n",
             static_cast<double>(log.last_ns() - log.first_ns()) / 1e9,
             fmt::gmtime(static_cast<time_t>(start_ns / 1000000000)),
             Count(log.threads().size(), "thread", "threads"),
             Count(log.kernels().size(), "kernel", "kernels"),
             Count(log.queues().size(), "queue", "queues"));
  fmt::print("  {}, {:.1f} bytes each; {} of records, {} on disk\n", Records(log.records()),
             BytesPerRecord(log), base::SizeText(log.record_bytes()),
             base::SizeText(log.file_bytes()));
  fmt::print("  {:<14} {:>12} {:>12}\n", "RECORD", "COUNT", "BYTES");
  for (const auto& [name, count] : RecordCounts(log)) {
    fmt::print("  {:<14} {:>12} {:>12}\n", name, count, BytesOf(name, count));
  }
  for (const trace::OpenCall& call : log.open_calls()) {
    fmt::print("  not returned: {} on thread {}, called {:.6f} s before the last record\n",
               base::Printable(FunctionName(log, call.function)), call.tid,
               (static_cast<double>(log.last_ns()) - static_cast<double>(call.begin_ns)) / 1e9);
  }
}

}  // namespace

constexpr const char* kLogExamples = R"(
Actions:
  stat      what is in a run's log: records by kind, threads, time, what was
            dropped and which calls had not returned when a process was killed
  dump      every record, one per line; --json: one JSON object per line
  recover   the trace of a run that was killed, or whose trace was not made
  describe  the record kinds and their fields (no folder needed)

Examples:
  rochound log stat rochound-log
  rochound log recover rochound-log -o trace.rpd   the trace of a run that was killed
  rochound log dump rochound-log --kind call,dispatch --limit 100
  rochound log dump rochound-log --json | jq 'select(.record == "kernel")'

The folder is a run's (the --log-dir of rochound run) or one process's in it. A
log may be looked at while it is being written, and after a process was killed
at any instant. Text shows times in seconds since the process's first record,
JSON in nanoseconds of CLOCK_MONOTONIC. Threads are shown as the system's id
and the log's. Dropped or doubtful data comes first. Exit codes: 0 done, 2
wrong usage, 125 the log cannot be read.
)";

const char* LogCommand::examples() const { return kLogExamples; }

std::vector<Command::Action> LogCommand::actions() const {
  return {
      {"stat",
       "rochound log stat FOLDER [OPTIONS]",
       "Say what is in a run's log, what was dropped, and which calls had not returned.",
       {"folder", "--pid", "--json"}},
      {"dump",
       "rochound log dump FOLDER [OPTIONS]",
       "Print every record.",
       {"folder", "--kind", "--pid", "--limit", "--json"}},
      {"recover",
       "rochound log recover FOLDER [-o FILE] [OPTIONS]",
       "Make the trace of a run that was killed, or whose trace was not made.",
       {"folder", "--output", "--jsonl", "--durations"}},
      {"describe", "rochound log describe", "Describe the record kinds and their fields.", {}},
  };
}

LogCommand::LogCommand(CLI::App& app)
    : Command(app.add_subcommand("log", "Look into the log of a run, also of a killed one")) {
  UsageFormatter::Set(*subcommand_, "rochound log ACTION FOLDER [OPTIONS]");
  subcommand_->add_option("action", action_, "stat, dump, recover or describe")->type_name("");
  subcommand_->add_option("folder", folder_, "The folder of a run, or of one process in it")
      ->type_name("");
  subcommand_->add_option("--kind", kinds_, "dump: only records of these kinds (see describe)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("KIND[,KIND...]");
  subcommand_->add_option("--pid", processes_, "Only these processes of the run")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("PID[,PID...]");
  subcommand_->add_option("--limit", limit_, "dump: at most so many records of each process")
      ->type_name("N");
  subcommand_->add_option("-o,--output", output_, "recover: the trace (default: trace.rpd)")
      ->type_name("FILE");
  subcommand_->add_option("--jsonl", jsonl_, "recover: also write one JSON object per call")
      ->type_name("FILE|-");
  subcommand_->add_flag("--durations", durations_,
                        "recover: also print kernel,dispatch,startNs,endNs for every kernel");
  subcommand_->add_flag("--json", json_, "As JSON; dump: one object per line");
}

int LogCommand::Dump(const trace::RunLog& run) const {
  for (const std::string& problem : run.problems()) base::LogWarning(problem);
  for (const auto& log : run.processes()) {
    for (const std::string& problem : log->problems()) {
      base::LogWarning(fmt::format("process {}: {}", log->pid(), problem));
    }
    if (Lost(*log) == 0) continue;
    base::LogWarning(
        fmt::format("process {}: {} dropped, missing here", log->pid(), Records(Lost(*log))));
  }
  std::string text;
  bool good = true;
  for (const auto& log : run.processes()) {
    if (!json_) fmt::format_to(std::back_inserter(text), "process {}\n", log->pid());
    trace::RecordText record_text(*log);
    uint64_t left = limit_ == 0 ? UINT64_MAX : limit_;
    log->ForEachRecord(
        [&](const trace::Thread& thread, const trace::Head& head, const char* record) {
          const trace::Description* description = trace::Describe(head.kind);
          const std::string_view kind = description == nullptr ? "" : description->name;
          if (!kinds_.empty() && std::find(kinds_.begin(), kinds_.end(), kind) == kinds_.end()) {
            return true;
          }
          json_ ? record_text.AppendJson(thread, head, record, &text)
                : record_text.AppendLine(thread, head, record, &text);
          text.push_back('\n');
          if (text.size() >= kFlushAt) {
            good = fwrite(text.data(), 1, text.size(), stdout) == text.size();
            text.clear();
          }
          return --left != 0 && good;
        });
  }
  good = good && fwrite(text.data(), 1, text.size(), stdout) == text.size() && fflush(stdout) == 0;
  if (good || errno == EPIPE) return base::kExitSuccess;
  base::LogError(fmt::format("cannot write: {}", std::generic_category().message(errno)));
  return base::kExitSetup;
}

int LogCommand::Stat(const trace::RunLog& run) const {
  uint64_t lost = 0;
  size_t problems = run.problems().size();
  size_t killed = 0;
  for (const auto& log : run.processes()) {
    lost += Lost(*log);
    problems += log->problems().size();
    killed += !log->finished() && !log->running();
  }
  if (json_) {
    ordered_json json;
    json["dropped"] = lost;
    json["problems"] = run.problems();
    json["processes"] = ordered_json::array();
    for (const auto& log : run.processes()) json["processes"].push_back(StatJson(*log));
    fmt::print("{}\n", json.dump(2, ' ', false, ordered_json::error_handler_t::replace));
    return base::kExitSuccess;
  }
  if (lost != 0 || problems != 0) {
    fmt::print("INCOMPLETE: {} dropped, {}\n", Records(lost),
               Count(problems, "other problem", "other problems"));
  } else {
    fmt::print("complete: no record was dropped\n");
  }
  for (const std::string& problem : run.problems()) fmt::print("! {}\n", base::Printable(problem));
  fmt::print("{}, {} of them killed\n", Count(run.processes().size(), "process", "processes"),
             killed);
  for (const auto& log : run.processes()) PrintStat(*log);
  return base::kExitSuccess;
}

int LogCommand::Recover() const {
  // A folder that is no log is a mistake here; `rochound run` makes an empty trace of it. A process
  // that was killed before it could write anything is no mistake.
  if (!IsLogFolder(folder_)) {
    base::LogError(
        fmt::format("there is no log in '{}': it should be the folder of a run, or of a "
                    "process in it",
                    folder_));
    return base::kExitSetup;
  }
  launch::ChildProcess::HoldInterrupts();  // so that no half of a trace is left behind
  TraceOutput output;
  if (const std::string problem = OutputProblem(output_); !problem.empty()) return Usage(problem);
  output.rpd = output_;
  output.jsonl = jsonl_;
  output.durations = DurationsPlace(durations_, getenv("LOGDUR_LOG_LOCATION"));
  if (!output.rpd.empty()) output.fault = doctor::ReportFaults(folder_, output.rpd);
  const auto summary = MakeOutput(folder_, output, "the log holds nothing");
  if (!summary.ok()) {
    base::LogError(summary.error().message);
    return base::kExitSetup;
  }
  fmt::print(stderr, "{}", SummaryText(summary.value(), output));
  return base::kExitSuccess;
}

int LogCommand::Run(const std::vector<std::string>& /*program*/) {
  if (action_.empty()) return Usage("what is to be done? For example: rochound log stat FOLDER");
  if (std::find(std::begin(kLogActions), std::end(kLogActions), action_) == std::end(kLogActions)) {
    return Usage(fmt::format("there is no action '{}'; there are {}", action_,
                             fmt::join(kLogActions, ", ")));
  }
  if (action_ == "describe") {
    fmt::print("{}", trace::DescribeRecords());
    return base::kExitSuccess;
  }
  if (folder_.empty()) return Usage(fmt::format("which log? rochound log {} FOLDER", action_));
  for (const std::string& kind : kinds_) {
    const auto is_it = [&](const trace::Description* description) {
      return description != nullptr && description->name == kind;
    };
    if (std::none_of(std::begin(trace::kDescriptions), std::end(trace::kDescriptions), is_it)) {
      return Usage(
          fmt::format("there is no record kind '{}'; rochound log describe lists them", kind));
    }
  }
  if (action_ == "recover") return Recover();
  auto run = trace::RunLog::Open(folder_);
  if (!run.ok()) {
    base::LogError(run.error().message);
    return base::kExitSetup;
  }
  if (!processes_.empty()) run.value().Keep(processes_);
  if (run.value().processes().empty()) {
    base::LogError(fmt::format("the run has no process {}; rochound log stat {} lists them",
                               fmt::join(processes_, ", "), folder_));
    return base::kExitSetup;
  }
  return action_ == "dump" ? Dump(run.value()) : Stat(run.value());
}

}  // namespace rochound::cli
