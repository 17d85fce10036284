// SPDX-License-Identifier: MIT
#include "cli/ctl_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/exit_codes.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/usage_formatter.h"
#include "codeobj/demangle.h"
#include "launch/process_tree.h"
#include "launch/user_rights.h"
#include "store/convert/conversion.h"
#include "trace/reader.h"
#include "trace/records.h"

namespace rochound::cli {
namespace {

constexpr const char* kCtlActions[] = {"list", "status", "start", "stop", "flush", "dump"};

std::string Grouped(long long number) {
  std::string text = std::to_string(number);
  for (ptrdiff_t at = static_cast<ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<size_t>(at), ",");
  return text;
}

// What keeps the recorder from doing what its switch says; empty: nothing.
std::string Remark(const launch::ControlAnswer& answer) {
  if (answer.Text("state") == "disabled") return answer.Text("reason");
  const long long starts = answer.Number("program");
  if (answer.Text("state") == "recording" && answer.Text("outside") == "off")
    return fmt::format("the program itself has started it {} and not stopped it yet",
                       starts == 1 ? std::string("once") : fmt::format("{} times", starts));
  if (answer.Text("in_range") == "no" && (answer.Text("outside") == "on" || starts > 0))
    return fmt::format("it waits for the range '{}'", answer.Text("range"));
  return {};
}

std::string InWords(const launch::InFlight& work) {
  return fmt::format("in flight for {:.1f} s on queue {} of GPU {}: {}", work.seconds, work.queue,
                     work.gpu,
                     work.kernel.empty() ? "a packet that waits" : codeobj::Demangle(work.kernel));
}

}  // namespace

constexpr const char* kCtlExamples = R"(
Actions:
  list    which programs are being recorded
  status  what their recorders have written so far, and kernels in flight for
          longer than a second
  start   record from now on           stop    pause; start goes on in the same log
  flush   bring finished GPU work into the log now
  dump    flush, and tell where the log is; with -o, make a trace of it

Examples:
  rochound ctl list
  rochound run --start-off -- ./server &             nothing is recorded at first
  rochound ctl start --tree $!                       once it is up, and when it
  sleep 10; rochound ctl stop --tree $!              is under load: ten seconds
  rochound ctl dump 4711 -o now.rpd                  while it runs on
  rochound ctl status --all --json

start and stop set one switch per process; starts by the program itself (its C
or Python interface) are counted apart, and it records while either wants to.
Only the program's own user and root may control it. Exit codes: 0 all asked
processes answered, 1 some did not or there were none, 2 wrong usage.
)";

const char* CtlCommand::examples() const { return kCtlExamples; }

std::vector<Command::Action> CtlCommand::actions() const {
  const std::vector<std::string> whom = {"pid", "--tree", "--all", "--json"};
  const std::vector<std::string> dump = {"pid", "--tree", "--all", "--output", "--json"};
  return {
      {"list", "rochound ctl list [OPTIONS]", "List the programs that are being recorded.", whom},
      {"status", "rochound ctl status [PID... | --tree PID | --all] [OPTIONS]",
       "Say what recorders have written so far.", whom},
      {"start", "rochound ctl start PID... | --tree PID | --all [OPTIONS]", "Record from now on.",
       whom},
      {"stop", "rochound ctl stop PID... | --tree PID | --all [OPTIONS]",
       "Pause recording; start goes on in the same log.", whom},
      {"flush", "rochound ctl flush PID... | --tree PID | --all [OPTIONS]",
       "Bring finished GPU work into the log now.", whom},
      {"dump", "rochound ctl dump PID... | --tree PID | --all [-o FILE] [OPTIONS]",
       "Flush and say where the log is; with -o, make a trace of it while the program runs on.",
       dump},
  };
}

CtlCommand::CtlCommand(CLI::App& app)
    : Command(app.add_subcommand("ctl", "Start, stop and ask the recorders of running programs")) {
  UsageFormatter::Set(*subcommand_, "rochound ctl ACTION [PID... | --tree PID | --all] [OPTIONS]");
  subcommand_->add_option("action", action_, "list, status, start, stop, flush or dump")
      ->type_name("");
  subcommand_->add_option("pid", processes_, "Processes to ask; list and status: all")
      ->type_name("");
  subcommand_->add_option("--tree", trees_, "A process and all its descendants")
      ->allow_extra_args(false)
      ->type_name("PID");
  subcommand_->add_option("-o,--output", output_, "dump: the trace to write, in RPD's format")
      ->type_name("FILE");
  subcommand_->add_flag("--all", all_, "All processes of yours that are being recorded");
  subcommand_->add_flag("--json", json_, "Answer as JSON: an array with one object per process");
}

std::string CtlCommand::Problem() const {
  if (action_.empty()) return "what is to be done? For example: rochound ctl list";
  if (std::find(std::begin(kCtlActions), std::end(kCtlActions), action_) == std::end(kCtlActions))
    return fmt::format("there is no action '{}'; there are {}", action_,
                       fmt::join(kCtlActions, ", "));
  if (all_ && !(processes_.empty() && trees_.empty())) return "--all goes without PIDs";
  if (!all_ && processes_.empty() && trees_.empty() && action_ != "list" && action_ != "status")
    return fmt::format("which process? rochound ctl {0} PID, --tree PID or --all", action_);
  if (!output_.empty() && action_ != "dump") return "-o goes with dump";
  for (const auto* list : {&processes_, &trees_})
    for (const pid_t process : *list)
      if (process <= 0) return fmt::format("{} is not a process id", process);
  return {};
}

std::vector<CtlCommand::Row> CtlCommand::Targets() const {
  std::vector<Row> rows;
  if (processes_.empty() && trees_.empty()) {
    for (const launch::ControlSocket& socket : launch::FindControlSockets(
             geteuid() == 0 ? launch::Whose::kEverybodys : launch::Whose::kOwn))
      rows.push_back({.process = socket.process, .socket = socket});
    return rows;
  }
  std::set<pid_t> seen;
  for (const pid_t process : processes_)
    if (seen.insert(process).second)
      rows.push_back({.process = process, .socket = launch::FindControlSocket(process)});
  for (const pid_t root : trees_) {
    const size_t before = seen.size();
    for (const pid_t process : launch::ProcessTree(root)) {
      const launch::ControlSocket socket = launch::FindControlSocket(process);
      if (socket.process != 0 && seen.insert(process).second)
        rows.push_back({.process = process, .socket = socket});
    }
    // Not a word about members that are not recorded, unless none is.
    if (seen.size() == before && seen.insert(root).second) rows.push_back({.process = root});
  }
  return rows;
}

// What the process has committed so far, read from its files while it goes on writing. With its
// user's rights: the answer may name any folder.
void CtlCommand::ReadLog(Row* row) {
  const std::string folder = row->answer.Text("directory");
  if (folder.empty()) return;
  const auto read = launch::WithRightsOf(row->socket.user, [&] {
    const auto log = trace::ProcessLog::Open(folder);
    if (!log.ok()) return;
    row->log_read = true;
    row->records = log.value()->records();
    for (size_t kind = 1; kind < trace::kKinds; ++kind)
      if (const uint64_t count = log.value()->counts()[kind]; count != 0)
        row->kinds[trace::kDescriptions[kind]->name] = count;
  });
  if (!read.ok()) base::LogError(fmt::format("process {}: {}", row->process, read.error().message));
}

int CtlCommand::Run(const std::vector<std::string>& /*program*/) {
  if (const std::string problem = Problem(); !problem.empty()) return Usage(problem);
  const bool everything = processes_.empty() && trees_.empty();
  std::vector<Row> rows = Targets();
  std::vector<launch::ControlSocket> sockets;
  for (const Row& row : rows)
    if (row.socket.process != 0) sockets.push_back(row.socket);
  const auto answers = launch::AskAll(sockets, action_ == "list" ? "status" : action_);
  size_t next = 0;
  for (Row& row : rows) {
    if (row.socket.process != 0)
      row.answer = answers[next++];
    else
      row.answer.error = launch::WhyNoSocket(row.process);
  }
  // A stale socket is nobody's business unless its process was asked for by name.
  if (everything) {
    std::erase_if(rows,
                  [](const Row& r) { return r.answer.outcome == launch::ControlAnswer::kGone; });
  }
  if (action_ == "status")
    for (Row& row : rows) ReadLog(&row);
  if (json_)
    PrintJson(rows);
  else
    Print(rows);
  const bool good = std::all_of(rows.begin(), rows.end(), [](const Row& row) {
    return row.answer.outcome == launch::ControlAnswer::kDone;
  });
  if (!output_.empty() && good && !rows.empty()) return WriteTrace(rows);
  const bool may_be_none = action_ == "list" || action_ == "status";
  return good && (!rows.empty() || may_be_none) ? base::kExitSuccess : base::kExitFailure;
}

// One process's log, or that of the whole run if several were asked.
int CtlCommand::WriteTrace(const std::vector<Row>& rows) const {
  std::filesystem::path folder = rows[0].answer.Text("directory");
  if (rows.size() > 1) folder = folder.parent_path();
  for (const Row& row : rows) {
    // Reading takes that user's rights, writing the trace ours.
    if (launch::HasOtherRights(row.socket.user)) {
      base::LogError(
          fmt::format("process {0} belongs to user {1}; make the trace as that user: "
                      "sudo -u '#{1}' rochound ctl dump {0} -o FILE",
                      row.process, row.socket.user));
      return base::kExitFailure;
    }
    if (rows.size() > 1 &&
        std::filesystem::path(row.answer.Text("directory")).parent_path() != folder) {
      base::LogError(
          "the processes belong to several runs; make a trace of each: dump PID -o FILE");
      return base::kExitFailure;
    }
  }
  const auto run = trace::RunLog::Open(folder);
  if (!run.ok()) {
    base::LogError(run.error().message);
    return base::kExitFailure;
  }
  store::ConversionOptions options;
  options.rpd = output_;
  const auto done = store::ConvertRun(run.value(), options);
  if (!done.ok()) {
    base::LogError(done.error().message);
    return base::kExitFailure;
  }
  return base::kExitSuccess;
}

void CtlCommand::Print(const std::vector<Row>& rows) const {
  if (rows.empty()) {
    base::LogInfo("No program of yours is being recorded.");
    return;
  }
  if (action_ == "list" || action_ == "status")
    PrintTable(rows);
  else
    for (const Row& row : rows) PrintEffect(row);
  for (const Row& row : rows) {
    if (row.answer.outcome != launch::ControlAnswer::kDone)
      base::LogError(fmt::format("process {}: {}", row.process, row.answer.error));
  }
}

void CtlCommand::PrintTable(const std::vector<Row>& rows) const {
  const bool status = action_ == "status";
  if (std::none_of(rows.begin(), rows.end(),
                   [](const Row& r) { return r.answer.outcome == launch::ControlAnswer::kDone; }))
    return;
  fmt::print("{:>8}  {:<9}", "PID", "STATE");
  if (status) fmt::print("  {:>12}  {:>10}  {:>9}  {:>7}", "RECORDS", "SIZE", "DROPPED", "THREADS");
  fmt::print("  COMMAND\n");
  for (const Row& row : rows) {
    if (row.answer.outcome != launch::ControlAnswer::kDone) continue;
    fmt::print("{:>8}  {:<9}", row.process, row.answer.Text("state"));
    if (status) {
      fmt::print("  {:>12}  {:>10}  {:>9}  {:>7}",
                 row.log_read ? Grouped(static_cast<long long>(row.records)) : "?",
                 base::SizeText(static_cast<uint64_t>(row.answer.Number("bytes"))),
                 Grouped(row.answer.Number("dropped")), Grouped(row.answer.Number("threads")));
    }
    fmt::print("  {}\n", launch::ProcessCommand(row.process));
    if (!status) continue;
    fmt::print("{:>8}  log {}\n", "", row.answer.Text("directory"));
    if (const std::string remark = Remark(row.answer); !remark.empty())
      fmt::print("{:>8}  {}\n", "", remark);
    const std::vector<launch::InFlight> work = row.answer.LongWork();
    for (const launch::InFlight& one : work) fmt::print("{:>8}  {}\n", "", InWords(one));
    if (!work.empty())
      fmt::print("{:>8}  what it waits for: rochound doctor --hang {}\n", "", row.process);
  }
}

void CtlCommand::PrintEffect(const Row& row) const {
  if (row.answer.outcome != launch::ControlAnswer::kDone) return;
  if (action_ == "dump") {
    fmt::print("{}\n", row.answer.Text("directory"));
    return;
  }
  const std::string remark = Remark(row.answer);
  fmt::print("process {}: {}{}{}\n", row.process,
             action_ == "flush" ? "flushed" : row.answer.Text("state"), remark.empty() ? "" : "; ",
             remark);
}

void CtlCommand::PrintJson(const std::vector<Row>& rows) const {
  auto list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    const launch::ControlAnswer& answer = row.answer;
    nlohmann::ordered_json one = {{"pid", row.process},
                                  {"ok", answer.outcome == launch::ControlAnswer::kDone}};
    if (answer.outcome == launch::ControlAnswer::kDone) {
      one["state"] = answer.Text("state");
      one["reason"] = answer.Text("reason");
      one["switched_on"] = answer.Text("outside") == "on";
      one["program_starts"] = answer.Number("program");
      one["range"] = answer.Text("range");
      one["in_range"] = answer.Text("in_range") == "yes";
      one["log_directory"] = answer.Text("directory");
      one["bytes"] = answer.Number("bytes");
      one["dropped"] = answer.Number("dropped");
      one["threads"] = answer.Number("threads");
      if (row.log_read) {
        one["records"] = row.records;
        one["kinds"] = row.kinds;
      }
      one["in_flight"] = nlohmann::ordered_json::array();
      for (const launch::InFlight& work : answer.LongWork())
        one["in_flight"].push_back({{"kernel", work.kernel},
                                    {"gpu", work.gpu},
                                    {"queue", work.queue},
                                    {"seconds", work.seconds}});
      one["command"] = launch::ProcessCommand(row.process);
    } else {
      one["error"] = answer.error;
    }
    list.push_back(std::move(one));
  }
  // A path need not be UTF-8, JSON must.
  fmt::print("{}\n", list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace rochound::cli
