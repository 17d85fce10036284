// SPDX-License-Identifier: MIT
//
// The little statistics that comparing two runs needs. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace rochound::analysis {

// What is known of a set of durations.
struct Sample {
  int64_t count = 0;
  double mean = 0;
  double variance = 0;  // of the sample: divided by count - 1
};

// Welch's test: how likely means that differ as much as these are if nothing differs. 1 when
// nothing can be said (fewer than two values on a side).
double WelchP(const Sample& a, const Sample& b);

// Probability that Student's t with these degrees of freedom is at least |t| away from zero.
double StudentTwoSided(double t, double degrees);

// Holm's correction: tests made together raise each other's p.
std::vector<double> HolmAdjusted(const std::vector<double>& p);

}  // namespace rochound::analysis
