// SPDX-License-Identifier: MIT
#include "fleet/command/daemon_message.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace rochound::fleet {
namespace {

using nlohmann::json;

// A name means the same wherever it is.
constexpr std::string_view kTexts[] = {"host",    "job",  "state",      "error", "folder",
                                       "refused", "kind", "conclusion", "trace", "no_trace"};
constexpr std::string_view kIntegers[] = {"rank", "pid", "clock_error_ns"};
constexpr std::string_view kCounts[] = {"now_ns", "looked_ns", "time_ns",         "at_ns",
                                        "chunks", "bytes",     "complete_from_ns"};
constexpr std::string_view kFlags[] = {"was_recording"};
// Of objects with such members.
constexpr std::string_view kLists[] = {"processes", "windows"};

template <size_t n>
bool IsOneOf(const std::string_view (&names)[n], const std::string& name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool IsWellFormed(const json& object) {
  if (!object.is_object()) return false;
  for (const auto& [name, value] : object.items()) {
    if (IsOneOf(kTexts, name) && !value.is_string()) return false;
    if (IsOneOf(kIntegers, name) && !value.is_number_integer()) return false;
    if (IsOneOf(kCounts, name) && !value.is_number_unsigned()) return false;
    if (IsOneOf(kFlags, name) && !value.is_boolean()) return false;
    if (IsOneOf(kLists, name) &&
        !(value.is_array() && std::all_of(value.begin(), value.end(), IsWellFormed)))
      return false;
  }
  return true;
}

}  // namespace

std::optional<json> ParseDaemonMessage(std::string_view text) {
  json message = json::parse(text, nullptr, false);
  if (!IsWellFormed(message)) return std::nullopt;
  return message;
}

std::set<int64_t> RanksOfBeat(const json& beat) {
  std::set<int64_t> ranks;
  for (const json& process : beat.value("processes", json::array()))
    if (process.value("state", "") != "ended") ranks.insert(process.value("rank", int64_t{-1}));
  return ranks;
}

}  // namespace rochound::fleet
