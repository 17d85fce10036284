// SPDX-License-Identifier: MIT
#include "cli/report_command.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/exit_codes.h"
#include "base/log.h"
#include "cli/usage_formatter.h"
#include "optimize/journal_page.h"
#include "report/first_page.h"
#include "report/html.h"

namespace rochound::cli {
namespace {

constexpr const char* kTraces = "Flight logs, .rpd, rocpd .db, Chrome .json[.gz], Parquet folders";

int NoTrace(const std::string& command) {
  base::LogError(fmt::format("which trace? For example: rochound {} trace.rpd", command));
  return base::kExitUsage;
}

base::Result<std::string> ReadJournal(std::filesystem::path file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) file /= "journal.sqlite";
  if (!std::filesystem::exists(file, error))
    return base::Error{
        fmt::format("'{}' is not there; rochound optimize -o DIR writes it", file.string())};
  ROCHOUND_TRY(const auto journal, optimize::Journal::OpenToRead(file));
  return optimize::JournalPage(*journal);
}

}  // namespace

ReportCommand::ReportCommand(CLI::App& app)
    : Command(app.add_subcommand("report", "Write a trace's report: one HTML file for a browser")),
      step_pattern_(analysis::AskOptions().step_pattern),
      most_events_(report::HtmlOptions().most_events) {
  UsageFormatter::Set(*subcommand_, "rochound report TRACE... [-o report.html] [OPTIONS]");
  trace_.AddTo(*subcommand_, kTraces);
  subcommand_->add_option("-o,--output", output_, "The file (default: report.html)")
      ->type_name("FILE");
  subcommand_
      ->add_option("--events", most_events_,
                   "Events in the timeline at most; more are thinned (2000000)")
      ->type_name("N");
  subcommand_->add_flag("--by-queue", by_queue_,
                        "A lane per hardware queue in the timeline, not per HIP stream");
  subcommand_
      ->add_option("--profile", profile_,
                   "Show what rochound profile wrote into this folder, too: the roofline")
      ->type_name("DIR");
  subcommand_
      ->add_option("--optimize", optimize_,
                   "Show what rochound optimize tried, too: its folder, or the journal in it")
      ->type_name("JOURNAL");
  subcommand_
      ->add_option("--probe", probe_,
                   "Show what rochound probe -a report -l FILE wrote, too: source and\n"
                   "instructions that access memory, and the heat map")
      ->type_name("FILE");
  subcommand_
      ->add_option("--steps", step_pattern_,
                   "Regular expression of the ranges that are steps (step 1, ProfilerStep#1, ...)")
      ->type_name("REGEX");
}

const char* ReportCommand::examples() const {
  return R"(
Examples:
  rochound report trace.rpd                       writes report.html
  rochound report rank*.rpd -o ranks.html         several traces are one, each a node
  rochound report out/profile.rpd --profile out   with the roofline of rochound profile
  rochound report rochound-optimize/after.rpd --optimize rochound-optimize
  rochound report trace.rpd --probe probe.json    with rochound probe -a report -l probe.json

The file holds everything it shows and opens in any browser of 2023 or later,
without a network: overview, timeline, flame graph, and every question's
tables. Exit codes: 0 written, 2 wrong command line, 125 the trace cannot be
read or the file not written.
)";
}

int ReportCommand::Run(const std::vector<std::string>& /*program*/) {
  if (trace_.traces().empty()) return NoTrace(name());
  if (const std::string problem = OutputProblem(output_); !problem.empty()) return Usage(problem);
  auto trace = trace_.OpenForMany();
  if (!trace.ok()) return Failed(trace.error());
  report::HtmlOptions options;
  options.most_events = most_events_;
  options.profile = profile_;
  if (!optimize_.empty()) {
    auto page = ReadJournal(optimize_);
    if (!page.ok()) return Failed(page.error());
    options.optimize = std::move(page).value();
  }
  options.probe = probe_;
  options.ask.step_pattern = step_pattern_;
  if (by_queue_) options.lanes = analysis::Lanes::kQueues;
  const auto summary = report::WriteHtml(trace.value(), output_, options);
  if (!summary.ok()) return Failed(summary.error());
  fmt::print(stderr, "{}", report::DoubtsText(summary.value().doubts, {}));
  const std::string thinned =
      summary.value().kept < summary.value().events
          ? fmt::format(", the timeline thinned to {}", summary.value().kept)
          : "";
  fmt::print(stderr, "{}: {:.1f} MB, {} events{}\n", output_,
             static_cast<double>(summary.value().bytes) / 1e6, summary.value().events, thinned);
  return base::kExitSuccess;
}

TopCommand::TopCommand(CLI::App& app)
    : Command(app.add_subcommand("top", "Print what matters most about a trace")) {
  UsageFormatter::Set(*subcommand_, "rochound top TRACE... [OPTIONS]");
  trace_.AddTo(*subcommand_, kTraces);
  subcommand_->add_option("--rows", rows_, "Rows of each list (10)")->type_name("N");
  subcommand_->add_flag("--json", json_, "Print one JSON object, with all rows and exact numbers");
}

const char* TopCommand::examples() const {
  return R"(
Examples:
  rochound top trace.rpd
  rochound top rank*.rpd --rows 5

rochound explain tells more about each part, rochound report shows all of it in
a browser. Exit codes: 0 done, 2 wrong command line, 125 the trace cannot be
read.
)";
}

int TopCommand::Run(const std::vector<std::string>& /*program*/) {
  if (trace_.traces().empty()) return NoTrace(name());
  auto trace = trace_.OpenForMany();
  if (!trace.ok()) return Failed(trace.error());
  analysis::AskOptions ask;
  ask.limit = json_ ? 0 : rows_;
  const auto page = report::AskFirstPage(trace.value(), ask);
  if (!page.ok()) return Failed(page.error());
  fmt::print("{}", json_ ? report::FirstPageJson(page.value())
                         : report::FirstPageText(page.value(), rows_, TerminalStyle()));
  return base::kExitSuccess;
}

}  // namespace rochound::cli
