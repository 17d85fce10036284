// SPDX-License-Identifier: MIT
#include "analysis/stream_order.h"

#include <algorithm>
#include <charconv>

#include "base/hash.h"

namespace rochound::analysis {
namespace {

// A chain of events without operations in between could collect them without end; those that end
// last are what matters.
constexpr size_t kMostWaiting = 256;

constexpr Handle kLegacyStream = 1;
constexpr Handle kStreamPerThread = 2;

// What no pointer begins with.
constexpr Handle kDefaultOfGpu = Handle{2} << 62;
constexpr Handle kOfThread = Handle{3} << 62;
constexpr Handle kOfText = Handle{1} << 62;

Handle DefaultOf(int64_t gpu) { return kDefaultOfGpu | static_cast<Handle>(gpu); }
bool IsDefault(Handle handle) { return handle >> 62 == kDefaultOfGpu >> 62; }

void AddOnce(std::vector<Op>& ops, const Op& op) {
  if (std::find(ops.begin(), ops.end(), op) != ops.end()) return;
  if (ops.size() < kMostWaiting) {
    ops.push_back(op);
    return;
  }
  const auto first = std::min_element(ops.begin(), ops.end(),
                                      [](const Op& a, const Op& b) { return a.end < b.end; });
  if (first->end < op.end) *first = op;
}

}  // namespace

Handle StreamHandle(std::string_view text, int64_t tid) {
  if (text.empty()) return kDefaultStream;
  const bool hex = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  const std::string_view digits = hex ? text.substr(2) : text;
  Handle handle = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), handle, hex ? 16 : 10);
  if (error != std::errc() || end != digits.data() + digits.size())
    return base::Fnv1a64(text) >> 2 | kOfText;
  if (!hex) return handle;
  if (handle == kLegacyStream) return kDefaultStream;
  if (handle == kStreamPerThread) return static_cast<Handle>(tid) | kOfThread;
  return handle;
}

std::string_view ArgumentOf(std::string_view arguments, std::string_view name) {
  while (!arguments.empty()) {
    const size_t bar = arguments.find('|');
    const std::string_view one = arguments.substr(0, bar);
    if (one.size() > name.size() && one[name.size()] == '=' && one.substr(0, name.size()) == name)
      return one.substr(name.size() + 1);
    if (bar == std::string_view::npos) break;
    arguments.remove_prefix(bar + 1);
  }
  return {};
}

int64_t StreamOrder::GpuOf(const Step& step) {
  if (step.kind == StepKind::kOp) devices_[step.tid] = step.op.gpu;
  return devices_[step.tid];
}

Handle StreamOrder::Resolve(const Step& step) {
  if (step.stream != kDefaultStream) return step.stream;
  return DefaultOf(GpuOf(step));
}

void StreamOrder::Reset() {
  devices_.clear();
  streams_.clear();
  events_.clear();
  fresh_.clear();
  unseen_.clear();
}

void StreamOrder::Apply(const Step& given) {
  if (given.pid != pid_) {
    Reset();
    pid_ = given.pid;
  }
  Step step = given;
  step.stream = Resolve(given);
  switch (step.kind) {
    case StepKind::kOp:
      AddOp(step);
      break;
    case StepKind::kRecord: {
      Event& event = events_[step.event];
      event.captured = streams_[step.stream].capturing;
      event.ops.clear();
      if (!event.captured) event.ops = Before(step.stream, GpuOf(step));
      break;
    }
    case StepKind::kWait: {
      const auto event = events_.find(step.event);
      if (event == events_.end()) break;
      Stream& stream = streams_[step.stream];
      if (event->second.captured) stream.capturing = true;  // the graph goes on over there
      if (stream.capturing) break;
      for (const Op& op : event->second.ops) AddOnce(stream.waiting, op);
      break;
    }
    case StepKind::kBeginCapture:
      streams_[step.stream].capturing = true;
      break;
    case StepKind::kEndCapture:
      for (auto& [handle, stream] : streams_) stream.capturing = false;
      break;
    case StepKind::kCreateStream: {
      Stream& stream = streams_[step.stream];  // the handle may be an older stream's
      stream = {};
      stream.blocking = step.blocking;
      std::erase(fresh_, step.stream);
      std::erase(unseen_, step.stream);
      break;
    }
    case StepKind::kSyncDevice:
    case StepKind::kSyncStream:
    case StepKind::kSyncEvent:
      Sync(step);
      break;
  }
}

const std::vector<Op>& StreamOrder::Before(Handle handle, int64_t gpu) {
  std::vector<Op>& before = before_;
  before.clear();
  Stream& stream = streams_[handle];
  if (stream.has_last) before.push_back(stream.last);
  for (const Op& op : stream.waiting) AddOnce(before, op);
  if (IsDefault(handle)) {
    for (const Handle other : fresh_) {
      const Op& last = streams_[other].last;
      if (DefaultOf(last.gpu) == handle) AddOnce(before, last);
    }
  } else if (stream.blocking) {
    const auto normal = streams_.find(DefaultOf(gpu));
    if (normal != streams_.end() && normal->second.has_last) AddOnce(before, normal->second.last);
  }
  return before;
}

void StreamOrder::AddOp(const Step& step) {
  waits_(step, Before(step.stream, GpuOf(step)));
  Stream& stream = streams_[step.stream];
  stream.has_last = true;
  stream.last = step.op;
  stream.waiting.clear();
  if (IsDefault(step.stream)) {
    std::erase_if(fresh_, [&](Handle other) {
      if (streams_[other].last.gpu != step.op.gpu) return false;
      streams_[other].new_to_default = false;
      return true;
    });
  } else if (stream.blocking && !stream.new_to_default) {
    stream.new_to_default = true;
    fresh_.push_back(step.stream);
  }
  if (!stream.new_to_device) {
    stream.new_to_device = true;
    unseen_.push_back(step.stream);
  }
}

void StreamOrder::Sync(const Step& step) {
  if (step.kind == StepKind::kSyncStream) {
    waits_(step, Before(step.stream, GpuOf(step)));
    return;
  }
  std::vector<Op> ops;
  if (step.kind == StepKind::kSyncEvent) {
    const auto event = events_.find(step.event);
    if (event != events_.end()) ops = event->second.ops;
  } else {
    // What had ended when it began is seen by one of them; those to come wait for what came later.
    std::erase_if(unseen_, [&](Handle handle) {
      Stream& stream = streams_[handle];
      AddOnce(ops, stream.last);
      if (stream.last.end > step.start) return false;
      stream.new_to_device = false;
      return true;
    });
  }
  waits_(step, ops);
}

}  // namespace rochound::analysis
