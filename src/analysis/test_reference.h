// SPDX-License-Identifier: MIT
//
// The same answers as call_stack.h, idle_sweep.h, path_graph.h and overlap.h give, found slowly and
// in the most obvious way from a TestTrace: every call is compared with every other, every
// nanosecond is looked at, every operation is delayed to see what happens. For comparison in tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/call_tree.h"
#include "analysis/idle_sweep.h"
#include "analysis/test_trace.h"

namespace rochound::analysis {

class Reference {
 public:
  explicit Reference(const TestTrace& trace) : Reference(trace, WindowOf(trace)) {}
  // As part of a bigger trace with this window.
  Reference(const TestTrace& trace, Window window, int64_t clock_error = 0)
      : trace_(trace), window_(window), clock_error_(clock_error) {}

  static Window WindowOf(const TestTrace& trace) {
    Window window;
    bool any = false;
    const auto see = [&](int64_t start, int64_t end) {
      window.begin = any ? std::min(window.begin, start) : start;
      window.end = any ? std::max(window.end, end) : end;
      any = true;
    };
    for (const TestCall& call : trace.calls)
      if (call.domain != "rochound") see(call.start, call.end);
    for (const TestOp& op : trace.ops) see(op.start, op.end);
    return window;
  }

  Window window() const { return window_; }

  static std::string NameOf(const TestCall& call) {
    return call.domain == "roctx" ? call.args.substr(0, call.args.find(", seq")) : call.name;
  }

  // --- call stacks

  struct Cost {
    CallCost cost;
    std::string name, path;
    bool within_itself = false;  // it or one above it has the same name
  };

  std::vector<Cost> CallStacks() const {
    std::vector<const TestCall*> calls;
    for (const TestCall& call : trace_.calls)
      if (call.domain != "rochound" && call.name != "UserRange") calls.push_back(&call);
    const auto earlier = [](const TestCall& a, const TestCall& b) {
      return std::tuple(a.start, -a.end, a.id) < std::tuple(b.start, -b.end, b.id);
    };
    std::map<int64_t, const TestCall*> parents;
    for (const TestCall* call : calls) {
      const TestCall* parent = nullptr;
      for (const TestCall* other : calls) {
        if (other->pid != call->pid || other->tid != call->tid || !earlier(*other, *call)) continue;
        if (other->end <= call->start) continue;
        if (parent == nullptr || earlier(*parent, *other)) parent = other;
      }
      parents[call->id] = parent;
    }
    std::vector<Cost> costs;
    for (const TestCall* call : calls) {
      Cost one;
      one.cost.id = call->id;
      one.name = one.path = NameOf(*call);
      one.cost.cpu_inclusive = one.cost.cpu_exclusive = call->end - call->start;
      one.cost.gpu_exclusive = GpuOf(call->id);
      if (parents[call->id] != nullptr) one.cost.parent = parents[call->id]->id;
      for (const TestCall* above = parents[call->id]; above != nullptr;
           above = parents[above->id]) {
        ++one.cost.depth;
        one.path = NameOf(*above) + " > " + one.path;
        if (NameOf(*above) == one.name) one.within_itself = true;
      }
      for (const TestCall* other : calls) {
        if (parents[other->id] == call)
          one.cost.cpu_exclusive -= std::min(other->end, call->end) - other->start;
        for (const TestCall* above = other; above != nullptr; above = parents[above->id])
          if (above == call) one.cost.gpu_inclusive += GpuOf(other->id);
      }
      costs.push_back(one);
    }
    return costs;
  }

  // --- what operations and blocking calls waited for

  using Ops = std::set<int64_t>;  // ids

  Ops BeforeOp(const TestOp& op) const {
    const TestCall* const call = trace_.FindCall(op.call);
    if (call == nullptr) return {};
    const auto known = before_op_.find(op.id);
    if (known != before_op_.end()) return known->second;
    const Ops ops = Before(StreamOf(op), op.gpu, PlaceOf(op));
    before_op_[op.id] = ops;
    return ops;
  }

  // What a call waited for, and when.
  struct Wait {
    int64_t start = 0, end = 0;
    Ops ops{};
  };
  std::vector<Wait> WaitsOf(const TestCall& call) const {
    if (call.domain != "hip" || !IsOutermost(call)) return {};
    std::vector<Wait> waits;
    int64_t since = call.start;
    if (call.name == "hipMemcpy" || call.name == "hipMemcpyAsync") {
      std::map<Place, const TestOp*> own;
      for (const TestOp& op : trace_.ops)
        if (op.call == call.id) own[PlaceOf(op)] = &op;
      for (const auto& [place, op] : own) {
        const int64_t submit = trace_.SubmitOf(*op);
        bool over = true, waited = false;
        for (const int64_t id : BeforeOp(*op)) {
          over = over && trace_.FindOp(id)->end <= submit;
          waited = waited || trace_.FindOp(id)->end > since;
        }
        if (submit <= since || submit > call.end || !over || !waited) continue;
        waits.push_back({since, submit, BeforeOp(*op)});
        since = submit;
      }
    }
    if (const auto last = WaitOf(call, since)) waits.push_back(*last);
    return waits;
  }

  // The last wait, until the call returns.
  std::optional<Wait> WaitOf(const TestCall& call, int64_t since) const {
    const Place place = PlaceOf(call);
    const int64_t gpu = GpuAt(call, place);
    const auto stream = [&] {
      const std::set<std::string> own = OwnStreams(call);
      if (own.empty())
        return Before(Normal(Argument(call.args, "stream"), gpu, call.tid), gpu, place);
      Ops ops;
      for (const std::string& one : own) {
        const Ops more = Before(one, gpu, place);
        ops.insert(more.begin(), more.end());
      }
      return ops;
    };
    if (call.name == "hipStreamSynchronize" || call.name == "hipMemcpy")
      return Wait{since, call.end, stream()};
    if (call.name == "hipEventSynchronize")
      return Wait{since, call.end, EventOps(call.pid, Argument(call.args, "event"), place)};
    if (call.name == "hipDeviceSynchronize") return Wait{since, call.end, DeviceOps(call, gpu)};
    if (call.name == "hipMemcpyAsync") return IfOver(call, since, stream());
    if (call.name == "hipFree" || call.name == "hipMalloc")
      return IfOver(call, since, DeviceOps(call, -1));
    if (IsQuery(call) && !call.result) return Polled(call, place, gpu);
    return std::nullopt;
  }

  // Whether every call by this name waits.
  bool IsBlocking(const TestCall& call) const {
    return call.domain == "hip" && (call.name.find("Synchronize") != std::string::npos ||
                                    call.name == "hipMemcpy" || call.name == "hipFree");
  }

  static bool IsRuntime(const TestCall& call) {
    return call.domain != "roctx" && call.domain != "rochound";
  }

  bool IsOutermost(const TestCall& call) const {
    if (!IsRuntime(call)) return false;
    for (const TestCall& other : trace_.calls) {
      if (!IsRuntime(other) || other.pid != call.pid || other.tid != call.tid) continue;
      const bool earlier = std::tuple(other.start, -other.end, other.id) <
                           std::tuple(call.start, -call.end, call.id);
      if (earlier && other.end > call.start) return false;
    }
    return true;
  }

  // --- idle

  // What a nanosecond of idle time is counted as.
  using Reason = std::pair<IdleCause, std::string>;
  // In the order in which they come up.
  using Reasons = std::vector<std::pair<Reason, int64_t>>;
  struct IdleLane {
    int64_t busy = 0;
    std::map<int64_t, Reasons> gaps;  // by their begin
  };
  static constexpr int64_t kWholeGpu = -1;

  // By gpu and queue, kWholeGpu for the GPU itself.
  std::map<std::pair<int64_t, int64_t>, IdleLane> Idle() const {
    std::map<std::pair<int64_t, int64_t>, IdleLane> lanes;
    for (const TestOp& op : trace_.ops) {
      lanes[{op.gpu, op.queue}];
      lanes[{op.gpu, kWholeGpu}];
    }
    for (auto& [key, lane] : lanes) {
      std::vector<const TestOp*> ops;
      for (const TestOp& op : trace_.ops)
        if (op.gpu == key.first && (op.queue == key.second || key.second == kWholeGpu))
          ops.push_back(&op);
      std::sort(ops.begin(), ops.end(), [](const TestOp* a, const TestOp* b) {
        return std::tuple(a->start, a->end, a->id) < std::tuple(b->start, b->end, b->id);
      });
      for (int64_t now = window_.begin; now < window_.end; ++now) {
        int64_t since = window_.begin;
        bool busy = false, first = true;
        const TestOp* next = nullptr;
        for (const TestOp* op : ops) {
          if (op->start <= now && now < op->end) busy = true;
          if (op->start <= now) since = std::max(since, op->end);
          if (op->start <= now) first = false;
          if (op->start > now && next == nullptr) next = op;
        }
        if (busy) {
          ++lane.busy;
          continue;
        }
        const Reason reason =
            next != nullptr ? BeforeNext(now, since, first, *next)
                            : HostAt(trace_.FindCall(ops.back()->call), now, IdleCause::kOtherCall);
        Reasons& reasons = lane.gaps[since];
        auto known = std::find_if(reasons.begin(), reasons.end(),
                                  [&](const auto& one) { return one.first == reason; });
        if (known == reasons.end()) known = reasons.insert(reasons.end(), {reason, 0});
        ++known->second;
      }
    }
    return lanes;
  }

  const TestTrace& trace() const { return trace_; }

 private:
  using Place =
      std::tuple<int64_t, int64_t, int, int64_t, int64_t>;  // start, call, kind, submit, op

  Place PlaceOf(const TestOp& op) const {
    const TestCall* const call = trace_.FindCall(op.call);
    return {call->start, call->id, 0, trace_.SubmitOf(op), op.id};
  }
  static Place PlaceOf(const TestCall& call) { return {call.start, call.id, 1, 0, 0}; }

  int64_t GpuOf(int64_t call) const {
    int64_t ns = 0;
    for (const TestOp& op : trace_.ops)
      if (op.call == call) ns += op.end - op.start;
    return ns;
  }

  static std::string Argument(const std::string& args, const std::string& name) {
    const size_t at = ("|" + args).find("|" + name + "=");
    if (at == std::string::npos) return "";
    const std::string rest = args.substr(at + name.size() + 1);
    return rest.substr(0, rest.find('|'));
  }

  static std::string Normal(const std::string& stream, int64_t gpu, int64_t /*tid*/) {
    return stream.empty() || stream == "0x0" ? "default of " + std::to_string(gpu) : stream;
  }

  std::string StreamOf(const TestOp& op) const {
    const TestCall* const call = trace_.FindCall(op.call);
    // The first operation of a call decides whether the call is one of kernels or of copies.
    if (call->stream && !(call->stream->empty() && !op.is_copy))
      return Normal(*call->stream, op.gpu, call->tid);
    if (call->name == "hipMemsetAsync")
      return Normal(Argument(call->args, "stream"), op.gpu, call->tid);
    return "queue " + std::to_string(op.gpu) + " " + std::to_string(op.queue);
  }

  std::set<std::string> OwnStreams(const TestCall& call) const {
    std::set<std::string> streams;
    for (const TestOp& op : trace_.ops)
      if (op.call == call.id) streams.insert(StreamOf(op));
    return streams;
  }

  // The last of each stream; not if all of it had ended before an earlier synchronization of its
  // GPU began that came after it. gpu -1: of all.
  Ops DeviceOps(const TestCall& call, int64_t gpu) const {
    const Place place = PlaceOf(call);
    std::set<std::string> streams;
    for (const TestOp& op : trace_.ops)
      if (const TestCall* const launch = trace_.FindCall(op.call);
          launch != nullptr && launch->pid == call.pid)
        streams.insert(StreamOf(op));
    Ops ops;
    for (const std::string& stream : streams) {
      const TestOp* const last = LastOn(call.pid, stream, place);
      if (last == nullptr) continue;
      const Ops end = End(call.pid, stream, place);
      bool seen = false;
      for (const TestCall& other : trace_.calls) {
        if (other.pid != call.pid || other.name != "hipDeviceSynchronize" || !IsOutermost(other))
          continue;
        const Place then = PlaceOf(other);
        if (!(then < place) || !(PlaceOf(*last) < then)) continue;
        const int64_t its_gpu = GpuAt(other, then);
        bool all = true;
        for (const int64_t id : end) {
          const TestOp& op = *trace_.FindOp(id);
          if (op.end > other.start || (its_gpu >= 0 && op.gpu != its_gpu)) all = false;
        }
        seen = seen || all;
      }
      if (seen) continue;
      for (const int64_t id : end)
        if (gpu < 0 || trace_.FindOp(id)->gpu == gpu) ops.insert(id);
    }
    return ops;
  }

  // A call that may wait did, for a GPU that was done with all of it when the call returned, and
  // not yet when it began.
  std::optional<Wait> IfOver(const TestCall& call, int64_t since, const Ops& ops) const {
    std::map<int64_t, int64_t> ends;  // by GPU: the last end
    for (const int64_t id : ops) {
      const TestOp& op = *trace_.FindOp(id);
      ends[op.gpu] = std::max(ends.emplace(op.gpu, op.end).first->second, op.end);
    }
    Wait wait{since, call.end, {}};
    for (const int64_t id : ops) {
      const int64_t end = ends[trace_.FindOp(id)->gpu];
      if (end > since && end <= call.end + clock_error_) wait.ops.insert(id);
    }
    if (wait.ops.empty()) return std::nullopt;
    return wait;
  }

  static bool IsQuery(const TestCall& call) {
    return call.name == "hipStreamQuery" || call.name == "hipEventQuery";
  }

  std::string AnswerTo(const TestCall& call) const {
    if (call.name == "hipEventQuery") return "event " + Argument(call.args, "event");
    return Normal(Argument(call.args, "stream"), GpuAt(call, PlaceOf(call)), call.tid);
  }

  // A query that said ready, after others of its loop that asked the same and did not. The loop may
  // ask for other things as well: from when it got one of them, it waits for what is left.
  std::optional<Wait> Polled(const TestCall& call, const Place& place, int64_t gpu) const {
    std::map<Place, const TestCall*> steps;  // null: something else
    for (const TestOp& op : trace_.ops) {
      const TestCall* const launch = trace_.FindCall(op.call);
      if (launch != nullptr && launch->pid == call.pid && launch->tid == call.tid &&
          PlaceOf(op) < place)
        steps[PlaceOf(op)] = nullptr;
    }
    for (const TestCall& other : trace_.calls) {
      if (other.pid != call.pid || other.tid != call.tid || !(PlaceOf(other) < place)) continue;
      if (IsQuery(other) || IsBlocking(other) || other.name == "hipMemcpyAsync" ||
          other.name == "hipMalloc") {
        if (IsOutermost(other)) steps[PlaceOf(other)] = IsQuery(other) ? &other : nullptr;
      } else if (other.name == "hipEventRecord" || other.name == "hipStreamWaitEvent" ||
                 other.name == "hipSetDevice" ||
                 other.name.find("StreamCreate") != std::string::npos) {
        steps[PlaceOf(other)] = nullptr;
      }
    }
    std::map<std::string, int64_t> waits;  // since when, by what was asked
    for (const auto& [then, other] : steps) {
      if (other == nullptr) {
        waits.clear();
      } else if (other->result) {
        waits.emplace(AnswerTo(*other), other->start);
      } else if (waits.erase(AnswerTo(*other)) > 0) {
        for (auto& [asked, since] : waits) since = other->end;
      }
    }
    const auto since = waits.find(AnswerTo(call));
    if (since == waits.end()) return std::nullopt;
    if (call.name == "hipEventQuery")
      return Wait{since->second, call.end, EventOps(call.pid, Argument(call.args, "event"), place)};
    return Wait{since->second, call.end,
                Before(Normal(Argument(call.args, "stream"), gpu, call.tid), gpu, place)};
  }

  // The GPU that the thread chose, or used last, or the first one; -1: not known.
  int64_t GpuAt(const TestCall& call, const Place& place) const {
    std::map<Place, const TestOp*> ops;
    for (const TestOp& op : trace_.ops) {
      const TestCall* const launch = trace_.FindCall(op.call);
      if (launch == nullptr || launch->pid != call.pid || op.type != "KernelExecution") continue;
      if (PlaceOf(op) < place) ops[PlaceOf(op)] = &op;
    }
    std::map<int64_t, int64_t> gpus;  // by device
    int64_t used = -1;
    for (const auto& [then, op] : ops) {
      const TestCall& launch = *trace_.FindCall(op->call);
      if (launch.tid == call.tid) used = op->gpu;
      const int64_t device = DeviceAt(launch, then);
      if (device < 0) continue;
      gpus.emplace(device, op->gpu);
      if (StreamOf(*op).substr(0, 7) == "default") gpus[device] = op->gpu;
    }
    const int64_t device = DeviceAt(call, place);
    if (device >= 0 && gpus.count(device) != 0) return gpus[device];
    if (used >= 0) return used;
    return gpus.count(0) != 0 ? gpus[0] : -1;
  }

  // What the thread of the call gave to hipSetDevice last.
  int64_t DeviceAt(const TestCall& call, const Place& place) const {
    const TestCall* last = nullptr;
    for (const TestCall& other : trace_.calls) {
      if (other.pid != call.pid || other.tid != call.tid || other.name != "hipSetDevice") continue;
      if (PlaceOf(other) < place && (last == nullptr || PlaceOf(*last) < PlaceOf(other)))
        last = &other;
    }
    return last != nullptr ? std::stoll(Argument(last->args, "deviceId")) : -1;
  }

  // The last operation of a stream, and what that did not wait for by its times.
  Ops End(int64_t pid, const std::string& stream, const Place& place) const {
    const TestOp* const last = LastOn(pid, stream, place);
    if (last == nullptr) return {};
    Ops ops = {last->id};
    for (const int64_t id : BeforeOp(*last))
      if (trace_.FindOp(id)->end > last->start) ops.insert(id);
    return ops;
  }

  const TestOp* LastOn(int64_t pid, const std::string& stream, const Place& place) const {
    const TestOp* last = nullptr;
    for (const TestOp& op : trace_.ops) {
      const TestCall* const launch = trace_.FindCall(op.call);
      if (launch == nullptr || launch->pid != pid || StreamOf(op) != stream) continue;
      if (PlaceOf(op) < place && (last == nullptr || PlaceOf(*last) < PlaceOf(op))) last = &op;
    }
    if (last != nullptr && Recreated(pid, stream, PlaceOf(*last), place)) return nullptr;
    return last;
  }

  // Whether the stream was created between these places, so that what was before is another's.
  bool Recreated(int64_t pid, const std::string& stream, const Place& from, const Place& to) const {
    for (const TestCall& call : trace_.calls)
      if (call.pid == pid && call.name.find("StreamCreate") != std::string::npos &&
          Argument(call.args, "*stream") == stream && from < PlaceOf(call) && PlaceOf(call) < to)
        return true;
    return false;
  }

  bool IsBlockingStream(int64_t pid, const std::string& stream, const Place& place) const {
    for (const TestCall& call : trace_.calls)
      if (call.pid == pid && call.name.find("StreamCreate") != std::string::npos &&
          Argument(call.args, "*stream") == stream && PlaceOf(call) < place)
        return Argument(call.args, "flags") == "0";
    return false;
  }

  // What an operation on this stream at this place would wait for.
  Ops Before(const std::string& stream, int64_t gpu, const Place& place) const {
    const int64_t pid = trace_.FindCall(std::get<1>(place))->pid;
    const TestOp* const last = LastOn(pid, stream, place);
    Ops ops = End(pid, stream, place);
    for (const TestCall& call : trace_.calls) {
      if (call.pid != pid || call.name != "hipStreamWaitEvent") continue;
      const Place then = PlaceOf(call);
      if (!(then < place) || (last != nullptr && then < PlaceOf(*last))) continue;
      if (Normal(Argument(call.args, "stream"), GpuAt(call, then), call.tid) != stream) continue;
      if (Recreated(pid, stream, then, place)) continue;
      const Ops more = EventOps(pid, Argument(call.args, "event"), then);
      ops.insert(more.begin(), more.end());
    }
    if (stream.substr(0, 7) == "default") {
      std::set<std::string> others;
      for (const TestOp& op : trace_.ops)
        if (const TestCall* const launch = trace_.FindCall(op.call);
            launch != nullptr && launch->pid == pid)
          others.insert(StreamOf(op));
      for (const std::string& other : others) {
        const TestOp* const there = LastOn(pid, other, place);
        if (there == nullptr || !IsBlockingStream(pid, other, place)) continue;
        const TestOp* const normal = LastOn(pid, Normal("", there->gpu, 0), place);
        if (normal != nullptr && PlaceOf(*there) < PlaceOf(*normal)) continue;
        for (const int64_t id : End(pid, other, place))
          if (Normal("", trace_.FindOp(id)->gpu, 0) == stream) ops.insert(id);
      }
    } else if (IsBlockingStream(pid, stream, place)) {
      const Ops normal = End(pid, Normal("", gpu, 0), place);
      ops.insert(normal.begin(), normal.end());
    }
    return ops;
  }

  Ops EventOps(int64_t pid, const std::string& event, const Place& place) const {
    const TestCall* last = nullptr;
    for (const TestCall& call : trace_.calls) {
      if (call.pid != pid || call.name != "hipEventRecord" || Argument(call.args, "event") != event)
        continue;
      if (PlaceOf(call) < place && (last == nullptr || PlaceOf(*last) < PlaceOf(call)))
        last = &call;
    }
    if (last == nullptr) return {};
    const Place then = PlaceOf(*last);
    const int64_t gpu = GpuAt(*last, then);
    return Before(Normal(Argument(last->args, "stream"), gpu, last->tid), gpu, then);
  }

  Reason BeforeNext(int64_t now, int64_t since, bool first, const TestOp& next) const {
    const TestCall* const launch = trace_.FindCall(next.call);
    const int64_t submit = trace_.SubmitOf(next);
    const std::string name = next.name.empty() ? next.type : next.name;
    if (now < (launch != nullptr ? launch->start : submit))
      return HostAt(launch, now, IdleCause::kOtherCall);
    if (now < submit) {
      if (now >= launch->end) return {IdleCause::kLaunchLatency, name};
      return HostAt(launch, now,
                    launch->start <= since && !first ? IdleCause::kKernelTooShort
                                                     : IdleCause::kLaunchLatency);
    }
    for (const int64_t id : BeforeOp(next)) {
      for (const TestOp& op : trace_.ops) {
        if (op.id != id || (op.gpu == next.gpu && op.queue == next.queue)) continue;
        if (op.end <= next.start && now < op.end) return {IdleCause::kDependency, name};
      }
    }
    return {IdleCause::kLaunchLatency, name};
  }

  // What the thread of this call was doing. in_call: if it was in a call that is nothing special.
  Reason HostAt(const TestCall* of, int64_t now, IdleCause in_call) const {
    if (of == nullptr) return {IdleCause::kUnknownLaunch, ""};
    std::map<int64_t, int64_t> born;  // by thread of this process
    for (const TestCall& call : trace_.calls) {
      const bool range = call.domain == "roctx";
      if (call.pid != of->pid || call.domain == "rochound") continue;
      const int64_t begin =
          IsRuntime(call) || (range && call.start < call.end) ? call.start : INT64_MAX;
      born[call.tid] = std::min(born.emplace(call.tid, INT64_MAX).first->second, begin);
    }
    int64_t tid = of->tid;
    if (now < born[tid]) {
      for (const auto& [other, begin] : born)
        if (std::pair(begin, other) < std::pair(born[tid], tid)) tid = other;
    }
    const TestCall* range = nullptr;
    for (const TestCall& call : trace_.calls) {
      if (call.pid != of->pid || call.tid != tid || now < call.start || now >= call.end) continue;
      if (IsOutermost(call)) {
        if (call.name.find("ModuleLoad") != std::string::npos)
          return {IdleCause::kCodeLoading, call.name};
        // hipFree waits by the way; what it does when the GPU is idle is its own.
        const bool sync = IsBlocking(call) && call.name != "hipFree";
        return {sync ? IdleCause::kSync : in_call, call.name};
      }
      if (call.domain != "roctx") continue;
      if (range == nullptr || std::tuple(range->start, -range->end, range->id) <
                                  std::tuple(call.start, -call.end, call.id))
        range = &call;
    }
    return {IdleCause::kOutsideHip, range != nullptr ? NameOf(*range) : ""};
  }

  const TestTrace& trace_;
  Window window_{};
  int64_t clock_error_;
  mutable std::map<int64_t, Ops> before_op_;  // what has been found already
};

}  // namespace rochound::analysis
