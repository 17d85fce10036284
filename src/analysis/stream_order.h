// SPDX-License-Identifier: MIT
//
// Which operations had to wait for which, as the program asked for it: by streams, events, the
// default stream and blocking calls. The steps of a process are applied in the order the host took
// them; whom an operation or a blocking call waits for is told as it comes up. Memory grows with
// streams, events and what is under way, not with the trace. What queues add to this stands in
// critical_path.h. Used by `idle` and `critical-path`; one thread; cannot fail.
//
//   an operation waits for   the last one on its stream, what its stream was told to wait for since
//                            then (hipStreamWaitEvent), and, between the default stream and streams
//                            that were seen being created as blocking ones, the last one over there
//   an event stands for      what an operation at the place of hipEventRecord would have waited for
//   a blocking call          for its stream's, its event's or all streams' last operations
//
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

enum class StepKind : uint8_t {
  kOp,            // one more on a stream
  kRecord,        // stream, event
  kWait,          // stream, event
  kBeginCapture,  // stream
  kEndCapture,    // stream
  kCreateStream,  // stream, blocking
  kSyncDevice,
  kSyncStream,  // stream
  kSyncEvent,   // event
};

struct Step {
  StepKind kind = StepKind::kOp;
  int64_t pid = 0, tid = 0;
  int64_t start = 0, end = 0;  // of the call
  int64_t call = 0;            // its id
  uint32_t name = UINT32_MAX;  // and name, where it is a blocking one
  Handle stream = 0, event = 0;
  bool blocking = true;
  Op op{};
};

class StreamOrder {
 public:
  // What the operation of this step, or the blocking call, waits for: none twice.
  using Waits = std::function<void(const Step& step, const std::vector<Op>& for_these)>;

  explicit StreamOrder(Waits waits) : waits_(std::move(waits)) {}

  // In the order of pid, start, call, operations before the call they belong to.
  void Apply(const Step& step);

 private:
  struct Stream {
    bool has_last = false;
    Op last{};
    std::vector<Op> waiting;  // told to wait for these since then
    bool blocking = false;
    bool capturing = false;
    bool new_to_default = false;  // in fresh_
    bool new_to_device = false;   // in unseen_
  };
  struct Event {
    std::vector<Op> ops;
    bool captured = false;
  };

  void AddOp(const Step& step);
  // What the next operation of the stream waits for.
  const std::vector<Op>& Before(Handle handle, int64_t gpu);
  // Each GPU has a default stream; a call's is that of the GPU its thread used last.
  int64_t GpuOf(const Step& step);
  Handle Resolve(const Step& step);
  void Sync(const Step& step);
  void Reset();

  Waits waits_;
  std::vector<Op> before_;  // what Before returned last
  int64_t pid_ = -1;
  std::unordered_map<int64_t, int64_t> devices_;  // by thread
  std::unordered_map<Handle, Stream> streams_;
  std::unordered_map<Handle, Event> events_;
  std::vector<Handle> fresh_;   // blocking streams with work that the default stream has not seen
  std::vector<Handle> unseen_;  // streams with work that no device synchronization saw end
};

}  // namespace rochound::analysis
