// SPDX-License-Identifier: MIT
#include "softgpu/isa/semantics/lane_memory.h"

#include <algorithm>
#include <array>

#include "softgpu/isa/semantics/lds_address.h"

namespace rochound::softgpu {
namespace {

// A run of bytes that is contiguous in this process.
struct Run {
  uint8_t* host = nullptr;
  uint64_t bytes = 0;
  bool exclusive = false;  // LDS or scratch
};

bool FindGlobal(Wave& wave, const Op* op, uint64_t address, uint8_t access, Run* run) {
  const Region* region = wave.memory->Find(address);
  if (region == nullptr || (region->access & access) != access) {
    wave.StopFault(op, address, (access & kWrite) ? kWrite : kRead);
    return false;
  }
  *run = {region->HostAddress(address), region->end - address, false};
  return true;
}

bool FindShared(Wave& wave, const Op* op, uint64_t address, Run* run) {
  uint32_t offset = static_cast<uint32_t>(address);
  if (offset >= wave.lds_bytes) {
    StopAperture(wave, op, address);
    return false;
  }
  *run = {wave.lds + offset, wave.lds_bytes - offset, true};
  return true;
}

// The dwords of one lane are as far apart as a row of all lanes is wide.
bool FindPrivate(Wave& wave, const Op* op, uint64_t address, unsigned lane, uint8_t access,
                 Run* run) {
  uint32_t offset = static_cast<uint32_t>(address);
  if (offset >= wave.scratch_bytes_per_lane) {
    StopAperture(wave, op, address);
    return false;
  }
  uint64_t place = wave.scratch_base + (uint64_t{offset / 4} * wave.lanes + lane) * 4 + offset % 4;
  if (!FindGlobal(wave, op, place, access, run)) return false;
  run->bytes = 4 - offset % 4;
  run->exclusive = true;
  return true;
}

bool Find(Wave& wave, const Op* op, AddressKind kind, uint64_t address, unsigned lane,
          uint8_t access, Run* run) {
  uint32_t upper = static_cast<uint32_t>(address >> 32);
  if (kind == AddressKind::kPrivate || (kind == AddressKind::kFlat && IsPrivate(wave, upper)))
    return FindPrivate(wave, op, address, lane, access, run);
  if (kind == AddressKind::kFlat && IsShared(wave, upper))
    return FindShared(wave, op, address, run);
  return FindGlobal(wave, op, address, access, run);
}

// Calls body(host, done, count) for each contiguous piece of [address, address + bytes).
template <typename Body>
bool ForEachPiece(Wave& wave, const Op* op, AddressKind kind, uint64_t address, unsigned lane,
                  unsigned bytes, uint8_t access, Body&& body) {
  for (unsigned done = 0; done < bytes;) {
    Run run;
    if (!Find(wave, op, kind, address + done, lane, access, &run)) return false;
    unsigned count = static_cast<unsigned>(std::min<uint64_t>(run.bytes, bytes - done));
    body(run.host, done, count);
    done += count;
  }
  return true;
}

constexpr std::array<uint32_t, kRowLanes> MakeLaneBytesOffsets() {
  std::array<uint32_t, kRowLanes> offsets{};
  for (unsigned i = 0; i < kRowLanes; ++i) offsets[i] = i * kLaneBytes;
  return offsets;
}
constexpr auto kOffsets = MakeLaneBytesOffsets();

}  // namespace

const uint32_t* LaneBytesOffsets() { return kOffsets.data(); }

const Op* StopAperture(Wave& wave, const Op* op, uint64_t address) {
  wave.fault.address = address;
  return wave.Stop(StopReason::kApertureViolation, op);
}

const Op* StopMisaligned(Wave& wave, const Op* op, uint64_t address) {
  wave.fault.address = address;
  return wave.Stop(StopReason::kMemoryViolation, op);
}

bool ReadLanes(Wave& wave, const Op* op, AddressKind kind, const WideAddresses& addresses,
               uint64_t mask, unsigned bytes, LaneBytes* out) {
  for (; mask != 0; mask &= mask - 1) {
    unsigned lane = static_cast<unsigned>(std::countr_zero(mask));
    uint8_t* to = out->of + lane * kLaneBytes;
    if (!ForEachPiece(wave, op, kind, addresses.at[lane], lane, bytes, kRead,
                      [&](const uint8_t* host, unsigned done, unsigned count) {
                        CopyFromMemory(to + done, host, count);
                      }))
      return false;
  }
  return true;
}

bool WriteLanes(Wave& wave, const Op* op, AddressKind kind, const WideAddresses& addresses,
                uint64_t mask, unsigned bytes, const LaneBytes& in) {
  for (uint64_t left = mask; left != 0; left &= left - 1) {
    unsigned lane = static_cast<unsigned>(std::countr_zero(left));
    if (!ForEachPiece(wave, op, kind, addresses.at[lane], lane, bytes, kWrite,
                      [](uint8_t*, unsigned, unsigned) {}))
      return false;
  }
  ForEachLane(mask, [&](unsigned lane) {
    const uint8_t* from = in.of + lane * kLaneBytes;
    ForEachPiece(wave, op, kind, addresses.at[lane], lane, bytes, kWrite,
                 [&](uint8_t* host, unsigned done, unsigned count) {
                   CopyToMemory(host, from + done, count);
                 });
  });
  return true;
}

bool ReadGlobal(Wave& wave, const Op* op, uint64_t address, unsigned bytes, uint8_t* out) {
  return ForEachPiece(wave, op, AddressKind::kGlobal, address, 0, bytes, kRead,
                      [&](const uint8_t* host, unsigned done, unsigned count) {
                        CopyFromMemory(out + done, host, count);
                      });
}

bool CheckGlobal(Wave& wave, const Op* op, uint64_t address, unsigned bytes, uint8_t access) {
  return ForEachPiece(wave, op, AddressKind::kGlobal, address, 0, bytes, access,
                      [](uint8_t*, unsigned, unsigned) {});
}

bool WriteGlobal(Wave& wave, const Op* op, uint64_t address, unsigned bytes, const uint8_t* in) {
  return CheckGlobal(wave, op, address, bytes, kWrite) &&
         ForEachPiece(wave, op, AddressKind::kGlobal, address, 0, bytes, kWrite,
                      [&](uint8_t* host, unsigned done, unsigned count) {
                        CopyToMemory(host, in + done, count);
                      });
}

bool FindAtomicPlace(Wave& wave, const Op* op, AddressKind kind, uint64_t address, unsigned lane,
                     unsigned bytes, AtomicPlace* place) {
  if (address % bytes != 0) {
    StopMisaligned(wave, op, address);
    return false;
  }
  Run run;
  if (!Find(wave, op, kind, address, lane, kRead | kWrite, &run)) return false;
  *place = {run.host, nullptr, run.exclusive};
  if (run.bytes >= bytes) return true;
  // Aligned, so this is the upper half of a 64-bit operand in scratch, or beyond the end of LDS.
  if (!Find(wave, op, kind, address + 4, lane, kRead | kWrite, &run)) return false;
  place->upper = run.host;
  return true;
}

void StoreLoadedToLds(Wave& wave, int64_t offset, uint64_t mask, unsigned dwords,
                      const uint32_t* rows) {
  int64_t base = LoadToLdsBase(wave) + offset;
  unsigned step = LoadToLdsStep(4 * dwords);
  ForEachLane(mask, [&](unsigned lane) {
    for (unsigned k = 0; k < dwords; ++k) {
      int64_t at = base + lane * step + k * 4;
      if (at >= 0 && at + 4 <= wave.lds_bytes)
        StoreElement(wave.lds + at, rows[k * kRowLanes + lane]);
    }
  });
}

}  // namespace rochound::softgpu
