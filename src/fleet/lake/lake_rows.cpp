// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include "fleet/lake/lake.h"
#include "fleet/sketch/histogram.h"

namespace rochound::fleet {
namespace {

using base::Error;
using base::Result;
using nlohmann::json;

constexpr size_t kLongestText = 65535;
constexpr size_t kMostRows = 1 << 17;

// Of what a daemon has counted itself, and of its clock. Questions to the lake add and convert them,
// and one row beyond would fail them all.
constexpr uint64_t kMostCount = uint64_t{1} << 48;
constexpr uint64_t kLatestNs = uint64_t{1} << 62;

// kAny: as a log says it, which may be damaged; its sums are kept at their limits.
enum class Type { kText, kCount, kTime, kAny, kIndex, kNumber };
struct Member {
  const char* name;
  Type type;
};
// docs/formats/fleet.md says what they mean.
constexpr Member kOfMessage[] = {
    {"tenant", Type::kText},  {"host", Type::kText},    {"epoch", Type::kText},
    {"number", Type::kCount}, {"shard", Type::kIndex},  {"nth", Type::kCount},
    {"job", Type::kText},     {"from_ns", Type::kTime}, {"interval_ns", Type::kTime},
};
constexpr Member kOfRow[] = {
    {"rank", Type::kNumber},    {"pid", Type::kNumber},     {"start", Type::kAny},
    {"gpu", Type::kIndex},      {"kernel", Type::kText},    {"code_object", Type::kText},
    {"rocm", Type::kText},      {"launches", Type::kCount}, {"untimed", Type::kCount},
    {"work_items", Type::kAny}, {"lds", Type::kAny},        {"sum", Type::kAny},
    {"min", Type::kAny},        {"max", Type::kAny},        {"scale", Type::kNumber},
    {"zeros", Type::kCount},    {"first", Type::kNumber},
};

bool IsUpTo(const json& value, uint64_t most) {
  if (value.is_number_unsigned()) return value.get<uint64_t>() <= most;
  return value.is_number_integer() && value.get<int64_t>() >= 0 && value.get<uint64_t>() <= most;
}

bool Fits(const json& value, Type type) {
  switch (type) {
    case Type::kText:
      return value.is_string() && value.get_ref<const std::string&>().size() <= kLongestText;
    case Type::kCount:
      return IsUpTo(value, kMostCount);
    case Type::kTime:
      return IsUpTo(value, kLatestNs);
    case Type::kIndex:
      return IsUpTo(value, INT32_MAX);
    case Type::kAny:
      return IsUpTo(value, UINT64_MAX);
    case Type::kNumber:
      return value.is_number_unsigned()
                 ? value.get<uint64_t>() <= INT32_MAX
                 : value.is_number_integer() && value.get<int64_t>() >= INT32_MIN &&
                       value.get<int64_t>() <= INT32_MAX;
  }
  return false;
}

Result<void> Take(const json& from, const Member& member, json* to) {
  const auto found = from.find(member.name);
  if (found == from.end() || !Fits(*found, member.type))
    return Error{std::string("its ") + member.name + " is missing or no value for it"};
  (*to)[member.name] = *found;
  return {};
}

Result<void> TakeSketch(const json& from, json* row) {
  const auto buckets = from.find("buckets");
  if (buckets == from.end() || !buckets->is_array() || buckets->size() > Histogram::kMostBuckets)
    return Error{"its buckets are no list of counts"};
  std::vector<uint64_t> counts;
  for (const json& one : *buckets) {
    if (!IsUpTo(one, kMostCount)) return Error{"its buckets are no list of counts"};
    counts.push_back(one);
  }
  (*row)["buckets"] = counts;
  Histogram sketch;
  if (!sketch.Restore(row->at("scale"), row->at("zeros"), row->at("sum"), row->at("min"),
                      row->at("max"), row->at("first"), std::move(counts)) ||
      sketch.count() + row->at("untimed").get<uint64_t>() != row->at("launches").get<uint64_t>())
    return Error{"its buckets are not those of its launches"};
  return {};
}

}  // namespace

Result<std::vector<json>> LakeRows(const json& message, uint64_t sequence) {
  if (!message.is_object()) return Error{"it is no JSON object"};
  json common = {{"sequence", sequence}};
  for (const Member& member : kOfMessage) ROCHOUND_CHECK(Take(message, member, &common));
  const auto given = message.find("rows"), lost = message.find("losses");
  if (given == message.end() || lost == message.end() || !given->is_array() || !lost->is_array() ||
      given->size() > kMostRows || lost->size() > kMostRows)
    return Error{"its rows or losses are no lists"};
  std::vector<json> rows;
  for (const json& one : *given) {
    json row = common;
    if (!one.is_object()) return Error{"a row is no JSON object"};
    for (const Member& member : kOfRow) ROCHOUND_CHECK(Take(one, member, &row));
    ROCHOUND_CHECK(TakeSketch(one, &row));
    rows.push_back(std::move(row));
  }
  for (const json& one : *lost) {
    json row = common;
    if (!one.is_object()) return Error{"a loss is no JSON object"};
    for (const Member& member : {Member{"rank", Type::kNumber}, Member{"pid", Type::kNumber},
                                 Member{"what", Type::kText}, Member{"count", Type::kAny}})
      ROCHOUND_CHECK(Take(one, member, &row));
    row["loss"] = row["what"];
    row["lost"] = row["count"];
    row.erase("what");
    row.erase("count");
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace rochound::fleet
