// SPDX-License-Identifier: MIT
//
// Addresses of MUBUF and MTBUF: a descriptor in four scalar registers, an index and an offset per
// lane, a scalar offset. Swizzled buffers interleave the elements (4 bytes) of several indices;
// that is how gfx10 kernels see their scratch. Out of the descriptor's range, loads give zero and
// stores do nothing; loads and stores of several dwords are judged dword by dword, everything else
// as a whole.
#pragma once

#include <span>
#include <string>

#include "softgpu/isa/semantics/lane_memory.h"

namespace rochound::softgpu {

struct BufferDescriptor {
  uint64_t base = 0;
  uint32_t stride = 0;
  uint32_t records = 0;
  uint32_t word3 = 0;       // formats and component selection
  uint8_t index_shift = 0;  // log2 of the index stride
  uint8_t check = 0;        // OOB_SELECT of gfx10
  bool swizzled = false;
  bool adds_lane = false;
  bool is_gfx10 = false;
  bool is_gfx11 = false;  // or later: a shorter list of formats
};

// The fields of an instruction, from Op::imm and Op::imm2 (see PrepareBuffer).
struct BufferAccess {
  BufferDescriptor descriptor;
  const uint32_t* index = nullptr;   // nullptr: zero
  const uint32_t* offset = nullptr;  // nullptr: zero
  uint32_t fixed_offset = 0;         // of the encoding
  uint32_t scalar_offset = 0;
  uint16_t data = 0;  // row of the first data register

  static BufferAccess Of(const Wave& wave, const Op* op);

  uint32_t IndexOf(unsigned lane) const {
    return (index == nullptr ? 0 : index[lane]) + (descriptor.adds_lane ? lane : 0);
  }
  uint64_t OffsetOf(unsigned lane) const {
    return uint64_t{fixed_offset} + (offset == nullptr ? 0 : offset[lane]);
  }
  // Distance from base + scalar_offset to byte `offset` of record `index`.
  uint64_t Place(uint32_t index, uint64_t offset) const;
  bool InRange(uint32_t index, uint64_t offset) const;
};

// One 32-bit distance per lane from the same base, for an access that stays in range in every lane
// and inside of one element for each dword; false if that is not so. `step` is the distance from
// one dword of a lane to its next; `storage` has room for a row.
bool NarrowBuffer(const Wave& wave, const BufferAccess& access, uint64_t mask, unsigned bytes,
                  uint32_t* storage, LaneAddresses* addresses, uint32_t* step);

// Lane by lane. Bytes out of range are read as zero. If `whole`, a lane is in range as a whole or
// not at all, decided by its first byte, and *in_range tells which lanes are.
bool ReadBuffer(Wave& wave, const Op* op, const BufferAccess& access, uint64_t mask, unsigned bytes,
                bool whole, LaneBytes* out, uint64_t* in_range);
bool WriteBuffer(Wave& wave, const Op* op, const BufferAccess& access, uint64_t mask,
                 unsigned bytes, bool whole, const LaneBytes& in);

// For those that only look: the pieces of a lane's bytes that are in range, in order. Returns how
// many, at most kMaxBufferParts.
struct BufferPart {
  uint64_t address;
  unsigned bytes;
};
inline constexpr unsigned kMaxBufferParts = 2 * kLaneBytes / 4;
unsigned ListBufferParts(const BufferAccess& access, unsigned lane, unsigned bytes, bool whole,
                         BufferPart* parts);
// Bytes that a lane moves by a typed access, whose format is in the encoding or in the descriptor.
unsigned TypedBufferBytes(const Op* op, const BufferDescriptor& descriptor,
                          bool format_in_encoding);

// vdata (absent if `to_lds`), vaddr, descriptor, scalar offset.
bool PrepareBuffer(const AsmInstruction& instruction, bool to_lds, Op* op, std::string* why);

std::span<const Row> BufferFormatRows();

}  // namespace rochound::softgpu
