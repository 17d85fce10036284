// SPDX-License-Identifier: MIT
//
// The judge's evidence about one candidate, and what follows from it. Filled in by judge.cpp, which
// runs things; here are plain values and pure functions, any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "optimize/candidate.h"
#include "optimize/clock_watch.h"
#include "optimize/precision.h"
#include "optimize/reason.h"
#include "profile/roofline.h"

namespace rochound::optimize {

// The same launch by both builds, by turns. The ratio is original over candidate; low and high hold
// 95% of what other choices of the same rounds give.
struct Measurement {
  double original = 0, candidate = 0;  // medians
  double ratio = 0, low = 0, high = 0;
  double floor = 0;  // no right candidate takes less; 0: not known
};

struct LaunchEvidence {
  std::string bundle;
  std::string shape;  // "grid 1024x1x1 in workgroups of 256x1x1"
  std::optional<Rejection> rejection;

  // What was compared.
  std::string comparison;              // the proof in words, or "within what the original gives"
  nlohmann::ordered_json differences;  // where it is not equal
  nlohmann::ordered_json within_tolerance;  // how far off, and where
  size_t other_inputs = 0;                  // how many were tried
  size_t varied_elements = 0;               // and how many elements were other ones
  size_t varied_integers = 0;
  bool special_inputs = false;  // NaN, infinities and the like
  std::optional<PrecisionErrors> precision;
  std::optional<ClockRange> clocks;  // of the GPU, while it was measured
  bool accesses_checked = false;
  bool validated = false;  // by the user's command
  std::vector<std::string> notes;

  std::optional<Measurement> model;    // cycles of the software GPU's model
  std::optional<Measurement> seconds;  // on a GPU
  uint64_t original_instructions = 0, candidate_instructions = 0;
  std::optional<profile::KernelRoofline> original_roofline, candidate_roofline;
};

struct Verdict {
  Reason reason = Reason::kCannotJudge;
  std::string message;  // what exactly, and where

  std::string kernel, demangled, target;
  std::string candidate;  // the file's name
  std::string sha256;     // of the code object that was judged
  std::string source_sha256;
  std::string metric;  // "modelled cycles", "GPU time"
  double speedup = 0, low = 0, high = 0;
  double margin = 0;
  std::vector<LaunchEvidence> launches;
  std::optional<Resources> original, resources;
  nlohmann::ordered_json roofline;      // before and after, as in roofline.json; null: not known
  std::string build_log;                // the compiler's, where it failed
  std::vector<std::string> gaps;        // of the confinement
  std::vector<std::string> not_varied;  // that was the same in every launch
  double seconds = 0;                   // that judging took

  bool accepted() const { return reason == Reason::kFaster; }
};

// Speed, of launches that have no rejection. margin: 0.02 wants 2% less. The launches' costs are
// added up; none may be slower by the margin on its own.
Rejection DecideSpeed(const std::vector<LaunchEvidence>& launches, bool on_gpu, double margin,
                      Verdict* verdict);

// What a search leaves out before anything is measured: less than a quarter of the best one's waves
// fit on the GPU. best: the cheapest right one so far, or none.
std::optional<Rejection> OccupancyTooLow(const Resources& resources,
                                         const std::optional<Resources>& best);
// That a launch fits at all; original: the captured kernel's, which does.
std::optional<Rejection> DoesNotFit(const Resources& resources, const Resources& original);

// A verdict about launches that were held out of a search: what is wrong there is wrong because the
// candidate is right for the others alone.
Verdict OfHeldOut(Verdict verdict);

std::string VerdictText(const Verdict& verdict);
nlohmann::ordered_json VerdictJson(const Verdict& verdict);
// The candidate's, of such JSON; none: it did not come so far.
std::optional<Resources> ResourcesIn(const nlohmann::ordered_json& verdict);

// 0 accepted, 1 wrong, 3 right and not faster, 4 not known.
int ExitCodeOf(Reason reason);

}  // namespace rochound::optimize
