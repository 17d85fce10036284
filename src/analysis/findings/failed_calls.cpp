// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/rule.h"
#include "store/rpd/probing_calls.h"

namespace rochound::analysis {
namespace {

const char* ErrorName(int64_t result) {
  switch (result) {
    case 1:
      return "hipErrorInvalidValue";
    case 2:
      return "hipErrorOutOfMemory";
    case 3:
      return "hipErrorNotInitialized";
    case 9:
      return "hipErrorInvalidConfiguration";
    case 98:
      return "hipErrorInvalidDeviceFunction";
    case 100:
      return "hipErrorNoDevice";
    case 101:
      return "hipErrorInvalidDevice";
    case 200:
      return "hipErrorInvalidImage";
    case 209:
      return "hipErrorNoBinaryForGpu";
    case 400:
      return "hipErrorInvalidHandle";
    case 500:
      return "hipErrorNotFound";
    case 700:
      return "hipErrorIllegalAddress";
    case 719:
      return "hipErrorLaunchFailure";
    case 801:
      return "hipErrorNotSupported";
    default:
      return "";
  }
}

}  // namespace

// hipErrorNotReady (600) is an answer, and peer access that is there already (704) or not (705) is
// what programs ask for to find out. hipGetLastError returns what another call has failed with.
std::optional<Match> FindFailedCalls(const Picture& picture) {
  const Table& table = picture.Rows(R"(
      SELECT n.string AS call, f.result, count(*) AS calls,
        count(*) FILTER (a."end" < last.time) AS went_on
      FROM rochound_failure f
      JOIN rocpd_api a ON a.id = f.api_id
      JOIN rocpd_string d ON d.id = a.domain_id AND d.string = 'hip'
      JOIN rocpd_string n ON n.id = a."apiName_id"
      JOIN (
        SELECT a.id >> 32 AS session, max(a.start) AS time FROM rocpd_api a
        JOIN rocpd_string d ON d.id = a.domain_id AND d.string = 'hip' GROUP BY 1
      ) last ON last.session = a.id >> 32
      WHERE f.result IS NOT NULL AND f.result NOT IN (0, 600, 704, 705)
        AND NOT regexp_matches(n.string, '(GetLastError|PeekAtLastError)')
      GROUP BY ALL ORDER BY calls DESC, call, result)");
  int64_t calls = 0, went_on = 0;
  size_t first = table.rows.size();
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const RowView row(table, i);
    if (store::IsProbingCall(row.Text("call"))) continue;
    first = std::min(first, i);
    calls += row.Int("calls");
    went_on += row.Int("went_on");
  }
  if (went_on == 0) return std::nullopt;
  const RowView most(table, first);
  // A program that did not end well has not gone on for long: then this may be the reason.
  const std::string status = picture.Metadata("rochound_status");
  const bool ended_well = status.empty() || status == "exit 0";
  Match match;
  match.sentence = fmt::format(
      "{} failed{}: {} returned {}{}.", Counted(calls, "HIP call", "HIP calls"),
      ended_well ? " and the program went on" : " before the program ended", most.Text("call"),
      most.Int("result"),
      *ErrorName(most.Int("result")) == '\0' ? ""
                                             : fmt::format(" ({})", ErrorName(most.Int("result"))));
  match.evidence = fmt::format("{} x {}; select * from rochound_failure lists all",
                               most.Int("calls"), most.Text("call"));
  return match;
}

}  // namespace rochound::analysis
