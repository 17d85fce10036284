// SPDX-License-Identifier: MIT
#include "softgpu/isa/semantics/memory_trace.h"

#include <algorithm>

#include "softgpu/isa/semantics/buffer_memory.h"
#include "softgpu/isa/semantics/flat_address.h"
#include "softgpu/isa/semantics/lds_address.h"
#include "softgpu/isa/semantics/scalar_address.h"

namespace rochound::softgpu {
namespace {

// A lane's own bytes from `at` on, dword by dword as they lie in memory.
void AddPrivate(const Wave& wave, uint32_t at, unsigned bytes, unsigned lane, MemoryTrace* trace) {
  for (unsigned done = 0; done < bytes;) {
    const uint32_t place = at + done;
    const unsigned count = std::min(bytes - done, 4 - place % 4);
    trace->Add({wave.scratch_base + (uint64_t{place / 4} * wave.lanes + lane) * 4 + place % 4,
                MemorySpace::kScratch, static_cast<uint8_t>(count), static_cast<uint8_t>(lane)});
    done += count;
  }
}

void AddFlat(const Wave& wave, uint64_t address, unsigned bytes, unsigned lane,
             MemoryTrace* trace) {
  const auto upper = static_cast<uint32_t>(address >> 32);
  if (IsPrivate(wave, upper))
    return AddPrivate(wave, static_cast<uint32_t>(address), bytes, lane, trace);
  const bool shared = IsShared(wave, upper);
  trace->Add({shared ? address & 0xFFFFFFFF : address,
              shared ? MemorySpace::kLds : MemorySpace::kGlobal, static_cast<uint8_t>(bytes),
              static_cast<uint8_t>(lane)});
}

template <AddressKind K>
void TracePairs(const Wave& wave, const Op* op, uint64_t mask, unsigned bytes, MemoryTrace* trace) {
  const MemoryForm form = MemoryForm::Of(op);
  LaneAddresses addresses;
  WideAddresses wide;
  if (NarrowAddresses<K>(wave, op, form, mask, &addresses)) {
    Widen(addresses, wave.lanes, &wide);
  } else {
    WidenPairs(wave, op, form, &wide);
  }
  ForEachLane(mask, [&](unsigned lane) {
    if constexpr (K == AddressKind::kFlat) {
      AddFlat(wave, wide.at[lane], bytes, lane, trace);
    } else {
      trace->Add({wide.at[lane], MemorySpace::kGlobal, static_cast<uint8_t>(bytes),
                  static_cast<uint8_t>(lane)});
    }
  });
}

// A buffer may be the wave's own scratch: that is how gfx10 kernels see it.
MemorySpace BufferSpace(const Wave& wave, uint64_t address) {
  const uint64_t size = uint64_t{wave.scratch_bytes_per_lane} * wave.lanes;
  return wave.scratch_base != 0 && address - wave.scratch_base < size ? MemorySpace::kScratch
                                                                      : MemorySpace::kGlobal;
}

void TraceBuffer(const Wave& wave, const Op* op, AddressForm form, uint64_t mask, unsigned bytes,
                 MemoryTrace* trace) {
  const BufferAccess access = BufferAccess::Of(wave, op);
  const bool typed = form != AddressForm::kBuffer;
  if (typed) {
    bytes = TypedBufferBytes(op, access.descriptor, form == AddressForm::kTypedEncoding);
  }
  ForEachLane(mask, [&](unsigned lane) {
    BufferPart parts[kMaxBufferParts];
    const unsigned count = ListBufferParts(access, lane, bytes, typed, parts);
    for (unsigned i = 0; i < count; ++i) {
      trace->Add({parts[i].address, BufferSpace(wave, parts[i].address),
                  static_cast<uint8_t>(parts[i].bytes), static_cast<uint8_t>(lane)});
    }
  });
}

void TraceLds(uint32_t base, const uint32_t* offset, uint64_t mask, unsigned bytes,
              MemoryTrace* trace) {
  ForEachLane(mask, [&](unsigned lane) {
    const uint32_t at = base + offset[lane];
    trace->Add({at, MemorySpace::kLds, static_cast<uint8_t>(bytes), static_cast<uint8_t>(lane)});
  });
}

template <ScalarBase B>
void TraceScalar(const Wave& wave, const Op* op, unsigned bytes, MemoryTrace* trace) {
  const ScalarPlace place = Locate<B>(wave, op, (bytes + 3) / 4);
  trace->Add({place.address, MemorySpace::kScalar,
              static_cast<uint8_t>(std::min(bytes, place.inside * 4)), 0});
}

}  // namespace

void TraceMemory(const Wave& wave, const Op* op, AddressForm form, unsigned bytes,
                 MemoryTrace* trace) {
  trace->count = 0;
  const MemoryForm registers = MemoryForm::Of(op);
  const uint64_t mask = wave.exec();
  switch (form) {
    case AddressForm::kScalar:
      return TraceScalar<ScalarBase::kAddress>(wave, op, bytes, trace);
    case AddressForm::kScalarBuffer:
      return TraceScalar<ScalarBase::kBuffer>(wave, op, bytes, trace);
    case AddressForm::kScalarScratch:
      return TraceScalar<ScalarBase::kScratch>(wave, op, bytes, trace);
    default:
      break;
  }
  if (mask == 0) return;
  switch (form) {
    case AddressForm::kFlat:
      return TracePairs<AddressKind::kFlat>(wave, op, mask, bytes, trace);
    case AddressForm::kGlobal:
      return TracePairs<AddressKind::kGlobal>(wave, op, mask, bytes, trace);
    case AddressForm::kGlobalThreadId: {
      const LaneAddresses addresses = ThreadIdAddresses(wave, op);
      ForEachLane(mask, [&](unsigned lane) {
        trace->Add({addresses.base + addresses.offset[lane], MemorySpace::kGlobal,
                    static_cast<uint8_t>(bytes), static_cast<uint8_t>(lane)});
      });
      return;
    }
    case AddressForm::kScratch: {
      const PrivateAddresses addresses = ScratchAddresses(wave, op, registers);
      ForEachLane(mask, [&](unsigned lane) {
        const uint32_t at =
            addresses.base + (addresses.offset == nullptr ? 0 : addresses.offset[lane]);
        AddPrivate(wave, at, bytes, lane, trace);
      });
      return;
    }
    case AddressForm::kBuffer:
    case AddressForm::kTypedBuffer:
    case AddressForm::kTypedEncoding:
      return TraceBuffer(wave, op, form, mask, bytes, trace);
    case AddressForm::kLds:
      return TraceLds(FirstOffset(op), wave.Row(registers.address), mask, bytes, trace);
    case AddressForm::kLdsPair:
      TraceLds(FirstOffset(op), wave.Row(registers.address), mask, bytes, trace);
      return TraceLds(SecondOffset(op), wave.Row(registers.address), mask, bytes, trace);
    case AddressForm::kLdsThreadId:
      return TraceLds(FirstOffset(op) + (wave.sgpr[kM0] & 0xFFFF), kLaneTimesFour.data(), mask,
                      bytes, trace);
    case AddressForm::kLdsCounter:
      trace->Add({(wave.sgpr[kM0] & 0xFFFF) + FirstOffset(op), MemorySpace::kLds,
                  static_cast<uint8_t>(bytes), 0});
      return;
    default:
      return;
  }
}

void TraceLoadedToLds(const Wave& wave, const Op* op, AddressForm form, unsigned bytes,
                      MemoryTrace* trace) {
  const uint32_t offset = form == AddressForm::kBuffer ? BufferAccess::Of(wave, op).fixed_offset
                                                       : static_cast<uint32_t>(op->imm);
  const uint32_t base = LoadToLdsBase(wave) + offset;
  const unsigned written = bytes < 4 ? 4 : bytes;  // a byte or a short fills its dword
  ForEachLane(wave.exec(), [&](unsigned lane) {
    trace->Add({base + lane * LoadToLdsStep(bytes), MemorySpace::kLds,
                static_cast<uint8_t>(written), static_cast<uint8_t>(lane)});
  });
}

}  // namespace rochound::softgpu
