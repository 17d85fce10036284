// SPDX-License-Identifier: MIT
#include "store/convert/newer_runtimes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/count.h"

namespace rochound::store {
namespace {

struct Counted {
  std::string_view name;
  uint64_t count = 0;
};

// Those that were there at all, the most frequent first.
std::vector<Counted> Parse(std::string_view counts) {
  std::vector<Counted> all;
  while (!counts.empty()) {
    const std::string_view one = counts.substr(0, counts.find(','));
    counts.remove_prefix(std::min(one.size() + 1, counts.size()));
    const size_t colon = one.rfind(':');
    if (colon == std::string_view::npos) continue;
    Counted counted{one.substr(0, colon)};
    std::from_chars(one.data() + colon + 1, one.data() + one.size(), counted.count);
    if (counted.count > 0) all.push_back(counted);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Counted& a, const Counted& b) { return a.count > b.count; });
  return all;
}

}  // namespace

NotRecorded NewerCalls(std::string_view library, std::string_view version,
                       std::string_view counts) {
  NotRecorded result;
  std::string names;
  uint64_t functions = 0, nameless = 0, nameless_calls = 0;
  for (const Counted& one : Parse(counts)) {
    ++functions;
    result.count += one.count;
    if (one.name.empty()) {
      ++nameless;
      nameless_calls += one.count;
      continue;
    }
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", one.name,
                         base::Count(one.count, "call", "calls"));
  }
  if (nameless > 0)
    names += fmt::format("{}{} without a name ({})", names.empty() ? "" : ", ", nameless,
                         base::Count(nameless_calls, "call", "calls"));
  if (functions > 0)
    result.note = fmt::format("{}{}{} is newer than this rochound: {} not recorded: {}", library,
                              version.empty() ? "" : " ", version,
                              base::Count(functions, "function is", "functions are"), names);
  return result;
}

NotRecorded NewerPackets(std::string_view counts) {
  NotRecorded result;
  std::string kinds;
  for (const Counted& one : Parse(counts)) {
    result.count += one.count;
    kinds += fmt::format("{}{} ({})", kinds.empty() ? "" : ", ", one.name, one.count);
  }
  if (result.count > 0)
    result.note = "of kinds newer than this rochound; work in them is not recorded: " + kinds;
  return result;
}

NotRecorded UnknownDoorbells(std::string_view rings) {
  NotRecorded result;
  std::from_chars(rings.data(), rings.data() + rings.size(), result.count);
  if (result.count > 0)
    result.note = "of queues that this rochound could not follow: their kernels are not recorded";
  return result;
}

}  // namespace rochound::store
