// SPDX-License-Identifier: MIT
#include "store/export/export_perfetto.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "store/export/output_file.h"
#include "store/export/perfetto_writer.h"
#include "store/export/timeline.h"

namespace rochound::store {
namespace {

using Detail = PerfettoWriter::Detail;

// A flow is known by its operation; zero would be no flow.
uint64_t FlowOf(int64_t operation) { return static_cast<uint64_t>(operation) + 1; }

class PerfettoExporter final : public TimelineVisitor {
 public:
  PerfettoExporter(OutputFile output, int64_t shift) : writer_(std::move(output)), shift_(shift) {}

  void OnProcess(int64_t pid, const std::string& name) override {
    processes_[pid] = writer_.AddProcess(pid, name.empty() ? fmt::format("process {}", pid) : name);
  }

  void OnThread(int64_t pid, int64_t tid) override {
    CloseTracks();
    const std::string name = fmt::format("thread {}", tid);
    lanes_.assign(1, Lane{writer_.AddThread(pid, tid, name), {}});
    lane_parent_ = processes_[pid];
    lane_name_ = name;
  }

  void OnGpu(int64_t gpu, const std::string& name) override {
    CloseTracks();
    const std::string text =
        name.empty() ? fmt::format("GPU {}", gpu) : fmt::format("GPU {}: {}", gpu, name);
    gpus_[gpu] = writer_.AddTrack(0, text, static_cast<int>(gpu));
    running_[gpu] = writer_.AddCounter(gpus_[gpu], "operations running", "operations", 0);
  }

  void OnQueue(int64_t gpu, int64_t queue) override {
    CloseTracks();
    const int rank = static_cast<int>(2 * ++queues_);
    depths_[{gpu, queue}] = writer_.AddCounter(gpus_[gpu], fmt::format("queue {} depth", queue),
                                               "operations", rank + 1);
    lane_parent_ = gpus_[gpu];
    lane_name_ = fmt::format("queue {}", queue);
    lanes_.assign(1, Lane{writer_.AddTrack(lane_parent_, lane_name_, rank), {}});
  }

  void OnCall(const TimelineCall& call) override {
    details_.clear();
    // A range's name is what its program called it.
    const bool range = call.name == "UserMarker" || call.name == "UserRange";
    const std::string_view name = range && !call.args.empty() ? call.args : call.name;
    if (!range && !call.args.empty()) details_.push_back({"arguments", call.args});
    details_.push_back({"id", {}, call.id});
    flows_.clear();
    for (const int64_t operation : call.operations) flows_.push_back(FlowOf(operation));
    const std::string_view category = call.category.empty() ? call.domain : call.category;
    // Those that do not nest are kept apart from those that do.
    const size_t lane = call.nests ? 2 * call.lane : 2 * call.lane + 1;
    Put(lane, call.nests ? "" : " ranges", call.start, call.end, category, name);
  }

  void OnOperation(const TimelineOperation& operation) override {
    details_.clear();
    flows_.clear();
    if (operation.call != 0) flows_.push_back(FlowOf(operation.id));
    const auto dimensions = [](const int64_t (&size)[3]) {
      return fmt::format("{} x {} x {}", size[0], size[1], size[2]);
    };
    std::string grid, workgroup;
    if (operation.is_kernel) {
      grid = dimensions(operation.grid);
      workgroup = dimensions(operation.workgroup);
      details_.push_back({"grid", grid});
      details_.push_back({"workgroup", workgroup});
      details_.push_back({"LDS bytes", {}, operation.group_bytes});
      details_.push_back({"scratch bytes", {}, operation.private_bytes});
    }
    if (operation.is_copy) details_.push_back({"bytes", {}, operation.size});
    details_.push_back({"sequence", {}, operation.sequence});
    details_.push_back({"id", {}, operation.id});
    Put(operation.lane, "", operation.start, operation.end, operation.type, operation.name);
  }

  void OnQueueDepth(int64_t gpu, int64_t queue, int64_t time, int64_t depth) override {
    CloseTracks();
    writer_.Count(depths_[{gpu, queue}], time + shift_, depth);
  }

  void OnRunning(int64_t gpu, int64_t time, int64_t count) override {
    CloseTracks();
    writer_.Count(running_[gpu], time + shift_, count);
  }

  bool Enough() override { return writer_.broken(); }

  base::Result<void> Finish() {
    CloseTracks();
    return writer_.Finish();
  }

 private:
  struct Lane {
    uint64_t track = 0;
    std::vector<int64_t> open;  // ends of the slices that have begun
  };

  // The slice, after the ends of those that ended before it.
  void Put(size_t lane, const char* kind, int64_t start, int64_t end, std::string_view category,
           std::string_view name) {
    if (lane >= lanes_.size()) lanes_.resize(lane + 1);
    Lane& on = lanes_[lane];
    if (on.track == 0)
      on.track = writer_.AddTrack(lane_parent_, lane_name_ + kind, static_cast<int>(2 * queues_));
    if (start == end) {
      writer_.Instant(on.track, start + shift_, category, name, flows_, details_);
      return;
    }
    while (!on.open.empty() && on.open.back() <= start) {
      writer_.End(on.track, on.open.back() + shift_);
      on.open.pop_back();
    }
    writer_.Begin(on.track, start + shift_, category, name, flows_, details_);
    on.open.push_back(end);
  }

  void CloseTracks() {
    for (Lane& lane : lanes_) {
      for (; !lane.open.empty(); lane.open.pop_back())
        writer_.End(lane.track, lane.open.back() + shift_);
    }
    lanes_.clear();
  }

  PerfettoWriter writer_;
  int64_t shift_;  // times before zero are none
  std::map<int64_t, uint64_t> processes_, gpus_, running_;
  std::map<std::pair<int64_t, int64_t>, uint64_t> depths_;
  std::vector<Lane> lanes_;  // of the thread or queue in flight
  uint64_t lane_parent_ = 0;
  std::string lane_name_;
  size_t queues_ = 0;
  std::vector<uint64_t> flows_;
  std::vector<Detail> details_;
};

}  // namespace

base::Result<void> ExportPerfetto(TraceDatabase& trace, const std::filesystem::path& path) {
  ROCHOUND_TRY(const int64_t first,
               trace.connection().Number(
                   "SELECT least((SELECT min(start) FROM rocpd_api), (SELECT min(start) FROM "
                   "rocpd_op), (SELECT min(submit) FROM rochound_dispatch), 0)"));
  ROCHOUND_TRY(OutputFile output, OutputFile::Create(path));
  PerfettoExporter exporter(std::move(output), first < 0 ? -first : 0);
  ROCHOUND_CHECK(WalkTimeline(trace, exporter));
  return exporter.Finish();
}

}  // namespace rochound::store
