// SPDX-License-Identifier: MIT
//
// What each host thread was doing: its outermost runtime calls, one after the other, in compact
// arrays (20 bytes a call). Calls within calls and marks of the program are left out, so at any
// time at most one call is in flight, and it is the one that a person would name. Filled once in
// order, then constant; used by `idle` and `critical-path`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace rochound::analysis {

inline constexpr uint32_t kNoThread = UINT32_MAX;
inline constexpr uint32_t kNoName = UINT32_MAX;

struct HostThread {
  int64_t pid = 0, tid = 0;
  size_t first = 0, last = 0;  // its calls: [first, last)
  int64_t begin = 0;           // of the first thing that it did
  int64_t end = INT64_MIN;     // of the last one
};

class HostThreads {
 public:
  // Not more calls than this will be added; memory that is not used is not taken.
  void Reserve(size_t calls);

  // In the order of pid, tid, start, end (descending), id. The name is any small number; kNoName:
  // not a runtime call, but the thread was there.
  void Add(int64_t pid, int64_t tid, int64_t start, int64_t end, uint32_t name);

  // kNoThread: no call of it was added.
  uint32_t Find(int64_t pid, int64_t tid) const;
  const std::vector<HostThread>& threads() const { return threads_; }

  size_t size() const { return starts_.size(); }
  int64_t start(size_t call) const { return starts_[call]; }
  int64_t end(size_t call) const { return ends_[call]; }
  uint32_t name(size_t call) const { return names_[call]; }

  // The call with these very times and name, not before `from`; size() if there is none.
  size_t FindCall(uint32_t thread, int64_t start, int64_t end, uint32_t name, size_t from) const;

  // The thread's first call that ends after this time; the thread's `last` if there is none.
  size_t FirstEndingAfter(uint32_t thread, int64_t time) const;

  // Calls visit(call, ns) for every call of the thread that shares ns > 0 with [begin, end).
  template <typename Visit>
  void Overlaps(uint32_t thread, int64_t begin, int64_t end, const Visit& visit) const {
    const size_t last = threads_[thread].last;
    for (size_t call = FirstEndingAfter(thread, begin); call < last && starts_[call] < end;
         ++call) {
      const int64_t from = starts_[call] > begin ? starts_[call] : begin;
      const int64_t to = ends_[call] < end ? ends_[call] : end;
      if (to > from) visit(call, to - from);
    }
  }

  // The name of the call that shares most of [begin, end), the first of equals; kNoName: none does.
  uint32_t MainCall(uint32_t thread, int64_t begin, int64_t end) const;

 private:
  std::vector<HostThread> threads_;  // by pid, tid
  std::vector<int64_t> starts_, ends_;
  std::vector<uint32_t> names_;
};

// What a call waits for before it returns, as far as its name tells. HIP decides about some calls
// case by case (pageable memory, the kind of a copy, memory that is used up); these may wait, and
// whether they did is seen from what was over when they returned (stream_order.h).
enum class Blocking : uint8_t {
  kNot,
  kDevice,       // everything that was launched on its GPU
  kMemory,       // everything that was launched on the GPU that its memory belongs to
  kStream,       // what was launched on its stream, or by itself
  kEvent,        // what its event stands for
  kMayDevice,    // everything on a GPU, or nothing
  kMayStream,    // what was launched on its stream, or nothing
  kQueryStream,  // nothing; but a program that asks until its stream is done waits for it
  kQueryEvent,   // likewise for its event
};
Blocking BlockingOf(std::string_view name);
// Every call by this name waits, if there is something to wait for.
bool AlwaysBlocks(Blocking blocking);

}  // namespace rochound::analysis
