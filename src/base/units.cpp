// SPDX-License-Identifier: MIT
#include "base/units.h"

#include <strings.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace rochound::base {
namespace {

struct Unit {
  const char* name;
  double factor;
};

template <size_t kCount>
std::optional<uint64_t> Parse(const std::string& text, const Unit (&units)[kCount],
                              int (*compare)(const char*, const char*)) {
  char* end = nullptr;
  const double number = strtod(text.c_str(), &end);
  if (end == text.c_str() || !std::isfinite(number) || number <= 0) return std::nullopt;
  for (const Unit& unit : units) {
    if (compare(end, unit.name) != 0) continue;
    const double product = number * unit.factor;
    if (product < 1 || product > 9e18) return std::nullopt;
    return static_cast<uint64_t>(product);
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> ParseTime(const std::string& text) {
  static constexpr Unit kUnits[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"m", 60e9}};
  return Parse(text, kUnits, strcmp);
}

std::optional<uint64_t> ParseSize(const std::string& text) {
  static constexpr Unit kUnits[] = {
      {"KiB", 1024.0}, {"MiB", 1024.0 * 1024}, {"GiB", 1024.0 * 1024 * 1024}};
  return Parse(text, kUnits, strcasecmp);
}

std::string TimeText(int64_t ns) {
  char text[40];
  const auto number = static_cast<double>(ns);
  if (number < 1e3)
    snprintf(text, sizeof text, "%lld ns", static_cast<long long>(ns));
  else if (number < 1e6)
    snprintf(text, sizeof text, "%.1f us", number / 1e3);
  else if (number < 1e9)
    snprintf(text, sizeof text, "%.1f ms", number / 1e6);
  else
    snprintf(text, sizeof text, "%.2f s", number / 1e9);
  return text;
}

std::string SizeText(uint64_t bytes) {
  char text[40];
  if (bytes < 1024) {
    snprintf(text, sizeof text, "%llu B", static_cast<unsigned long long>(bytes));
    return text;
  }
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  double number = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; number >= 1024 && unit + 1 < std::size(kUnits); ++unit) number /= 1024;
  snprintf(text, sizeof text, "%.1f %s", number, kUnits[unit]);
  return text;
}

}  // namespace rochound::base
