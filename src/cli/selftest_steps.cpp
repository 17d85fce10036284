// SPDX-License-Identifier: MIT
#include "cli/selftest_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/result.h"
#include "capture/replay/verdict.h"
#include "launch/limited_run.h"
#include "launch/run_environment.h"
#include "store/rpd/database.h"

namespace rochound::cli {
namespace {

namespace fs = std::filesystem;
using base::Result;
using capture::replay::Verdict;
using Counts = std::map<std::string, int64_t>;

constexpr int kSkipped = 77;  // the test programs' exit code for "not on this device"

// Launches that a replay cannot have, on any GPU.
const char* WhyNotReplayed(const std::string& program) {
  if (program == "device_printf") return "a kernel that prints needs the program's own threads";
  if (program == "hsa_dmabuf") return "the same memory at two addresses is two in a replay";
  if (program == "stream_memory_ops")
    return "another queue's kernel runs until this launch has, so it is never alone";
  return nullptr;
}

constexpr int64_t kMostCaptures = 4;

class Steps {
 public:
  Steps(const fs::path& program, const SelftestSettings& settings)
      : program_(program), settings_(settings) {}

  std::vector<StepResult> All() {
    if (Runs() && Recorded()) Replayed();
    return std::move(results_);
  }

 private:
  bool Add(const char* step, Outcome outcome, std::string why = "") {
    results_.push_back({step, outcome, std::move(why)});
    return outcome == Outcome::kSame;
  }

  Result<launch::LimitedRun> Start(std::vector<std::string> command) const {
    if (!settings_.softgpu.empty() && command[0] != settings_.rochound.string())
      command.insert(command.begin(),
                     {settings_.rochound.string(), "softgpu", "--gpu", settings_.softgpu, "--"});
    return launch::RunLimited(command, launch::Lines(launch::CurrentEnvironment()),
                              settings_.limit);
  }

  // rochound COMMAND OPTIONS [--softgpu GPU]
  std::vector<std::string> Ours(std::vector<std::string> words) const {
    words.insert(words.begin(), settings_.rochound.string());
    if (!settings_.softgpu.empty()) {
      words.emplace_back("--softgpu");
      words.push_back(settings_.softgpu);
    }
    return words;
  }

  static std::string Tail(const launch::LimitedRun& run) {
    const std::string& text = run.err.empty() ? run.out : run.err;
    return run.End() + ": " + text.substr(text.size() > 300 ? text.size() - 300 : 0);
  }

  // The program's own judgement.
  bool Runs() {
    settings_.progress("runs");
    const auto run = Start({program_.string()});
    if (!run.ok()) return Add("runs", Outcome::kDifferent, run.error().message);
    out_ = run.value().out;
    if (run.value().exit_code == kSkipped) {
      const size_t skip = out_.find("SKIP");
      return Add("runs", Outcome::kNotPossible,
                 skip != std::string::npos ? out_.substr(skip, out_.find('\n', skip) - skip) : "");
    }
    if (!run.value().ok()) return Add("runs", Outcome::kDifferent, Tail(run.value()));
    return Add("runs", Outcome::kSame);
  }

  // "counts-kernels process=main VectorAdd=1 Other=2": what the program launched.
  Counts Launched() const {
    Counts counts;
    std::istringstream lines(out_);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("counts-kernels ")) continue;
      std::istringstream words(line);
      for (std::string word; words >> word;) {
        const size_t equals = word.find('=');
        if (equals != std::string::npos && word.compare(0, equals, "process") != 0)
          counts[word.substr(0, equals)] += std::stoll(word.substr(equals + 1));
      }
    }
    return counts;
  }

  // The trace has what the program says that it launched.
  bool Recorded() {
    settings_.progress("recorded");
    const fs::path trace = settings_.scratch / "trace.rpd";
    auto command = Ours({"run", "-q", "-o", trace.string()});
    command.insert(command.end(), {"--", program_.string()});
    const auto run = Start(command);
    if (!run.ok()) return Add("recorded", Outcome::kDifferent, run.error().message);
    if (!run.value().ok()) return Add("recorded", Outcome::kDifferent, Tail(run.value()));
    const auto problem = CompareTrace(trace);
    if (!problem.ok()) return Add("recorded", Outcome::kDifferent, problem.error().message);
    return Add("recorded", problem.value().empty() ? Outcome::kSame : Outcome::kDifferent,
               problem.value());
  }

  Result<std::string> CompareTrace(const fs::path& trace) const {
    ROCHOUND_TRY(store::Database database,
                 store::Database::Open(trace, store::Database::Mode::kRead));
    for (const auto& [name, launches] : Launched()) {
      if (name == "Thrust") continue;  // the program cannot know the names of a library's kernels
      ROCHOUND_TRY(
          store::Statement count,
          database.Prepare("select count(*), count(case when o.end > o.start then 1 end) from "
                           "rocpd_op o join rocpd_string s on s.id = o.description_id where "
                           "instr(s.string, ?) > 0"));
      count.Bind(0, std::string_view(name));
      ROCHOUND_TRY(const bool row, count.Step());
      if (!row || count.Int(0) < launches)
        return fmt::format("{} was launched {} times, and {} are in the trace", name, launches,
                           row ? count.Int(0) : 0);
      if (count.Int(1) < launches)
        return fmt::format("{} of {} launches of {} have no time", launches - count.Int(1),
                           launches, name);
    }
    return std::string();
  }

  // One launch of the program's first kernel, captured and run again: the first one whose result
  // can be told from what was there before.
  bool Replayed() {
    const Counts launched = Launched();
    if (launched.empty() || launched.count("Thrust") != 0) return true;
    if (const char* why = WhyNotReplayed(program_.filename().string()))
      return Add("replayed", Outcome::kNotPossible, why);
    settings_.progress("replayed");
    const auto& [kernel, launches] = *launched.begin();
    const fs::path bundle = settings_.scratch / "launch.bundle";
    std::error_code ignored;
    for (int64_t nth = 1; nth <= std::min<int64_t>(launches, kMostCaptures); ++nth) {
      fs::remove_all(bundle, ignored);
      auto command = Ours({"capture", "-q", "--kernel", kernel, "--nth", std::to_string(nth), "-o",
                           bundle.string()});
      command.insert(command.end(), {"--", program_.string()});
      const auto captured = Start(command);
      if (!captured.ok()) return Add("replayed", Outcome::kDifferent, captured.error().message);
      if (!captured.value().ok())
        return Add("replayed", Outcome::kDifferent, Tail(captured.value()));
      const auto replayed = Start(Ours({"replay", "run", bundle.string()}));
      fs::remove_all(bundle, ignored);
      if (!replayed.ok()) return Add("replayed", Outcome::kDifferent, replayed.error().message);
      if (replayed.value().ok()) return Add("replayed", Outcome::kSame);
      if (replayed.value().exit_code == ExitCode(Verdict::kNotPossible))
        return Add("replayed", Outcome::kNotPossible, "this release of ROCm cannot replay");
      if (replayed.value().exit_code != ExitCode(Verdict::kNotVerified))
        return Add("replayed", Outcome::kDifferent, Tail(replayed.value()));
    }
    return Add("replayed", Outcome::kNotPossible,
               "its launches write nothing that can be verified");
  }

  const fs::path& program_;
  const SelftestSettings& settings_;
  std::string out_;
  std::vector<StepResult> results_;
};

}  // namespace

std::vector<StepResult> Selftest(const fs::path& program, const SelftestSettings& settings) {
  return Steps(program, settings).All();
}

}  // namespace rochound::cli
