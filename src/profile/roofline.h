// SPDX-License-Identifier: MIT
//
// The roofline of what was counted: operations by type, bytes, the times that both take at least on
// a device, and what follows from them. A software GPU counts the bytes that caches can and cannot
// save, and there is no measured time in it; hardware counters have the bytes that were moved, and
// the time that it took. Pure functions; offline.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "profile/architecture.h"
#include "profile/instruction_mix.h"

namespace rochound::profile {

enum class Verdict {
  kCompute,          // longer than all traffic, even if no line were ever found in a cache
  kMemory,           // the least traffic takes longer, even with caches without limits
  kDependsOnCaches,  // between both
  kUnknown,          // a peak or a count is missing
};
std::string_view NameOf(Verdict verdict);

struct Bytes {
  double compulsory = 0;  // distinct lines of 32 bytes, read and written
  double requested = 0;   // what lanes asked for
  double uncached = 0;    // all lines that instructions asked for, each time
};

// Traffic by the software GPU's model of caches, read and written.
struct ModelledTraffic {
  double to_l2 = 0;      // between L1 or the scalar cache and L2
  double beyond_l2 = 0;  // between L2 and the memory after it
  double memory = 0;     // with what the memory's own cache has to write some day
};

// What hardware counters say of the launches.
struct MeasuredTraffic {
  std::optional<double> memory_bytes;  // between L2 and the memory after it
  std::optional<double> l2_bytes;      // that L2 is asked for
  std::optional<double> seconds;       // that the launches took
};

// Launches of one kernel with one shape, together.
struct KernelRoofline {
  std::string kernel;
  std::array<uint64_t, 3> grid{};
  std::array<uint64_t, 3> workgroup{};
  uint64_t launches = 0;

  std::map<std::string, double> operations;  // that count here: "vector.f32"
  bool operations_known = true;              // of all types; false: a counter is missing
  double other_integers = 0;                 // of vector and scalar units: addresses, loops
  std::optional<Bytes> bytes;                // none: a launch lacks a count
  std::optional<ModelledTraffic> modelled;   // none: caches were not modelled
  std::optional<MeasuredTraffic> measured;   // none: a software GPU counted
  std::optional<double> compute_seconds;     // at least; none: a type has no peak
  std::optional<double> memory_seconds_least;
  std::optional<double> memory_seconds_most;
  std::optional<double> memory_seconds_modelled;
  Verdict verdict = Verdict::kUnknown;
  std::vector<std::string> reasons;  // the figures that led to the verdict

  double Operations() const;
  // The time that the kernel takes at least; 0 if nothing is known.
  double LeastSeconds() const;
  // Operations per byte: over the bytes that must be moved, or that were moved.
  std::optional<double> MostIntensity() const;
};

// Of the software GPU's counters. The longest first.
std::vector<KernelRoofline> MakeRooflines(const CounterSet& set, const Peaks& peaks);

// Of hardware counters, by those of the metrics that say what of the roofline they are. mixes:
// stand in for operations where no metric counts them (instruction_mix.h). The longest first.
base::Result<std::vector<KernelRoofline>> MakeMeasuredRooflines(
    const CounterSet& set, const Peaks& peaks, const std::vector<Metric>& metrics,
    const std::vector<InstructionMix>& mixes = {});

}  // namespace rochound::profile
