// SPDX-License-Identifier: MIT
//
// Why queues stood still. Operations come queue by queue in the order they started; every gap
// between them, before the first and after the last, is cut into pieces with one cause each. A
// queue's busy time and its pieces add up to the window, to the nanosecond. Nothing is kept of an
// operation but sums and the longest gaps. Used by the question `idle`; one thread; cannot fail.
//
//   A ends     launch call of B begins   B submitted     what B depends on ends   B starts
//   |---------------|-------------------------|--------------------|----------------|
//    sync drained,   launch latency; or kernel  dependency           launch latency
//    then host not   too short if the call
//    submitting      began before A's end
//
// What was not recorded (window.h) is neither busy nor idle.
//
// Before a queue's first operation A's end is the window's begin, and no kernel was too short.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/host_threads.h"
#include "analysis/window.h"

namespace rochound::analysis {

enum class IdleCause : uint8_t {
  kHostNotSubmitting,
  kSyncDrained,
  kLaunchLatency,
  kDependency,
  kKernelTooShort,
  kUnknownLaunch,  // the call that launched the operation is not in the trace
};
inline constexpr size_t kIdleCauses = 6;
std::string_view IdleCauseName(IdleCause cause);

inline constexpr int64_t kNever = INT64_MIN;

struct QueuedOp {
  int64_t id = 0;
  int64_t gpu = 0, queue = 0;
  int64_t start = 0, end = 0;
  uint32_t name = kNoName;
  uint32_t thread = kNoThread;  // that launched it
  bool has_launch = false;
  int64_t launch = 0;       // when its launch call began
  int64_t submit = kNever;  // when it was put into the queue
  int64_t ready = kNever;   // when the last of what it depends on ended
};

struct IdlePiece {
  IdleCause cause = IdleCause::kHostNotSubmitting;
  int64_t begin = 0, end = 0;
  uint32_t call = kNoName;  // that ran most of the time on the launching thread
};

struct IdleGap {
  int64_t gpu = 0, queue = 0;
  int64_t begin = 0, end = 0;
  uint32_t before = kNoName, after = kNoName;  // the operations around it
  IdlePiece main{};                            // its longest piece
};

class IdleSweep {
 public:
  struct Queue {
    int64_t gpu = 0, queue = 0;
    int64_t ops = 0, gaps = 0;
    int64_t busy = 0;
    std::array<int64_t, kIdleCauses> idle{};
  };
  struct Total {
    int64_t ns = 0, pieces = 0;
  };

  // sync: by name, whether the call waits for the GPU. longest: how many gaps are kept.
  IdleSweep(Window window, std::vector<bool> sync, size_t longest)
      : window_(window), sync_(std::move(sync)), longest_(longest) {}

  // In the order of gpu, queue, start, end, id; with the same threads each time.
  void Add(const QueuedOp& op, const HostThreads& threads);
  void Finish(const HostThreads& threads);

  const std::vector<Queue>& queues() const { return queues_; }
  const std::map<std::pair<IdleCause, uint32_t>, Total>& by_call() const { return by_call_; }
  // Longest first.
  const std::vector<IdleGap>& longest() const { return gaps_; }

 private:
  void EndQueue(const HostThreads& threads);
  void Gaps(const HostThreads& threads, int64_t begin, int64_t end, const QueuedOp* next);
  void Gap(const HostThreads& threads, int64_t begin, int64_t end, const QueuedOp* next);
  void HostPhase(const HostThreads& threads, uint32_t thread, int64_t begin, int64_t end);
  void Piece(const HostThreads& threads, IdleCause cause, uint32_t thread, int64_t begin,
             int64_t end);
  // When the blocking call that is under way at this time returns; the time itself: none is.
  int64_t SyncUntil(const HostThreads& threads, uint32_t thread, int64_t time) const;

  Window window_;
  std::vector<bool> sync_;
  size_t longest_;
  std::vector<Queue> queues_;
  std::map<std::pair<IdleCause, uint32_t>, Total> by_call_;
  std::vector<IdleGap> gaps_;  // a heap, the shortest first, until Finish

  bool in_queue_ = false;
  QueuedOp last_{};
  int64_t idle_since_ = 0;
  IdleGap gap_{};
};

}  // namespace rochound::analysis
