// SPDX-License-Identifier: MIT
#include "swap/swap_verify.h"

#include <fmt/format.h>

#include <set>
#include <system_error>
#include <vector>

#include "base/count.h"
#include "base/files.h"
#include "base/log.h"
#include "capture/bundle.h"
#include "capture/pack.h"
#include "codeobj/demangle.h"
#include "launch/child_process.h"
#include "launch/replay_poison.h"
#include "launch/replay_process.h"
#include "report/replay_text.h"

namespace rochound::swap {
namespace {

namespace fs = std::filesystem;
using base::Result;
using capture::replay::Verdict;
using nlohmann::ordered_json;
using store::SwapComparison;

constexpr double kTimeoutSeconds = 60;  // for one launch
constexpr const char* kResults = "results.json";

// "1 element differs; the first is values[16383] (float): 3 instead of 2"
std::string DifferencesText(const ordered_json& differences) {
  const auto count = differences.value("count", uint64_t{0});
  std::string text = base::Count(count, "element differs", "elements differ");
  if (!differences.contains("first") || differences["first"].empty()) return text;
  const ordered_json& first = differences["first"][0];
  const std::string argument = report::TextIn(first, "argument");
  return text + fmt::format("; the first is {}[{}] ({}): {} instead of {}",
                            argument.empty() ? report::TextIn(first, "address") : argument,
                            first.value("index", uint64_t{0}), report::TextIn(first, "type"),
                            report::TextIn(first, "got"), report::TextIn(first, "expected"));
}

SwapComparison NotVerified(const std::string& reason) {
  return {store::kSwapNotVerified, reason.empty() ? "nobody said why" : reason};
}

// The process that ran both ended before it could judge. Without a word about a fault somebody may
// have ended it.
SwapComparison JudgeEnd(const ordered_json& answer) {
  const std::string guilty = report::TextIn(answer, "candidate");
  if (!guilty.empty() && guilty != "captured" && answer.contains("fault") &&
      !answer["fault"].contains("left_out"))
    return {store::kSwapDifferent,
            "it fails, where the original does not: " + report::TextIn(answer, "message")};
  return NotVerified(report::TextIn(answer, "message"));
}

struct Sample {
  fs::path bundle;  // as it was captured
  fs::path code;    // the candidate's
};

struct Compared {
  SwapComparison comparison;
  fs::path packed;     // the bundle
  std::string kernel;  // as people know it
};

Compared Compare(const Sample& sample, const std::string& softgpu) {
  Compared compared;
  compared.packed = sample.bundle.string() + ".bundle";
  const auto run = [&]() -> Result<SwapComparison> {
    ROCHOUND_CHECK(capture::Pack(sample.bundle, compared.packed));
    ROCHOUND_TRY(const capture::Bundle bundle, capture::Bundle::Open(compared.packed));
    compared.kernel = codeobj::Demangle(bundle.manifest().kernel);
    std::vector<std::string> arguments = {"compare",      compared.packed.string(),
                                          "--hsaco",      sample.code.string(),
                                          "--iterations", "0",
                                          "--warmup",     "0",
                                          "--show",       "1",
                                          "--timeout",    fmt::format("{}", kTimeoutSeconds)};
    const std::string ranges = launch::FindPoison(compared.packed, softgpu, kTimeoutSeconds);
    if (!ranges.empty()) arguments.insert(arguments.end(), {"--poison", ranges});
    ROCHOUND_TRY(const launch::ReplayAnswer answer, launch::RunReplay(arguments, softgpu));
    SwapComparison comparison = JudgeSwap(answer.answer);
    comparison.reason = fmt::format("launch {}{}{}", bundle.manifest().launch.match,
                                    comparison.reason.empty() ? "" : ": ", comparison.reason);
    return comparison;
  }();
  compared.comparison = run.ok() ? run.value() : NotVerified(run.error().message);
  return compared;
}

// Beside the trace, under a name that nobody has.
fs::path PlaceFor(const fs::path& rpd) {
  std::error_code error;
  for (int number = 1;; ++number) {
    fs::path place = rpd;
    place.replace_extension();
    place += fmt::format(".different-{}.bundle", number);
    if (!fs::exists(place, error)) return place;
  }
}

void Warn(const Compared& compared, const fs::path& bundle) {
  base::LogWarning(
      fmt::format("{}: the kernel that was swapped in gives another result than the original, {}. "
                  "Its launch is "
                  "kept: rochound replay compare '{}' with the candidate",
                  compared.kernel, compared.comparison.reason, bundle.string()));
}

}  // namespace

fs::path SwapSamples(const fs::path& log_directory) {
  return log_directory / "kernel-cache" / "samples";
}

SwapComparison JudgeSwap(const ordered_json& answer) {
  if (!answer.contains("candidates") || answer["candidates"].size() != 2) return JudgeEnd(answer);
  const ordered_json& original = answer["candidates"][0];
  const ordered_json& candidate = answer["candidates"][1];
  const Verdict was = launch::VerdictOf(original);
  const Verdict is = launch::VerdictOf(candidate);
  const std::string message = report::TextIn(candidate, "message");
  if (was == Verdict::kDifferent)
    return NotVerified(
        "run again, the original itself does not leave what it left in the program: it depends on "
        "something that is not in its arguments' memory");
  if (is == Verdict::kDifferent) {
    const std::string where =
        candidate.contains("differences") ? DifferencesText(candidate["differences"]) : "";
    return {store::kSwapDifferent, message.empty() || where.empty()
                                       ? message + where
                                       : fmt::format("{} ({})", message, where)};
  }
  // The original always gave the same.
  if (is == Verdict::kNotDeterministic && was != Verdict::kNotDeterministic)
    return {store::kSwapDifferent, "it does not give the same result each time, the original does"};
  if (is == Verdict::kEqual) return {store::kSwapEqual, report::TextIn(candidate, "proof")};
  return NotVerified(message);
}

void CompareSwaps(const fs::path& samples, const std::string& softgpu, const fs::path& rpd) {
  std::set<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(samples, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".hsaco") files.insert(it->path());
  ordered_json results = ordered_json::object();
  bool interrupted = false;
  for (const fs::path& file : files) {
    fs::path bundle = file;
    bundle.replace_extension();
    // Otherwise the agent's own record says why there is none.
    if (!fs::is_directory(bundle, error)) continue;
    Compared compared{{}, bundle, {}};
    if (!interrupted) compared = Compare({bundle, file}, softgpu);
    interrupted = interrupted || launch::ChildProcess::Interrupted();
    if (interrupted) compared.comparison = NotVerified("the comparison was interrupted");
    results[bundle.filename().string()] = {{"result", compared.comparison.result},
                                           {"reason", compared.comparison.reason}};
    const bool different = compared.comparison.result == store::kSwapDifferent;
    fs::path kept = compared.packed;
    if (different && !rpd.empty()) {
      kept = PlaceFor(rpd);
      fs::rename(compared.packed, kept, error);
      if (error) kept = compared.packed;
    }
    if (different) Warn(compared, kept);
    if (!rpd.empty() && kept == compared.packed) fs::remove_all(compared.packed, error);
  }
  if (results.empty()) return;
  const auto written = base::WriteFile(
      samples / kResults, results.dump(2, ' ', false, ordered_json::error_handler_t::replace));
  if (!written.ok()) base::LogWarning(written.error().message);
}

store::SwapComparisons ReadSwapComparisons(const fs::path& samples) {
  store::SwapComparisons comparisons;
  const auto text = base::ReadFile(samples / kResults, base::kMostText);
  if (!text.ok()) return comparisons;
  const auto json = ordered_json::parse(text.value(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return comparisons;
  for (const auto& [name, result] : json.items())
    if (result.is_object())
      comparisons[name] = {report::TextIn(result, "result"), report::TextIn(result, "reason")};
  return comparisons;
}

}  // namespace rochound::swap
