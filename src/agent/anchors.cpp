// SPDX-License-Identifier: MIT
#include "agent/anchors.h"

#include <atomic>

#include "agent/runtime.h"
#include "agent/thread_state.h"
#include "base/clock.h"

namespace rochound::agent {
namespace {

// Reads a clock between two time stamps and says the middle; the best of a few tries, since the
// thread may lose its core in between.
template <typename Read>
uint64_t Middle(Read read) {
  uint64_t best = ~0ull;
  uint64_t middle = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const uint64_t before = trace::ReadTsc();
    read();
    const uint64_t after = trace::ReadTsc();
    if (after - before < best) {
      best = after - before;
      middle = before + best / 2;
      if (best < 2000) break;
    }
  }
  return middle;
}

void RecordHostAnchor(trace::ThreadLog* log) {
  uint64_t monotonic = 0;
  uint64_t realtime = 0;
  auto* record = log->Reserve<trace::HostAnchor>();
  if (record == nullptr) return;
  const uint64_t middle = Middle([&] {
    monotonic = base::ClockNs(CLOCK_MONOTONIC);
    realtime = base::ClockNs(CLOCK_REALTIME);
  });
  record->now_tsc = middle;
  record->monotonic_ns = monotonic;
  record->realtime_ns = realtime;
  log->Commit(record);
}

constinit std::atomic<uint64_t> seen_ticks[kMostAgents];

// The system clock alone, for copies, whose times the runtime converts itself: an anchor of the
// CPU's, whose "GPU counter" is that clock.
void RecordSystemAnchor(trace::ThreadLog* log, uint16_t cpu) {
  uint64_t system = 0;
  const uint64_t tsc =
      Middle([&] { Real().core.hsa_system_get_info_fn(HSA_SYSTEM_INFO_TIMESTAMP, &system); });
  if (system == 0) return;  // the runtime has been shut down
  auto* record = log->Reserve<trace::GpuAnchor>();
  if (record == nullptr) return;
  record->now_tsc = tsc;
  record->gpu_ticks = record->system_ns = system;
  log->Commit(record, cpu);
}

// The runtime converts GPU ticks to its system clock and offers no way back, and not every release
// tells the counter's frequency, nor converts ticks from before the program: walk along the
// runtime's own line from a tick that was seen to the one that stands for now. It ends within a
// tick of it.
void RecordGpuAnchor(trace::ThreadLog* log, uint16_t index) {
  const uint64_t seen = seen_ticks[index].load(std::memory_order_relaxed);
  if (seen == 0) return;
  const hsa_agent_t agent = AgentHandle(index);
  const auto convert = [&](uint64_t tick, int64_t* at) {
    uint64_t system = 0;
    const hsa_status_t status =
        Real().amd.hsa_amd_profiling_convert_tick_to_system_domain_fn(agent, tick, &system);
    *at = static_cast<int64_t>(system);
    return status == HSA_STATUS_SUCCESS;
  };
  constexpr uint64_t kStep = 1'000'000;
  int64_t at = 0;
  int64_t next = 0;
  if (!convert(seen, &at) || !convert(seen + kStep, &next) || next <= at) return;
  const double ns_per_tick = static_cast<double>(next - at) / static_cast<double>(kStep);
  uint64_t system = 0;
  const uint64_t tsc =
      Middle([&] { Real().core.hsa_system_get_info_fn(HSA_SYSTEM_INFO_TIMESTAMP, &system); });
  if (system == 0) return;  // the runtime has been shut down
  uint64_t tick = seen;
  for (int step = 0; step < 4; ++step) {
    tick +=
        static_cast<int64_t>(static_cast<double>(static_cast<int64_t>(system) - at) / ns_per_tick);
    if (!convert(tick, &at)) return;
  }
  if (auto* record = log->Reserve<trace::GpuAnchor>()) {
    record->gpu_ticks = tick;
    record->system_ns = static_cast<uint64_t>(at);
    record->now_tsc = tsc;
    log->Commit(record, index);
  }
}

}  // namespace

void RecordAnchors() {
  ThreadState* thread = CurrentThread();
  if (thread == nullptr) return;
  RecordHostAnchor(thread->log);
  if (!RuntimeAlive()) return;
  bool cpu_noted = false;
  for (uint16_t index = 0; index < AgentCount(); ++index) {
    if (IsGpu(index)) {
      RecordGpuAnchor(thread->log, index);
    } else if (!cpu_noted) {
      cpu_noted = true;
      RecordSystemAnchor(thread->log, index);
    }
  }
}

bool SawTicks(uint16_t agent, uint64_t ticks) {
  if (agent >= kMostAgents) return false;
  return seen_ticks[agent].exchange(ticks, std::memory_order_relaxed) == 0;
}

}  // namespace rochound::agent
