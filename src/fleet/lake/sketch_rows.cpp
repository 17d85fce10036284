// SPDX-License-Identifier: MIT
#include "fleet/lake/sketch_rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace rochound::fleet {
namespace {

using base::Error;
using base::Result;
using store::duck::Rows;

// Sketches of one scale: numbers that are added up, then buckets in order.
struct Part {
  int scale = 0;
  uint64_t zeros = 0, sum = 0, min = 0, max = 0;
  bool added = false;  // its numbers are in the merged sketch
};
using Key = std::vector<std::string>;

// A stretch of buckets that is not too long for one histogram. The numbers go with the first.
Result<void> Add(Part* part, int32_t first, std::vector<uint64_t> buckets, MergedSketch* merged) {
  Histogram one;
  if (!one.Restore(part->scale, part->added ? 0 : part->zeros, part->added ? 0 : part->sum,
                   part->min, part->max, first, std::move(buckets)))
    return Error{"a sketch in the lake is damaged"};
  part->added = true;
  merged->ns.Merge(one);
  return {};
}

Key KeyOf(const Rows& rows, size_t count) {
  Key key(count);
  for (size_t i = 0; i < count; ++i) key[i] = rows.Text(i);
  return key;
}

}  // namespace

Result<MergedSketches> MergeSketches(store::duck::Connection& database, const Key& keys,
                                     const std::string& condition) {
  MergedSketches merged;
  std::map<std::pair<Key, int>, Part> parts;
  std::string columns, names;
  for (size_t i = 0; i < keys.size(); ++i) {
    columns += fmt::format("({})::VARCHAR AS key{}, ", keys[i], i);
    names += fmt::format("key{}, ", i);
  }
  const size_t n = keys.size();
  {
    ROCHOUND_TRY(
        auto rows,
        database.Query(fmt::format(
            "SELECT {}scale::BIGINT AS scale, sum(launches), sum(untimed), sum(work_items), "
            "min(from_ns), sum(zeros), sum(sum), "
            "coalesce(min(min) FILTER (launches > untimed), 0), max(max) "
            "FROM sketches WHERE {} GROUP BY ALL",
            columns, condition)));
    for (;;) {
      ROCHOUND_TRY(const bool more, rows.Next());
      if (!more) break;
      const auto number = [&](size_t column) {
        return static_cast<uint64_t>(rows.Int(n + column));
      };
      Key key = KeyOf(rows, n);
      MergedSketch& one = merged[key];
      one.launches += number(1);
      one.untimed += number(2);
      one.work_items += number(3);
      one.first_ns = std::min(one.first_ns, number(4));
      const int scale = static_cast<int>(rows.Int(n));
      parts[{std::move(key), scale}] = {scale, number(5), number(6), number(7), number(8), false};
    }
  }
  {
    ROCHOUND_TRY(
        auto rows,
        database.Query(fmt::format(
            "SELECT {}scale, bucket::BIGINT AS bucket, sum(count) FROM (SELECT {}"
            "scale::BIGINT AS scale, first + generate_subscripts(buckets, 1) - 1 AS bucket, "
            "unnest(buckets) AS count FROM sketches WHERE {}) WHERE count > 0 GROUP BY ALL "
            "ORDER BY ALL",
            names, columns, condition)));
    Key key;
    Part* part = nullptr;
    MergedSketch* target = nullptr;
    std::vector<uint64_t> buckets;
    int32_t first = 0;
    for (bool more = true; more;) {
      ROCHOUND_TRY(more, rows.Next());
      Part* next = nullptr;
      int32_t bucket = 0;
      if (more) {
        Key its = KeyOf(rows, n);
        const auto found = parts.find({its, static_cast<int>(rows.Int(n))});
        if (found == parts.end()) return Error{"the lake changed while it was asked"};
        next = &found->second;
        bucket = static_cast<int32_t>(rows.Int(n + 1));
        if (next != part) key = std::move(its);
      }
      const bool fits =
          next == part && bucket - first < static_cast<int32_t>(Histogram::kMostBuckets);
      if (!buckets.empty() && !fits) {
        ROCHOUND_CHECK(Add(part, first, std::move(buckets), target));
        buckets.clear();
      }
      if (!more) break;
      part = next;
      target = &merged[key];
      if (buckets.empty()) first = bucket;
      buckets.resize(static_cast<size_t>(bucket - first) + 1);
      buckets.back() = static_cast<uint64_t>(rows.Int(n + 2));
    }
  }
  // Those that have nothing but zeros, or nothing but launches without a time.
  for (auto& [place, part] : parts)
    if (!part.added) ROCHOUND_CHECK(Add(&part, 0, {}, &merged[place.first]));
  return merged;
}

}  // namespace rochound::fleet
