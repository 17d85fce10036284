// SPDX-License-Identifier: MIT
#include "softgpu/isa/semantics/buffer_memory.h"

#include <algorithm>
#include <array>

namespace rochound::softgpu {
namespace {

constexpr uint32_t kElementBytes = 4;

constexpr std::array<uint32_t, kRowLanes> kZeroRow{};
// Op::imm: bits 23:0 the encoding's offset, 24 offen, 25 idxen, 63:32 a constant scalar offset.
constexpr uint64_t kOffsetMask = (1 << 24) - 1;
constexpr uint64_t kUsesOffset = 1 << 24;
constexpr uint64_t kUsesIndex = 1 << 25;

BufferDescriptor DecodeDescriptor(const uint32_t* words, bool is_gfx10) {
  BufferDescriptor d;
  d.base = words[0] | uint64_t{words[1] & 0xFFFF} << 32;
  d.stride = words[1] >> 16 & 0x3FFF;
  d.swizzled = words[1] >> 31;
  d.records = words[2];
  d.word3 = words[3];
  d.index_shift = static_cast<uint8_t>(3 + (words[3] >> 21 & 3));
  d.adds_lane = words[3] >> 23 & 1;
  d.is_gfx10 = is_gfx10;
  if (is_gfx10) {
    d.check = words[3] >> 28 & 3;
  } else if (d.adds_lane) {
    d.stride |= (words[3] >> 15 & 0xF) << 14;  // takes the place of the data format
  }
  return d;
}

// Calls body(address, done, count) for the pieces of one dword or less at `offset`: one, unless it
// lies across elements of a swizzled buffer.
template <typename Body>
bool ForEachPart(const BufferAccess& access, uint32_t index, uint64_t offset, unsigned bytes,
                 Body&& body) {
  for (unsigned done = 0; done < bytes;) {
    unsigned count = bytes - done;
    if (access.descriptor.swizzled) {
      unsigned within = static_cast<unsigned>((offset + done) % kElementBytes);
      count = std::min(count, kElementBytes - within);
    }
    uint64_t address =
        access.descriptor.base + access.scalar_offset + access.Place(index, offset + done);
    if (!body(address, done, count)) return false;
    done += count;
  }
  return true;
}

// The same for all dwords of a lane that are in range.
template <typename Body>
bool ForEachInRange(const BufferAccess& access, unsigned lane, unsigned bytes, bool whole,
                    Body&& body) {
  uint32_t index = access.IndexOf(lane);
  uint64_t offset = access.OffsetOf(lane);
  bool whole_in_range = whole && access.InRange(index, offset);
  for (unsigned done = 0; done < bytes; done += 4) {
    if (!(whole ? whole_in_range : access.InRange(index, offset + done))) continue;
    if (!ForEachPart(access, index, offset + done, std::min(4u, bytes - done),
                     [&](uint64_t address, unsigned part, unsigned count) {
                       return body(address, done + part, count);
                     }))
      return false;
  }
  return true;
}

}  // namespace

BufferAccess BufferAccess::Of(const Wave& wave, const Op* op) {
  MemoryForm form = MemoryForm::Of(op);
  uint64_t fields = static_cast<uint64_t>(op->imm);
  BufferAccess access;
  access.descriptor =
      DecodeDescriptor(&wave.sgpr[form.scalar], (wave.architecture->bit & kRdnaTargets) != 0);
  access.fixed_offset = fields & kOffsetMask;
  access.descriptor.is_gfx11 = wave.architecture->bit & (kGfx11Targets | kGfx12Targets);
  access.scalar_offset = form.result == MemoryForm::kAbsent ? static_cast<uint32_t>(fields >> 32)
                                                            : wave.sgpr[form.result];
  access.data = form.data;
  unsigned next = form.address;
  if (fields & kUsesIndex) access.index = wave.Row(next++);
  if (fields & kUsesOffset) access.offset = wave.Row(next);
  return access;
}

uint64_t BufferAccess::Place(uint32_t index, uint64_t offset) const {
  const BufferDescriptor& d = descriptor;
  if (!d.swizzled) return uint64_t{index} * d.stride + offset;
  uint64_t group = index >> d.index_shift;
  uint64_t in_group = index & ((1u << d.index_shift) - 1);
  return ((group * d.stride + offset / kElementBytes * kElementBytes) << d.index_shift) +
         in_group * kElementBytes + offset % kElementBytes;
}

bool BufferAccess::InRange(uint32_t record, uint64_t at) const {
  const BufferDescriptor& d = descriptor;
  if (!d.is_gfx10) {
    if (index != nullptr && d.stride != 0) return record < d.records;
    return Place(record, at) + scalar_offset < d.records;
  }
  switch (d.check) {
    case 0:
      return record < d.records && at < d.stride;
    case 1:
      return record < d.records;
    case 2:
      return d.records != 0;
    default:
      return Place(record, at) < d.records;
  }
}

bool NarrowBuffer(const Wave& wave, const BufferAccess& access, uint64_t mask, unsigned bytes,
                  uint32_t* storage, LaneAddresses* addresses, uint32_t* step) {
  const BufferDescriptor& d = access.descriptor;
  const bool all = mask == wave.full_exec;
  const uint32_t last_dword = bytes <= 4 ? 0 : bytes - 4;
  const uint64_t start = d.base + access.scalar_offset;
  *step = d.swizzled ? kElementBytes << d.index_shift : 4;
  // Greatest index and offset, if the lanes were independent of each other.
  OffsetRange offsets{};
  if (access.offset != nullptr) offsets = RangeOf(access.offset, mask, all, wave.lanes);
  OffsetRange indices{};
  if (access.index != nullptr) indices = RangeOf(access.index, mask, all, wave.lanes);
  uint64_t last_index = uint64_t{indices.max} + (d.adds_lane ? wave.lanes - 1u : 0);
  uint64_t last_offset = uint64_t{access.fixed_offset} + offsets.max + last_dword;
  if (last_index > UINT32_MAX) return false;
  uint64_t last_place = access.Place(static_cast<uint32_t>(last_index), last_offset);
  if (d.swizzled) last_place += *step;  // more than any place of lesser index and offset
  if (last_place > UINT32_MAX) return false;
  bool in_range;
  if (!d.is_gfx10) {
    in_range = access.index != nullptr && d.stride != 0
                   ? last_index < d.records
                   : last_place + access.scalar_offset < d.records;
  } else if (d.check == 2) {
    in_range = d.records != 0;
  } else if (d.check == 3) {
    in_range = last_place < d.records;
  } else {
    in_range = last_index < d.records && (d.check == 1 || last_offset < d.stride);
  }
  if (!in_range) return false;

  if (!d.swizzled) {
    if (access.index == nullptr && !d.adds_lane) {
      addresses->base = start + access.fixed_offset;
      addresses->offset = access.offset == nullptr ? kZeroRow.data() : access.offset;
      return true;
    }
    for (unsigned i = 0; i < wave.lanes; ++i) {
      storage[i] = access.IndexOf(i) * d.stride + (access.offset == nullptr ? 0 : access.offset[i]);
    }
    *addresses = {start + access.fixed_offset, storage};
    return true;
  }

  const uint32_t last_within = 4 - std::min(bytes, 4u);  // an element is not left
  if (access.offset == nullptr && access.index == nullptr && d.adds_lane &&
      wave.lanes <= 1u << d.index_shift) {
    if (access.fixed_offset % kElementBytes > last_within) return false;
    *addresses = {start + access.Place(0, access.fixed_offset), kLaneTimesFour.data()};
    return true;
  }
  uint32_t across = 0;
  const uint32_t in_group = (1u << d.index_shift) - 1;
  for (unsigned i = 0; i < wave.lanes; ++i) {
    uint32_t index = access.IndexOf(i);
    uint32_t offset = access.fixed_offset + (access.offset == nullptr ? 0 : access.offset[i]);
    uint32_t within = offset % kElementBytes;
    storage[i] = (((index >> d.index_shift) * d.stride + (offset - within)) << d.index_shift) +
                 (index & in_group) * kElementBytes + within;
    across |= within > last_within ? static_cast<uint32_t>(mask >> i & 1) : 0;
  }
  *addresses = {start, storage};
  return across == 0;
}

bool ReadBuffer(Wave& wave, const Op* op, const BufferAccess& access, uint64_t mask, unsigned bytes,
                bool whole, LaneBytes* out, uint64_t* in_range) {
  *in_range = 0;
  for (; mask != 0; mask &= mask - 1) {
    unsigned lane = static_cast<unsigned>(std::countr_zero(mask));
    uint8_t* to = out->of + lane * kLaneBytes;
    std::fill_n(to, kLaneBytes, uint8_t{0});
    if (!ForEachInRange(access, lane, bytes, whole,
                        [&](uint64_t address, unsigned done, unsigned count) {
                          *in_range |= uint64_t{1} << lane;
                          return ReadGlobal(wave, op, address, count, to + done);
                        }))
      return false;
  }
  return true;
}

bool WriteBuffer(Wave& wave, const Op* op, const BufferAccess& access, uint64_t mask,
                 unsigned bytes, bool whole, const LaneBytes& in) {
  for (uint64_t left = mask; left != 0; left &= left - 1) {
    unsigned lane = static_cast<unsigned>(std::countr_zero(left));
    if (!ForEachInRange(access, lane, bytes, whole,
                        [&](uint64_t address, unsigned, unsigned count) {
                          return CheckGlobal(wave, op, address, count, kWrite);
                        }))
      return false;
  }
  ForEachLane(mask, [&](unsigned lane) {
    const uint8_t* from = in.of + lane * kLaneBytes;
    ForEachInRange(access, lane, bytes, whole,
                   [&](uint64_t address, unsigned done, unsigned count) {
                     return WriteGlobal(wave, op, address, count, from + done);
                   });
  });
  return true;
}

unsigned ListBufferParts(const BufferAccess& access, unsigned lane, unsigned bytes, bool whole,
                         BufferPart* parts) {
  unsigned count = 0;
  ForEachInRange(access, lane, bytes, whole, [&](uint64_t address, unsigned, unsigned part) {
    parts[count++] = {address, part};
    return count < kMaxBufferParts;
  });
  return count;
}

bool PrepareBuffer(const AsmInstruction& instruction, bool to_lds, Op* op, std::string* why) {
  const Modifiers& m = instruction.modifiers;
  unsigned first = to_lds ? 0 : 1;
  if (m.tfe || op->operand_count != first + 3) {
    *why = m.tfe ? "tfe" : "operands";
    return false;
  }
  const Operand& address = op->operand[first];
  const Operand& descriptor = op->operand[first + 1];
  const Operand& scalar = op->operand[first + 2];
  uint64_t fields = static_cast<uint64_t>(m.offset) & 0xFFF;
  MemoryForm form;
  if (m.offen) fields |= kUsesOffset;
  if (m.idxen) fields |= kUsesIndex;
  if (m.offen || m.idxen) {
    if (address.kind != Operand::Kind::kVector) *why = "address";
    form.address = address.index;
  } else if (address.kind != Operand::Kind::kOff) {
    *why = "address";
  }
  if (!to_lds) {
    if (op->operand[0].kind != Operand::Kind::kVector) *why = "data";
    form.data = op->operand[0].index;
  }
  if (descriptor.kind != Operand::Kind::kScalar || descriptor.dwords != 4) *why = "descriptor";
  form.scalar = descriptor.index;
  if (scalar.kind == Operand::Kind::kScalar) {
    form.result = scalar.index;
  } else if (scalar.kind == Operand::Kind::kConstant) {
    fields |= scalar.value << 32;
  } else {
    *why = "scalar offset";
  }
  if (!why->empty()) return false;
  op->imm = static_cast<int64_t>(fields);
  form.Store(op);
  return true;
}

}  // namespace rochound::softgpu
