// SPDX-License-Identifier: MIT
//
// How the host runs a workgroup: each work item is a fibre on the calling thread; those of one
// workgroup take turns, and yield wherever they depend on each other. Included by lanes.h for the
// host alone. A wave operation waits for all lanes of the wave that come to the same operation in
// the same iteration of the loops around it, which is what structured control flow means on a GPU.
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base.h"

namespace lanes {

using namespace base;

struct Lane {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  u32 thread = 0, index = 0, wave = 0;
  enum { kRuns, kAtBarrier, kAtWave, kDone } state = kRuns;
  std::vector<u32> path;     // loops around here: id and iteration, outermost first
  std::vector<u32> waiting;  // path and the operation waited at
  u64 value = 0;
};

// One workgroup at a time.
struct Group {
  std::vector<Lane> lanes;
  ucontext_t scheduler;
  Lane* now = nullptr;
  u32 wave_size = 64;
  u32 generation = 9;  // gfx9 to gfx12
  // By lane of the wave whose operation was completed last; valid until the lane that looks yields
  // again.
  struct Wave {
    u64 active = 0;
    u64 values[64];
  };
  std::vector<Wave> waves;
  void (*body)(void*, u32) = nullptr;
  void* body_data = nullptr;
};

inline Group& TheGroup() {
  static Group group;
  return group;
}

inline void Yield() {
  Group& group = TheGroup();
  swapcontext(&group.now->context, &group.scheduler);
}

inline const Group::Wave& WaveSync(u32 id, u64 value) {
  Group& group = TheGroup();
  Lane& lane = *group.now;
  lane.value = value;
  lane.waiting = lane.path;
  lane.waiting.push_back(id);
  lane.state = Lane::kAtWave;
  Yield();
  return group.waves[lane.wave];
}

inline void Fibre() {
  Group& group = TheGroup();
  group.body(group.body_data, group.now->thread);
  group.now->state = Lane::kDone;
  Yield();
}

// Lets the wave operation that is first in the program happen: whoever is not there is after
// it already.
inline bool ReleaseWave(Group& group, u32 wave) {
  const u32 first_lane = wave * group.wave_size;
  const u32 end = std::min<u32>(first_lane + group.wave_size, group.lanes.size());
  const std::vector<u32>* first = nullptr;
  for (u32 i = first_lane; i < end; ++i) {
    const Lane& lane = group.lanes[i];
    if (lane.state == Lane::kAtWave && (!first || lane.waiting < *first)) first = &lane.waiting;
  }
  if (!first) return false;
  const std::vector<u32> place = *first;
  Group::Wave& shared = group.waves[wave];
  shared.active = 0;
  for (u32 i = first_lane; i < end; ++i) {
    Lane& lane = group.lanes[i];
    if (lane.state != Lane::kAtWave || lane.waiting != place) continue;
    shared.active |= u64{1} << lane.index;
    shared.values[lane.index] = lane.value;
    lane.state = Lane::kRuns;
  }
  return true;
}

// Runs body(data, thread) for all threads of one workgroup.
inline void RunGroup(u32 threads, u32 wave_size, u32 generation, void (*body)(void*, u32),
                     void* data) {
  constexpr size_t kStack = 96 << 10;
  Group& group = TheGroup();
  group.wave_size = wave_size;
  group.generation = generation;
  group.body = body;
  group.body_data = data;
  group.lanes.resize(threads);
  group.waves.resize((threads + wave_size - 1) / wave_size);
  for (u32 thread = 0; thread < threads; ++thread) {
    Lane& lane = group.lanes[thread];
    lane.thread = thread;
    lane.index = thread % wave_size;
    lane.wave = thread / wave_size;
    lane.state = Lane::kRuns;
    lane.path.clear();
    if (!lane.stack) lane.stack.reset(new char[kStack]);
    getcontext(&lane.context);
    lane.context.uc_stack.ss_sp = lane.stack.get();
    lane.context.uc_stack.ss_size = kStack;
    lane.context.uc_link = nullptr;
    makecontext(&lane.context, Fibre, 0);
  }
  while (true) {
    for (Lane& lane : group.lanes) {
      if (lane.state != Lane::kRuns) continue;
      group.now = &lane;
      swapcontext(&group.scheduler, &lane.context);
    }
    bool released = false;
    for (u32 wave = 0; wave < group.waves.size(); ++wave) released |= ReleaseWave(group, wave);
    if (released) continue;
    bool at_barrier = false;
    for (Lane& lane : group.lanes) {
      if (lane.state == Lane::kAtBarrier) {
        lane.state = Lane::kRuns;
        at_barrier = true;
      }
    }
    if (!at_barrier) return;
  }
}

}  // namespace lanes
