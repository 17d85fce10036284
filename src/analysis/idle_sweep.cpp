// SPDX-License-Identifier: MIT
#include "analysis/idle_sweep.h"

#include <algorithm>

#include "base/check.h"

namespace rochound::analysis {
namespace {

// Longer, and of equals the earlier one.
bool Longer(const IdleGap& a, const IdleGap& b) {
  return std::tuple(b.end - b.begin, a.begin, a.gpu) < std::tuple(a.end - a.begin, b.begin, b.gpu);
}

// The upper half of an id is the process that the row belongs to.
int64_t ProcessOf(int64_t id) { return id >> 32; }

int64_t Sum(const std::vector<IdlePiece>& pieces) {
  int64_t ns = 0;
  for (const IdlePiece& piece : pieces) ns += piece.ns;
  return ns;
}

}  // namespace

std::string_view IdleCauseName(IdleCause cause) {
  switch (cause) {
    case IdleCause::kOutsideHip:
      return "outside HIP";
    case IdleCause::kOtherCall:
      return "other HIP call";
    case IdleCause::kSync:
      return "synchronization";
    case IdleCause::kLaunchLatency:
      return "launch latency";
    case IdleCause::kKernelTooShort:
      return "kernel too short";
    case IdleCause::kDependency:
      return "dependency";
    case IdleCause::kHostFunction:
      return "host function";
    case IdleCause::kCodeLoading:
      return "one-time code loading";
    case IdleCause::kInitialisation:
      return "one-time initialisation";
    case IdleCause::kUnknownLaunch:
      return "unknown launch";
    case IdleCause::kNotRecorded:
      return "not recorded";
  }
  return "";
}

std::string_view GapOriginName(GapOrigin origin) {
  switch (origin) {
    case GapOrigin::kFirst:
      return "before the first operation";
    case GapOrigin::kLast:
      return "after the last operation";
    case GapOrigin::kReadBack:
      return "the host read a result";
    case GapOrigin::kDrained:
      return "the host waited";
    case GapOrigin::kQueued:
      return "the next was queued";
    case GapOrigin::kLaunching:
      return "the host launched";
    case GapOrigin::kHost:
      return "the host did something else";
    case GapOrigin::kUnknown:
      return "unknown";
  }
  return "";
}

int64_t IdleSweep::Lane::OneTime() const {
  int64_t ns = 0;
  for (size_t i = 0; i < kIdleCauses; ++i)
    if (IsOneTime(static_cast<IdleCause>(i))) ns += idle[i];
  return ns;
}

void IdleSweep::Add(const QueuedOp& op, const HostActivity& host) {
  if (any_ && op.gpu != gpu_.lane.gpu) CloseGpu(host);
  if (!any_) gpu_ = Opened(op);
  any_ = true;
  Advance(gpu_, op, host);
  const auto [queue, is_new] = open_queues_.try_emplace({ProcessOf(op.id), op.queue});
  if (is_new) queue->second = Opened(op);
  Advance(queue->second, op, host);
}

IdleSweep::Open IdleSweep::Opened(const QueuedOp& op) const {
  Open open;
  open.lane.gpu = op.gpu;
  open.lane.process = ProcessOf(op.id);
  open.lane.queue = op.queue;
  open.idle_since = window_.begin;
  return open;
}

void IdleSweep::Advance(Open& open, const QueuedOp& op, const HostActivity& host) {
  Lane& lane = open.lane;
  if (op.start > open.idle_since) {
    Gaps(open, op.start, &op, host);
    open.idle_since = op.start;
  }
  ++lane.ops;
  open.thread = op.thread;
  open.launch = op.has_launch ? op.launch : kNever;
  open.returned = op.has_launch ? op.returned : kNever;
  if (op.end > open.idle_since) {
    lane.busy += window_.Recorded(open.idle_since, op.end);
    open.idle_since = op.end;
    open.before = op.name;
    ROCHOUND_DCHECK(open.idle_since >= window_.begin);
  }
}

void IdleSweep::CloseGpu(const HostActivity& host) {
  ROCHOUND_DCHECK(any_ && !open_queues_.empty());
  Gaps(gpu_, window_.end, nullptr, host);
  gpus_.push_back(gpu_.lane);
  for (auto& [key, open] : open_queues_) {
    Gaps(open, window_.end, nullptr, host);
    queues_.push_back(open.lane);
  }
  open_queues_.clear();
  any_ = false;
}

void IdleSweep::Finish(const HostActivity& host) {
  if (any_) CloseGpu(host);
  std::sort(gaps_.begin(), gaps_.end(), Longer);
}

// What ended a gap that a pause of the recording cut off is not known, as at the trace's end.
void IdleSweep::Gaps(Open& open, int64_t end, const QueuedOp* next, const HostActivity& host) {
  window_.ForEachRecorded(open.idle_since, end, [&](int64_t from, int64_t to) {
    Cut(open, from, to, to == end ? next : nullptr, host);
  });
}

void IdleSweep::Cut(Open& open, int64_t begin, int64_t end, const QueuedOp* next,
                    const HostActivity& host) {
  Lane& lane = open.lane;
  pieces_.clear();
  detailed_ = &open == &gpu_;
  if (next == nullptr) {
    HostPhase(open.thread, begin, end, IdleCause::kOtherCall, host);
  } else if (!next->has_launch && next->submit == kNever) {
    Piece(IdleCause::kUnknownLaunch, kNoName, begin, end);
  } else {
    // Clocks of host and GPU may differ a little: every border is kept within the gap.
    const int64_t called = next->has_launch ? next->launch : next->submit;
    const int64_t launch = std::clamp(called, begin, end);
    const int64_t submit = std::clamp(std::max(next->submit, called), launch, end);
    const int64_t returned = std::clamp(next->returned, launch, submit);
    const int64_t ready = std::clamp(next->ready, submit, end);
    const bool back_to_back = lane.ops > 0 && called <= begin;
    HostPhase(next->thread, begin, launch, IdleCause::kOtherCall, host);
    // The runtime may submit after the call has returned.
    HostPhase(next->thread, launch, returned,
              back_to_back ? IdleCause::kKernelTooShort : IdleCause::kLaunchLatency, host);
    Piece(IdleCause::kLaunchLatency, next->name, returned, submit);
    Piece(IdleCause::kDependency, next->name, submit, ready);
    if (next->host_function != kNoName) {
      Piece(IdleCause::kHostFunction, next->host_function, ready, end);
    } else {
      // Once an operation of a queue has run, all before it are over.
      const bool is_first =
          detailed_ ? !open_queues_.contains({ProcessOf(next->id), next->queue}) : lane.ops == 0;
      const bool waited = !from_start_ && is_first && end - ready > kLongestLatency;
      Piece(waited ? IdleCause::kNotRecorded : IdleCause::kLaunchLatency, next->name, ready, end);
    }
  }
  ROCHOUND_DCHECK(begin < end);
  ROCHOUND_DCHECK(Sum(pieces_) == end - begin);  // the causes explain the whole gap
  ++lane.gaps;
  for (const IdlePiece& piece : pieces_) {
    ROCHOUND_DCHECK(static_cast<size_t>(piece.cause) < kIdleCauses);
    lane.idle[static_cast<size_t>(piece.cause)] += piece.ns;
  }
  if (!detailed_) return;
  IdleGap gap{.gpu = lane.gpu,
              .begin = begin,
              .end = end,
              .before = open.before,
              .after = next != nullptr ? next->name : kNoName};
  const Origin origin = OriginOf(open, begin, next, host);
  for (const IdlePiece& piece : pieces_) {
    Total& total = reasons_[{lane.gpu, piece.cause, piece.what}];
    total.ns += piece.ns;
    ++total.gaps;
    OriginTotal& part =
        origins_[{lane.gpu, origin.origin, origin.wait.name, piece.cause, piece.what}];
    part.ns += piece.ns;
    ++part.pieces;
    if (piece.ns > gap.main.ns) gap.main = piece;
  }
  ++origins_[{lane.gpu, origin.origin, origin.wait.name, gap.main.cause, gap.main.what}].gaps;
  KeepGap(gap);
  if (origin.wait.name == kNoName) return;
  Drain& drain = drains_[{lane.gpu, origin.origin, origin.wait.name,
                          host.RangeAt(next->thread, origin.wait.start)}];
  drain.ns += end - begin;
  ++drain.gaps;
  if (end - begin <= drain.longest) return;
  drain.longest = end - begin;
  drain.longest_at = origin.wait.start;
  drain.longest_thread = next->thread;
}

// A wait between the last launch and the next that was in flight when the GPU ran dry, or began
// after that: nothing could be launched ahead. Clocks of host and GPU may differ a little.
IdleSweep::Origin IdleSweep::OriginOf(const Open& open, int64_t begin, const QueuedOp* next,
                                      const HostActivity& host) const {
  if (next == nullptr) return {GapOrigin::kLast};
  if (open.lane.ops == 0) return {GapOrigin::kFirst};
  if (next->thread == kNoThread || (!next->has_launch && next->submit == kNever))
    return {GapOrigin::kUnknown};
  const int64_t called = next->has_launch ? next->launch : next->submit;
  const int64_t submit = std::max(next->submit, called);
  if (submit <= begin) return {GapOrigin::kQueued};
  // The launching call may be the waiting one itself, as those of copies are.
  const int64_t to = called <= begin ? called + 1 : called;
  const int64_t from =
      open.thread == next->thread ? std::max(open.launch, begin - kClockError) : begin;
  const HostActivity::Wait wait = host.LastWait(next->thread, std::min(from, called), to, begin);
  if (wait.name != kNoName)
    return {wait.read_back ? GapOrigin::kReadBack : GapOrigin::kDrained, wait};
  if (next->start - submit > kLongestLatency) return {GapOrigin::kUnknown};
  const int64_t since = open.thread == next->thread && open.returned != kNever
                            ? std::min(open.returned, begin)
                            : begin;
  const int64_t between = submit - since;
  if (between > kLongestLaunch) return {GapOrigin::kHost};
  const uint32_t around = host.RangeAt(next->thread, called);
  for (const IdlePiece& piece : pieces_) {
    if (between > kLongestRange && piece.cause == IdleCause::kOutsideHip && piece.what != kNoName &&
        piece.what != around && piece.ns * 2 > next->start - begin)
      return {GapOrigin::kHost};
  }
  return {GapOrigin::kLaunching};
}

void IdleSweep::KeepGap(const IdleGap& gap) {
  if (longest_ == 0) return;
  ROCHOUND_DCHECK(gaps_.size() <= longest_);
  if (gaps_.size() == longest_) {
    if (!Longer(gap, gaps_.front())) return;
    std::pop_heap(gaps_.begin(), gaps_.end(), Longer);
    gaps_.pop_back();
  }
  gaps_.push_back(gap);
  std::push_heap(gaps_.begin(), gaps_.end(), Longer);
}

void IdleSweep::HostPhase(uint32_t thread, int64_t begin, int64_t end, IdleCause in_call,
                          const HostActivity& host) {
  if (begin >= end) return;
  if (thread == kNoThread) return Piece(IdleCause::kUnknownLaunch, kNoName, begin, end);
  host.ForEach(thread, begin, end, [&](Activity activity, uint32_t what, int64_t from, int64_t to) {
    switch (activity) {
      case Activity::kOutside:
        return Piece(IdleCause::kOutsideHip, what, from, to);
      case Activity::kCall:
      case Activity::kWaitsToo:
        return Piece(in_call, what, from, to);
      case Activity::kSync:
      case Activity::kReadBack:
        return Piece(IdleCause::kSync, what, from, to);
      case Activity::kHostFunction:
        return Piece(IdleCause::kHostFunction, what, from, to);
      case Activity::kLoading:
        return Piece(IdleCause::kCodeLoading, what, from, to);
      case Activity::kSetUp:
        return Piece(IdleCause::kInitialisation, what, from, to);
    }
  });
}

void IdleSweep::Piece(IdleCause cause, uint32_t what, int64_t begin, int64_t end) {
  if (begin >= end) return;
  if (!detailed_) what = kNoName;
  for (IdlePiece& piece : pieces_) {
    if (piece.cause != cause || piece.what != what) continue;
    piece.ns += end - begin;
    return;
  }
  pieces_.push_back({cause, what, end - begin});
}

}  // namespace rochound::analysis
