// SPDX-License-Identifier: MIT
#include "analysis/idle_sweep.h"

#include <algorithm>
#include <tuple>

namespace rochound::analysis {
namespace {

// Longer, and of equals the earlier one.
bool Longer(const IdleGap& a, const IdleGap& b) {
  return std::tuple(b.end - b.begin, a.begin, a.gpu, a.queue) <
         std::tuple(a.end - a.begin, b.begin, b.gpu, b.queue);
}

}  // namespace

std::string_view IdleCauseName(IdleCause cause) {
  switch (cause) {
    case IdleCause::kHostNotSubmitting:
      return "host not submitting";
    case IdleCause::kSyncDrained:
      return "sync drained the queue";
    case IdleCause::kLaunchLatency:
      return "launch latency";
    case IdleCause::kDependency:
      return "dependency";
    case IdleCause::kKernelTooShort:
      return "kernel too short";
    case IdleCause::kUnknownLaunch:
      return "unknown launch";
  }
  return "";
}

void IdleSweep::Add(const QueuedOp& op, const HostThreads& threads) {
  if (!in_queue_ || op.gpu != last_.gpu || op.queue != last_.queue) {
    if (in_queue_) EndQueue(threads);
    queues_.push_back({.gpu = op.gpu, .queue = op.queue});
    in_queue_ = true;
    idle_since_ = window_.begin;
    last_ = {};
  }
  ++queues_.back().ops;
  Gaps(threads, idle_since_, op.start, &op);
  if (op.end > idle_since_) {
    queues_.back().busy += window_.Recorded(std::max(op.start, idle_since_), op.end);
    idle_since_ = op.end;
  }
  last_ = op;
}

void IdleSweep::EndQueue(const HostThreads& threads) {
  Gaps(threads, idle_since_, window_.end, nullptr);
}

// What ended a gap that a pause of the recording cut off is not known, as at the trace's end.
void IdleSweep::Gaps(const HostThreads& threads, int64_t begin, int64_t end, const QueuedOp* next) {
  window_.ForEachRecorded(begin, end, [&](int64_t from, int64_t to) {
    Gap(threads, from, to, to == end ? next : nullptr);
  });
}

void IdleSweep::Finish(const HostThreads& threads) {
  if (in_queue_) EndQueue(threads);
  in_queue_ = false;
  std::sort(gaps_.begin(), gaps_.end(), Longer);
}

void IdleSweep::Gap(const HostThreads& threads, int64_t begin, int64_t end, const QueuedOp* next) {
  Queue& queue = queues_.back();
  ++queue.gaps;
  gap_ = {.gpu = queue.gpu,
          .queue = queue.queue,
          .begin = begin,
          .end = end,
          .before = last_.name,
          .after = next != nullptr ? next->name : kNoName};
  if (next == nullptr) {
    HostPhase(threads, last_.thread, begin, end);
  } else if (!next->has_launch && next->submit == kNever) {
    Piece(threads, IdleCause::kUnknownLaunch, kNoThread, begin, end);
  } else {
    // Clocks of host and GPU may differ a little: every border is kept within the gap.
    const int64_t called = next->has_launch ? next->launch : next->submit;
    const int64_t launch = std::clamp(called, begin, end);
    const int64_t submit = std::clamp(std::max(next->submit, called), launch, end);
    const int64_t ready = std::clamp(next->ready, submit, end);
    const bool back_to_back = queue.ops > 1 && called <= begin;
    HostPhase(threads, next->thread, begin, launch);
    Piece(threads, back_to_back ? IdleCause::kKernelTooShort : IdleCause::kLaunchLatency,
          next->thread, launch, submit);
    Piece(threads, IdleCause::kDependency, next->thread, submit, ready);
    Piece(threads, IdleCause::kLaunchLatency, next->thread, ready, end);
  }
  if (longest_ == 0) return;
  if (gaps_.size() == longest_) {
    if (!Longer(gap_, gaps_.front())) return;
    std::pop_heap(gaps_.begin(), gaps_.end(), Longer);
    gaps_.pop_back();
  }
  gaps_.push_back(gap_);
  std::push_heap(gaps_.begin(), gaps_.end(), Longer);
}

void IdleSweep::HostPhase(const HostThreads& threads, uint32_t thread, int64_t begin, int64_t end) {
  const int64_t returned = std::min(SyncUntil(threads, thread, begin), end);
  Piece(threads, IdleCause::kSyncDrained, thread, begin, returned);
  Piece(threads, IdleCause::kHostNotSubmitting, thread, returned, end);
}

void IdleSweep::Piece(const HostThreads& threads, IdleCause cause, uint32_t thread, int64_t begin,
                      int64_t end) {
  if (begin >= end) return;
  const IdlePiece piece{
      .cause = cause,
      .begin = begin,
      .end = end,
      .call = thread == kNoThread ? kNoName : threads.MainCall(thread, begin, end)};
  queues_.back().idle[static_cast<size_t>(cause)] += end - begin;
  Total& total = by_call_[{cause, piece.call}];
  total.ns += end - begin;
  ++total.pieces;
  if (end - begin > gap_.main.end - gap_.main.begin) gap_.main = piece;
}

int64_t IdleSweep::SyncUntil(const HostThreads& threads, uint32_t thread, int64_t time) const {
  if (thread == kNoThread) return time;
  const size_t call = threads.FirstEndingAfter(thread, time);
  if (call == threads.threads()[thread].last || threads.start(call) > time) return time;
  const uint32_t name = threads.name(call);
  return name < sync_.size() && sync_[name] ? threads.end(call) : time;
}

}  // namespace rochound::analysis
