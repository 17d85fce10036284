// SPDX-License-Identifier: MIT
//
// Tables of an answer that are made by code. Rows beyond the limit are counted and left out. One
// thread; cannot fail.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/answer.h"

namespace rochound::analysis {

class TableBuilder {
 public:
  // A column that starts with # holds numbers. limit 0: all rows.
  TableBuilder(std::string id, std::string title, std::initializer_list<std::string_view> columns,
               uint64_t limit)
      : table_{std::move(id), std::move(title), {}, {}, 0}, limit_(limit) {
    for (const std::string_view name : columns) {
      const bool number = name.substr(0, 1) == "#";
      table_.columns.push_back(MakeColumn(std::string(name.substr(number ? 1 : 0)), number));
    }
  }

  void Row(std::vector<Value> values) {
    if (limit_ != 0 && table_.rows.size() == limit_) {
      ++table_.more;
    } else {
      table_.rows.push_back(std::move(values));
    }
  }

  Table Take() { return std::move(table_); }

 private:
  Table table_;
  uint64_t limit_;
};

inline double Percent(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace rochound::analysis
