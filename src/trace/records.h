// SPDX-License-Identifier: MIT
//
// The records of the flight log: the one description that writer, reader, text dump and
// docs/formats/flight-log.md are derived from. A record is 32 or 64 bytes, starts with a Head and
// is plain memory, little endian. The head is written last, with one release store: a head of zero
// ends a chunk, so a reader never sees half a record. A kind, or a field, that was once written to
// disk is never reused or reshaped; a new meaning gets a new kind.
//
// Times named *_tsc are raw time stamp counter values, *_ticks are raw GPU counter values; the
// anchor records convert them. A correlation names an API call of the process: thread index in the
// upper 24 bits, a count of that thread's calls in the lower 40; zero means "none known".
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace rochound::trace {

enum class Kind : uint8_t {
  kEnd = 0,
  kThreadHere = 1,
  kApiCall = 2,
  kApiArguments = 3,
  kKernelDispatch = 4,
  kKernelTime = 5,
  kCopy = 6,
  kCopyTime = 7,
  kAllocation = 8,
  kRelease = 9,
  kRange = 10,
  kStackFrames = 11,
  kHostAnchor = 12,
  kGpuAnchor = 13,
  kQueue = 14,
  kKernelSymbol = 15,
  kDropped = 16,
  kStateChange = 17,
  kOverhead = 18,
  kTextPiece = 19,
};

// How the text dump shows a field, and nothing else.
enum class Show : uint8_t { kNumber, kHex, kTsc, kTicks, kString, kCorrelation };

struct Field {
  const char* name;
  uint16_t offset;
  uint8_t size;   // bytes of one element
  uint8_t count;  // elements; 1 unless an array
  Show show;
};

struct Description {
  Kind kind;
  const char* name;
  uint16_t size;
  const Field* fields;
  size_t field_count;
};

// The first eight bytes of every record. `units` is the record's size in 32 bytes, so that a reader
// can step over a kind it does not know. `small` and `wide` belong to the kind.
struct Head {
  Kind kind;
  uint8_t units;
  uint16_t small;
  uint32_t wide;
};
static_assert(sizeof(Head) == 8);

// The first record of each chunk, and again when another thread goes on writing in it.
struct ThreadHere {
  Head head;  // small: 0; wide: the thread's index in this log, as in correlations
  uint64_t now_tsc;
  uint32_t tid;       // the system's thread id
  uint32_t sequence;  // counts this thread's chunks, from zero
  uint64_t reserved;
};

// One call of the runtime, written when it returned.
struct ApiCall {
  Head head;  // small: function id (see the functions file); wide: result, as the function gave it
  uint64_t begin_tsc;
  uint64_t end_tsc;
  uint64_t correlation;
};

// Arguments of a call, six words each, in the order and with the types of the functions file.
// Written before the ApiCall of the same correlation, on the same thread.
struct ApiArguments {
  Head head;  // small: how many words of this record count; wide: index of its first word
  uint64_t correlation;
  uint64_t words[6];
};

// A kernel dispatch packet was handed to the GPU.
struct KernelDispatch {
  Head head;             // small: AQL packet header; wide: queue index
  uint64_t correlation;  // the call that caused it
  uint64_t dispatch;     // queue index << 48 | packet index in that queue: unique in the process
  uint64_t submit_tsc;
  uint32_t kernel;        // kernel symbol id, see KernelSymbol
  uint32_t grid[3];       // work items
  uint16_t workgroup[3];  // work items
  uint16_t dimensions;
  uint32_t group_bytes;
  uint32_t private_bytes;
};

// The dispatch of that number ran from begin to end. Both zero: it ran, but its time was lost.
struct KernelTime {
  Head head;  // small: agent index; wide: queue index
  uint64_t dispatch;
  uint64_t begin_ticks;
  uint64_t end_ticks;
};

// A copy or fill was asked for.
struct Copy {
  Head head;  // small: CopyKind; wide: source agent index << 16 | destination agent index
  uint64_t correlation;
  uint64_t copy;  // counts the process's copies, from 1
  uint64_t submit_tsc;
  uint64_t bytes;
  uint64_t destination;
  uint64_t source;  // a fill: the pattern
  uint32_t width;   // 2D and 3D copies: bytes per row, rows
  uint32_t height;
};

enum class CopyKind : uint16_t { kCopy = 1, kCopyRectangle = 2, kFill = 3, kCopyBlocking = 4 };

// As KernelTime, in the clock that `small` tells.
struct CopyTime {
  Head head;  // small: agent index whose counter the ticks are of, or kNoAgent, or kSystemClock
  uint64_t copy;
  uint64_t begin_ticks;
  uint64_t end_ticks;
};
inline constexpr uint16_t kNoAgent = 0xffff;  // host time stamps (tsc)
inline constexpr uint16_t kSystemClock =
    0xfffe;  // nanoseconds of the HSA system clock, see GpuAnchor

struct Allocation {
  Head head;  // small: agent index; wide: flags of the pool
  uint64_t address;
  uint64_t bytes;
  uint64_t now_tsc;
};

struct Release {
  Head head;
  uint64_t address;
  uint64_t now_tsc;
  uint64_t correlation;
};

// User ranges and marks (roctx and the C interface).
struct Range {
  Head head;  // small: RangeKind; wide: string id of the message
  uint64_t now_tsc;
  uint64_t range;        // start/stop: the range's id; push/pop: depth
  uint64_t correlation;  // a number of its own in the same space as calls
};
enum class RangeKind : uint16_t { kPush = 1, kPop = 2, kMark = 3, kStart = 4, kStop = 5 };

// Return addresses, innermost first; several records when there are more than six.
struct StackFrames {
  Head head;  // small: how many count; wide: index of the first
  uint64_t correlation;
  uint64_t addresses[6];
};

// The same instant in several clocks.
struct HostAnchor {
  Head head;
  uint64_t now_tsc;
  uint64_t monotonic_ns;
  uint64_t realtime_ns;
};
struct GpuAnchor {
  Head head;  // small: agent index
  uint64_t gpu_ticks;
  uint64_t system_ns;  // the HSA system clock
  uint64_t now_tsc;    // the same system clock, seen from the host
};

struct Queue {
  Head head;  // small: agent index; wide: queue index
  uint64_t hsa_id;
  uint64_t packets;
  uint64_t now_tsc;
};

struct KernelSymbol {
  Head head;  // small: agent index; wide: kernel symbol id
  uint64_t kernel_object;
  uint32_t name;         // string id, mangled, without .kd
  uint32_t code_object;  // counts loaded code objects; 0: not known
  uint64_t kernarg_bytes;
};

// Records lost since the last such record, by reason.
struct Dropped {
  Head head;  // small: DropReason
  uint64_t records;
  uint64_t now_tsc;
  uint64_t reserved;
};
enum class DropReason : uint16_t { kNoChunk = 1, kNoSignal = 2, kRecycled = 3, kNoString = 4 };

struct StateChange {
  Head head;  // small: RecorderState
  uint64_t now_tsc;
  uint64_t reason;  // string id; 0: none
  uint64_t reserved;
};
enum class RecorderState : uint16_t { kOff = 0, kArmed = 1, kRecording = 2, kDisabled = 3 };

// Time the recorder itself took, where that is more than the hot path's.
struct Overhead {
  Head head;  // wide: string id of what it did
  uint64_t begin_tsc;
  uint64_t end_tsc;
  uint64_t reserved;
};

// A string argument of a call, in pieces of 40 bytes; written before the ApiCall.
struct TextPiece {
  Head head;  // small: argument index << 8 | bytes that count here; wide: offset of this piece
  uint64_t correlation;
  uint64_t total;  // length of the whole string
  char text[40];
};

// Describes T's fields for the dump; specialised below, once per kind.
template <typename T>
struct Described;

#define ROCHOUND_FIELD(type, member, show) \
  Field { #member, offsetof(type, member), sizeof(type::member), 1, Show::show }
#define ROCHOUND_FIELDS(type, member, show)                                                       \
  Field {                                                                                         \
    #member, offsetof(type, member), sizeof(*type{}.member), std::size(type{}.member), Show::show \
  }
#define ROCHOUND_RECORD(type, bytes, label, ...)                                           \
  template <>                                                                              \
  struct Described<type> {                                                                 \
    static_assert(sizeof(type) == (bytes) && ((bytes) == 32 || (bytes) == 64));            \
    static constexpr Field kFields[] = {__VA_ARGS__};                                      \
    static constexpr Description kDescription{Kind::k##type, label, sizeof(type), kFields, \
                                              std::size(kFields)};                         \
  }

ROCHOUND_RECORD(ThreadHere, 32, "thread", ROCHOUND_FIELD(ThreadHere, now_tsc, kTsc),
                ROCHOUND_FIELD(ThreadHere, tid, kNumber),
                ROCHOUND_FIELD(ThreadHere, sequence, kNumber));
ROCHOUND_RECORD(ApiCall, 32, "call", ROCHOUND_FIELD(ApiCall, begin_tsc, kTsc),
                ROCHOUND_FIELD(ApiCall, end_tsc, kTsc),
                ROCHOUND_FIELD(ApiCall, correlation, kCorrelation));
ROCHOUND_RECORD(ApiArguments, 64, "arguments",
                ROCHOUND_FIELD(ApiArguments, correlation, kCorrelation),
                ROCHOUND_FIELDS(ApiArguments, words, kHex));
ROCHOUND_RECORD(KernelDispatch, 64, "dispatch",
                ROCHOUND_FIELD(KernelDispatch, correlation, kCorrelation),
                ROCHOUND_FIELD(KernelDispatch, dispatch, kHex),
                ROCHOUND_FIELD(KernelDispatch, submit_tsc, kTsc),
                ROCHOUND_FIELD(KernelDispatch, kernel, kNumber),
                ROCHOUND_FIELDS(KernelDispatch, grid, kNumber),
                ROCHOUND_FIELDS(KernelDispatch, workgroup, kNumber),
                ROCHOUND_FIELD(KernelDispatch, dimensions, kNumber),
                ROCHOUND_FIELD(KernelDispatch, group_bytes, kNumber),
                ROCHOUND_FIELD(KernelDispatch, private_bytes, kNumber));
ROCHOUND_RECORD(KernelTime, 32, "kernel_time", ROCHOUND_FIELD(KernelTime, dispatch, kHex),
                ROCHOUND_FIELD(KernelTime, begin_ticks, kTicks),
                ROCHOUND_FIELD(KernelTime, end_ticks, kTicks));
ROCHOUND_RECORD(Copy, 64, "copy", ROCHOUND_FIELD(Copy, correlation, kCorrelation),
                ROCHOUND_FIELD(Copy, copy, kNumber), ROCHOUND_FIELD(Copy, submit_tsc, kTsc),
                ROCHOUND_FIELD(Copy, bytes, kNumber), ROCHOUND_FIELD(Copy, destination, kHex),
                ROCHOUND_FIELD(Copy, source, kHex), ROCHOUND_FIELD(Copy, width, kNumber),
                ROCHOUND_FIELD(Copy, height, kNumber));
ROCHOUND_RECORD(CopyTime, 32, "copy_time", ROCHOUND_FIELD(CopyTime, copy, kNumber),
                ROCHOUND_FIELD(CopyTime, begin_ticks, kTicks),
                ROCHOUND_FIELD(CopyTime, end_ticks, kTicks));
ROCHOUND_RECORD(Allocation, 32, "allocation", ROCHOUND_FIELD(Allocation, address, kHex),
                ROCHOUND_FIELD(Allocation, bytes, kNumber),
                ROCHOUND_FIELD(Allocation, now_tsc, kTsc));
ROCHOUND_RECORD(Release, 32, "release", ROCHOUND_FIELD(Release, address, kHex),
                ROCHOUND_FIELD(Release, now_tsc, kTsc),
                ROCHOUND_FIELD(Release, correlation, kCorrelation));
ROCHOUND_RECORD(Range, 32, "range", ROCHOUND_FIELD(Range, now_tsc, kTsc),
                ROCHOUND_FIELD(Range, range, kNumber),
                ROCHOUND_FIELD(Range, correlation, kCorrelation));
ROCHOUND_RECORD(StackFrames, 64, "stack", ROCHOUND_FIELD(StackFrames, correlation, kCorrelation),
                ROCHOUND_FIELDS(StackFrames, addresses, kHex));
ROCHOUND_RECORD(HostAnchor, 32, "host_anchor", ROCHOUND_FIELD(HostAnchor, now_tsc, kTsc),
                ROCHOUND_FIELD(HostAnchor, monotonic_ns, kNumber),
                ROCHOUND_FIELD(HostAnchor, realtime_ns, kNumber));
ROCHOUND_RECORD(GpuAnchor, 32, "gpu_anchor", ROCHOUND_FIELD(GpuAnchor, gpu_ticks, kTicks),
                ROCHOUND_FIELD(GpuAnchor, system_ns, kNumber),
                ROCHOUND_FIELD(GpuAnchor, now_tsc, kTsc));
ROCHOUND_RECORD(Queue, 32, "queue", ROCHOUND_FIELD(Queue, hsa_id, kNumber),
                ROCHOUND_FIELD(Queue, packets, kNumber), ROCHOUND_FIELD(Queue, now_tsc, kTsc));
ROCHOUND_RECORD(KernelSymbol, 32, "kernel", ROCHOUND_FIELD(KernelSymbol, kernel_object, kHex),
                ROCHOUND_FIELD(KernelSymbol, name, kString),
                ROCHOUND_FIELD(KernelSymbol, code_object, kNumber),
                ROCHOUND_FIELD(KernelSymbol, kernarg_bytes, kNumber));
ROCHOUND_RECORD(Dropped, 32, "dropped", ROCHOUND_FIELD(Dropped, records, kNumber),
                ROCHOUND_FIELD(Dropped, now_tsc, kTsc));
ROCHOUND_RECORD(StateChange, 32, "state", ROCHOUND_FIELD(StateChange, now_tsc, kTsc),
                ROCHOUND_FIELD(StateChange, reason, kString));
ROCHOUND_RECORD(Overhead, 32, "overhead", ROCHOUND_FIELD(Overhead, begin_tsc, kTsc),
                ROCHOUND_FIELD(Overhead, end_tsc, kTsc));
ROCHOUND_RECORD(TextPiece, 64, "text", ROCHOUND_FIELD(TextPiece, correlation, kCorrelation),
                ROCHOUND_FIELD(TextPiece, total, kNumber));

#undef ROCHOUND_FIELD
#undef ROCHOUND_FIELDS
#undef ROCHOUND_RECORD

// The head that a record of type T is committed with.
template <typename T>
constexpr Head HeadOf(uint16_t small = 0, uint32_t wide = 0) {
  return Head{Described<T>::kDescription.kind, sizeof(T) / 32, small, wide};
}

}  // namespace rochound::trace
