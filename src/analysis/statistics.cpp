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

double WelchP(const Sample& a, const Sample& b) {
  if (a.count < 2 || b.count < 2) return 1;
  const double of_a = a.variance / static_cast<double>(a.count);
  const double of_b = b.variance / static_cast<double>(b.count);
  if (of_a + of_b <= 0) return a.mean == b.mean ? 1 : 0;
  const double t = (a.mean - b.mean) / std::sqrt(of_a + of_b);
  const double degrees = (of_a + of_b) * (of_a + of_b) /
                         (of_a * of_a / static_cast<double>(a.count - 1) +
                          of_b * of_b / static_cast<double>(b.count - 1));
  return StudentTwoSided(t, degrees);
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
