// SPDX-License-Identifier: MIT
//
// Which operations had to wait for which, as the program asked for it: by streams, events, the
// default stream, values in memory and calls that wait. The steps of a process are applied in the
// order the host took them; whom an operation or a waiting call waits for is given as it comes up.
// Memory grows with streams, events and what is in flight, not with the trace. What queues add to
// this is in path_graph.h. Used by `idle` and `critical-path`; one thread; cannot fail.
//
//   an operation waits for   the end of its stream, what its stream was told to wait for since then
//                            (hipStreamWaitEvent), and, between the default stream and streams that
//                            were seen being created as blocking ones, the end over there
//   the end of a stream is   its last operation, and those that the last one should have waited for
//                            but did not by their times: the times of some copies are not known
//   an event stands for      what an operation at the place of hipEventRecord would have waited for
//   a waiting call           for the streams of its own operations, for its stream, its event, or
//                            all streams of its thread's GPU
//   a call that may wait     likewise if all of it was over when the call returned, and not all
//   when
//                            it began; of several GPUs each is looked at by itself
//   a call that submits      operations of its own late, as copies through buffers do, waited for
//                            what these wait for if all of it was over at the submission, and not
//                            all when the call began or submitted the one before
//   a polling loop           is a waiting call from the first query that said "not ready" to the
//   one
//                            that did not, if its thread did nothing else with GPUs in between
//   a wait for a value       ends after the last write to its address that ended before it did
//
// A thread's GPU is the one it chose with hipSetDevice. Which one that is shows when it launches
// something after such a call; until then it is the GPU that the thread launched something on last.
// Calls between hipStreamBeginCapture and hipStreamEndCapture put operations into a graph instead
// of onto a stream; they are left out.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rochound::analysis {

// A stream or event by its handle; 0 is the default stream.
using Handle = uint64_t;

inline constexpr Handle kDefaultStream = 0;

// The handle in a text: a number, in hexadecimal if it starts with 0x; any other text has one of
// its own. Nothing and hipStreamLegacy are the default stream. hipStreamPerThread is the thread's
// own.
Handle StreamHandle(std::string_view text, int64_t tid);

// The value of `name=value|name=value`, or nothing.
std::string_view ArgumentOf(std::string_view arguments, std::string_view name);

struct Op {
  int64_t id = 0;
  int64_t start = 0, end = 0;
  int64_t gpu = 0;
  int64_t queue = 0;

  friend bool operator==(const Op& a, const Op& b) { return a.id == b.id; }
};

// Clocks of host and GPU may differ by so much.
inline constexpr int64_t kClockError = 20'000;

enum class StepKind : uint8_t {
  kOp,            // one more on a stream
  kRecord,        // stream, event
  kWait,          // stream, event
  kBeginCapture,  // stream
  kEndCapture,    // stream
  kCreateStream,  // stream, blocking
  kSetDevice,     // device
  kHostFunction,  // stream, name
  // What waits, from here on.
  kSyncDevice,
  kSyncMemory,   // all of a GPU that is not known
  kSyncStream,   // stream
  kSyncEvent,    // event
  kQueryStream,  // stream, ready
  kQueryEvent,   // event, ready
};
inline constexpr int64_t kNotSubmitted = INT64_MIN;
inline bool IsWaiting(StepKind kind) { return kind >= StepKind::kSyncDevice; }

struct Step {
  StepKind kind = StepKind::kOp;
  int64_t pid = 0, tid = 0;
  int64_t start = 0, end = 0;  // of the call
  int64_t call = 0;            // its id
  uint32_t name = UINT32_MAX;  // and name, where it is a waiting one
  Handle stream = 0, event = 0;
  int64_t device = -1;    // as the process counts them
  bool blocking = true;   // a stream that waits for the default stream
  bool sure = true;       // a waiting call always waits; false: it may
  bool ready = true;      // what a query said
  bool is_kernel = true;  // an operation
  // When an operation was submitted; kNotSubmitted: not known, or its call does not wait.
  int64_t submit = kNotSubmitted;
  Handle waits_for = 0, writes = 0;  // an operation: the address of a value; 0: none
  // Found by StreamOrder: the name of the call that put a function of the host between this and
  // what it waits for.
  uint32_t host_function = UINT32_MAX;
  Op op{};
};

class StreamOrder {
 public:
  // What the operation of this step, or the waiting call, waits for: none twice. A polling loop is
  // told as one call, a call that waited several times as several.
  using Waits = std::function<void(const Step& step, const std::vector<Op>& for_these)>;
  // An operation that waited for a value, and one that wrote it. May come in either order, and for
  // writes that came too late or were not the last.
  using Values = std::function<void(const Op& waiting, const Op& writing)>;

  explicit StreamOrder(Waits waits, Values values = {}, int64_t clock_error = kClockError)
      : waits_(std::move(waits)), values_(std::move(values)), clock_error_(clock_error) {}

  // In the order of pid, start, call, operations before the call they belong to.
  void Apply(const Step& step);

 private:
  struct Stream {
    std::vector<Op> end;      // see above
    std::vector<Op> waiting;  // told to wait for these since then
    uint32_t host_function = UINT32_MAX;
    bool blocking = false;
    bool capturing = false;
    bool new_to_default = false;  // in fresh_
    bool new_to_device = false;   // in unseen_
  };
  struct Event {
    std::vector<Op> ops;
    uint32_t host_function = UINT32_MAX;
    bool captured = false;
  };
  struct Poll {
    StepKind kind;  // of a query
    Handle asked;   // a stream or an event
    int64_t since;
  };
  struct Thread {
    int64_t device = -1;  // that it chose
    int64_t gpu = -1;     // of its last kernel
    // What a polling loop has asked for and found not ready.
    std::vector<Poll> polls;
  };

  void AddOp(Step& step);
  void AddOwn(const Step& step, const std::vector<Op>& before);
  void AddValues(const Step& step);
  // What the next operation of the stream waits for.
  const std::vector<Op>& Before(Handle handle, int64_t gpu);
  // The GPU that a call of the thread is about; -1: not known. Each has a default stream.
  int64_t GpuOf(const Step& step);
  Handle Resolve(const Step& step);
  void Sync(Step& step);
  void Query(const Step& step);
  // Adds what a device synchronization waits for; gpu -1: of all GPUs.
  void AddDevice(int64_t gpu, std::vector<Op>& ops, uint32_t& host_function);
  void Reset();

  Waits waits_;
  Values values_;
  int64_t clock_error_;
  std::vector<Op> before_;  // what Before returned last
  int64_t pid_ = -1;
  std::unordered_map<int64_t, Thread> threads_;
  std::unordered_map<int64_t, int64_t> gpus_;  // by device
  std::unordered_map<Handle, Stream> streams_;
  std::unordered_map<Handle, Event> events_;
  // Of the call whose operations came last: their streams, its waits before it submitted them, and
  // since when it had not waited.
  struct OwnWait {
    int64_t start, end;
    std::vector<Op> ops;
  };
  int64_t own_call_ = -1;
  std::vector<Handle> own_streams_;
  std::vector<OwnWait> own_waits_;
  int64_t own_since_ = 0;
  std::vector<Handle> fresh_;   // blocking streams with work that the default stream has not seen
  std::vector<Handle> unseen_;  // streams with work that no device synchronization saw end
  struct Value {
    std::vector<Op> waiting, writing;
  };
  std::unordered_map<Handle, Value> value_at_;
};

}  // namespace rochound::analysis
