// SPDX-License-Identifier: MIT
//
// Random small traces for tests: a few processes, threads, streams and queues, calls within calls,
// events, waits, blocking calls; short times, so that many things happen at once or take no time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "analysis/test_trace.h"

namespace rochound::analysis {

class RandomTrace {
 public:
  explicit RandomTrace(uint32_t seed) : random_(seed) {}

  int64_t Number(int64_t from, int64_t to) {
    return std::uniform_int_distribution<int64_t>(from, to)(random_);
  }
  bool Chance(int percent) { return Number(1, 100) <= percent; }

  // crooked: calls of a thread may overlap without being within each other.
  TestTrace Make(bool crooked = false) {
    crooked_ = crooked;
    trace_ = {};
    const int64_t processes = Number(1, 2);
    for (int64_t pid = 1; pid <= processes; ++pid) {
      streams_.clear();
      for (int64_t i = Number(1, 4); i > 0; --i) streams_.push_back("0x" + std::to_string(100 + i));
      if (Chance(60)) streams_.emplace_back("0x0");
      for (const std::string& stream : streams_) {
        if (stream == "0x0" || Chance(50)) continue;
        trace_.Call(
            {.pid = pid,
             .tid = 1000 + pid * 10,
             .start = 0,
             .end = 0,
             .name = "hipStreamCreateWithFlags",
             .args = "stream=0x7f|*stream=" + stream + "|flags=" + (Chance(70) ? "0" : "1")});
      }
      const int64_t threads = Number(1, 3);
      // Some threads come late and go early, and now and then the first one makes way for them.
      const bool in_turns = Chance(30);
      if (!in_turns || Chance(50)) main_ = Chance(50);
      for (int64_t i = 0; i < threads; ++i) {
        pid_ = pid;
        tid_ = i == 0 && main_ ? pid : 1000 + pid * 10 + i;
        int64_t time = in_turns && i > 0 ? Number(10, 60) : Number(0, 20);
        for (int64_t calls = Number(0, in_turns ? 4 : 12); calls > 0; --calls) {
          time += Chance(30) ? 0 : Number(0, in_turns && i == 0 ? 80 : 15);
          time = Something(time, 0);
        }
      }
    }
    // The trace's order of rows must not matter.
    std::shuffle(trace_.calls.begin(), trace_.calls.end(), random_);
    std::shuffle(trace_.ops.begin(), trace_.ops.end(), random_);
    return std::move(trace_);
  }

 private:
  int64_t Length() { return Chance(25) ? 0 : Number(0, 12); }
  const std::string& AnyStream() {
    return streams_[static_cast<size_t>(Number(0, static_cast<int64_t>(streams_.size()) - 1))];
  }
  std::string AnyEvent() { return "0x" + std::to_string(Number(900, 902)); }

  // Adds a call with whatever is within it; returns when it ends.
  int64_t Something(int64_t start, int depth) {
    TestCall call{.pid = pid_, .tid = tid_, .start = start, .end = start + Length()};
    call.id = static_cast<int64_t>(trace_.calls.size()) + 1;
    const size_t place = trace_.calls.size();
    trace_.calls.push_back(call);
    const int64_t kind = Number(1, 100);
    const bool leaf = depth > 3;
    if (kind <= 16 && !leaf) {  // a range with things in it
      call.name = Chance(15) ? "UserRange" : "UserMarker";
      call.domain = "roctx";
      call.args = std::string("range ") + static_cast<char>('a' + Number(0, 2));
      if (Chance(20)) call.args += ", seq = " + std::to_string(call.id) + ", op_id = 1";
      call.end = Within(call.start, call.end, depth);
    } else if (kind <= 20 && !leaf) {  // a runtime call with another one within
      call.name = "hipModuleLoad";
      call.end = Within(call.start, call.end, depth);
    } else if (kind <= 24) {
      call.name = "hipSetDevice";
      call.args = "deviceId=" + std::to_string(Number(0, 2));
    } else if (kind <= 28) {
      call.name = Chance(50) ? "hipFree" : "hipMalloc";
      if (Chance(60)) call.end = std::max(call.end, LastEnd() + Number(-1, 4));
    } else if (kind <= 62) {
      Launch(call);
    } else if (kind <= 66) {
      call.end = Poll(call);
    } else if (kind <= 73) {
      call.name = "hipEventRecord";
      call.args = "event=" + AnyEvent() + "|stream=" + AnyStream();
    } else if (kind <= 81) {
      call.name = "hipStreamWaitEvent";
      call.args = "stream=" + AnyStream() + "|event=" + AnyEvent() + "|flags=0";
    } else if (kind <= 86) {
      call.name = "hipDeviceSynchronize";
    } else if (kind <= 91) {
      call.name = "hipStreamSynchronize";
      call.args = "stream=" + AnyStream();
    } else if (kind <= 95) {
      call.name = "hipEventSynchronize";
      call.args = "event=" + AnyEvent();
    } else if (kind <= 96) {
      call.name = "rochound drain";
      call.domain = "rochound";
    } else {
      call.name = "hipGetDevice";
    }
    const bool stretched = crooked_ && Chance(20);
    if (call.name == "hipStreamQuery" || call.name == "hipEventQuery") return call.end;
    trace_.calls[place] = call;
    if (stretched) trace_.calls[place].end += Number(0, 10);
    return call.end;
  }

  int64_t Within(int64_t start, int64_t end, int depth) {
    int64_t time = start + (Chance(40) ? 0 : Number(0, 5));
    for (int64_t inner = Number(0, 3); inner > 0; --inner)
      time = Something(time, depth + 1) + (Chance(40) ? 0 : Number(0, 4));
    return std::max(time, end);
  }

  int64_t LastEnd() const {
    int64_t end = 0;
    for (const TestOp& op : trace_.ops) end = std::max(end, op.end);
    return end;
  }

  // Asks until something is ready; now and then does something else meanwhile. Takes the call's
  // place in the trace; returns when the last query ends.
  int64_t Poll(TestCall& call) {
    const bool event = Chance(50);
    call.name = event ? "hipEventQuery" : "hipStreamQuery";
    call.args = event ? "event=" + AnyEvent() : "stream=" + AnyStream();
    const size_t place = trace_.calls.size() - 1;
    for (int64_t asked = 0;; ++asked) {
      call.end = call.start + Number(0, 3);
      const bool done = asked > 3 || Chance(30);
      call.result.reset();
      if (!done) call.result = 600;  // hipErrorNotReady
      if (asked == 0) {
        trace_.calls[place] = call;
      } else {
        call.id = static_cast<int64_t>(trace_.calls.size()) + 1;
        trace_.calls.push_back(call);
      }
      if (done) return call.end;
      call.start = call.end + Number(0, 10);
      if (!Chance(8)) continue;
      TestCall other{.pid = pid_, .tid = tid_, .start = call.start, .end = call.start};
      other.name = Chance(50) ? "hipSetDevice" : "hipEventQuery";
      other.args = Chance(50) ? "deviceId=1|event=0x900" : "deviceId=0|event=0x901";
      if (Chance(50) && other.name == "hipEventQuery") other.result = 600;
      trace_.Call(other);
    }
  }

  void Launch(TestCall& call) {
    const bool copy = Chance(25);
    call.name = copy ? (Chance(50) ? "hipMemcpy" : "hipMemcpyAsync") : "hipLaunchKernel";
    if (call.name != "hipMemcpy") {
      call.stream = AnyStream();
    } else if (copy) {
      call.stream = "";
    }
    if (Chance(10)) {  // the stream is in the arguments only
      call.name = "hipMemsetAsync";
      call.args = "dst=0x1|stream=" + AnyStream();
      call.stream.reset();
    } else if (Chance(5)) {
      call.stream.reset();  // and here it is nowhere
    }
    for (int64_t count = Chance(85) ? 1 : Number(0, 3); count > 0; --count) {
      TestOp op{.gpu = Chance(85) ? 0 : 1, .queue = Number(0, 2), .call = call.id};
      op.id = static_cast<int64_t>(trace_.ops.size()) + 1;
      op.name = std::string("kernel ") + static_cast<char>('A' + Number(0, 2));
      if (Chance(15)) op.name = "ncclDevKernel_AllReduce";
      op.submit = call.start + Number(0, 6);
      if (copy && Chance(30)) {  // it waits before it submits
        op.submit = std::max(*op.submit, LastEnd() + Number(-1, 3));
        call.end = std::max(call.end, *op.submit + Number(-1, 4));
      }
      // Now and then clocks disagree and it starts before it was launched.
      op.start = *op.submit + (Chance(8) ? Number(-8, 0) : Number(0, 25));
      op.start = std::max<int64_t>(op.start, 0);
      op.end = op.start + Length() * Number(1, 3);
      if (Chance(4)) op.call = kNoTestCall;
      op.is_copy = copy;
      if (copy && Chance(30)) {  // the time of a copy may not be known
        op.start = op.end = *op.submit;
        op.timed = false;
      }
      if (copy) {
        op.type = Chance(80) ? "CopyHostToDevice" : "FillBuffer";
        op.name.clear();
      }
      trace_.ops.push_back(op);
    }
    // A copy waits for what was there before; an asynchronous one does if its memory is pageable.
    if (copy && !trace_.ops.empty() && (call.name == "hipMemcpy" || Chance(30)))
      call.end =
          std::max(call.end, (Chance(50) ? trace_.ops.back().end : LastEnd()) + Number(-2, 3));
    call.end = std::max(call.end, call.start);
  }

  std::mt19937 random_;
  bool crooked_ = false;
  TestTrace trace_;
  std::vector<std::string> streams_;
  int64_t pid_ = 0, tid_ = 0;
  bool main_ = false;  // the first thread has the number of its process
};

// A database takes milliseconds to understand a query, so many traces are asked at once: each with
// processes, GPUs and ids of its own. They share only the window.
struct RandomTraces {
  static constexpr uint32_t kAtOnce = 25;

  RandomTraces(uint32_t first_seed, bool crooked) {
    for (uint32_t i = 0; i < kAtOnce; ++i) {
      TestTrace one = RandomTrace(first_seed + i).Make(crooked);
      for (TestCall& call : one.calls) {
        call.id += i * 1000;
        if (call.tid == call.pid) call.tid += i * 10;
        call.pid += i * 10;
      }
      for (TestOp& op : one.ops) {
        op.id += i * 1000;
        op.gpu += i * 10;
        if (op.call != kNoTestCall) op.call += i * 1000;
      }
      all.calls.insert(all.calls.end(), one.calls.begin(), one.calls.end());
      all.ops.insert(all.ops.end(), one.ops.begin(), one.ops.end());
      each.push_back(std::move(one));
    }
  }

  std::vector<TestTrace> each;
  TestTrace all;
};

}  // namespace rochound::analysis
