// SPDX-License-Identifier: MIT
//
// The little statistics that comparing runs needs. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace rochound::analysis {

// What is known of a set of durations.
struct Sample {
  int64_t count = 0;
  double mean = 0;
  double variance = 0;  // of the sample: divided by count - 1
  double fastest = 0;   // 0: not known
};

// The mean of the runs' means: each run counts once.
double MeanOf(const std::vector<Sample>& runs);

// How the mean of runs changed, as a part of what it was before.
struct Change {
  bool known = false;        // false: too few runs to tell a change from the runs' own variation
  double by = 0;             // 0.2: 20% more
  double low = 0, high = 0;  // where the true change lies with 95% confidence
  double p = 1;              // how likely a difference like this is if nothing changed
};

// How much faster the second side is, from calls of both that alternated in one process.
struct SpeedUp {
  bool known = false;        // false: fewer than six pairs
  double factor = 1;         // 1.2: the second does in one second what the first does in 1.2
  double low = 1, high = 1;  // where the true factor lies with 95% confidence
};

// From the quotients of the times of neighbouring calls: their median, with the interval of the
// sign test. Makes no assumption about how times are distributed, so a few calls that the machine
// delayed do not matter.
SpeedUp SpeedUpOf(std::vector<double> quotients);

// Student's test on the means of runs, or on their fastest calls: where other work on the machine
// disturbs calls, it makes them longer, and the fastest is the one that it disturbed least. A run
// is one observation, however many calls it made: calls of a run share its clocks, its memory
// layout and what else the machine did. Needs three runs in all and one on each side.
Change ChangeOfMeans(const std::vector<Sample>& before, const std::vector<Sample>& after);
Change ChangeOfFastest(const std::vector<Sample>& before, const std::vector<Sample>& after);

// Probability that Student's t with these degrees of freedom is at least |t| away from zero.
double StudentTwoSided(double t, double degrees);
// The t that is exceeded on either side with probability p.
double StudentQuantile(double p, double degrees);

// How likely values like these are if they are not above zero on the whole: by Student's test, or
// by how many are above zero where single ones are far off. 1 below three values.
double AreAboveZeroP(const std::vector<double>& values);

// Holm's correction: tests made together raise each other's p.
std::vector<double> HolmAdjusted(const std::vector<double>& p);

}  // namespace rochound::analysis
