// SPDX-License-Identifier: MIT
//
// The critical path of traces whose answer is known beforehand: a made-up program is scheduled by
// fixed costs, so that it is known what everything waited for; and scheduled once more with one
// kernel made longer, so that it is known how much longer it could have been.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "analysis/critical_path.h"
#include "analysis/test_trace.h"

namespace rochound::analysis {
namespace {

enum class Act { kLaunch, kRecord, kWait, kSyncStream, kSyncDevice, kSyncEvent };

struct Action {
  Act act = Act::kLaunch;
  int64_t program = 0;            // host time before the call
  int64_t call = 1;               // how long the call takes, apart from waiting
  int64_t submit = 0;             // of a launch, after the call's start
  int64_t latency = 0, work = 1;  // of the kernel, or of a return
  size_t stream = 0, event = 0;
};

struct Program {
  std::vector<std::vector<Action>> threads;
};

constexpr size_t kStreams = 3;

// The same program always takes the same time.
class Schedule {
 public:
  // longer: this launch's kernel (counted over all threads) takes so much more time.
  explicit Schedule(const Program& program, int64_t longer = -1, int64_t by = 0) {
    int64_t launch = 0;
    for (size_t thread = 0; thread < program.threads.size(); ++thread) {
      const auto tid = static_cast<int64_t>(thread) + 1;
      std::map<size_t, std::vector<int64_t>> waits;   // by stream: operations
      std::map<size_t, std::vector<int64_t>> events;  // by event
      std::map<size_t, int64_t> last;                 // by stream
      const auto before = [&](size_t stream) {
        std::vector<int64_t> ops = waits[stream];
        if (last.count(stream) != 0) ops.push_back(last[stream]);
        return ops;
      };
      int64_t now = 0;
      int64_t host_from = 0;  // the operation that the host waited for last; 0: none
      for (const Action& action : program.threads[thread]) {
        now += action.program;
        const std::string stream = "0x" + std::to_string(100 * static_cast<int64_t>(thread + 1)) +
                                   std::to_string(action.stream);
        const std::string event = "0x9" + std::to_string(thread) + std::to_string(action.event);
        // A process each, since a thread is started by another one of its process.
        TestCall call{.pid = tid, .tid = tid, .start = now, .end = now + action.call};
        switch (action.act) {
          case Act::kLaunch: {
            call.stream = stream;
            const int64_t id = trace.Call(call);
            int64_t ready = now + action.submit, from = -host_from - 1;
            for (const int64_t op : before(action.stream)) Later(ends_[op], op, &ready, &from);
            TestOp op{.queue = static_cast<int64_t>(thread * kStreams + action.stream),
                      .start = ready + action.latency,
                      .call = id,
                      .submit = now + action.submit};
            op.end = op.start + action.work + (launch == longer ? by : 0);
            ++launch;
            const int64_t number = trace.Kernel(op);
            ends_[number] = op.end;
            origin_[number] = from;
            last[action.stream] = number;
            waits[action.stream].clear();
            Finish(op.end, number);
            break;
          }
          case Act::kRecord:
            call.name = "hipEventRecord";
            call.args = "event=" + event + "|stream=" + stream;
            events[action.event] = before(action.stream);
            trace.Call(call);
            break;
          case Act::kWait:
            call.name = "hipStreamWaitEvent";
            call.args = "stream=" + stream + "|event=" + event;
            for (const int64_t op : events[action.event]) waits[action.stream].push_back(op);
            trace.Call(call);
            break;
          default: {
            std::vector<int64_t> ops;
            if (action.act == Act::kSyncStream) {
              call.name = "hipStreamSynchronize";
              call.args = "stream=" + stream;
              ops = before(action.stream);
            } else if (action.act == Act::kSyncEvent) {
              call.name = "hipEventSynchronize";
              call.args = "event=" + event;
              ops = events[action.event];
            } else {
              call.name = "hipDeviceSynchronize";
              for (const auto& [each, op] : last) ops.push_back(op);
            }
            int64_t ready = now, from = -host_from - 1;
            for (const int64_t op : ops) Later(ends_[op], op, &ready, &from);
            call.end = ready + action.latency;
            host_from = from > 0 ? from : host_from;
            trace.Call(call);
            break;
          }
        }
        now = call.end;
      }
      Finish(now, -host_from - 1);
    }
  }

  // Operations that led to the end, first to last.
  std::vector<int64_t> Path() const {
    std::vector<int64_t> path;
    int64_t op = last_from_ > 0 ? last_from_ : -last_from_ - 1;
    while (op > 0) {
      path.push_back(op);
      const int64_t from = origin_.at(op);
      op = from > 0 ? from : -from - 1;  // after a host that waited for it
    }
    std::reverse(path.begin(), path.end());
    return path;
  }

  TestTrace trace;
  int64_t last_end = 0;
  bool unique = true;  // nothing ended at the same time as what was waited for

 private:
  void Later(int64_t time, int64_t op, int64_t* ready, int64_t* from) {
    if (time == *ready && op != *from) unique = false;
    if (time <= *ready) return;
    *ready = time;
    *from = op;
  }
  void Finish(int64_t time, int64_t from) {
    if (time == last_end) unique = false;
    if (time <= last_end) return;
    last_end = time;
    last_from_ = from;
  }

  std::map<int64_t, int64_t> ends_;
  // What it started after: an operation, or -1 - what the host had waited for.
  std::map<int64_t, int64_t> origin_;
  int64_t last_from_ = -1;
};

Program RandomProgram(uint32_t seed) {
  std::mt19937 random(seed);
  const auto number = [&](int64_t from, int64_t to) {
    return std::uniform_int_distribution<int64_t>(from, to)(random);
  };
  Program program;
  const int64_t threads = number(1, 2);
  for (int64_t thread = 0; thread < threads; ++thread) {
    std::vector<Action>& actions = program.threads.emplace_back();
    for (int64_t i = number(5, 30); i > 0; --i) {
      Action action{.program = number(1, 60),
                    .call = number(1, 20),
                    .latency = number(0, 10),
                    .work = number(1, 200),
                    .stream = static_cast<size_t>(number(0, kStreams - 1)),
                    .event = static_cast<size_t>(number(0, 1))};
      action.submit = number(0, action.call);
      const int64_t kind = number(1, 100);
      action.act = kind <= 55   ? Act::kLaunch
                   : kind <= 67 ? Act::kRecord
                   : kind <= 80 ? Act::kWait
                   : kind <= 86 ? Act::kSyncStream
                   : kind <= 92 ? Act::kSyncEvent
                   // A device waits for all threads' work; with one thread it is known which.
                   : threads == 1 ? Act::kSyncDevice
                                  : Act::kSyncStream;
      actions.push_back(action);
    }
    // Work that nobody waits for may end last, or the host may.
  }
  return program;
}

TEST(KnownPath, IsFoundWithItsSlack) {
  store::TraceDatabase database = TestTrace().Open();
  int unique = 0;
  size_t on_path = 0;
  for (uint32_t seed = 1; seed <= 200 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Program program = RandomProgram(seed);
    const Schedule schedule(program);
    schedule.trace.Fill(database);
    const auto found = AnalyzeCriticalPath(database.connection(), kClockError, true);
    ASSERT_TRUE(found.ok()) << found.error().message;
    const CriticalPath& path = found.value();
    EXPECT_EQ(path.window.end, schedule.last_end);

    for (uint32_t op = 0; op < path.graph.ops(); ++op) {
      const int64_t launch = path.op_ids[op] - 1;
      const int64_t slack = path.graph.Slack(op);
      EXPECT_EQ(Schedule(program, launch, slack).last_end, schedule.last_end)
          << "launch " << launch;
      EXPECT_EQ(Schedule(program, launch, slack + 1).last_end, schedule.last_end + 1)
          << "launch " << launch;
      // Twice as fast, gone, and three times as slow.
      if (op % 8 != seed % 8) continue;  // an eighth is enough
      const int64_t work = path.graph.End(op) - path.graph.Start(op);
      for (const int64_t other : {work / 2, int64_t{0}, 3 * work}) {
        const int64_t end = path.graph.EndWith([&](uint32_t one) {
          return one == op ? other : path.graph.End(one) - path.graph.Start(one);
        });
        EXPECT_EQ(end, Schedule(program, launch, other - work).last_end)
            << "launch " << launch << " takes " << other << " instead of " << work;
      }
    }
    if (!schedule.unique) continue;
    ++unique;
    std::vector<int64_t> ops;
    for (const uint32_t op : path.graph.path().ops) ops.push_back(path.op_ids[op]);
    EXPECT_EQ(ops, schedule.Path());
    on_path += ops.size();
  }
  EXPECT_GT(unique, 80);
  EXPECT_GT(on_path, 200U);
}

}  // namespace
}  // namespace rochound::analysis
