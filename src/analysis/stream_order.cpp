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

// gpu -1 has one too.
Handle DefaultOf(int64_t gpu) { return kDefaultOfGpu | static_cast<Handle>(gpu + 1); }
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
  if (step.kind == StepKind::kOp) return step.op.gpu;
  const Thread& thread = threads_[step.tid];
  if (thread.device >= 0) {
    const auto known = gpus_.find(thread.device);
    if (known != gpus_.end()) return known->second;
  }
  if (thread.gpu >= 0) return thread.gpu;
  // A thread that chose none uses the first.
  const auto first = gpus_.find(0);
  return first != gpus_.end() ? first->second : -1;
}

Handle StreamOrder::Resolve(const Step& step) {
  if (step.stream != kDefaultStream) return step.stream;
  return DefaultOf(GpuOf(step));
}

void StreamOrder::Reset() {
  threads_.clear();
  gpus_.clear();
  streams_.clear();
  events_.clear();
  own_call_ = -1;
  own_streams_.clear();
  own_waits_.clear();
  fresh_.clear();
  unseen_.clear();
  value_at_.clear();
}

void StreamOrder::Apply(const Step& given) {
  if (given.pid != pid_) {
    Reset();
    pid_ = given.pid;
  }
  Step step = given;
  step.stream = Resolve(given);
  const bool queries = step.kind == StepKind::kQueryStream || step.kind == StepKind::kQueryEvent;
  if (!queries) threads_[step.tid].polls.clear();
  switch (step.kind) {
    case StepKind::kOp:
      AddOp(step);
      AddValues(step);
      break;
    case StepKind::kRecord: {
      Event& event = events_[step.event];
      const Stream& stream = streams_[step.stream];
      event.captured = stream.capturing;
      event.host_function = stream.host_function;
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
      if (event->second.host_function != UINT32_MAX)
        stream.host_function = event->second.host_function;
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
    case StepKind::kSetDevice:
      threads_[step.tid].device = step.device;
      break;
    case StepKind::kHostFunction:
      if (Stream& stream = streams_[step.stream]; !stream.capturing)
        stream.host_function = step.name;
      break;
    case StepKind::kSyncDevice:
    case StepKind::kSyncMemory:
    case StepKind::kSyncStream:
    case StepKind::kSyncEvent:
      Sync(step);
      break;
    case StepKind::kQueryStream:
    case StepKind::kQueryEvent:
      Query(step);
      break;
  }
}

const std::vector<Op>& StreamOrder::Before(Handle handle, int64_t gpu) {
  std::vector<Op>& before = before_;
  Stream& stream = streams_[handle];
  before = stream.end;
  for (const Op& op : stream.waiting) AddOnce(before, op);
  if (IsDefault(handle)) {
    for (const Handle other : fresh_)
      for (const Op& op : streams_[other].end)
        if (DefaultOf(op.gpu) == handle) AddOnce(before, op);
  } else if (stream.blocking) {
    const auto normal = streams_.find(DefaultOf(gpu));
    if (normal != streams_.end())
      for (const Op& op : normal->second.end) AddOnce(before, op);
  }
  return before;
}

void StreamOrder::AddOp(Step& step) {
  Thread& thread = threads_[step.tid];
  if (step.is_kernel) {
    thread.gpu = step.op.gpu;
    if (thread.device >= 0) {
      const auto [known, is_new] = gpus_.emplace(thread.device, step.op.gpu);
      // HIP lets a thread use a stream of another GPU; the default stream is its own GPU's.
      if (IsDefault(step.stream)) known->second = step.op.gpu;
    }
  }
  const std::vector<Op>& before = Before(step.stream, step.op.gpu);
  AddOwn(step, before);
  Stream& stream = streams_[step.stream];
  step.host_function = stream.host_function;
  waits_(step, before);
  stream.end = {step.op};
  for (const Op& op : before)
    if (op.end > step.op.start) AddOnce(stream.end, op);
  stream.waiting.clear();
  stream.host_function = UINT32_MAX;
  if (IsDefault(step.stream)) {
    std::erase_if(fresh_, [&](Handle other) {
      Stream& there = streams_[other];
      if (there.end.front().gpu != step.op.gpu) return false;
      there.new_to_default = false;
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

void StreamOrder::AddOwn(const Step& step, const std::vector<Op>& before) {
  if (own_call_ != step.call) {
    own_call_ = step.call;
    own_streams_.clear();
    own_waits_.clear();
    own_since_ = step.start;
  }
  if (std::find(own_streams_.begin(), own_streams_.end(), step.stream) == own_streams_.end())
    own_streams_.push_back(step.stream);
  if (step.submit <= own_since_ || step.submit > step.end) return;
  bool waited = false;
  for (const Op& op : before) {
    if (op.end > step.submit) return;
    waited = waited || op.end > own_since_;
  }
  if (!waited) return;
  own_waits_.push_back({own_since_, step.submit, before});
  own_since_ = step.submit;
}

void StreamOrder::AddValues(const Step& step) {
  if (!values_) return;
  if (step.waits_for != 0) {
    Value& value = value_at_[step.waits_for];
    for (const Op& writing : value.writing) values_(step.op, writing);
    // Whoever waited and was over by then has been told all that it can have waited for.
    std::erase_if(value.waiting, [&](const Op& op) { return op.end <= step.op.start; });
    AddOnce(value.waiting, step.op);
  }
  if (step.writes != 0) {
    Value& value = value_at_[step.writes];
    for (const Op& waiting : value.waiting) values_(waiting, step.op);
    value.writing.clear();
    value.writing.push_back(step.op);
  }
}

void StreamOrder::AddDevice(int64_t gpu, std::vector<Op>& ops, uint32_t& host_function) {
  for (const Handle handle : unseen_) {
    const Stream& stream = streams_[handle];
    for (const Op& op : stream.end) {
      if (gpu >= 0 && op.gpu != gpu) continue;
      AddOnce(ops, op);
      if (stream.host_function != UINT32_MAX) host_function = stream.host_function;
    }
  }
}

void StreamOrder::Sync(Step& step) {
  std::vector<Op> ops;
  uint32_t& host_function = step.host_function;
  const int64_t gpu = GpuOf(step);
  const bool sure = step.sure && step.kind != StepKind::kSyncMemory;
  switch (step.kind) {
    case StepKind::kSyncStream:
      if (own_call_ == step.call) {
        for (const OwnWait& wait : own_waits_) {
          Step part = step;
          part.start = wait.start;
          part.end = wait.end;
          waits_(part, wait.ops);
        }
        step.start = own_since_;
        for (const Handle handle : own_streams_) {
          for (const Op& op : Before(handle, gpu)) AddOnce(ops, op);
          if (streams_[handle].host_function != UINT32_MAX)
            host_function = streams_[handle].host_function;
        }
      } else {
        ops = Before(step.stream, gpu);
        host_function = streams_[step.stream].host_function;
      }
      break;
    case StepKind::kSyncEvent: {
      const auto event = events_.find(step.event);
      if (event == events_.end()) break;
      ops = event->second.ops;
      host_function = event->second.host_function;
      break;
    }
    case StepKind::kSyncMemory:
      AddDevice(-1, ops, host_function);
      break;
    default:
      AddDevice(sure ? gpu : -1, ops, host_function);
      if (!sure) break;
      // What had ended when it began is seen by one of them; those to come wait for what came
      // later.
      std::erase_if(unseen_, [&](Handle handle) {
        Stream& stream = streams_[handle];
        for (const Op& op : stream.end)
          if (op.end > step.start || (gpu >= 0 && op.gpu != gpu)) return false;
        stream.new_to_device = false;
        return true;
      });
      break;
  }
  if (!sure) {
    // Of each GPU all or nothing: who waits for a GPU waits for all that it was given.
    const std::vector<Op> all = std::move(ops);
    ops.clear();
    for (const Op& op : all) {
      bool over = true, waited = false;
      for (const Op& other : all) {
        if (other.gpu != op.gpu) continue;
        if (other.end > step.end + clock_error_) over = false;
        if (other.end > step.start) waited = true;
      }
      if (over && waited) ops.push_back(op);
    }
    if (ops.empty()) return;
  }
  waits_(step, ops);
}

void StreamOrder::Query(const Step& step) {
  std::vector<Poll>& polls = threads_[step.tid].polls;
  const Handle asked = step.kind == StepKind::kQueryStream ? step.stream : step.event;
  const auto found = std::find_if(polls.begin(), polls.end(), [&](const Poll& poll) {
    return poll.kind == step.kind && poll.asked == asked;
  });
  if (!step.ready) {
    if (found == polls.end() && polls.size() < kMostWaiting)
      polls.push_back({step.kind, asked, step.start});
    return;
  }
  if (found == polls.end()) return;  // it was ready at once
  Step loop = step;
  loop.start = found->since;
  loop.kind = step.kind == StepKind::kQueryStream ? StepKind::kSyncStream : StepKind::kSyncEvent;
  polls.erase(found);
  // The time until now is told. Whatever else the loop asks for it waits for from now on.
  for (Poll& poll : polls) poll.since = step.end;
  Sync(loop);
}

}  // namespace rochound::analysis
