// SPDX-License-Identifier: MIT
#include "fleet/history/regressions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "analysis/statistics.h"

namespace rochound::fleet {
namespace {

// Of the logarithm of a median that a sketch of scale 5 knows to one bucket. A few runs may be in
// the same bucket by chance.
constexpr double kBucket = 0.693147 / 32;
constexpr double kLeastVariance = kBucket * kBucket / 12;

using Cell = std::tuple<std::string, int32_t, int32_t>;  // host, GPU, size of launch
using Group = std::vector<const Observation*>;
// By kernel and build.
using Groups = std::map<std::string, std::map<std::string, Group>>;

Cell CellOf(const Observation& one) { return {one.host, one.gpu, one.size_class}; }

// The change of the logarithm of a time, estimated within cells.
struct Shift {
  size_t cells = 0;
  size_t observations = 0;
  double by = 0;
  double error = 0;    // standard error of `by`
  double degrees = 0;  // of freedom; below 1: nothing is known about the error
};

Shift ShiftOf(const Group& before, const Group& after) {
  struct Sums {
    double before = 0, after = 0;
    double before_squares = 0, after_squares = 0;
    double before_count = 0, after_count = 0;
  };
  std::map<Cell, Sums> cells;
  for (const Observation* one : before) {
    Sums& sums = cells[CellOf(*one)];
    const double value = std::log(one->median_ns);
    sums.before += value;
    sums.before_squares += value * value;
    ++sums.before_count;
  }
  for (const Observation* one : after) {
    Sums& sums = cells[CellOf(*one)];
    const double value = std::log(one->median_ns);
    sums.after += value;
    sums.after_squares += value * value;
    ++sums.after_count;
  }
  Shift shift;
  double weights = 0, weighted = 0;
  for (const auto& [cell, sums] : cells) {
    if (sums.before_count == 0 || sums.after_count == 0) continue;
    ++shift.cells;
    shift.observations += static_cast<size_t>(sums.before_count + sums.after_count);
    const double weight =
        sums.before_count * sums.after_count / (sums.before_count + sums.after_count);
    weights += weight;
    weighted += weight * (sums.after / sums.after_count - sums.before / sums.before_count);
  }
  if (shift.cells == 0) return shift;
  shift.by = weighted / weights;
  // What is left over when each cell has its own level and all have the same change.
  double residual = 0;
  for (const auto& [cell, sums] : cells) {
    if (sums.before_count == 0 || sums.after_count == 0) continue;
    const double before_mean = sums.before / sums.before_count;
    const double after_mean = sums.after / sums.after_count;
    const double weight =
        sums.before_count * sums.after_count / (sums.before_count + sums.after_count);
    const double apart = after_mean - before_mean - shift.by;
    residual += sums.before_squares - sums.before_count * before_mean * before_mean +
                sums.after_squares - sums.after_count * after_mean * after_mean +
                weight * apart * apart;
  }
  shift.degrees = static_cast<double>(shift.observations) - static_cast<double>(shift.cells) - 1;
  if (shift.degrees >= 1)
    shift.error = std::sqrt(std::max(kLeastVariance, residual / shift.degrees) / weights);
  return shift;
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

uint64_t FirstSeen(const Group& group) {
  uint64_t first = UINT64_MAX;
  for (const Observation* one : group) first = std::min(first, one->first_ns);
  return first;
}

Build Describe(const Group& group, const std::set<Cell>* cells) {
  Build build;
  build.code_object = group.front()->code_object;
  build.first_seen_ns = FirstSeen(group);
  std::set<std::string> hosts, rocm, jobs;
  std::vector<double> medians;
  for (const Observation* one : group) {
    if (cells != nullptr && !cells->contains(CellOf(*one))) continue;
    ++build.runs;
    build.launches += one->launches;
    medians.push_back(one->median_ns);
    hosts.insert(one->host);
    jobs.insert(one->job);
    if (!one->rocm.empty()) rocm.insert(one->rocm);
  }
  build.median_ns = Median(std::move(medians));
  build.hosts.assign(hosts.begin(), hosts.end());
  build.rocm.assign(rocm.begin(), rocm.end());
  build.jobs.assign(jobs.begin(), jobs.end());
  return build;
}

std::set<Cell> CommonCells(const Group& one, const Group& two) {
  std::set<Cell> first, both;
  for (const Observation* observation : one) first.insert(CellOf(*observation));
  for (const Observation* observation : two)
    if (first.contains(CellOf(*observation))) both.insert(CellOf(*observation));
  return both;
}

// What kernels whose build stayed the same did between the same processes.
std::vector<double> UnchangedShifts(const Groups& groups, const std::string& kernel,
                                    const Group& before, const Group& after) {
  std::set<std::string> processes_before, processes_after;
  for (const Observation* one : before) processes_before.insert(one->process);
  for (const Observation* one : after) processes_after.insert(one->process);
  std::vector<double> shifts;
  for (const auto& [name, builds] : groups) {
    if (name == kernel) continue;
    for (const auto& [hash, group] : builds) {
      Group one, two;
      for (const Observation* observation : group) {
        if (processes_before.contains(observation->process)) one.push_back(observation);
        if (processes_after.contains(observation->process)) two.push_back(observation);
      }
      if (one.empty() || two.empty()) continue;
      const Shift shift = ShiftOf(one, two);
      if (shift.cells != 0) shifts.push_back(shift.by);
    }
  }
  return shifts;
}

struct Candidate {
  Comparison comparison;
  Shift shift;
};

}  // namespace

int32_t SizeClass(uint64_t work_items, uint64_t launches) {
  if (work_items == 0 || launches == 0) return -1;
  const double each = static_cast<double>(work_items) / static_cast<double>(launches);
  return static_cast<int32_t>(std::lround(std::log2(std::max(each, 1.0)) * 4));
}

const char* VerdictInWords(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSlower:
      return "slower";
    case Verdict::kFaster:
      return "faster";
    case Verdict::kSame:
      return "no certain change";
    case Verdict::kTooFewRuns:
      return "too few runs to tell";
    case Verdict::kNotComparable:
      return "no GPU ran both with launches of the same size";
  }
  return "";
}

std::vector<Comparison> CompareBuilds(const std::vector<Observation>& observations,
                                      const RegressionOptions& options) {
  Groups groups;
  for (const Observation& one : observations)
    if (!one.code_object.empty() && one.median_ns > 0)
      groups[one.kernel][one.code_object].push_back(&one);
  std::vector<Candidate> candidates;
  size_t tests = 0;
  for (const auto& [kernel, builds] : groups) {
    std::vector<const Group*> ordered;
    for (const auto& [hash, group] : builds) ordered.push_back(&group);
    std::sort(ordered.begin(), ordered.end(), [](const Group* a, const Group* b) {
      return std::pair(FirstSeen(*a), a->front()->code_object) <
             std::pair(FirstSeen(*b), b->front()->code_object);
    });
    for (size_t i = 1; i < ordered.size(); ++i) {
      // Other architectures have other builds of the same kernel: those share no GPU.
      const Group* before = nullptr;
      std::set<Cell> cells;
      for (size_t j = i; j-- > 0 && before == nullptr;) {
        cells = CommonCells(*ordered[j], *ordered[i]);
        if (!cells.empty()) before = ordered[j];
      }
      Candidate candidate;
      Comparison& comparison = candidate.comparison;
      comparison.kernel = kernel;
      comparison.before = Describe(before == nullptr ? *ordered[i - 1] : *before,
                                   before == nullptr ? nullptr : &cells);
      comparison.after = Describe(*ordered[i], before == nullptr ? nullptr : &cells);
      if (before == nullptr) {
        comparison.verdict = Verdict::kNotComparable;
      } else {
        candidate.shift = ShiftOf(*before, *ordered[i]);
        const auto unchanged = UnchangedShifts(groups, kernel, *before, *ordered[i]);
        comparison.unchanged = unchanged.size();
        const double drift = Median(unchanged);
        comparison.unchanged_by = std::expm1(drift);
        candidate.shift.by -= drift;
        comparison.by = std::expm1(candidate.shift.by);
        if (candidate.shift.degrees < 1)
          comparison.verdict = Verdict::kTooFewRuns;
        else
          ++tests;
      }
      candidates.push_back(std::move(candidate));
    }
  }
  std::vector<Comparison> compared;
  for (Candidate& candidate : candidates) {
    Comparison& comparison = candidate.comparison;
    if (candidate.shift.degrees >= 1) {
      const Shift& shift = candidate.shift;
      // Bonferroni's correction: with many kernels, some seem to have changed by chance.
      const double p = (1 - options.confidence) / static_cast<double>(tests);
      const double reach = analysis::StudentQuantile(p, shift.degrees) * shift.error;
      comparison.low = std::expm1(shift.by - reach);
      comparison.high = std::expm1(shift.by + reach);
      if (comparison.low > options.least)
        comparison.verdict = Verdict::kSlower;
      else if (comparison.high < -options.least)
        comparison.verdict = Verdict::kFaster;
    }
    compared.push_back(std::move(comparison));
  }
  std::sort(compared.begin(), compared.end(), [](const Comparison& a, const Comparison& b) {
    return std::tuple(a.verdict, -a.by, a.kernel) < std::tuple(b.verdict, -b.by, b.kernel);
  });
  return compared;
}

}  // namespace rochound::fleet
