// SPDX-License-Identifier: MIT
//
// Counts one process's kernel launches from the records of its log: a dispatch and its time become
// one launch in the sketch of its kernel, GPU and interval. Records may come in any order between
// threads, each once. The daemon owns one per process, on its one thread. Memory is bounded: what
// goes beyond the limits is counted as lost, never left out silently.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "fleet/daemon/gpu_rate.h"
#include "fleet/sketch/histogram.h"
#include "trace/records.h"

namespace rochound::fleet {

// One kernel on one GPU in one interval.
struct LaunchSketch {
  Histogram nanoseconds;
  uint64_t untimed = 0;      // launches whose time was lost
  uint64_t work_items = 0;   // of all launches
  uint32_t group_bytes = 0;  // LDS of a workgroup, the most
  uint64_t launches() const { return nanoseconds.count() + untimed; }
  void Merge(const LaunchSketch& other);
};

struct KernelOnGpu {
  uint32_t kernel;  // kernel symbol id in the process
  uint16_t agent;
  auto operator<=>(const KernelOnGpu&) const = default;
};

// A launch that has no time yet.
struct OpenLaunch {
  uint32_t kernel = 0;
  uint32_t queue = 0;
  uint32_t group_bytes = 0;
  uint64_t work_items = 0;
  uint64_t submit_tsc = 0;
  bool in_order = false;  // begins when all before it in its queue have ended
};

struct LaunchLimits {
  size_t open = 1 << 18;      // launches that wait for their time, and times for their launch
  size_t sketches = 1 << 14;  // in one interval
  size_t all_sketches = 1 << 16;
  size_t kernels = 1 << 18;  // and queues
  size_t agents = 256;
};

class LaunchCounter {
 public:
  using Sketches = std::map<KernelOnGpu, LaunchSketch>;
  // In the place of a kernel's id: launches of all kernels that came after the most that are known,
  // or that are reported apart in an interval.
  static constexpr uint32_t kOthers = UINT32_MAX;

  explicit LaunchCounter(uint64_t interval_ns, LaunchLimits limits = {})
      : interval_ns_(interval_ns), limits_(limits) {}

  void OnRecord(const trace::Head& head, const char* record);

  // The process has ended: what waits for clocks is counted, what waits for its time never gets it.
  void Finish();

  // Takes out the intervals before the first number and from the second on; the key is the
  // interval's beginning divided by its length, in CLOCK_REALTIME.
  std::map<uint64_t, Sketches> TakeOutside(uint64_t before, uint64_t from);
  std::map<uint64_t, Sketches> TakeBefore(uint64_t interval) {
    return TakeOutside(interval, UINT64_MAX);
  }

  struct Totals {
    uint64_t dispatches = 0;        // records seen
    uint64_t launches = 0;          // counted in sketches
    uint64_t evicted_launches = 0;  // counted untimed since too many waited
    uint64_t evicted_times = 0;     // times whose launch never came
    uint64_t unfinished = 0;        // launches without a time when the process ended
    uint64_t dropped = 0;           // records that the recorder itself dropped
    uint64_t last_end_ns = 0;       // when the last launch ended, CLOCK_REALTIME
  };
  const Totals& totals() const { return totals_; }
  // By dispatch number.
  const std::unordered_map<uint64_t, OpenLaunch>& open() const { return open_; }

  struct Kernel {
    uint32_t name = 0;         // string id
    uint32_t code_object = 0;  // as in the log
    uint64_t dispatches = 0;
  };
  const std::map<uint32_t, Kernel>& kernels() const { return kernels_; }

  // Ticks of the processor's counter as CLOCK_REALTIME; 0: not known yet.
  uint64_t RealtimeOf(uint64_t tsc) const;

  nlohmann::json Save() const;
  // False: it is not what Save gave.
  bool Restore(const nlohmann::json& saved);

 private:
  struct Time {
    uint64_t begin = 0, end = 0;  // ticks
    uint16_t agent = 0;
  };
  struct Clock {
    GpuRate rate;
    trace::GpuAnchor last{};
    std::deque<std::pair<OpenLaunch, Time>> waiting;  // for the rate
  };

  void OnDispatch(const trace::KernelDispatch& dispatch);
  void OnTime(const trace::KernelTime& time);
  void Complete(const OpenLaunch& launch, const Time& time);
  void Count(const OpenLaunch& launch, const Time& time, const Clock& clock);
  void Enter(uint64_t interval, KernelOnGpu key, const OpenLaunch& launch,
             std::optional<uint64_t> nanoseconds);
  void Bound();
  // Null: it has none, and there are too many already.
  Clock* ClockOf(uint16_t agent);
  void CountWaiting(Clock* clock);
  // The kernel's id, or kOthers.
  uint32_t Known(uint32_t kernel) const;

  uint64_t interval_ns_;
  LaunchLimits limits_;
  std::map<uint32_t, Kernel> kernels_;
  std::map<uint32_t, uint16_t> queue_agents_;
  std::map<uint16_t, Clock> clocks_;
  size_t waiting_ = 0;  // in all clocks
  trace::HostAnchor first_host_{}, last_host_{};
  std::unordered_map<uint64_t, OpenLaunch> open_;
  std::deque<uint64_t> open_order_;
  std::unordered_map<uint64_t, Time> early_;
  std::deque<uint64_t> early_order_;
  std::map<uint64_t, Sketches> intervals_;
  size_t sketches_ = 0;  // in all intervals
  Totals totals_;
};

nlohmann::json SaveHistogram(const Histogram& histogram);
bool RestoreHistogram(const nlohmann::json& saved, Histogram* histogram);

}  // namespace rochound::fleet
