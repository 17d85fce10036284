// SPDX-License-Identifier: MIT
#include "analysis/answer.h"

#include <string_view>
#include <utility>

#include "store/open/trace_tables.h"

namespace rochound::analysis {

Column MakeColumn(const std::string& name, bool number) {
  static constexpr std::pair<std::string_view, Unit> kEndings[] = {
      {"_bytes_per_s", Unit::kBytesPerSecond},
      {"_bytes", Unit::kBytes},
      {"_percent", Unit::kPercent},
      {"_ns", Unit::kNanoseconds},
  };
  Column column{name, number, Unit::kNone};
  for (const auto& [ending, unit] : kEndings) {
    if (name.size() >= ending.size() &&
        name.compare(name.size() - ending.size(), ending.size(), ending) == 0) {
      column.unit = unit;
      break;
    }
  }
  return column;
}

std::string NodeText(const Column& column, int64_t number) {
  const std::string& name = column.name;
  const bool of_gpu = name == "gpu";
  if (!of_gpu && name != "pid" && name != "tid" && name != "process") return {};
  const int64_t stride = of_gpu ? store::kGpuStride : store::kPidStride;
  if (number < stride) return {};
  return "rank " + std::to_string(number / stride) + ": " + std::to_string(number % stride);
}

}  // namespace rochound::analysis
