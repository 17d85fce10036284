// SPDX-License-Identifier: MIT
#include "softgpu/machine/workgroup.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace rochound::softgpu {
namespace {

constexpr size_t kRegisterFileBytes = kRegisterRows * kRowLanes * sizeof(uint32_t);
// Between two slices a wave's thread looks at the page map and for cancellation.
constexpr uint64_t kSliceInstructions = 4096;
constexpr uint64_t kTurnInstructions = 100'000;

}  // namespace

Workgroup::Slot::Slot() {
  // Untouched registers cost no memory.
  void* rows = mmap(nullptr, kRegisterFileBytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  wave.rows = rows == MAP_FAILED ? nullptr : static_cast<uint32_t*>(rows);
}

Workgroup::Slot::~Slot() {
  if (wave.rows != nullptr) munmap(wave.rows, kRegisterFileBytes);
}

Workgroup::~Workgroup() = default;

void Workgroup::Start(const Kernel& kernel, uint64_t linear_id, const Architecture& architecture,
                      const Op* entry, CodeCache* code, AddressSpace::Reader* memory,
                      WaveEnvironment* environment, const ScratchSlots& scratch,
                      const ComputeUnit& place, unsigned simds_per_unit,
                      const CountInto& counting) {
  unsigned id[3];
  id[0] = static_cast<unsigned>(linear_id % kernel.groups[0]);
  id[1] = static_cast<unsigned>(linear_id / kernel.groups[0] % kernel.groups[1]);
  id[2] = static_cast<unsigned>(linear_id / kernel.groups[0] / kernel.groups[1]);
  ROCHOUND_DCHECK(linear_id < kernel.group_count && id[2] < kernel.groups[2]);
  // The last workgroup of a dimension may be partial; its work-items are packed into fewer waves.
  unsigned size[3];
  for (unsigned i = 0; i < 3; ++i)
    size[i] = std::min(kernel.group[i], kernel.grid[i] - id[i] * kernel.group[i]);
  unsigned items = size[0] * size[1] * size[2];
  count_ = (items + kernel.wave_size - 1) / kernel.wave_size;
  ROCHOUND_DCHECK(count_ != 0 && count_ <= kernel.waves_per_group);
  live_ = count_;
  at_barrier_ = 0;
  split_barrier_ = {.members = count_};
  split_barriers_seen_ = 0;
  instructions_ = 0;
  scratch_ = scratch;
  uint32_t lds_bytes = (kernel.group_bytes + architecture.lds_granule - 1) /
                       architecture.lds_granule * architecture.lds_granule;
  if (lds_.size() * 8 < lds_bytes) lds_.resize(lds_bytes / 8);
  while (waves_.size() < count_) waves_.push_back(std::make_unique<Slot>());

  for (unsigned number = 0; number < count_; ++number) {
    Slot& slot = *waves_[number];
    Wave& wave = slot.wave;
    slot.state = State::kReady;
    std::memcpy(wave.sgpr, kernel.scalars.data(), sizeof(wave.sgpr));
    for (unsigned i = 0; i < 3; ++i) {
      if (kernel.workgroup_id_register[i] >= 0) wave.sgpr[kernel.workgroup_id_register[i]] = id[i];
    }
    if (architecture.workgroup_ids_in_ttmp) {
      wave.sgpr[kTtmp0 + 9] = id[0];
      wave.sgpr[kTtmp0 + 7] = (id[1] & 0xFFFF) | id[2] << 16;
      wave.sgpr[kTtmp0 + 8] = (number & 0x1F) << 25;
    }
    if (kernel.workgroup_info_register >= 0) {
      // First wave of the group (bit 31) and waves in the group.
      wave.sgpr[kernel.workgroup_info_register] = (number == 0 ? 1u << 31 : 0) | count_;
    }
    wave.next = entry;
    wave.architecture = &architecture;
    wave.memory = memory;
    wave.code = code;
    wave.environment = environment;
    wave.tally = nullptr;
    if (counting.sums != nullptr) [[unlikely]] {
      if (slot.tally == nullptr) slot.tally = std::make_unique<WaveTally>();
      slot.tally->Reset(*counting.rules, counting.sums, counting.accesses, linear_id);
      wave.tally = slot.tally.get();
    }
    wave.lds = reinterpret_cast<uint8_t*>(lds_.data());
    wave.lds_bytes = lds_bytes;
    wave.mode = kernel.mode;
    wave.lanes = static_cast<uint8_t>(kernel.wave_size);
    wave.full_exec = kernel.wave_size == 32 ? 0xFFFFFFFF : ~uint64_t{0};
    wave.scc = false;
    wave.stop = StopReason::kNone;
    wave.sync_ticket = 0;
    wave.split_barrier = &split_barrier_;
    wave.barriers_passed = 0;
    wave.wave_in_group = static_cast<uint8_t>(number);
    wave.hw_id = HardwareId(architecture, place, number, simds_per_unit);
    wave.xcc_id = place.xcc;
    wave.scratch_bytes_per_lane = kernel.private_bytes_per_lane;
    if (!scratch_.slots.empty()) {
      ROCHOUND_DCHECK(number < scratch_.slots.size());
      uint64_t offset = scratch_.slots[number] * scratch_.bytes_per_wave;
      wave.scratch_base = scratch_.base + offset;
      wave.scratch_bytes_per_lane =
          static_cast<uint32_t>(scratch_.bytes_per_wave / kernel.wave_size);
      if (kernel.scratch_offset_register >= 0)
        wave.sgpr[kernel.scratch_offset_register] = static_cast<uint32_t>(offset);
      if (architecture.architected_flat_scratch) wave.SetPair(kFlatScratchLo, wave.scratch_base);
    }
    StartWave(slot, kernel, number, size);
  }
}

void Workgroup::StartWave(Slot& slot, const Kernel& kernel, unsigned number,
                          const unsigned size[3]) {
  Wave& wave = slot.wave;
  unsigned lanes = kernel.wave_size;
  unsigned items = size[0] * size[1] * size[2];
  unsigned first = number * lanes;
  ROCHOUND_DCHECK(first < items);
  unsigned active = std::min(lanes, items - first);
  wave.SetPair(kExecLo, active == 64 ? ~uint64_t{0} : (uint64_t{1} << active) - 1);
  uint32_t* x = wave.Row(0);
  uint32_t* y = wave.Row(1);
  uint32_t* z = wave.Row(2);
  bool packed = wave.architecture->packed_workitem_ids;
  if (size[1] == 1 && size[2] == 1) {
    for (unsigned lane = 0; lane < lanes; ++lane) x[lane] = first + lane;
    if (!packed && kernel.workitem_id_dimensions > 1) std::fill_n(y, lanes, 0u);
    if (!packed && kernel.workitem_id_dimensions > 2) std::fill_n(z, lanes, 0u);
    return;
  }
  unsigned plane = size[0] * size[1];
  for (unsigned lane = 0; lane < lanes; ++lane) {
    unsigned item = first + lane;
    uint32_t ids[3] = {item % size[0], item / size[0] % size[1], item / plane};
    if (packed) {
      x[lane] = ids[0] | ids[1] << 10 | ids[2] << 20;
    } else {
      x[lane] = ids[0];
      if (kernel.workitem_id_dimensions > 1) y[lane] = ids[1];
      if (kernel.workitem_id_dimensions > 2) z[lane] = ids[2];
    }
  }
}

Workgroup::Turn Workgroup::Run(const std::atomic<bool>& cancelled) {
  uint64_t budget = kTurnInstructions * count_;
  while (true) {
    bool progressed = false;
    for (unsigned i = 0; i < count_; ++i) {
      Slot& slot = *waves_[i];
      if (slot.state != State::kReady) continue;
      slot.wave.memory->Refresh();
      uint64_t ran = slot.wave.tally == nullptr ? RunWave(slot.wave, kSliceInstructions)
                                                : RunCountedWave(slot.wave, kSliceInstructions);
      instructions_ += ran;
      budget -= std::min(budget, ran);
      switch (slot.wave.stop) {
        case StopReason::kNone:
          progressed = true;
          break;
        case StopReason::kYield:
          break;
        case StopReason::kEnd:
          slot.state = State::kEnded;
          ROCHOUND_DCHECK(live_ != 0 && split_barrier_.members != 0);
          --live_;
          --split_barrier_.members;
          split_barrier_.CompleteIfAll();
          progressed = true;
          break;
        case StopReason::kBarrier:
          slot.state = State::kAtBarrier;
          ++at_barrier_;
          ROCHOUND_DCHECK(at_barrier_ <= live_);
          progressed = true;
          break;
        default:
          failed_ = i;
          return Turn::kFailed;
      }
      if (cancelled.load(std::memory_order_relaxed)) return Turn::kMore;
    }
    if (live_ == 0) return Turn::kFinished;
    if (at_barrier_ == live_ || split_barriers_seen_ != split_barrier_.completed) {
      split_barriers_seen_ = split_barrier_.completed;
      for (unsigned i = 0; i < count_; ++i) {
        if (waves_[i]->state == State::kAtBarrier) waves_[i]->state = State::kReady;
      }
      at_barrier_ = 0;
    }
    if (!progressed) return Turn::kWaiting;
    if (budget == 0) return Turn::kMore;
  }
}

}  // namespace rochound::softgpu
