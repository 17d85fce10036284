// SPDX-License-Identifier: MIT
//
// One resident workgroup: its waves, their registers, its LDS. Run by one thread at a time, in
// turns, so that workgroups which wait for each other make progress. Workgroups are reused: a fresh
// register file costs more than a small kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "softgpu/counters/wave_tally.h"
#include "softgpu/isa/wave.h"
#include "softgpu/machine/kernel.h"
#include "softgpu/machine/placement.h"

namespace rochound::softgpu {

// Where a workgroup's waves keep their scratch: one slot per wave.
struct ScratchSlots {
  uint64_t base = 0;  // GPU address of slot 0
  uint64_t bytes_per_wave = 0;
  std::vector<uint32_t> slots;
};

// Where a thread counts what its waves do; sums is nullptr if it does not. `accesses` is not
// nullptr if it also writes down where they go.
struct CountInto {
  const TargetRules* rules = nullptr;
  Sums* sums = nullptr;
  AccessWriter* accesses = nullptr;
};

class Workgroup {
 public:
  enum class Turn { kFinished, kMore, kWaiting, kFailed };

  Workgroup() = default;
  ~Workgroup();
  Workgroup(const Workgroup&) = delete;
  Workgroup& operator=(const Workgroup&) = delete;

  // Makes the waves of workgroup `linear_id` ready to start at `entry`.
  void Start(const Kernel& kernel, uint64_t linear_id, const Architecture& architecture,
             const Op* entry, CodeCache* code, AddressSpace::Reader* memory,
             WaveEnvironment* environment, const ScratchSlots& scratch, const ComputeUnit& place,
             unsigned simds_per_unit, const CountInto& counting);

  // Runs for a bounded number of instructions. kWaiting: no wave can go on before somebody else
  // does something. kFailed: failed_wave() says what happened.
  Turn Run(const std::atomic<bool>& cancelled);

  const Wave& failed_wave() const { return waves_[failed_]->wave; }
  uint64_t instructions() const { return instructions_; }
  ScratchSlots& scratch() { return scratch_; }

 private:
  enum class State : uint8_t { kReady, kAtBarrier, kEnded };
  struct Slot {
    Slot();
    ~Slot();
    Wave wave;
    State state = State::kReady;
    std::unique_ptr<WaveTally> tally;  // made for the first counted wave
  };

  void StartWave(Slot& slot, const Kernel& kernel, unsigned number, const unsigned size[3]);

  std::vector<std::unique_ptr<Slot>> waves_;
  unsigned count_ = 0;  // waves in use
  unsigned live_ = 0;
  unsigned at_barrier_ = 0;
  SplitBarrier split_barrier_;
  uint64_t split_barriers_seen_ = 0;  // whose waiting waves were let go
  unsigned failed_ = 0;
  uint64_t instructions_ = 0;
  std::vector<uint64_t> lds_;  // 64-bit elements for alignment
  ScratchSlots scratch_;
};

}  // namespace rochound::softgpu
