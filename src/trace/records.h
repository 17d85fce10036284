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
  kThreadEnd = 20,
  kSwap = 21,
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

// How the text dump shows a field.
enum class Show : uint8_t {
  kNumber,
  kHex,
  kTsc,
  kTicks,  // of the agent that the field "agent" names
  kNanoseconds,
  kString,  // string id
  kText,    // the bytes themselves
  kCorrelation,
  kFunction,
  kCopyKind,
  kRangeKind,
  kDropReason,
  kState,
};

struct Field {
  const char* name;
  uint16_t offset;
  uint8_t size;   // bytes of one element
  uint8_t count;  // elements; 1 unless an array
  Show show;
  const char* meaning;
};

struct Description {
  Kind kind;
  const char* name;
  uint16_t size;
  const char* meaning;
  const Field* fields;
  size_t field_count;
};

// The description of the record type T, given below right after each type.
template <typename T>
struct Described;

// A member of the record; an array member; the head's `small` and `wide` under the name that they
// have in this kind, or a part of them (offset in the record and bytes).
#define ROCHOUND_FIELD(type, member, show, meaning) \
  Field { #member, offsetof(type, member), sizeof(type::member), 1, Show::show, meaning }
#define ROCHOUND_ARRAY(type, member, show, meaning)                                                \
  Field {                                                                                          \
    #member, offsetof(type, member), sizeof(*type{}.member), std::size(type{}.member), Show::show, \
        meaning                                                                                    \
  }
#define ROCHOUND_SMALL(name, show, meaning) \
  Field { name, offsetof(Head, small), 2, 1, Show::show, meaning }
#define ROCHOUND_WIDE(name, show, meaning) \
  Field { name, offsetof(Head, wide), 4, 1, Show::show, meaning }
#define ROCHOUND_PART(name, offset, bytes, show, meaning) \
  Field { name, offset, bytes, 1, Show::show, meaning }
#define ROCHOUND_RECORD(type, bytes, label, meaning, ...)                                  \
  template <>                                                                              \
  struct Described<type> {                                                                 \
    static_assert(sizeof(type) == (bytes) && ((bytes) == 32 || (bytes) == 64));            \
    static constexpr Field kFields[] = {__VA_ARGS__};                                      \
    static constexpr Description kDescription{Kind::k##type, label,   sizeof(type),        \
                                              meaning,       kFields, std::size(kFields)}; \
  }

struct ThreadHere {
  Head head;
  uint64_t now_tsc;
  uint32_t tid;
  uint32_t sequence;
  uint64_t reserved;
};
ROCHOUND_RECORD(
    ThreadHere, 32, "thread",
    "The records after this one belong to this thread. The first record of each chunk, and again "
    "when "
    "another thread goes on writing in it.",
    ROCHOUND_WIDE("thread", kNumber, "the thread's index in this log, as in correlations; from 1"),
    ROCHOUND_FIELD(ThreadHere, now_tsc, kTsc, "when it took the chunk"),
    ROCHOUND_FIELD(ThreadHere, tid, kNumber, "the system's thread id; 0: the recorder's own log"),
    ROCHOUND_FIELD(ThreadHere, sequence, kNumber, "counts this thread's chunks, from zero"));

struct ApiCall {
  Head head;
  uint64_t begin_tsc;
  uint64_t end_tsc;
  uint64_t correlation;
};
ROCHOUND_RECORD(ApiCall, 32, "call", "One call of the runtime, written when it returned.",
                ROCHOUND_SMALL("function", kFunction, "id in the functions file"),
                ROCHOUND_WIDE("result", kNumber, "as the function gave it"),
                ROCHOUND_FIELD(ApiCall, begin_tsc, kTsc, "when it was called"),
                ROCHOUND_FIELD(ApiCall, end_tsc, kTsc, "when it returned"),
                ROCHOUND_FIELD(ApiCall, correlation, kCorrelation, "this call's own"));

struct ApiArguments {
  Head head;
  uint64_t correlation;
  uint64_t words[6];
};
ROCHOUND_RECORD(ApiArguments, 64, "arguments",
                "Arguments of a call, six words each, in the order and with the types of the "
                "functions file. Written before the call of the same correlation, by its thread; "
                "RCCL's when the call begins, and again if it gave something back.",
                ROCHOUND_SMALL("count", kNumber, "how many of the words count"),
                ROCHOUND_WIDE("first", kNumber, "which word of the call the first one is"),
                ROCHOUND_FIELD(ApiArguments, correlation, kCorrelation, "the call"),
                ROCHOUND_ARRAY(ApiArguments, words, kHex, "the words"));

// A dispatch's number in the log is made of its queue and its packet's place there. Both last: a
// million queues, and a packet every microsecond for half a year.
constexpr uint32_t kPacketBits = 44;
constexpr uint32_t kMostQueues = (1u << (64 - kPacketBits)) - 1;
constexpr uint64_t DispatchNumber(uint64_t queue, uint64_t packet) {
  return queue << kPacketBits | packet;
}
constexpr uint64_t PacketOf(uint64_t dispatch) { return dispatch & ((1ull << kPacketBits) - 1); }

struct KernelDispatch {
  Head head;
  uint64_t correlation;
  uint64_t dispatch;
  uint64_t submit_tsc;
  uint32_t kernel;
  uint32_t grid[3];
  uint16_t workgroup[3];
  uint16_t dimensions;
  uint32_t group_bytes;
  uint32_t private_bytes;
};
ROCHOUND_RECORD(
    KernelDispatch, 64, "dispatch", "A kernel dispatch packet was handed to the GPU.",
    ROCHOUND_SMALL("header", kHex, "AQL packet header"),
    ROCHOUND_WIDE("queue", kNumber, "queue index, see queue"),
    ROCHOUND_FIELD(KernelDispatch, correlation, kCorrelation, "the call that caused it"),
    ROCHOUND_FIELD(KernelDispatch, dispatch, kHex,
                   "queue index << 44 | packet index in that queue: unique in the process"),
    ROCHOUND_FIELD(KernelDispatch, submit_tsc, kTsc, "when it was handed over"),
    ROCHOUND_FIELD(KernelDispatch, kernel, kNumber, "kernel symbol id, see kernel"),
    ROCHOUND_ARRAY(KernelDispatch, grid, kNumber, "work items"),
    ROCHOUND_ARRAY(KernelDispatch, workgroup, kNumber, "work items"),
    ROCHOUND_FIELD(KernelDispatch, dimensions, kNumber, "1 to 3"),
    ROCHOUND_FIELD(KernelDispatch, group_bytes, kNumber, "LDS of a workgroup"),
    ROCHOUND_FIELD(KernelDispatch, private_bytes, kNumber, "scratch of a work item"));

struct KernelTime {
  Head head;
  uint64_t dispatch;
  uint64_t begin_ticks;
  uint64_t end_ticks;
};
ROCHOUND_RECORD(KernelTime, 32, "kernel_time",
                "A dispatch ran from begin to end. Both zero: it ran, but its time was lost.",
                ROCHOUND_SMALL("agent", kNumber, "agent index"),
                ROCHOUND_WIDE("queue", kNumber, "queue index"),
                ROCHOUND_FIELD(KernelTime, dispatch, kHex, "as in dispatch"),
                ROCHOUND_FIELD(KernelTime, begin_ticks, kTicks, "of the agent's counter"),
                ROCHOUND_FIELD(KernelTime, end_ticks, kTicks, "of the agent's counter"));

struct Copy {
  Head head;
  uint64_t correlation;
  uint64_t copy;
  uint64_t submit_tsc;
  uint64_t bytes;
  uint64_t destination;
  uint64_t source;
  uint32_t width;
  uint32_t height;
};
enum class CopyKind : uint16_t {
  kCopy = 1,
  kCopyRectangle = 2,
  kFill = 3,
  kCopyBlocking = 4,
  kByKernel = 5,
};
ROCHOUND_RECORD(Copy, 64, "copy", "A copy or fill was asked for.",
                ROCHOUND_SMALL("kind", kCopyKind,
                               "1 copy, 2 rectangle, 3 fill, 4 blocking copy, 5 by a kernel of the "
                               "runtime: the dispatch follows, and has the times"),
                ROCHOUND_PART("destination_agent", 4, 2, kNumber, "agent index; 65535: not known"),
                ROCHOUND_PART("source_agent", 6, 2, kNumber, "agent index; 65535: not known"),
                ROCHOUND_FIELD(Copy, correlation, kCorrelation, "the call that caused it"),
                ROCHOUND_FIELD(Copy, copy, kNumber,
                               "counts the process's copies, from 1; of kind 5: the dispatch"),
                ROCHOUND_FIELD(Copy, submit_tsc, kTsc, "when it was asked for"),
                ROCHOUND_FIELD(Copy, bytes, kNumber,
                               "how many are written; of kind 5, 0: not known"),
                ROCHOUND_FIELD(Copy, destination, kHex, "address"),
                ROCHOUND_FIELD(Copy, source, kHex, "address; of a fill, the pattern"),
                ROCHOUND_FIELD(Copy, width, kNumber, "rectangles: bytes of a row"),
                ROCHOUND_FIELD(Copy, height, kNumber, "rectangles: rows"));

inline constexpr uint16_t kNoAgent = 0xffff;      // the ticks are host time stamps (tsc)
inline constexpr uint16_t kSystemClock = 0xfffe;  // they are nanoseconds of the HSA system clock
struct CopyTime {
  Head head;
  uint64_t copy;
  uint64_t begin_ticks;
  uint64_t end_ticks;
};
ROCHOUND_RECORD(CopyTime, 32, "copy_time",
                "A copy ran from begin to end. Both zero: it ran, but its time was lost.",
                ROCHOUND_SMALL("agent", kNumber,
                               "agent index whose counter the ticks are of; 65535: they are host "
                               "time stamps; 65534: nanoseconds of the HSA system clock"),
                ROCHOUND_FIELD(CopyTime, copy, kNumber, "as in copy"),
                ROCHOUND_FIELD(CopyTime, begin_ticks, kTicks, "of that clock"),
                ROCHOUND_FIELD(CopyTime, end_ticks, kTicks, "of that clock"));

struct Allocation {
  Head head;
  uint64_t address;
  uint64_t bytes;
  uint64_t now_tsc;
};
ROCHOUND_RECORD(Allocation, 32, "allocation", "Device-visible memory was allocated.",
                ROCHOUND_SMALL("agent", kNumber, "agent index; 65535: not known"),
                ROCHOUND_WIDE("flags", kHex, "of the memory pool"),
                ROCHOUND_FIELD(Allocation, address, kHex, "where"),
                ROCHOUND_FIELD(Allocation, bytes, kNumber, "how many"),
                ROCHOUND_FIELD(Allocation, now_tsc, kTsc, "when"));

struct Release {
  Head head;
  uint64_t address;
  uint64_t now_tsc;
  uint64_t correlation;
};
ROCHOUND_RECORD(Release, 32, "release", "Such memory was freed.",
                ROCHOUND_FIELD(Release, address, kHex, "as in allocation"),
                ROCHOUND_FIELD(Release, now_tsc, kTsc, "when"),
                ROCHOUND_FIELD(Release, correlation, kCorrelation, "the call that freed it"));

struct Range {
  Head head;
  uint64_t now_tsc;
  uint64_t range;
  uint64_t correlation;
};
enum class RangeKind : uint16_t { kPush = 1, kPop = 2, kMark = 3, kStart = 4, kStop = 5 };
ROCHOUND_RECORD(Range, 32, "range", "A user range or mark (roctx and the C interface).",
                ROCHOUND_SMALL("kind", kRangeKind, "1 push, 2 pop, 3 mark, 4 start, 5 stop"),
                ROCHOUND_WIDE("message", kString, "string id; 0: none"),
                ROCHOUND_FIELD(Range, now_tsc, kTsc, "when"),
                ROCHOUND_FIELD(Range, range, kNumber,
                               "start and stop: the range's id; push and pop: depth"),
                ROCHOUND_FIELD(Range, correlation, kCorrelation,
                               "its own, in the same space as those of calls"));

struct StackFrames {
  Head head;
  uint64_t correlation;
  uint64_t addresses[6];
};
ROCHOUND_RECORD(StackFrames, 64, "stack",
                "Return addresses of a call, innermost first; several records when there are more "
                "than six. Written before the call of the same correlation, by its thread.",
                ROCHOUND_SMALL("count", kNumber, "how many of the addresses count"),
                ROCHOUND_WIDE("first", kNumber, "which frame the first one is"),
                ROCHOUND_FIELD(StackFrames, correlation, kCorrelation, "the call"),
                ROCHOUND_ARRAY(StackFrames, addresses, kHex, "the addresses"));

struct HostAnchor {
  Head head;
  uint64_t now_tsc;
  uint64_t monotonic_ns;
  uint64_t realtime_ns;
};
ROCHOUND_RECORD(HostAnchor, 32, "host_anchor", "One instant in the host's clocks.",
                ROCHOUND_FIELD(HostAnchor, now_tsc, kTsc, "time stamp counter"),
                ROCHOUND_FIELD(HostAnchor, monotonic_ns, kNanoseconds, "CLOCK_MONOTONIC"),
                ROCHOUND_FIELD(HostAnchor, realtime_ns, kNanoseconds, "CLOCK_REALTIME"));

struct GpuAnchor {
  Head head;
  uint64_t gpu_ticks;
  uint64_t system_ns;
  uint64_t now_tsc;
};
ROCHOUND_RECORD(GpuAnchor, 32, "gpu_anchor", "One instant in a GPU's clock and the host's.",
                ROCHOUND_SMALL("agent", kNumber, "agent index"),
                ROCHOUND_FIELD(GpuAnchor, gpu_ticks, kNumber, "the GPU's counter"),
                ROCHOUND_FIELD(GpuAnchor, system_ns, kNanoseconds, "the HSA system clock"),
                ROCHOUND_FIELD(GpuAnchor, now_tsc, kTsc, "time stamp counter"));

struct Queue {
  Head head;
  uint64_t hsa_id;
  uint64_t packets;
  uint64_t now_tsc;
};
ROCHOUND_RECORD(Queue, 32, "queue", "A queue was made. May be said again.",
                ROCHOUND_SMALL("agent", kNumber, "agent index"),
                ROCHOUND_WIDE("queue", kNumber, "queue index"),
                ROCHOUND_FIELD(Queue, hsa_id, kNumber, "the runtime's id of it"),
                ROCHOUND_FIELD(Queue, packets, kNumber, "its size"),
                ROCHOUND_FIELD(Queue, now_tsc, kTsc, "when"));

struct KernelSymbol {
  Head head;
  uint64_t kernel_object;
  uint32_t name;
  uint32_t code_object;
  uint64_t kernarg_bytes;
};
ROCHOUND_RECORD(KernelSymbol, 32, "kernel", "A kernel that may be dispatched. May be said again.",
                ROCHOUND_SMALL("agent", kNumber, "agent index"),
                ROCHOUND_WIDE("kernel", kNumber, "kernel symbol id"),
                ROCHOUND_FIELD(KernelSymbol, kernel_object, kHex, "as in dispatch packets"),
                ROCHOUND_FIELD(KernelSymbol, name, kString, "string id; mangled, without .kd"),
                ROCHOUND_FIELD(KernelSymbol, code_object, kNumber,
                               "counts loaded code objects; 0: not known"),
                ROCHOUND_FIELD(KernelSymbol, kernarg_bytes, kNumber, "size of its arguments"));

struct Dropped {
  Head head;
  uint64_t records;
  uint64_t now_tsc;
  uint64_t reserved;
};
enum class DropReason : uint16_t {
  kNoChunk = 1,
  kNoSignal = 2,
  kRecycled = 3,
  kNoString = 4,
  kNotSeen = 5,
};
ROCHOUND_RECORD(Dropped, 32, "dropped",
                "Records were lost since the last record of this kind and reason. The sums are in "
                "the header of segment 0.",
                ROCHOUND_SMALL("reason", kDropReason,
                               "1 no room, 2 no signal to time with, 3 recycled in flight-recorder "
                               "mode, 4 no room for a string, 5 packet that was not seen"),
                ROCHOUND_FIELD(Dropped, records, kNumber, "how many"),
                ROCHOUND_FIELD(Dropped, now_tsc, kTsc, "when it was noticed"));

struct StateChange {
  Head head;
  uint64_t now_tsc;
  uint64_t reason;
  uint64_t reserved;
};
enum class RecorderState : uint16_t { kOff = 0, kArmed = 1, kRecording = 2, kDisabled = 3 };
// By the value of RecorderState.
inline constexpr const char* kRecorderStateNames[] = {"off", "armed", "recording", "disabled"};
ROCHOUND_RECORD(StateChange, 32, "state", "The recorder was started, stopped or disabled.",
                ROCHOUND_SMALL("state", kState, "0 off, 1 armed, 2 recording, 3 disabled"),
                ROCHOUND_FIELD(StateChange, now_tsc, kTsc, "when"),
                ROCHOUND_FIELD(StateChange, reason, kString, "string id; 0: none"));

struct Overhead {
  Head head;
  uint64_t begin_tsc;
  uint64_t end_tsc;
  uint64_t reserved;
};
ROCHOUND_RECORD(Overhead, 32, "overhead",
                "Time the recorder itself took, where that is more than the hot path's.",
                ROCHOUND_WIDE("what", kString, "string id of what it did"),
                ROCHOUND_FIELD(Overhead, begin_tsc, kTsc, "from"),
                ROCHOUND_FIELD(Overhead, end_tsc, kTsc, "to"));

struct TextPiece {
  Head head;
  uint64_t correlation;
  uint64_t total;
  char text[40];
};
ROCHOUND_RECORD(TextPiece, 64, "text",
                "A string argument of a call, in pieces of 40 bytes. Written before the call of "
                "the same correlation, by its thread.",
                ROCHOUND_PART("bytes", 2, 1, kNumber, "how many of the text count here"),
                ROCHOUND_PART("argument", 3, 1, kNumber, "which argument"),
                ROCHOUND_WIDE("offset", kNumber, "of this piece in the string"),
                ROCHOUND_FIELD(TextPiece, correlation, kCorrelation, "the call"),
                ROCHOUND_FIELD(TextPiece, total, kNumber, "length of the whole string"),
                ROCHOUND_ARRAY(TextPiece, text, kText, "the piece"));

struct ThreadEnd {
  Head head;
  uint64_t now_tsc;
  uint64_t reserved[2];
};
ROCHOUND_RECORD(ThreadEnd, 32, "thread_end",
                "The thread ended: the last record that it wrote. Absent when the process ended "
                "before the thread did.",
                ROCHOUND_FIELD(ThreadEnd, now_tsc, kTsc, "when"));

struct Swap {
  Head head;
  uint64_t now_tsc;
  uint32_t candidate;
  uint32_t file;
  uint32_t reason;
  uint32_t reserved;
};
enum class SwapDecision : uint16_t {
  kSwapped = 1,
  kAlternating = 2,
  kRefused = 3,
  kLaunchRefused = 4,
  kSampled = 5,
  kNotSampled = 6,
};
ROCHOUND_RECORD(Swap, 32, "swap",
                "What became of a kernel of the kernel cache that was meant for a kernel of the "
                "program. May be said again.",
                ROCHOUND_SMALL("decision", kNumber,
                               "1 it takes the other's place in all launches from now on that it "
                               "can take; 2 the two alternate; 3 it does not; 4 there was a first "
                               "launch that it could not take; 5 a launch of the program's kernel "
                               "was captured, to compare the two afterwards; 6 one should have "
                               "been"),
                ROCHOUND_WIDE("kernel", kNumber, "the program's: kernel symbol id"),
                ROCHOUND_FIELD(Swap, now_tsc, kTsc, "when"),
                ROCHOUND_FIELD(Swap, candidate, kNumber,
                               "kernel symbol id of the other; 0: it is not loaded"),
                ROCHOUND_FIELD(Swap, file, kString, "string id of the file that it is in"),
                ROCHOUND_FIELD(Swap, reason, kString,
                               "string id of why not; 0: none; of decision 5: the capture's "
                               "name"));

#undef ROCHOUND_FIELD
#undef ROCHOUND_ARRAY
#undef ROCHOUND_SMALL
#undef ROCHOUND_WIDE
#undef ROCHOUND_PART
#undef ROCHOUND_RECORD

// All of them, by kind; kind 0 has none.
inline constexpr const Description* kDescriptions[] = {
    nullptr,
    &Described<ThreadHere>::kDescription,
    &Described<ApiCall>::kDescription,
    &Described<ApiArguments>::kDescription,
    &Described<KernelDispatch>::kDescription,
    &Described<KernelTime>::kDescription,
    &Described<Copy>::kDescription,
    &Described<CopyTime>::kDescription,
    &Described<Allocation>::kDescription,
    &Described<Release>::kDescription,
    &Described<Range>::kDescription,
    &Described<StackFrames>::kDescription,
    &Described<HostAnchor>::kDescription,
    &Described<GpuAnchor>::kDescription,
    &Described<Queue>::kDescription,
    &Described<KernelSymbol>::kDescription,
    &Described<Dropped>::kDescription,
    &Described<StateChange>::kDescription,
    &Described<Overhead>::kDescription,
    &Described<TextPiece>::kDescription,
    &Described<ThreadEnd>::kDescription,
    &Described<Swap>::kDescription,
};
inline constexpr size_t kKinds = std::size(kDescriptions);

// A record's description, or null for a kind that this reader does not know.
constexpr const Description* Describe(Kind kind) {
  const auto index = static_cast<size_t>(kind);
  return index < kKinds ? kDescriptions[index] : nullptr;
}

// The head that a record of type T is committed with.
template <typename T>
constexpr Head HeadOf(uint16_t small = 0, uint32_t wide = 0) {
  return Head{Described<T>::kDescription.kind, sizeof(T) / 32, small, wide};
}

}  // namespace rochound::trace
