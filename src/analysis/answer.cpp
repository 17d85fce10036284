// SPDX-License-Identifier: MIT
#include "analysis/answer.h"

#include <string_view>
#include <utility>

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

}  // namespace rochound::analysis
