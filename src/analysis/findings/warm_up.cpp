// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "analysis/findings/rule.h"
#include "analysis/idle_sweep.h"

namespace rochound::analysis {
namespace {

struct OneStep {
  std::string name;
  int64_t wall_ns = 0, gpu_ns = 0;
};

// When a step began.
int64_t BeginOf(const Picture& picture, const OneStep& step) {
  const Table& begin = picture.Rows(
      "SELECT min(a.start) AS start FROM rocpd_api a JOIN rocpd_ustring u ON u.id = a.args_id "
      "WHERE u.string = " +
      store::duck::Literal(step.name));
  return begin.rows.empty() ? 0 : RowView(begin, 0).Int("start") - picture.facts().begin;
}

// The rules that tell of idle time by its cause.
std::vector<std::string> RulesOf(const std::string& cause) {
  if (cause == IdleCauseName(IdleCause::kOutsideHip)) return {"host-work", "cpu-work"};
  if (cause == IdleCauseName(IdleCause::kCodeLoading)) return {"code-loading"};
  if (cause == IdleCauseName(IdleCause::kInitialisation)) return {"initialisation"};
  if (cause == IdleCauseName(IdleCause::kSync)) return {"synchronization"};
  if (cause == IdleCauseName(IdleCause::kOtherCall)) return {"other-call", "allocation"};
  return {};
}

// What the GPU waits for from the first steady step on. What it waited for in the first steps is
// taken from the rules about it, so that they tell of the steady state.
std::string SteadyState(const Picture& picture, const OneStep& first, const OneStep& steady,
                        Match* match) {
  const int64_t begin = BeginOf(picture, first), from = BeginOf(picture, steady);
  std::map<std::string, int64_t> causes;
  picture.ForEach("idle", "gaps", [&](const RowView& row) {
    if (row.Int("gpu") != picture.gpu() || row.Int("at_ns") < begin) return;
    if (row.Int("at_ns") < from) {
      for (const std::string& rule : RulesOf(row.Text("cause")))
        match->takes[rule] += row.Int("cause_ns");
      return;
    }
    const std::string what = row.Text("what");
    causes[row.Text("cause") + (what.empty() ? "" : " (" + what + ")")] += row.Int("cause_ns");
  });
  const auto most =
      std::max_element(causes.begin(), causes.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == causes.end()) return {};
  return fmt::format("; from {} on the GPU is idle most by {}, {}", steady.name, most->first,
                     Duration(most->second));
}

}  // namespace

// The first steps of a thread are much longer than the others, which are alike. It would be wrong to
// promise their time where the recording is the beginning of a long run: never sure.
std::optional<Match> FindWarmUp(const Picture& picture) {
  constexpr size_t kLeastSteps = 4;
  std::map<std::pair<int64_t, int64_t>, std::vector<OneStep>> threads;
  picture.ForEach("variability", "steps", [&](const RowView& row) {
    threads[{row.Int("pid"), row.Int("thread")}].push_back(
        {row.Text("step"), row.Int("wall_ns"), row.Int("gpu_ns")});
  });
  Match match;
  for (const auto& [thread, steps] : threads) {
    if (steps.size() < kLeastSteps) continue;
    std::vector<int64_t> late;
    for (size_t i = steps.size() / 2; i < steps.size(); ++i) late.push_back(steps[i].wall_ns);
    std::sort(late.begin(), late.end());
    const int64_t steady = late[late.size() / 2];
    // Steps that differ as much among themselves say nothing of the first ones.
    if (late.back() * 2 > steady * 3) continue;
    size_t warm = 0;
    int64_t excess = 0;
    while (warm < steps.size() / 3 + 1 && steps[warm].wall_ns * 2 > steady * 3)
      excess += steps[warm++].wall_ns - steady;
    if (warm == 0 || steps[0].wall_ns < 2 * steady || excess <= match.gain_ns) continue;
    const OneStep& first = steps[warm];
    match = {};
    match.gain_ns = excess;
    match.sentence = fmt::format(
        "{} {}, a step after that {}: {} ({}) are warm-up.",
        warm == 1 ? std::string("The first step takes")
                  : fmt::format("The first {} steps take", warm),
        Duration((excess + static_cast<int64_t>(warm) * steady) / static_cast<int64_t>(warm)) +
            (warm == 1 ? "" : " each"),
        Duration(steady), Duration(excess), Share(excess, picture.wall()));
    match.evidence = fmt::format("kernels take {} of {} in the first step, {} of {} in {}",
                                 Duration(steps[0].gpu_ns), Duration(steps[0].wall_ns),
                                 Duration(first.gpu_ns), Duration(first.wall_ns), first.name);
    match.evidence += SteadyState(picture, steps[0], first, &match);
    match.advice = fmt::format(
        "Judge the program by its steady state: record a later step, as with rochound run --range "
        "'{}'.",
        first.name);
  }
  if (match.gain_ns == 0) return std::nullopt;
  return match;
}

}  // namespace rochound::analysis
