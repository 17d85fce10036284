// SPDX-License-Identifier: MIT
#include "analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rochound::analysis {
namespace {

// The continued fraction of the incomplete beta function, by Lentz's method.
double BetaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300, kEnough = 1e-14;
  constexpr int kMost = 10000;
  const auto away_from_zero = [](double value) { return std::fabs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= kMost; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    fraction *= c * d;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    fraction *= c * d;
    if (std::fabs(c * d - 1) < kEnough) break;
  }
  return fraction;
}

double IncompleteBeta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  // The fraction converges quickly on this side only.
  if (x < (a + 1) / (a + b + 2)) return front * BetaFraction(a, b, x) / a;
  return 1 - front * BetaFraction(b, a, 1 - x) / b;
}

}  // namespace

double StudentTwoSided(double t, double degrees) {
  if (degrees <= 0 || std::isnan(t)) return 1;
  if (std::isinf(t)) return 0;
  if (degrees > 1e6) return std::erfc(std::fabs(t) / std::sqrt(2.0));
  return IncompleteBeta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

double StudentQuantile(double p, double degrees) {
  double low = 0, high = 1;
  while (StudentTwoSided(high, degrees) > p && high < 1e12) high *= 2;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (StudentTwoSided(middle, degrees) > p ? low : high) = middle;
  }
  return high;
}

double MeanOf(const std::vector<Sample>& runs) {
  double sum = 0;
  for (const Sample& run : runs) sum += run.mean;
  return runs.empty() ? 0 : sum / static_cast<double>(runs.size());
}

namespace {

double MeanOfValues(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// One value per run. least_variance: what is not known of a value, whatever the others are.
Change ChangeOf(const std::vector<double>& before, const std::vector<double>& after,
                double least_variance) {
  Change change;
  if (before.empty() || after.empty()) return change;
  const double mean_before = MeanOfValues(before), mean_after = MeanOfValues(after);
  if (mean_before > 0) change.by = mean_after / mean_before - 1;
  const size_t runs = before.size() + after.size();
  if (runs < 3) return change;
  double squares = 0;
  for (const double value : before) squares += (value - mean_before) * (value - mean_before);
  for (const double value : after) squares += (value - mean_after) * (value - mean_after);
  const auto degrees = static_cast<double>(runs - 2);
  const double variance = std::max(squares / degrees, least_variance);
  const double error = std::sqrt(
      variance * (1 / static_cast<double>(before.size()) + 1 / static_cast<double>(after.size())));
  const double difference = mean_after - mean_before;
  change.known = true;
  change.p = error > 0 ? StudentTwoSided(difference / error, degrees) : difference == 0 ? 1 : 0;
  if (mean_before > 0) {
    const double room = StudentQuantile(0.05, degrees) * error;
    change.low = (difference - room) / mean_before;
    change.high = (difference + room) / mean_before;
  }
  return change;
}

std::vector<double> Each(const std::vector<Sample>& runs, double Sample::* what) {
  std::vector<double> values;
  for (const Sample& run : runs) values.push_back(run.*what);
  return values;
}

}  // namespace

Change ChangeOfMeans(const std::vector<Sample>& before, const std::vector<Sample>& after) {
  // A few runs can agree by chance, but not better than their own calls allow.
  double within = 0;
  for (const std::vector<Sample>* const side : {&before, &after})
    for (const Sample& run : *side) within += run.variance / static_cast<double>(run.count);
  return ChangeOf(Each(before, &Sample::mean), Each(after, &Sample::mean),
                  within / static_cast<double>(std::max<size_t>(before.size() + after.size(), 1)));
}

SpeedUp SpeedUpOf(std::vector<double> quotients) {
  const size_t count = quotients.size();
  // How many on either side may be cut off: each is below the true median with probability 1/2.
  size_t cut = 0;
  while (2 * (cut + 1) <= count && IncompleteBeta(static_cast<double>(count - cut),
                                                  static_cast<double>(cut + 1), 0.5) <= 0.025)
    ++cut;
  SpeedUp result;
  if (cut == 0) return result;
  std::sort(quotients.begin(), quotients.end());
  result.known = true;
  result.factor = (quotients[(count - 1) / 2] + quotients[count / 2]) / 2;
  result.low = quotients[cut - 1];
  result.high = quotients[count - cut];
  return result;
}

Change ChangeOfFastest(const std::vector<Sample>& before, const std::vector<Sample>& after) {
  constexpr double kTickNs = 10;  // of most GPUs' clocks
  for (const std::vector<Sample>* const side : {&before, &after})
    for (const Sample& run : *side)
      if (run.fastest <= 0) return {};
  return ChangeOf(Each(before, &Sample::fastest), Each(after, &Sample::fastest), kTickNs * kTickNs);
}

double AreAboveZeroP(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  if (values.size() < 3) return 1;
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double error = std::sqrt(squares / (count - 1) / count);
  if (mean <= 0) return 1;
  const double by_mean = error > 0 ? StudentTwoSided(mean / error, count - 1) / 2 : 0;
  // So many or more of them, each above zero with a probability of one half.
  const auto above = static_cast<double>(
      std::count_if(values.begin(), values.end(), [](double value) { return value > 0; }));
  const double by_sign = above > 0 ? IncompleteBeta(above, count - above + 1, 0.5) : 1;
  return std::min(by_mean, by_sign);
}

std::vector<double> HolmAdjusted(const std::vector<double>& p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double so_far = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    so_far = std::max(so_far, p[order[i]] * static_cast<double>(p.size() - i));
    adjusted[order[i]] = std::min(1.0, so_far);
  }
  return adjusted;
}

}  // namespace rochound::analysis
