// SPDX-License-Identifier: MIT
#include "cli/optimize_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>

#include "base/count.h"
#include "base/exit_codes.h"
#include "base/files.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/sha256.h"
#include "base/units.h"
#include "cli/usage_formatter.h"
#include "optimize/builder.h"
#include "optimize/capture_launches.h"

namespace rochound::cli {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;
using nlohmann::ordered_json;
using optimize::Journal;
using optimize::JournalEntry;

constexpr const char* kOptimizeExamples = R"(
Examples:
  rochound optimize --kernel gemm --candidates tried -- ./app
  rochound optimize --kernel gemm --tune space.json --budget 10m -- ./app
  rochound optimize --kernel gemm --llm gemm.hip -- ./app
  rochound optimize log                  what was tried, and what became of it
  rochound optimize show 3               one candidate's verdict
  rochound optimize sent                 what a model was asked, and answered
  rochound optimize rollback             the program's own kernel again

Launches of the kernel are captured, in the shapes that take most time; candidates are
judged by them (rochound judge), the best also by launches that were held out of the
search, and it is put into a kernel cache, which rochound run --kernel-cache uses. Then
the program itself runs with and without it, by turns: only if it prints the same and is
faster is the kernel 'applied', otherwise it is taken out of the cache again. --check COMMAND
compares instead: it gets the two outputs as files.

--candidates judges every file of a folder. --tune searches a space of parameters, such as
{"source": "gemm.hip", "parameters": {"TILE": [8, 16], "flags": ["-O2", "-O3"]}}: what
cannot run, or has far fewer waves than the best one, is left out before it is measured;
then one launch is measured of up to --most points, and all launches of the best ones.
--llm has a model rewrite the kernel's source: any server that speaks OpenAI's chat
completions, named by ROCHOUND_LLM_URL (up to /v1), ROCHOUND_LLM_MODEL and
ROCHOUND_LLM_KEY. The source and what is known about the kernel are sent, captured data
never; docs/guides/optimize.md has the details.

All of it is in one folder (-o): journal.sqlite, bundles and cache. A run that was stopped
goes on where it was; nothing is measured twice. On a software GPU, faster means fewer
modelled cycles (docs/softgpu-counters.md), of a launch as of the program.

Exit codes: 0 applied, 2 wrong usage, 3 no candidate is equal and faster, 4 the program
with it is not equal or not faster, 125 it did not work.
)";

constexpr int kExitNothingBetter = 3, kExitNotApplied = 4;
constexpr size_t kFinalists = 4;
constexpr uint64_t kMostCandidate = uint64_t{64} << 20;

// Modelled cycles of all launches of a counters file.
Result<double> CyclesIn(const fs::path& file) {
  ROCHOUND_TRY(const std::string text, base::ReadFile(file, base::kMostText));
  double cycles = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const auto record = ordered_json::parse(text.substr(at, end - at), nullptr, false);
    if (record.is_object() && record.contains("model"))
      cycles += record["model"].value("cycles", 0.0);
    at = end + 1;
  }
  return cycles;
}

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

std::string Row(const JournalEntry& entry) {
  return fmt::format("{:>4}  {:<12} {:<20} {:>8}  {} {}\n", entry.id, entry.state, entry.reason,
                     entry.speedup > 0 ? fmt::format("{:.2f}", entry.speedup) : "",
                     base::Printable(entry.name), base::Printable(entry.flags));
}

}  // namespace

struct OptimizeCommand::Search {
  std::unique_ptr<Journal> journal;
  // Of every launch that the search may see, and of the first one.
  std::unique_ptr<optimize::Judge> all, first;
  std::unique_ptr<optimize::Judge> held_out;  // of the others, from acceptance on
  optimize::CapturedLaunches launches;
  std::string salt;  // what a verdict depends on beside the candidate and the launches
  optimize::JudgeOptions options;
  optimize::JudgeTools tools;
  std::optional<std::chrono::steady_clock::time_point> end;
  std::vector<JournalEntry> accepted;
  std::set<int64_t> rejected;  // of these, by launches that were held out
  size_t done = 0, total = 0, measured = 0;
  double seconds = 0;

  bool Late() const { return end && std::chrono::steady_clock::now() > *end; }
};

const char* OptimizeCommand::examples() const { return kOptimizeExamples; }

OptimizeCommand::OptimizeCommand(CLI::App& app)
    : Command(
          app.add_subcommand("optimize", "Put a faster kernel into a program, if it is equal")) {
  UsageFormatter::Set(
      *subcommand_,
      "rochound optimize [--kernel REGEX] GENERATOR [OPTIONS] -- PROGRAM "
      "[ARGUMENTS]\n       rochound optimize log|show ID|sent [ID]|rollback [-o DIR]");
  const auto option = [&](const char* name, auto& value, const char* type,
                          const char* description) {
    return subcommand_->add_option(name, value, description)
        ->type_name(type)
        ->allow_extra_args(false);
  };
  subcommand_->add_option("words", words_, "log, show, sent or rollback")->type_name("");
  option("--kernel", kernel_, "REGEX", "Which kernel (default: the one that is worth most)");
  option("--candidates", candidates_, "DIR", "Judge every code object and source of this folder");
  option("--tune", tune_, "FILE", "Search this space of parameters");
  option("--budget", budget_, "TIME", "Begin no candidate after this time, such as 10m");
  option("--most", most_, "N", "--tune: measure at most so many points (default: 40)");
  option("--seed", seed_, "N", "--tune: where to begin (default: 1)");
  option("--check", check_, "COMMAND",
         "Compares the program's two outputs (default: they are the same)");
  option("--runs", rounds_, "N", "How often the program runs with and without it (default: 3)")
      ->check(CLI::PositiveNumber);
  option("-o,--output", output_, "DIR", "Folder for all that is kept (default: rochound-optimize)");
  llm_.AddTo(subcommand_);
  settings_.AddTo(subcommand_);
  subcommand_->add_flag("--json", json_, "log, show and sent: print JSON");
}

std::string OptimizeCommand::Problem(const std::vector<std::string>& program) const {
  if (!words_.empty()) {
    const bool known =
        words_[0] == "log" || words_[0] == "show" || words_[0] == "sent" || words_[0] == "rollback";
    if (!known) return fmt::format("'{}' is none of log, show, sent, rollback", words_[0]);
    if (words_[0] == "show" && words_.size() != 2) return "which one? rochound optimize show 3";
    return program.empty() ? "" : words_[0] + " starts no program";
  }
  const int generators =
      (candidates_.empty() ? 0 : 1) + (tune_.empty() ? 0 : 1) + (llm_.wanted() ? 1 : 0);
  if (generators != 1)
    return "who makes candidates? One of --candidates DIR, --tune FILE and --llm FILE";
  if (const std::string problem = llm_.Problem(); !problem.empty()) return problem;
  if (program.empty())
    return "no program given; example: rochound optimize --candidates tried -- ./app";
  if (!budget_.empty() && !base::ParseTime(budget_)) return "--budget: not a time such as 10m";
  return settings_.Problem();
}

fs::path OptimizeCommand::CacheFile() const { return folder() / "cache" / "kernel.hsaco"; }

int OptimizeCommand::Run(const std::vector<std::string>& program) {
  if (const std::string problem = Problem(program); !problem.empty()) return Usage(problem);
  const auto result = [&]() -> Result<int> {
    if (words_.empty()) return Optimize(program);
    std::error_code error;
    const fs::path file = folder() / "journal.sqlite";
    if (!fs::exists(file, error))
      return Error{fmt::format("'{}' is not there: nothing was optimized in that folder (-o)",
                               file.string())};
    ROCHOUND_TRY(const auto journal,
                 words_[0] == "rollback" ? Journal::Open(file) : Journal::OpenToRead(file));
    return words_[0] == "log"    ? Log(*journal)
           : words_[0] == "show" ? Show(*journal)
           : words_[0] == "sent" ? Sent(*journal)
                                 : Rollback(*journal);
  }();
  if (result.ok()) return result.value();
  base::LogError(result.error().message);
  return base::kExitSetup;
}

int OptimizeCommand::Log(Journal& journal) const {
  const auto entries = journal.All();
  const auto events = journal.Events();
  if (!entries.ok() || !events.ok()) {
    base::LogError((entries.ok() ? events.error() : entries.error()).message);
    return base::kExitSetup;
  }
  if (json_) {
    ordered_json list = ordered_json::array();
    for (const JournalEntry& entry : entries.value())
      list.push_back({{"id", entry.id},
                      {"name", entry.name},
                      {"flags", entry.flags},
                      {"stage", entry.stage},
                      {"state", entry.state},
                      {"reason", entry.reason},
                      {"message", entry.message},
                      {"speedup", entry.speedup},
                      {"cost", entry.cost},
                      {"sha256", entry.sha256},
                      {"seconds", entry.seconds},
                      {"at", entry.at}});
    fmt::print("{}\n", ordered_json{{"candidates", list}, {"events", events.value()}}.dump(
                           2, ' ', false, ordered_json::error_handler_t::replace));
    return base::kExitSuccess;
  }
  for (const JournalEntry& entry : entries.value()) fmt::print("{}", Row(entry));
  for (const std::string& event : events.value()) fmt::print("{}\n", base::Printable(event));
  return base::kExitSuccess;
}

int OptimizeCommand::Show(Journal& journal) const {
  const auto entry = journal.Get(strtoll(words_[1].c_str(), nullptr, 10));
  if (!entry.ok() || !entry.value()) {
    base::LogError(entry.ok() ? fmt::format("there is no candidate {}", words_[1])
                              : entry.error().message);
    return base::kExitFailure;
  }
  if (!json_) fmt::print("{}{}\n", Row(*entry.value()), base::Printable(entry.value()->message));
  fmt::print("{}\n", ordered_json::parse(entry.value()->verdict, nullptr, false).dump(2));
  return base::kExitSuccess;
}

int OptimizeCommand::Sent(Journal& journal) const {
  const auto exchanges = journal.Exchanges();
  if (!exchanges.ok()) {
    base::LogError(exchanges.error().message);
    return base::kExitSetup;
  }
  const int64_t wanted = words_.size() > 1 ? strtoll(words_[1].c_str(), nullptr, 10) : 0;
  ordered_json list = ordered_json::array();
  for (const optimize::Exchange& one : exchanges.value()) {
    if (wanted != 0 && one.id != wanted) continue;
    list.push_back({{"id", one.id},
                    {"at", one.at},
                    {"url", one.url},
                    {"request", one.request},
                    {"answer", one.answer},
                    {"problem", one.problem},
                    {"seconds", one.seconds}});
    if (json_) continue;
    fmt::print("{:>4}  {} {}  sent {} bytes, {}\n", one.id, one.at, base::Printable(one.url),
               one.request.size(),
               one.problem.empty()
                   ? fmt::format("answered {} bytes in {:.1f} s", one.answer.size(), one.seconds)
                   : base::Printable(one.problem));
    if (wanted != 0)
      fmt::print("{}\n\n{}\n", base::Printable(one.request), base::Printable(one.answer));
  }
  if (json_) fmt::print("{}\n", list.dump(2, ' ', false, ordered_json::error_handler_t::replace));
  return base::kExitSuccess;
}

int OptimizeCommand::Rollback(Journal& journal) const {
  std::error_code error;
  const bool removed = fs::remove(CacheFile(), error);
  const auto entries = journal.All();
  if (!entries.ok()) {
    base::LogError(entries.error().message);
    return base::kExitSetup;
  }
  for (const JournalEntry& entry : entries.value())
    if (entry.state == "applied")
      if (const auto set = journal.SetState(entry.id, "rolled back"); !set.ok())
        base::LogError(set.error().message);
  fmt::print("{}\n",
             removed ? "rolled back: the kernel cache is empty" : "nothing is in the kernel cache");
  return base::kExitSuccess;
}

Result<JournalEntry> OptimizeCommand::Judged(Search* search, const fs::path& file,
                                             const std::vector<std::string>& flags, bool first,
                                             const optimize::Judge::Gate& gate) {
  ROCHOUND_TRY(const std::string bytes, base::ReadFile(file, kMostCandidate));
  const std::string key =
      base::Sha256(fmt::format("{}\n{}\n{}\n{}\n{}", search->salt, first,
                               first ? search->launches.first_key : search->launches.seen_key,
                               fmt::join(flags, "\n"), base::Sha256(bytes)));
  ROCHOUND_TRY(auto known, search->journal->Find(key));
  if (known) {
    if (known->reason == "faster" && !first) search->accepted.push_back(*known);
    return *known;
  }
  optimize::Judge& judge = first ? *search->first : *search->all;
  ROCHOUND_TRY(const optimize::Verdict verdict, judge.JudgeFile(file, {}, flags, gate));
  JournalEntry entry = optimize::EntryOf(verdict, judge.object());
  entry.key = key;
  entry.flags = fmt::format("{}", fmt::join(flags, " "));
  entry.stage = first ? "first" : "all";
  ROCHOUND_CHECK(search->journal->Add(&entry));
  if (verdict.accepted() && !first) search->accepted.push_back(entry);
  ++search->measured;
  search->seconds += verdict.seconds;
  fmt::print("{}", Row(entry));
  const size_t left = search->total - std::min(search->total, search->done + 1);
  if (left > 0)
    base::LogInfo(fmt::format(
        "{} of {}; about {:.0f} s left", search->done + 1, search->total,
        search->seconds / static_cast<double>(search->measured) * static_cast<double>(left)));
  return entry;
}

Result<void> OptimizeCommand::JudgeFolder(Search* search) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(candidates_, error))
    if (file.is_regular_file()) files.push_back(file.path());
  if (error) return base::ErrnoError("cannot read", candidates_, error.value());
  std::sort(files.begin(), files.end());
  search->total = files.size();
  for (const fs::path& file : files) {
    if (search->Late()) {
      base::LogInfo("the budget is used up; the same command goes on with the rest");
      break;
    }
    ROCHOUND_CHECK([&]() -> Result<void> {
      ROCHOUND_TRY(const JournalEntry entry, Judged(search, file, {}, false));
      return {};
    }());
    ++search->done;
  }
  return {};
}

Result<void> OptimizeCommand::Tune(Search* search) {
  ROCHOUND_TRY(const optimize::Space space, optimize::ReadSpace(tune_));
  std::vector<size_t> counts;
  for (const auto& parameter : space.parameters) counts.push_back(parameter.values.size());
  optimize::Tuner tuner(counts, seed_, most_);
  search->total = std::min<size_t>(most_, space.points());
  const auto flags_of = [&](const optimize::Point& point) {
    std::vector<std::string> flags = space.flags;
    for (std::string& flag : optimize::FlagsOf(space, point)) flags.push_back(std::move(flag));
    return flags;
  };
  std::optional<optimize::Resources> best_resources;
  double best_cost = 0;
  const auto gate = [&](const optimize::Resources& resources) {
    return optimize::OccupancyTooLow(resources, best_resources);
  };
  while (const auto point = tuner.Next()) {
    if (search->Late()) break;
    ROCHOUND_TRY(const JournalEntry entry,
                 Judged(search, space.source, flags_of(*point), true, gate));
    // Without a cost it did not come to be measured: it does not build, fit or run.
    const bool right =
        entry.cost > 0 &&
        (entry.reason == "faster" || entry.reason == "no-difference" || entry.reason == "slower");
    tuner.Report(*point, right ? std::optional<double>(entry.cost) : std::nullopt, entry.cost > 0);
    search->done = tuner.measured();
    if (!right || (best_cost > 0 && entry.cost >= best_cost)) continue;
    best_cost = entry.cost;
    best_resources = optimize::ResourcesIn(ordered_json::parse(entry.verdict, nullptr, false));
  }
  const auto best = tuner.Best();
  search->total = 0;
  for (size_t i = 0; i < std::min(best.size(), kFinalists); ++i) {
    if (search->Late() && !search->accepted.empty()) break;
    ROCHOUND_TRY(const JournalEntry entry,
                 Judged(search, space.source, flags_of(best[i].first), false));
    if (entry.reason != "faster") continue;
    ROCHOUND_TRY(const bool holds, Holds(search, entry));
    if (holds) break;  // the others were worse in the first launch
  }
  return {};
}

Result<void> OptimizeCommand::AskModel(Search* search, const std::vector<std::string>& program,
                                       const std::vector<fs::path>& bundles,
                                       const optimize::JudgeTools& tools) {
  LlmTask task;
  task.program = program;
  task.bundles = bundles;
  task.folder = folder();
  task.hipcc = tools.hipcc;
  task.flags = settings_.options().flags;
  task.softgpu = settings_.softgpu();
  task.verify = settings_.options().verify;
  task.journal = search->journal.get();
  task.judge = [this, search](const fs::path& file, const std::vector<std::string>& flags) {
    return Judged(search, file, flags, false);
  };
  task.late = [search] { return search->Late(); };
  auto done = llm_.Run(task);
  if (done.ok() || search->accepted.empty()) return done;
  base::LogWarning(done.error().message);
  return {};
}

// What the search has not seen decides last: a candidate that is right for the other launches alone
// is made for them.
Result<JournalEntry> OptimizeCommand::JudgedHeldOut(Search* search, const JournalEntry& candidate) {
  const std::string key = base::Sha256(fmt::format(
      "{}\nheld out\n{}\n{}", search->salt, search->launches.held_out_key, candidate.sha256));
  ROCHOUND_TRY(auto known, search->journal->Find(key));
  if (known) return *known;
  if (!search->held_out) {
    ROCHOUND_TRY(search->held_out,
                 optimize::Judge::Open(search->launches.held_out, search->options, search->tools));
  }
  const fs::path file = search->tools.temporary / "candidate.hsaco";
  ROCHOUND_CHECK(base::WriteFile(file, candidate.object));
  auto judged = search->held_out->JudgeFile(file);
  std::error_code ignored;
  fs::remove(file, ignored);
  if (!judged.ok()) return judged.error();
  JournalEntry entry = optimize::EntryOf(optimize::OfHeldOut(std::move(judged).value()), "");
  entry.key = key;
  entry.name = candidate.name;
  entry.flags = candidate.flags;
  entry.stage = "held-out";
  entry.state = "judged";
  ROCHOUND_CHECK(search->journal->Add(&entry));
  fmt::print("{}", Row(entry));
  return entry;
}

Result<bool> OptimizeCommand::Holds(Search* search, const JournalEntry& candidate) {
  if (search->launches.held_out.empty()) return true;
  ROCHOUND_TRY(const JournalEntry entry, JudgedHeldOut(search, candidate));
  if (entry.reason == "faster" || entry.reason == "no-difference") return true;
  if (!search->rejected.insert(candidate.id).second) return false;
  fmt::print("candidate {} is rejected: {}\n", candidate.id, base::Printable(entry.message));
  if (candidate.state != "rejected")
    ROCHOUND_CHECK(search->journal->SetState(candidate.id, "rejected"));
  return false;
}

Result<std::optional<JournalEntry>> OptimizeCommand::BestThatHolds(Search* search) {
  std::vector<JournalEntry>& accepted = search->accepted;
  std::stable_sort(
      accepted.begin(), accepted.end(),
      [](const JournalEntry& one, const JournalEntry& other) { return one.cost < other.cost; });
  if (search->launches.held_out.empty() && !accepted.empty())
    base::LogInfo("no launch was held out: candidates were judged by what the search saw");
  for (const JournalEntry& candidate : accepted) {
    ROCHOUND_TRY(const bool holds, Holds(search, candidate));
    if (holds) return std::optional<JournalEntry>(candidate);
  }
  return std::optional<JournalEntry>();
}

Result<std::string> OptimizeCommand::Apply(Search* search, const JournalEntry& best,
                                           const std::vector<std::string>& program) {
  ROCHOUND_TRY(const fs::path self, base::ExecutablePath());
  std::error_code error;
  fs::create_directories(CacheFile().parent_path(), error);
  if (error) return base::ErrnoError("cannot create", CacheFile().parent_path(), error.value());
  chmod(CacheFile().parent_path().c_str(), 0700);
  ROCHOUND_CHECK(base::WriteFileAtomically(CacheFile(), best.object));
  chmod(CacheFile().c_str(), 0600);
  ROCHOUND_CHECK(
      search->journal->AddEvent(fmt::format("candidate {} is in the kernel cache", best.id)));

  const bool counted = !settings_.softgpu().empty();
  const fs::path counters = folder() / "program.jsonl";
  std::string outputs[2];
  int codes[2] = {};
  std::vector<double> costs[2], walls[2];
  for (uint64_t round = 0; round < rounds_ * 2; ++round) {
    // By turns, and the other one first each time.
    const size_t after = (round % 2) ^ (round / 2 % 2);
    const fs::path trace = folder() / (after == 1 ? "after.rpd" : "before.rpd");
    std::vector<std::string> command = {self.string(), "run", "--quiet",
                                        "--force",     "-o",  trace.string()};
    if (after == 1)
      command.insert(command.end(), {"--kernel-cache", CacheFile().parent_path().string()});
    command.emplace_back("--");
    if (counted)
      command.insert(command.end(), {self.string(), "softgpu", "--gpu", settings_.softgpu(),
                                     "--counters", counters.string(), "--"});
    command.insert(command.end(), program.begin(), program.end());
    ROCHOUND_TRY(const launch::LimitedRun run, optimize::RunToEnd(command));
    walls[after].push_back(run.seconds);
    if (counted) {
      ROCHOUND_TRY(const double cycles, CyclesIn(counters));
      costs[after].push_back(cycles);
    } else {
      costs[after].push_back(run.seconds);
    }
    if (costs[after].size() == 1) {
      outputs[after] = run.out;
      codes[after] = run.exit_code;
    } else if (check_.empty() && (run.out != outputs[after] || run.exit_code != codes[after])) {
      return std::string(
          "the program does not print the same each time; compare its outputs with --check "
          "COMMAND");
    }
  }
  if (codes[0] != codes[1])
    return fmt::format("the program ends with {} with the kernel, and with {} without it", codes[1],
                       codes[0]);
  if (!check_.empty()) {
    const fs::path before = folder() / "before.out", after = folder() / "after.out";
    ROCHOUND_CHECK(base::WriteFile(before, outputs[0]));
    ROCHOUND_CHECK(base::WriteFile(after, outputs[1]));
    ROCHOUND_TRY(
        const launch::LimitedRun run,
        optimize::RunToEnd({"/bin/sh", "-c",
                            fmt::format("{} '{}' '{}'", check_, before.string(), after.string())}));
    if (!run.ok()) return fmt::format("'{}' {}", check_, run.End());
  } else if (outputs[0] != outputs[1]) {
    return std::string("the program prints something else with the kernel");
  }
  ROCHOUND_TRY(const launch::LimitedRun swaps,
               optimize::RunToEnd({self.string(), "explain", "swaps",
                                   (folder() / "after.rpd").string(), "--json"}));
  if (swaps.out.find("\"swapped\"") == std::string::npos)
    return std::string("the program did not use the kernel: rochound explain swaps tells why");
  const double before = MedianOf(costs[0]), after = MedianOf(costs[1]);
  const std::string figures = counted
                                  ? fmt::format(
                                        "modelled cycles of all kernels {:.0f} before, {:.0f} "
                                        "after ({:.2f} times); that is a model, no time of silicon",
                                        before, after, after > 0 ? before / after : 0)
                                  : fmt::format("{:.3f} s before, {:.3f} s after ({:.2f} times)",
                                                before, after, after > 0 ? before / after : 0);
  ROCHOUND_CHECK(search->journal->AddEvent("the program: " + figures));
  fmt::print("the program prints the same, {} times by turns: {}\n", rounds_, figures);
  if (after >= before) return "the program is not faster with it: " + figures;
  return std::string();
}

Result<int> OptimizeCommand::Optimize(const std::vector<std::string>& program) {
  std::error_code error;
  if (llm_.wanted()) ROCHOUND_CHECK(llm_.Prepare());
  fs::create_directories(folder() / "bundles", error);
  if (error) return base::ErrnoError("cannot create", folder(), error.value());
  // One at a time: what a killed run left is removed below.
  const int lock = open((folder() / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0)
    return Error{fmt::format("another rochound optimize is at work in '{}'", folder().string())};
  const fs::path temporary = fs::absolute(folder()) / "tmp";
  fs::remove_all(temporary, error);
  fs::create_directory(temporary, error);
  if (error) return base::ErrnoError("cannot create", temporary, error.value());
  for (const auto& left : fs::directory_iterator(folder() / "bundles", error)) {
    std::error_code ignored;
    if (left.path().extension() != ".bundle") fs::remove_all(left.path(), ignored);
  }
  Search search;
  if (const auto budget = base::ParseTime(budget_))
    search.end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(*budget);
  ROCHOUND_TRY(search.journal, Journal::Open(folder() / "journal.sqlite"));
  ROCHOUND_CHECK(search.journal->AddEvent(fmt::format("begun: {}", fmt::join(program, " "))));
  ROCHOUND_TRY(search.launches, optimize::CaptureLaunches({folder(), kernel_, settings_.softgpu(),
                                                           program, search.journal.get()}));
  const std::vector<fs::path>& bundles = search.launches.seen;
  optimize::JudgeTools& tools = search.tools;
  ROCHOUND_TRY(tools, FindJudgeTools(bundles.front().string(), settings_.softgpu()));
  tools.temporary = temporary;
  optimize::JudgeOptions& options = search.options;
  options = settings_.options();
  if (llm_.wanted()) options.headers = optimize::HeadersOf(llm_.source());
  // What a reference computes may change in its place.
  std::string reference;
  if (!options.reference.empty()) {
    ROCHOUND_TRY(const std::string bytes, base::ReadFile(options.reference, kMostCandidate));
    reference = base::Sha256(bytes);
  }
  search.salt =
      fmt::format("{} {} {} {} {} {} {} {} {} {}", options.verify, options.as, options.validate,
                  options.margin, options.on_gpu, fmt::join(options.flags, " "),
                  search.launches.kernel, reference, options.other_inputs, options.special);
  ROCHOUND_TRY(search.all, optimize::Judge::Open(bundles, options, tools));
  if (!tune_.empty()) {
    ROCHOUND_TRY(search.first, optimize::Judge::Open({bundles.front()}, options, tools));
  }
  ROCHOUND_CHECK(llm_.wanted()   ? AskModel(&search, program, bundles, tools)
                 : tune_.empty() ? JudgeFolder(&search)
                                 : Tune(&search));
  if (llm_.prints_only()) return base::kExitSuccess;
  ROCHOUND_TRY(const std::optional<JournalEntry> best, BestThatHolds(&search));
  if (!best) {
    fmt::print("no candidate is equal and faster; rochound optimize log -o {} has the reasons\n",
               folder().string());
    return kExitNothingBetter;
  }
  if (best->state == "applied" && fs::exists(CacheFile(), error)) {
    fmt::print("candidate {} is applied already\n", best->id);
    return base::kExitSuccess;
  }
  if (llm_.wanted() &&
      !llm_.Approves(fmt::format("Use candidate {} ({}), {:.2f} times faster in its launches?",
                                 best->id, best->name, best->speedup))) {
    fmt::print("not applied: not approved\n");
    return kExitNotApplied;
  }
  ROCHOUND_TRY(const std::string problem, Apply(&search, *best, program));
  ROCHOUND_CHECK(search.journal->SetState(best->id, problem.empty() ? "applied" : "not applied"));
  if (!problem.empty()) {
    fs::remove(CacheFile(), error);
    fmt::print("not applied: {}\n", base::Printable(problem));
    return kExitNotApplied;
  }
  fmt::print(
      "applied: candidate {} ({}), {:.2f} times faster in its launches\n  use it: rochound run "
      "--kernel-cache {} -- {}\n",
      best->id, base::Printable(best->flags.empty() ? best->name : best->name + " " + best->flags),
      best->speedup, CacheFile().parent_path().string(), fmt::join(program, " "));
  return base::kExitSuccess;
}

}  // namespace rochound::cli
