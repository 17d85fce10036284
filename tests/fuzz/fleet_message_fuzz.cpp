// SPDX-License-Identifier: MIT
//
// A message on a stream of sketches, which anybody may send who may write there: it is refused with
// a reason, or its rows go into the lake, and the lake, the series of its ranks and the search for
// stragglers still answer. The input is the message as it travels, packed or not.
#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fleet/bus/packed.h"
#include "fleet/command/job_stragglers.h"
#include "fleet/lake/lake.h"
#include "fleet/lake/sketch_rows.h"
#include "fleet/metrics/lake_totals.h"
#include "fleet/metrics/rank_metrics.h"
#include "fuzz/asan_with_duckdb.h"
#include "fuzz/folder.h"
#include "fuzz/must.h"

namespace {

using namespace rochound;
using namespace rochound::fleet;
using fuzz::Must;
using nlohmann::json;

// In a lake with nothing else, whose files have new names: DuckDB remembers what it has read.
void StoreAndAsk(const json& message, const std::vector<json>& rows) {
  static Lake lake = Lake::Open((fuzz::Folder() / "lake").string()).value();
  static uint64_t sequence = 0;
  ++sequence;
  // The aggregator takes those of its own shard and tenant only.
  if (message.at("shard") != 0 || message.at("tenant") != "default") return;
  const Stretch stretch{"default", "2026-11-17", 0, 77, sequence, sequence};
  Must(lake.Write(stretch, rows).ok());
  Must(lake.LastNumbers("default", 0).ok());
  if (lake.MakeView("default").value()) {
    Must(MergeSketches(lake.database(), {"kernel", "host"}, "loss IS NULL").ok());
    const auto found = FindJobStragglers(lake, message.at("job"), 600, 3600);
    Must(found.ok() || found.error().message.find("nothing of job") != std::string::npos);
    const RankKey rank{message.at("job"), message.at("host"), 0};
    Must(LoadRankTotals(lake, "default", {rank}).ok());
  }
  unlink((lake.root() + "/" + StretchPath(stretch)).c_str());
}

void MakeSeries(const std::vector<json>& rows) {
  RankMetrics metrics([](const std::set<RankKey>&) { return std::map<RankKey, RankTotals>(); });
  // The second time they are added to what is there.
  for (int i = 0; i < 2; ++i) {
    metrics.AddRows(rows);
    const auto series = metrics.Collect();
    Must(series.ok());
    for (const RankSeries& one : series.value())
      for (const MetricPoint& point : one.points) Must(std::isfinite(point.value));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMaxInput = 1 << 14, kMaxText = 1 << 16;
  if (size > kMaxInput) return 0;
  const auto text = Unpack({reinterpret_cast<const char*>(data), size});
  if (!text.ok() || text.value().size() > kMaxText) return 0;
  const json message = json::parse(text.value(), nullptr, false);
  const auto rows = LakeRows(message, 1);
  if (!rows.ok()) {
    Must(!rows.error().message.empty());
    return 0;
  }
  MakeSeries(rows.value());
  if (!rows.value().empty()) StoreAndAsk(message, rows.value());
  return 0;
}
