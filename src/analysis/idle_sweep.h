// SPDX-License-Identifier: MIT
//
// Why GPUs stood still. Operations come GPU by GPU in the order they started. A GPU is busy while
// any of its queues is; every gap between, before the first operation and after the last, is cut
// into pieces with one cause each. A GPU's busy time and its pieces add up to the window, to the
// nanosecond. The same is done for each queue alone. Nothing is kept of an operation but sums and
// the longest gaps. Used by the question `idle`; one thread; cannot fail.
//
//   A ends     launch call of B begins   B submitted     what B depends on ends   B starts
//   |---------------|-------------------------|--------------------|----------------|
//    what the thread  launch latency; or kernel  dependency           launch latency; or
//    that launched B  too short if the call                           host function if one was
//    was doing        began before A's end                            put on the stream before B;
//                                                                     not recorded if B is its
//                                                                     queue's first and it is long
//
// In the first two parts the thread's calls decide (host_activity.h): time in a call that waits,
// loads code or sets up the runtime is that, and never more than the call took. Before the first
// operation A's end is the window's begin, and no kernel was too short.
// What was not recorded (window.h) is neither busy nor idle.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/host_activity.h"
#include "analysis/host_threads.h"
#include "analysis/stream_order.h"
#include "analysis/window.h"

namespace rochound::analysis {

enum class IdleCause : uint8_t {
  kOutsideHip,      // the host did something else; what: the range of the program
  kOtherCall,       // it was in a call that neither submits nor waits; what: the call
  kSync,            // it was in a call that waits for the GPU; what: the call
  kLaunchLatency,   // what: the launching call until it submits, the operation from then on
  kKernelTooShort,  // what: the launching call
  kDependency,      // what: the operation that waited
  kHostFunction,    // hipLaunchHostFunc and the like; what: the call
  kCodeLoading,     // what: the call
  kInitialisation,  // what: the call
  kUnknownLaunch,   // the call that launched the operation is not in the trace
  kNotRecorded,     // the first of a queue was submitted, and waited for earlier work
};
inline constexpr size_t kIdleCauses = 11;
std::string_view IdleCauseName(IdleCause cause);
// It is paid once, however long the program goes on.
inline bool IsOneTime(IdleCause cause) {
  return cause == IdleCause::kCodeLoading || cause == IdleCause::kInitialisation;
}

// What emptied a GPU, so that there was a gap.
enum class GapOrigin : uint8_t {
  kFirst,      // nothing had run before
  kLast,       // nothing ran after it, as far as is known
  kReadBack,   // the host waited for a few bytes that kernels had computed
  kDrained,    // it waited for the GPU otherwise
  kQueued,     // nothing did: what came next was in the queue already
  kLaunching,  // the host needed a moment for the next launch, as for any
  kHost,       // it did something else before the next launch
  kUnknown,    // what came next waited for long after its launch, or that is not in the trace
};
std::string_view GapOriginName(GapOrigin origin);
// From one launch to the next: longer, and it is not launching as usual that takes the time.
inline constexpr int64_t kLongestLaunch = 2'000'000;
// Likewise, where a range that was over before the launch took most of it.
inline constexpr int64_t kLongestRange = 200'000;
// From submission to start of a queue's first operation: longer, and it waited for earlier work.
inline constexpr int64_t kLongestLatency = 5'000'000;

inline constexpr int64_t kNever = INT64_MIN;

struct QueuedOp {
  int64_t id = 0;
  int64_t gpu = 0, queue = 0;
  int64_t start = 0, end = 0;
  uint32_t name = kNoName;
  uint32_t thread = kNoThread;  // that launched it
  bool has_launch = false;
  int64_t launch = 0, returned = 0;  // when its launch call began and ended
  int64_t submit = kNever;           // when it was put into the queue
  int64_t ready = kNever;            // when the last of what it depends on ended
  uint32_t host_function = kNoName;  // the call that put a function of the program before it
};

struct IdlePiece {
  IdleCause cause = IdleCause::kOutsideHip;
  uint32_t what = kNoName;
  int64_t ns = 0;
};

struct IdleGap {
  int64_t gpu = 0;
  int64_t begin = 0, end = 0;
  uint32_t before = kNoName, after = kNoName;  // the operations around it
  IdlePiece main{};                            // what most of it is
};

class IdleSweep {
 public:
  struct Lane {
    int64_t gpu = 0;
    int64_t process = 0, queue = 0;  // of a queue's lane
    int64_t ops = 0, gaps = 0;
    int64_t busy = 0;
    std::array<int64_t, kIdleCauses> idle{};

    int64_t OneTime() const;
  };
  struct Total {
    int64_t ns = 0, gaps = 0;
  };
  using Reasons = std::map<std::tuple<int64_t, IdleCause, uint32_t>, Total>;
  struct OriginTotal {
    int64_t ns = 0;
    int64_t pieces = 0;
    int64_t gaps = 0;  // of which it is the longest piece, so that gaps add up
  };
  using Origins =
      std::map<std::tuple<int64_t, GapOrigin, uint32_t, IdleCause, uint32_t>, OriginTotal>;
  // Calls that emptied a GPU, and when one of them began that did.
  struct Drain {
    int64_t ns = 0, gaps = 0;
    int64_t longest = -1, longest_at = 0;
    uint32_t longest_thread = kNoThread;
  };
  using Drains = std::map<std::tuple<int64_t, GapOrigin, uint32_t, uint32_t>, Drain>;

  // longest: how many gaps are kept. from_start: the trace has all work of its queues, so none had
  // to wait for earlier work.
  IdleSweep(Window window, size_t longest, bool from_start = false)
      : window_(std::move(window)), longest_(longest), from_start_(from_start) {}

  // In the order of gpu, start, end, id; with the same activity each time.
  void Add(const QueuedOp& op, const HostActivity& host);
  void Finish(const HostActivity& host);

  const std::vector<Lane>& gpus() const { return gpus_; }
  // By gpu, process, queue.
  const std::vector<Lane>& queues() const { return queues_; }
  // By gpu, cause and what.
  const Reasons& reasons() const { return reasons_; }
  // By gpu, origin, the call that waited, cause and what.
  const Origins& origins() const { return origins_; }
  // By gpu, origin, the call that waited and the range it was made in.
  const Drains& drains() const { return drains_; }
  // Of GPUs, longest first.
  const std::vector<IdleGap>& longest() const { return gaps_; }

  // Whether a queue has so little of its GPU's work that its gaps say nothing.
  static bool BarelyUsed(const Lane& queue, const Lane& gpu) {
    return queue.ops * 100 < gpu.ops && queue.busy * 100 < gpu.busy;
  }

 private:
  // A lane while its operations come.
  struct Open {
    Lane lane;
    int64_t idle_since = 0;
    uint32_t before = kNoName;    // what ended then
    uint32_t thread = kNoThread;  // that launched the last operation
    // When the call began and returned that launched it; kNever: not known.
    int64_t launch = kNever, returned = kNever;
  };
  struct Origin {
    GapOrigin origin = GapOrigin::kUnknown;
    HostActivity::Wait wait{};  // kReadBack and kDrained
  };

  Open Opened(const QueuedOp& op) const;
  void Advance(Open& open, const QueuedOp& op, const HostActivity& host);
  void CloseGpu(const HostActivity& host);
  // The recorded parts of what lies between open.idle_since and end, each a gap.
  void Gaps(Open& open, int64_t end, const QueuedOp* next, const HostActivity& host);
  // Cuts the gap into pieces_ and adds them to the lane.
  void Cut(Open& open, int64_t begin, int64_t end, const QueuedOp* next, const HostActivity& host);
  Origin OriginOf(const Open& open, int64_t begin, const QueuedOp* next,
                  const HostActivity& host) const;
  void HostPhase(uint32_t thread, int64_t begin, int64_t end, IdleCause in_call,
                 const HostActivity& host);
  void Piece(IdleCause cause, uint32_t what, int64_t begin, int64_t end);
  void KeepGap(const IdleGap& gap);

  Window window_;
  size_t longest_;
  bool from_start_;
  std::vector<Lane> gpus_, queues_;
  Reasons reasons_;
  Origins origins_;
  Drains drains_;
  std::vector<IdleGap> gaps_;  // a heap, the shortest first, until Finish

  bool any_ = false;
  Open gpu_;
  std::map<std::pair<int64_t, int64_t>, Open> open_queues_;  // by process and queue
  std::vector<IdlePiece> pieces_;                            // of the gap: one per cause and what
  bool detailed_ = false;                                    // a GPU's gap: keep what is told
};

}  // namespace rochound::analysis
