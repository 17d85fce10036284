// SPDX-License-Identifier: MIT
//
// Where things are in the files of a process's folder; records.h says what a record is. Plain
// memory, little endian; shared by writer and reader, owned by nobody.
//
//   segment-NNNNNN = SegmentHeader (4096 bytes), then chunks of SegmentHeader::chunk_bytes each.
//     The file may end before chunk_count chunks: those were never made.
//   chunk = ChunkHeader (64 bytes), then records until a head of zero or the chunk's end.
//   strings = StringsHeader (64 bytes), then entries until a head of zero. An entry is StringHead,
//     the bytes, and zeros up to a multiple of eight. A string's id is the offset of its entry in
//     the file divided by eight.
//
// A chunk that is all zero is prepared and unused. A thread that takes it writes a ThreadHere
// record, then the header with state kWriting; when it is full, kClosed. A chunk that its thread
// left before it was full may be continued by another thread, with a ThreadHere of its own. A
// recycled chunk passes through kRecycling back to all zero. `order` counts the chunks taken in the
// process, from 1: chunks read in that order give each thread's records in the order they were
// written, and a chunk whose order changed while it was read was recycled meanwhile.
#pragma once

#include <cstdint>

namespace rochound::trace {

inline constexpr uint32_t kLogVersion = 1;
inline constexpr uint32_t kSegmentHeaderBytes = 4096;
inline constexpr uint32_t kMinChunkBytes = 4096;
inline constexpr uint32_t kMaxChunkBytes = 64u << 20;
inline constexpr uint32_t kMaxSegmentChunks = 0xffff;
inline constexpr uint32_t kLongestString = 64 * 1024 - 1;      // longer strings are cut
inline constexpr uint64_t kSegmentMagic = 0x474553444e554f48;  // "HOUNDSEG" in the file
inline constexpr uint64_t kStringsMagic = 0x525453444e554f48;  // "HOUNDSTR"
inline constexpr uint32_t kChunkMagic = 0x4b4e4843;            // "CHNK"
inline constexpr uint32_t kDropReasons = 16;

struct SegmentHeader {
  uint64_t magic;  // written last: a segment without it is still being made
  uint32_t version;
  uint32_t header_bytes;
  uint32_t chunk_bytes;
  uint32_t chunk_count;
  uint32_t number;  // as in the file's name
  uint32_t pid;
  uint64_t created_tsc;
  uint64_t finished_tsc;  // segment 0: when the process ended the log in order; 0: it did not
  // Records lost since the process started, by DropReason. Kept in segment 0 only.
  uint64_t dropped[kDropReasons];
  // Both in segment 0 only; zero: not known.
  uint64_t alive_tsc;  // when the recorder last looked after the log: the process was there then
  uint64_t
      recycled_tsc;  // the latest time of a record that was recycled: what is before is partial
  uint8_t reserved[kSegmentHeaderBytes - 64 - 8 * kDropReasons];
};
static_assert(sizeof(SegmentHeader) == kSegmentHeaderBytes);

enum class ChunkState : uint32_t { kUnused = 0, kWriting = 1, kClosed = 2, kRecycling = 3 };

// A call that had not returned when the log was last written. Both words zero: none.
struct OpenCallSlot {
  uint64_t begin_tsc;
  uint64_t call;  // function id << 48 | lower 40 bits of the correlation; written last
};
inline constexpr int kOpenCallSlots = 3;  // outermost first; deeper calls are not noted

struct ChunkHeader {
  uint32_t magic;
  ChunkState state;
  uint32_t thread;  // index of the thread that wrote here last; the open calls are its
  uint32_t order;
  OpenCallSlot open_calls[kOpenCallSlots];
};
static_assert(sizeof(ChunkHeader) == 64);

struct StringsHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t piece_bytes;  // an entry never crosses a multiple of this offset
  uint8_t reserved[48];
};
static_assert(sizeof(StringsHeader) == 64);

enum class StringKind : uint32_t { kEnd = 0, kString = 1, kFiller = 2 };

struct StringHead {
  StringKind kind;
  uint32_t bytes;  // of the text, or of the filler after this head
};
static_assert(sizeof(StringHead) == 8);

}  // namespace rochound::trace
