// SPDX-License-Identifier: MIT
//
// What daemons say to commands, a message on each line: beats, answers with cards and windows,
// events. Nothing in them ends a command, and what it makes of them is JSON.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/parse.h"
#include "fleet/command/daemon_message.h"
#include "fleet/hang/hang.h"
#include "fleet/metrics/rank_metrics.h"
#include "fuzz/must.h"

namespace {

using namespace rochound;
using namespace rochound::fleet;
using fuzz::Must;
using nlohmann::json;

// Members as commands read them: one of another type would be thrown at them.
void ReadMembers(const json& message) {
  for (const char* name : {"host", "job", "kind", "conclusion", "trace", "no_trace", "refused"})
    (void)message.value(name, "");
  for (const char* name : {"now_ns", "looked_ns", "time_ns"})
    (void)message.value(name, uint64_t{0});
  (void)message.value("clock_error_ns", int64_t{-1});
  for (const char* list : {"processes", "windows"})
    for (const json& one : message.value(list, json::array())) {
      for (const char* name : {"state", "error", "folder"}) (void)one.value(name, "");
      for (const char* name : {"at_ns", "chunks", "bytes", "complete_from_ns"})
        (void)one.value(name, uint64_t{0});
      (void)one.value("rank", int64_t{-1});
      (void)one.value("pid", 0);
      (void)one.value("was_recording", false);
    }
  (void)RanksOfBeat(message).size();
}

void MustBeJson(const HangReport& report) {
  const std::string text = report.AsJson().dump(1, ' ', false, json::error_handler_t::replace);
  Must(json::accept(text) && !report.AsText().empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMaxInput = 1 << 13;
  if (size > kMaxInput) return 0;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  RankMetrics metrics([](const std::set<RankKey>&) { return std::map<RankKey, RankTotals>(); });
  std::vector<json> answers;
  while (!rest.empty()) {
    const std::string_view line = base::TakeUntil(&rest, '\n');
    metrics.AddBeat(json::parse(line, nullptr, false));
    auto message = ParseDaemonMessage(line);
    if (!message) continue;
    ReadMembers(*message);
    answers.push_back(std::move(*message));
  }
  const auto series = metrics.Collect();
  Must(series.ok());
  for (const RankSeries& one : series.value())
    for (const MetricPoint& point : one.points) Must(!std::isnan(point.value));
  const std::vector<Card> cards = CardsOf(answers);
  MustBeJson(ExplainHang(cards));
  // The first answer as the look before.
  if (!answers.empty()) MustBeJson(ExplainHang(cards, CardsOf({answers.front()})));
  return 0;
}
