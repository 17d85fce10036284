// SPDX-License-Identifier: MIT
#include "fleet/daemon/launch_counter.h"

#include <algorithm>

namespace rochound::fleet {
namespace {

using nlohmann::json;
using trace::Kind;

constexpr int kBarrierBit = 8;  // of an AQL packet's header

template <typename T>
const T& As(const char* record) {
  return *reinterpret_cast<const T*>(record);
}

json SaveLaunch(const OpenLaunch& launch) {
  return {launch.kernel,     launch.queue,      launch.group_bytes,
          launch.work_items, launch.submit_tsc, launch.in_order};
}

OpenLaunch RestoreLaunch(const json& saved) {
  return {saved.at(0), saved.at(1), saved.at(2), saved.at(3), saved.at(4), saved.at(5)};
}

}  // namespace

void LaunchSketch::Merge(const LaunchSketch& other) {
  nanoseconds.Merge(other.nanoseconds);
  untimed += other.untimed;
  work_items += other.work_items;
  group_bytes = std::max(group_bytes, other.group_bytes);
}

void LaunchCounter::OnRecord(const trace::Head& head, const char* record) {
  switch (head.kind) {
    case Kind::kKernelDispatch:
      OnDispatch(As<trace::KernelDispatch>(record));
      break;
    case Kind::kKernelTime:
      OnTime(As<trace::KernelTime>(record));
      break;
    case Kind::kKernelSymbol:
      if (Known(head.wide) == kOthers) break;
      kernels_[head.wide].name = As<trace::KernelSymbol>(record).name;
      kernels_[head.wide].code_object = As<trace::KernelSymbol>(record).code_object;
      break;
    case Kind::kQueue:
      if (queue_agents_.size() < limits_.kernels || queue_agents_.contains(head.wide))
        queue_agents_[head.wide] = head.small;
      break;
    case Kind::kHostAnchor: {
      const auto& anchor = As<trace::HostAnchor>(record);
      if (first_host_.now_tsc == 0 || anchor.now_tsc < first_host_.now_tsc) first_host_ = anchor;
      if (anchor.now_tsc > last_host_.now_tsc) last_host_ = anchor;
      break;
    }
    case Kind::kGpuAnchor: {
      const auto& anchor = As<trace::GpuAnchor>(record);
      Clock* const clock = ClockOf(head.small);
      if (clock == nullptr) break;
      clock->rate.Add(anchor);
      if (anchor.gpu_ticks > clock->last.gpu_ticks) clock->last = anchor;
      if (clock->rate.known()) CountWaiting(clock);
      break;
    }
    case Kind::kDropped:
      // Recycled records are no loss: they are read before, or the follower misses their chunk.
      if (head.small != static_cast<uint16_t>(trace::DropReason::kRecycled))
        totals_.dropped += As<trace::Dropped>(record).records;
      break;
    default:
      break;
  }
}

LaunchCounter::Clock* LaunchCounter::ClockOf(uint16_t agent) {
  if (clocks_.size() >= limits_.agents && !clocks_.contains(agent)) return nullptr;
  return &clocks_[agent];
}

uint32_t LaunchCounter::Known(uint32_t kernel) const {
  return kernels_.size() < limits_.kernels || kernels_.contains(kernel) ? kernel : kOthers;
}

void LaunchCounter::CountWaiting(Clock* clock) {
  for (const auto& [launch, time] : clock->waiting) Count(launch, time, *clock);
  waiting_ -= clock->waiting.size();
  clock->waiting.clear();
}

void LaunchCounter::OnDispatch(const trace::KernelDispatch& dispatch) {
  ++totals_.dispatches;
  const uint32_t kernel = Known(dispatch.kernel);
  ++kernels_[kernel].dispatches;
  const OpenLaunch launch{
      kernel,
      dispatch.head.wide,
      dispatch.group_bytes,
      uint64_t{dispatch.grid[0]} * std::max(dispatch.grid[1], 1u) * std::max(dispatch.grid[2], 1u),
      dispatch.submit_tsc,
      (dispatch.head.small >> kBarrierBit & 1) != 0};
  if (const auto early = early_.find(dispatch.dispatch); early != early_.end()) {
    const Time time = early->second;
    early_.erase(early);
    Complete(launch, time);
    return;
  }
  open_[dispatch.dispatch] = launch;
  open_order_.push_back(dispatch.dispatch);
  Bound();
}

void LaunchCounter::OnTime(const trace::KernelTime& record) {
  const Time time{record.begin_ticks, record.end_ticks, record.head.small};
  if (const auto open = open_.find(record.dispatch); open != open_.end()) {
    const OpenLaunch launch = open->second;
    open_.erase(open);
    Complete(launch, time);
    return;
  }
  early_[record.dispatch] = time;
  early_order_.push_back(record.dispatch);
  Bound();
}

void LaunchCounter::Bound() {
  // The orders hold what has been taken out meanwhile, too.
  const auto bound = [&](auto& map, std::deque<uint64_t>& order, auto evict) {
    while (map.size() > limits_.open) {
      const auto oldest = map.find(order.front());
      order.pop_front();
      if (oldest == map.end()) continue;
      evict(oldest->second);
      map.erase(oldest);
    }
    if (order.size() > 2 * limits_.open || order.size() > 4 * map.size() + 1024)
      std::erase_if(order, [&](uint64_t number) { return !map.contains(number); });
  };
  bound(open_, open_order_, [&](const OpenLaunch& launch) {
    ++totals_.evicted_launches;
    Complete(launch, {});
  });
  bound(early_, early_order_, [&](const Time&) { ++totals_.evicted_times; });
}

void LaunchCounter::Complete(const OpenLaunch& launch, const Time& time) {
  ++totals_.launches;
  const bool timed = time.begin != 0 || time.end != 0;
  Clock* const clock = timed ? ClockOf(time.agent) : nullptr;
  if (clock == nullptr) {
    Count(launch, {}, {});
    return;
  }
  if (!clock->rate.known()) {
    if (waiting_ < limits_.open) {
      clock->waiting.emplace_back(launch, time);
      ++waiting_;
      return;
    }
    clock->rate.Decide();
    CountWaiting(clock);
  }
  Count(launch, time, *clock);
}

void LaunchCounter::Count(const OpenLaunch& launch, const Time& time, const Clock& clock) {
  const auto queue = queue_agents_.find(launch.queue);
  const KernelOnGpu key{launch.kernel, queue == queue_agents_.end() ? time.agent : queue->second};
  if (time.begin == 0 && time.end == 0) {
    Enter(RealtimeOf(launch.submit_tsc) / interval_ns_, key, launch, std::nullopt);
    return;
  }
  // When it ended: from the nearest anchor that is known by now, which is good to a millisecond.
  uint64_t end_ns = RealtimeOf(clock.last.now_tsc);
  if (time.end >= clock.last.gpu_ticks)
    end_ns += clock.rate.Nanoseconds(time.end - clock.last.gpu_ticks);
  else
    end_ns -= std::min(end_ns, clock.rate.Nanoseconds(clock.last.gpu_ticks - time.end));
  totals_.last_end_ns = std::max(totals_.last_end_ns, end_ns);
  Enter(end_ns / interval_ns_, key, launch,
        clock.rate.Nanoseconds(time.end > time.begin ? time.end - time.begin : 0));
}

void LaunchCounter::Enter(uint64_t interval, KernelOnGpu key, const OpenLaunch& launch,
                          std::optional<uint64_t> nanoseconds) {
  if (sketches_ >= limits_.all_sketches && !intervals_.contains(interval))
    interval = intervals_.rbegin()->first;
  Sketches& sketches = intervals_[interval];
  if (sketches.size() >= limits_.sketches && !sketches.contains(key)) key.kernel = kOthers;
  if (sketches_ >= limits_.all_sketches && !sketches.contains(key)) key = {kOthers, 0};
  const auto [entry, is_new] = sketches.try_emplace(key);
  sketches_ += is_new;
  LaunchSketch& sketch = entry->second;
  if (nanoseconds)
    sketch.nanoseconds.Add(*nanoseconds);
  else
    ++sketch.untimed;
  sketch.work_items += launch.work_items;
  sketch.group_bytes = std::max(sketch.group_bytes, launch.group_bytes);
}

void LaunchCounter::Finish() {
  for (auto& [agent, clock] : clocks_) {
    clock.rate.Decide();
    CountWaiting(&clock);
  }
  totals_.unfinished += open_.size();
  totals_.evicted_times += early_.size();
  open_.clear();
  open_order_.clear();
  early_.clear();
  early_order_.clear();
}

std::map<uint64_t, LaunchCounter::Sketches> LaunchCounter::TakeOutside(uint64_t before,
                                                                       uint64_t from) {
  std::map<uint64_t, Sketches> taken;
  for (auto it = intervals_.begin(); it != intervals_.end();) {
    const auto next = std::next(it);
    if (it->first < before || it->first >= from) {
      sketches_ -= it->second.size();
      taken.insert(intervals_.extract(it));
    }
    it = next;
  }
  return taken;
}

uint64_t LaunchCounter::RealtimeOf(uint64_t tsc) const {
  if (last_host_.now_tsc == 0) return 0;
  // Nanoseconds per tick; until two anchors tell, that of a usual processor.
  double slope = 1.0 / 3;
  if (last_host_.now_tsc > first_host_.now_tsc)
    slope = static_cast<double>(last_host_.monotonic_ns - first_host_.monotonic_ns) /
            static_cast<double>(last_host_.now_tsc - first_host_.now_tsc);
  const auto distance = static_cast<double>(static_cast<int64_t>(tsc - last_host_.now_tsc));
  return last_host_.realtime_ns + static_cast<uint64_t>(static_cast<int64_t>(distance * slope));
}

json SaveHistogram(const Histogram& histogram) {
  return {histogram.scale(), histogram.zeros(),  histogram.sum(),    histogram.min(),
          histogram.max(),   histogram.offset(), histogram.buckets()};
}

bool RestoreHistogram(const json& saved, Histogram* histogram) {
  return histogram->Restore(saved.at(0), saved.at(1), saved.at(2), saved.at(3), saved.at(4),
                            saved.at(5), saved.at(6).get<std::vector<uint64_t>>());
}

json LaunchCounter::Save() const {
  json kernels = json::array(), queues = json::array(), clocks = json::array(),
       open = json::array(), early = json::array(), intervals = json::array();
  for (const auto& [id, kernel] : kernels_)
    kernels.push_back({id, kernel.name, kernel.code_object, kernel.dispatches});
  for (const auto& [queue, agent] : queue_agents_) queues.push_back({queue, agent});
  for (const auto& [agent, clock] : clocks_) {
    json waiting = json::array();
    for (const auto& [launch, time] : clock.waiting)
      waiting.push_back({SaveLaunch(launch), time.begin, time.end});
    clocks.push_back({agent, clock.rate.hertz(), clock.last.gpu_ticks, clock.last.system_ns,
                      clock.last.now_tsc, waiting});
  }
  for (const uint64_t number : open_order_)
    if (const auto one = open_.find(number); one != open_.end())
      open.push_back({number, SaveLaunch(one->second)});
  for (const uint64_t number : early_order_)
    if (const auto one = early_.find(number); one != early_.end())
      early.push_back({number, one->second.begin, one->second.end, one->second.agent});
  for (const auto& [interval, sketches] : intervals_) {
    json rows = json::array();
    for (const auto& [key, sketch] : sketches)
      rows.push_back({key.kernel, key.agent, SaveHistogram(sketch.nanoseconds), sketch.untimed,
                      sketch.work_items, sketch.group_bytes});
    intervals.push_back({interval, rows});
  }
  const auto host = [](const trace::HostAnchor& anchor) {
    return json{anchor.now_tsc, anchor.monotonic_ns, anchor.realtime_ns};
  };
  return {{"kernels", kernels},
          {"queues", queues},
          {"clocks", clocks},
          {"first_host", host(first_host_)},
          {"last_host", host(last_host_)},
          {"open", open},
          {"early", early},
          {"intervals", intervals},
          {"totals",
           {totals_.dispatches, totals_.launches, totals_.evicted_launches, totals_.evicted_times,
            totals_.unfinished, totals_.dropped, totals_.last_end_ns}}};
}

bool LaunchCounter::Restore(const json& saved) try {
  for (const json& one : saved.at("kernels"))
    kernels_[one.at(0)] = {one.at(1), one.at(2), one.at(3)};
  for (const json& one : saved.at("queues")) queue_agents_[one.at(0)] = one.at(1);
  for (const json& one : saved.at("clocks")) {
    const uint16_t agent = one.at(0);
    Clock& clock = clocks_[agent];
    clock.last.gpu_ticks = one.at(2);
    clock.last.system_ns = one.at(3);
    clock.last.now_tsc = one.at(4);
    // Without a rate the first anchor is gone: the last one is the first from now on.
    if (clock.last.gpu_ticks != 0) clock.rate.Add(clock.last);
    clock.rate.set_hertz(one.at(1));
    for (const json& two : one.at(5))
      clock.waiting.push_back({RestoreLaunch(two.at(0)), {two.at(1), two.at(2), agent}});
    waiting_ += clock.waiting.size();
  }
  const auto host = [](const json& one, trace::HostAnchor* anchor) {
    anchor->now_tsc = one.at(0);
    anchor->monotonic_ns = one.at(1);
    anchor->realtime_ns = one.at(2);
  };
  host(saved.at("first_host"), &first_host_);
  host(saved.at("last_host"), &last_host_);
  for (const json& one : saved.at("open")) {
    open_[one.at(0)] = RestoreLaunch(one.at(1));
    open_order_.push_back(one.at(0));
  }
  for (const json& one : saved.at("early")) {
    early_[one.at(0)] = {one.at(1), one.at(2), one.at(3)};
    early_order_.push_back(one.at(0));
  }
  for (const json& one : saved.at("intervals"))
    for (const json& row : one.at(1)) {
      LaunchSketch& sketch = intervals_[one.at(0)][{row.at(0), row.at(1)}];
      if (!RestoreHistogram(row.at(2), &sketch.nanoseconds)) return false;
      sketch.untimed = row.at(3);
      sketch.work_items = row.at(4);
      sketch.group_bytes = row.at(5);
      ++sketches_;
    }
  const json& totals = saved.at("totals");
  totals_ = {totals.at(0), totals.at(1), totals.at(2), totals.at(3),
             totals.at(4), totals.at(5), totals.at(6)};
  return true;
} catch (const json::exception&) {
  return false;
}

}  // namespace rochound::fleet
