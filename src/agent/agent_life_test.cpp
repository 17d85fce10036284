// SPDX-License-Identifier: MIT
//
// What a program does to itself while the agent is in it: it exits, forks, cancels threads,
// destroys queues, runs out of memory.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "agent/agent_testing.h"
#include "agent/calls/ranges.h"
#include "agent/copies.h"
#include "agent/fake_runtime.h"
#include "agent/faults.h"
#include "agent/pending.h"
#include "agent/queue.h"
#include "agent/queue_list.h"
#include "agent/queues.h"
#include "agent/session.h"
#include "agent/state.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/files.h"
#include "trace/reader.h"

namespace {

// Which of this thread's next allocations fails, from 1; 0: none.
constinit thread_local int failing_allocation = 0;
// All allocations of the drain thread fail.
constinit std::atomic<bool> drain_thread_without_memory{false};

bool IsDrainThread() {
  char name[16] = {};
  return pthread_getname_np(pthread_self(), name, sizeof name) == 0 &&
         std::string_view(name) == "rochound-drain";
}

// Freed blocks of this size are kept and filled, so that a test can see who writes to one later; 0:
// none. The first few; the rest is freed.
constinit thread_local size_t watched_size = 0;
constexpr unsigned char kFilling = 1;
constinit unsigned char* watched[16] = {};
constinit size_t watched_count = 0;

void Free(void* memory, size_t bytes) {
  if (memory == nullptr || watched_size == 0 || bytes != watched_size ||
      watched_count == std::size(watched))
    return free(memory);
  memset(memory, kFilling, bytes);
  watched[watched_count++] = static_cast<unsigned char*>(memory);
}

void* Allocate(size_t bytes) {
  if (drain_thread_without_memory && IsDrainThread()) return nullptr;
  if (failing_allocation > 0 && --failing_allocation == 0) return nullptr;
  return malloc(bytes == 0 ? 1 : bytes);
}

}  // namespace

void* operator new(size_t bytes) {
  if (void* memory = Allocate(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new[](size_t bytes) { return operator new(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return Allocate(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return Allocate(bytes); }
void operator delete(void* memory) noexcept { free(memory); }
void operator delete[](void* memory) noexcept { free(memory); }
void operator delete(void* memory, size_t bytes) noexcept { Free(memory, bytes); }
void operator delete[](void* memory, size_t bytes) noexcept { Free(memory, bytes); }

namespace rochound::agent {
namespace {

TEST_F(AgentTest, AQueueWithoutACallbackGetsNone) {
  Load();
  runtime_.CreateQueue(64);
  EXPECT_EQ(FakeRuntime::last_callback.load(), 0u);
}

size_t ResidentKiB() {
  const auto text = base::ReadFile("/proc/self/statm");
  size_t resident = 0;
  EXPECT_TRUE(text.ok() && sscanf(text.value().c_str(), "%*s %zu", &resident) == 1);
  return resident * 4;
}

TEST_F(AgentTest, DestroyedQueuesTakeNoRoom) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer keeps freed memory for a while";
#endif
  Load();
  const auto use_one = [&] {
    hsa_queue_t* queue = runtime_.CreateQueue(16384);
    for (int i = 0; i < 10; ++i) Launch(queue);
    ASSERT_TRUE(FakeRuntime::Of(queue).WaitUntilConsumed(10));
    runtime_.core().hsa_queue_destroy_fn(queue);
  };
  for (int i = 0; i < 5; ++i) use_one();
  const size_t before = ResidentKiB();
  for (int i = 0; i < 50; ++i) use_one();
  EXPECT_LT(ResidentKiB(), before + 20 * 1024);
}

// Nor time: the drain thread does not look at them, and later queues get their places.
TEST_F(AgentTest, DestroyedQueuesAreForgotten) {
  constexpr size_t kQueues = 2000;
  Load();
  std::set<const Queue*> objects;
  size_t visited = 0;
  const auto look = [&](const Queue& queue) {
    objects.insert(&queue);
    ++visited;
  };
  for (size_t i = 0; i < kQueues; ++i) {
    hsa_queue_t* const queue = runtime_.CreateQueue(64);
    Launch(queue);
    if (i % 10 == 0) ForEachQueue(look);
    runtime_.core().hsa_queue_destroy_fn(queue);
  }
  EXPECT_EQ(visited, kQueues / 10) << "one at a time";
  // A new one is made only while somebody looks at the others.
  EXPECT_LT(objects.size(), kQueues / 20);
  EXPECT_EQ(Read().dispatches.size(), kQueues) << "each has a number of its own";
}

TEST_F(AgentTest, QueuesAreFoundHoweverManyCameAndWentBefore) {
  Load();
  for (size_t i = 0; i <= internal::kDoorbells; ++i)
    runtime_.core().hsa_queue_destroy_fn(runtime_.CreateQueue(64));
  std::vector<hsa_queue_t*> queues;
  for (int i = 0; i < 300; ++i) queues.push_back(runtime_.CreateQueue(64));
  for (size_t i = 0; i < queues.size(); i += 2) runtime_.core().hsa_queue_destroy_fn(queues[i]);
  for (size_t i = 0; i < queues.size(); i += 2) queues[i] = runtime_.CreateQueue(64);
  for (hsa_queue_t* queue : queues) Launch(queue);
  for (hsa_queue_t* queue : queues) ASSERT_TRUE(FakeRuntime::Of(queue).WaitUntilConsumed(1));
  EXPECT_EQ(Read().Timed(), queues.size());
}

TEST_F(AgentTest, QueuesWithTheSameCallbackShareAListener) {
  Load();
  const auto listener = [&](void* data) {
    hsa_queue_t* queue = nullptr;
    runtime_.core().hsa_queue_create_fn(
        {2}, 64, HSA_QUEUE_TYPE_MULTI, [](hsa_status_t, hsa_queue_t*, void*) {}, data, 0, 0,
        &queue);
    return FakeRuntime::last_callback_data.load();
  };
  int one = 0;
  int other = 0;
  void* const first = listener(&one);
  EXPECT_EQ(listener(&one), first);
  EXPECT_NE(listener(&other), first);
}

// A thread that is cancelled while our code runs on it ends at the program's next cancellation
// point, not inside us, which would abort the program.
TEST_F(AgentTest, ACancelledThreadLeavesOurCodeWhole) {
  Load();
  std::atomic<bool> cancelled{false};
  pthread_t thread{};
  ASSERT_EQ(pthread_create(
                &thread, nullptr,
                [](void* data) -> void* {
                  auto& flag = *static_cast<std::atomic<bool>*>(data);
                  while (!flag) std::this_thread::yield();
                  Guarded("a test", [] { usleep(1000); });
                  Flush();
                  pthread_testcancel();
                  return data;
                },
                &cancelled),
            0);
  pthread_cancel(thread);
  cancelled = true;
  void* result = nullptr;
  ASSERT_EQ(pthread_join(thread, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  EXPECT_NE(CurrentState(), State::kDisabled);
}

// All that was written was rung for.
void ExpectRung(hsa_queue_t* queue) {
  FakeQueue& fake = FakeRuntime::Of(queue);
  if (fake.doorbell != fake.write_) _exit(2);
}

TEST_F(AgentTest, ExitInAHandlerThatInterruptsADoorbellEnds) {
  ExitInside([&] { Load(); },
             [&] {
               hsa_queue_t* queue = runtime_.CreateQueue(8192);
               hsa_queue_t* other = runtime_.CreateQueue(64);
               FakeRuntime::Of(queue).Hold();
               const hsa_signal_t signal = runtime_.CreateSignal(1);
               Launch(queue, signal);
               exits_first = [&] {
                 for (hsa_queue_t* one : {queue, other, runtime_.CreateQueue(64)}) {
                   Launch(one);
                   ExpectRung(one);
                 }
               };
               exits_last = [&] {
                 Launch(queue);
                 ExpectRung(queue);
                 runtime_.core().hsa_signal_destroy_fn(signal);
                 for (hsa_queue_t* one : {queue, other}) runtime_.core().hsa_queue_destroy_fn(one);
               };
               FakeRuntime::interruption = [] { exit(7); };
               // Until the signals made ahead are lent, and the doorbell's hook makes more.
               WithoutDrainThread([&] {
                 for (int i = 0; i < 8000; ++i) Launch(queue);
               });
             });
}

TEST_F(AgentTest, ExitInAHandlerThatInterruptsASignalsChangeEnds) {
  ExitInside([&] { Load(); },
             [&] {
               hsa_queue_t* queue = runtime_.CreateQueue(64);
               FakeRuntime::Of(queue).Hold();
               const hsa_signal_t signal = runtime_.CreateSignal(1);
               Launch(queue, signal);
               exits_first = [&] {
                 runtime_.core().hsa_signal_store_relaxed_fn(signal, 3);
                 runtime_.core().hsa_signal_add_screlease_fn(signal, 2);
                 if (reinterpret_cast<const amd_signal_t*>(signal.handle)->value != 5) _exit(2);
               };
               exits_last = [&] {
                 runtime_.core().hsa_signal_destroy_fn(signal);
                 Launch(queue);
                 ExpectRung(queue);
                 runtime_.core().hsa_queue_destroy_fn(queue);
               };
               FakeRuntime::interruption = [] { exit(7); };
               runtime_.core().hsa_signal_add_screlease_fn(signal, 1);
             });
}

// A handler that interrupts our code changes a signal that a kernel waits on: that kernel has no
// times, and the next one on this signal has.
TEST_F(AgentTest, ASignalThatAHandlerChangedServesTheNextKernel) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  fake.Hold();
  const hsa_signal_t signal = runtime_.CreateSignal(1);
  Launch(queue, signal);
  Guarded("a test", [&] { runtime_.core().hsa_signal_store_relaxed_fn(signal, 1); });
  fake.Go();
  ASSERT_TRUE(fake.WaitUntilConsumed(1));
  runtime_.core().hsa_signal_store_relaxed_fn(signal, 1);
  Launch(queue, signal);
  ASSERT_TRUE(fake.WaitUntilConsumed(2));
  const Seen seen = Read();
  EXPECT_EQ(seen.dispatches.size(), 2u);
  EXPECT_EQ(seen.Timed(), 1u);
  runtime_.core().hsa_signal_destroy_fn(signal);
}

// stderr is a pipe that nobody reads.
TEST_F(AgentTest, AMessageToAClosedPipeKillsNobody) {
  Load();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int kept = dup(STDERR_FILENO);
  close(ends[0]);
  dup2(ends[1], STDERR_FILENO);
  WriteToStderr("hello\n");
  sigset_t pending;
  sigpending(&pending);
  const bool left = sigismember(&pending, SIGPIPE) == 1;
  dup2(kept, STDERR_FILENO);
  close(kept);
  close(ends[1]);
  EXPECT_FALSE(left);
}

TEST_F(AgentTest, SwitchedOffItOnlyForwards) {
  setenv("ROCHOUND_START", "off", 1);
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  Launch(queue);
  StartByProgram();
  Launch(queue);
  StartByProgram();
  StopByProgram();
  Launch(queue);
  StopByProgram();
  Launch(queue);
  ASSERT_TRUE(FakeRuntime::Of(queue).WaitUntilConsumed(4));
  EXPECT_EQ(Read().dispatches.size(), 2u);
}

TEST_F(AgentTest, ADestroyedQueueLeavesNothingWaiting) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeRuntime::Of(queue).Hold();
  for (int i = 0; i < 10; ++i) Launch(queue);
  runtime_.core().hsa_queue_destroy_fn(queue);
  const Seen seen = Read();
  EXPECT_EQ(seen.dispatches.size(), 10u);
  EXPECT_EQ(seen.times.size(), 10u);
  EXPECT_EQ(seen.Timed(), 0u);
}

TEST_F(AgentTest, TheRuntimeGetsItsSignalsBack) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  Launch(queue);
  ASSERT_TRUE(FakeRuntime::Of(queue).WaitUntilConsumed(1));
  EXPECT_GT(FakeRuntime::live_signals.load(), 0);
  OnUnload();
  EXPECT_EQ(FakeRuntime::live_signals.load(), 0);
}

TEST_F(AgentTest, CopiesHaveTimesAndRefusedOnesAreNone) {
  Load();
  int from = 1;
  int to = 0;
  const hsa_signal_t signal = runtime_.CreateSignal(1);
  EXPECT_EQ(runtime_.amd().hsa_amd_memory_async_copy_fn(&to, {2}, &from, {1}, sizeof to, 0, nullptr,
                                                        signal),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(to, 1);
  runtime_.core().hsa_signal_store_relaxed_fn(signal, 1);
  EXPECT_EQ(runtime_.amd().hsa_amd_memory_async_copy_fn(nullptr, {2}, &from, {1}, sizeof to, 0,
                                                        nullptr, signal),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  runtime_.core().hsa_signal_destroy_fn(signal);
  const Seen seen = Read();
  EXPECT_EQ(seen.copies, 1);
  EXPECT_EQ(seen.copy_times.size(), 1u);
  EXPECT_EQ(seen.copy_clocks, std::set<uint16_t>{trace::kSystemClock});
}

// The program's signal counts other work as well. That ends while the copy is asked for, and a
// harvest takes the copy for the one that ended.
TEST_F(AgentTest, ARefusedCopyThatWasTakenForFinishedIsNotTouched) {
  runtime_.table()->amd_ext_->hsa_amd_memory_async_copy_fn = [](void*, hsa_agent_t, const void*,
                                                                hsa_agent_t, size_t, uint32_t,
                                                                const hsa_signal_t*,
                                                                hsa_signal_t signal) {
    __atomic_fetch_sub(&reinterpret_cast<amd_signal_t*>(signal.handle)->value, 1, __ATOMIC_ACQ_REL);
    watched_size = sizeof(Pending);
    while (HarvestCopies() != 0) usleep(1000);
    watched_size = 0;
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  };
  Load();
  int memory = 0;
  const hsa_signal_t signal = runtime_.CreateSignal(2);
  WithoutDrainThread([&] {
    EXPECT_EQ(runtime_.amd().hsa_amd_memory_async_copy_fn(&memory, {2}, &memory, {1}, sizeof memory,
                                                          0, nullptr, signal),
              HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  });
  ASSERT_EQ(watched_count, 1u);
  for (size_t i = 0; i < sizeof(Pending); ++i) EXPECT_EQ(watched[0][i], kFilling) << i;
  runtime_.core().hsa_signal_destroy_fn(signal);
  EXPECT_EQ(Read().copies, 0);
}

TEST_F(AgentTest, KernelsAreNamedByWhoAsksForTheirObject) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  const uint64_t object = runtime_.KernelObject(7);
  Launch(queue, {0}, object);
  Launch(queue, {0}, 999 * 64);
  ASSERT_TRUE(FakeRuntime::Of(queue).WaitUntilConsumed(2));
  Flush();
  const auto run = trace::RunLog::Open(log_);
  ASSERT_TRUE(run.ok());
  std::vector<std::string> names;
  for (const auto& [id, kernel] : run.value().processes()[0]->kernels())
    names.emplace_back(run.value().processes()[0]->String(kernel.name).value_or(""));
  EXPECT_EQ(names, (std::vector<std::string>{"Kernel7", "kernel_object_0xf9c0"}));
}

TEST_F(AgentTest, AForkedChildHasALogOfItsOwn) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer allows no new thread after a fork, and the child's log has one";
#endif
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  Launch(queue);
  const pid_t child = fork();
  if (child == 0) {
    // Something that is recorded, without the GPU thread, which did not survive the fork.
    int from = 1;
    int to = 0;
    const hsa_signal_t signal = runtime_.CreateSignal(1);
    runtime_.amd().hsa_amd_memory_async_copy_fn(&to, {2}, &from, {1}, sizeof to, 0, nullptr,
                                                signal);
    _exit(to == 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  Launch(queue);
  ASSERT_TRUE(FakeRuntime::Of(queue).WaitUntilConsumed(2));
  Flush();
  const auto run = trace::RunLog::Open(log_);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(run.value().processes().size(), 2u);
}

// What waits in the parent is the parent's: its signals are not in the child's memory (the driver
// marks them so), and a child that writes a mark, or only ends, must not look at them.
TEST_F(AgentTest, AForkedChildLooksAtNoSignalOfItsParents) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer allows no new thread after a fork, and the child's log has one";
#endif
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeRuntime::Of(queue).Hold();
  const hsa_signal_t gone{reinterpret_cast<uint64_t>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))};
  reinterpret_cast<amd_signal_t*>(gone.handle)->kind = AMD_SIGNAL_KIND_USER;
  ASSERT_EQ(madvise(reinterpret_cast<void*>(gone.handle), 4096, MADV_DONTFORK), 0);
  for (int i = 0; i < 3; ++i) Launch(queue, gone);
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      RecordRange(trace::RangeKind::kMark, "from the child", 0);
      Flush();
      usleep(20'000);  // the child's own drain thread has had its turn
      OnUnload();
      _exit(0);  // not exit, which would wait for the fake GPU's thread
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  FakeRuntime::Of(queue).Go();
  ASSERT_TRUE(FakeRuntime::Of(queue).WaitUntilConsumed(3));
}

constinit thread_local bool forks_slowly = false;

// One thread waits for the drain thread's turn in vain, since another that forks has it.
TEST_F(AgentTest, ThreadsThatForkAtOnceLeaveTheDrainThreadItsTurn) {
  // What is registered before ours runs after it.
  pthread_atfork(
      [] {
        if (forks_slowly) usleep(500'000);
      },
      nullptr, nullptr);
  Load();
  const auto fork_once = [](bool slowly) {
    forks_slowly = slowly;
    const pid_t child = fork();
    if (child == 0) _exit(0);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  };
  std::thread slow([&] { fork_once(true); });
  usleep(50'000);
  std::thread quick([&] { fork_once(false); });
  slow.join();
  quick.join();
  const uint64_t begin = base::ClockNs(CLOCK_MONOTONIC);
  uint64_t took = 0;
  WithoutDrainThread([&] { took = base::ClockNs(CLOCK_MONOTONIC) - begin; });
  EXPECT_LT(took, 900'000'000u);  // after a second it goes on without
}

// Slow work looks like a hang, and what happens afterwards is what matters.
TEST_F(AgentTest, AHangThatWasNoneHidesNoFault) {
  setenv("ROCHOUND_HANG", "1s", 1);
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  fake.Hold();
  Launch(queue);
  for (int i = 0; i < 1000 && FileOfProcess("hang.json").empty(); ++i) usleep(10'000);
  EXPECT_NE(FileOfProcess("hang.json").find("kernel_object"), std::string::npos);
  EXPECT_EQ(FileOfProcess("fault.json"), "");
  fake.Go();
  ASSERT_TRUE(fake.WaitUntilConsumed(1));
  for (int i = 0; i < 1000 && !FileOfProcess("hang.json").empty(); ++i) usleep(10'000);
  EXPECT_EQ(FileOfProcess("hang.json"), "");

  int passed_on = 0;
  QueueListener listener{[](hsa_status_t, hsa_queue_t*, void* data) { ++*static_cast<int*>(data); },
                         &passed_on};
  OnQueueError(HSA_STATUS_ERROR_EXCEPTION, queue, &listener);
  EXPECT_EQ(passed_on, 1);
  EXPECT_NE(FileOfProcess("fault.json").find("a status"), std::string::npos);
  // Only the first fault is written: the others are its consequences.
  const std::string first = FileOfProcess("fault.json");
  OnQueueError(HSA_STATUS_ERROR, queue, &listener);
  EXPECT_EQ(FileOfProcess("fault.json"), first);
  EXPECT_EQ(passed_on, 2);
}

// Each allocation fails in turn, on the way up and while what was made is taken down.
TEST_F(AgentTest, WhatIsInFlightIsDescribedWithoutMemoryOrNotAtAll) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  fake.Hold();
  for (int i = 0; i < 3; ++i) Launch(queue);
  int failed = 0;
  for (bool fired = true; fired; failed += fired) {
    failing_allocation = failed + 1;
    const bool described = DescribeInFlight();
    fired = failing_allocation == 0;
    failing_allocation = 0;
    EXPECT_NE(described, fired) << failed;
  }
  EXPECT_GT(failed, 50);
  EXPECT_NE(FileOfProcess("now.json").find("kernel_object"), std::string::npos);
  fake.Go();
  ASSERT_TRUE(fake.WaitUntilConsumed(3));
}

// What the drain thread does last needs no memory: nobody rings for this packet after it.
TEST_F(AgentTest, ADoorbellThatWasHeldBackIsNotLostWithoutMemory) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const uint64_t late = fake.Reserve();
  const uint64_t early = fake.Reserve();
  fake.Write(early, 64, {0});
  runtime_.Ring(queue, early);
  drain_thread_without_memory = true;
  Disable("a test");
  for (int i = 0; i < 2000 && fake.doorbell <= early; ++i) usleep(10'000);
  EXPECT_EQ(fake.doorbell.load(), early + 1);
  fake.Write(late, 64, {0});
  EXPECT_TRUE(fake.WaitUntilConsumed(2));
  drain_thread_without_memory = false;
}

// The library sets this handler; here it is set by hand, since in a test of ours a failed check ends
// the test.
TEST_F(AgentTest, AFailedCheckDisablesReportsOnceAndTheProgramGoesOn) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  Launch(queue);
  ASSERT_TRUE(FakeRuntime::Of(queue).WaitUntilConsumed(1));
  ASSERT_TRUE(Recording());
  const base::CheckHandler before = base::SetCheckHandler(DisableByFailedCheck);
  EXPECT_EQ(before, nullptr);
  testing::internal::CaptureStderr();
  base::CheckFailed("src/agent/queues.cpp:1: head <= tail does not hold");
  base::CheckFailed("src/agent/queues.cpp:2: at < end does not hold");
  base::SetCheckHandler(before);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "rochound: recording is off in process " + std::to_string(getpid()) +
                ": src/agent/queues.cpp:1: head <= tail does not hold. The program goes on.\n");
  EXPECT_EQ(CurrentState(), State::kDisabled);
  EXPECT_STREQ(DisabledReason(), "src/agent/queues.cpp:1: head <= tail does not hold");
  Launch(queue);
  EXPECT_TRUE(FakeRuntime::Of(queue).WaitUntilConsumed(2));
}

TEST_F(AgentTest, AReasonThatIsTooLongIsCut) {
  Load();
  static const std::string kLong(2000, 'x');
  testing::internal::CaptureStderr();
  Disable(kLong.c_str());
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.size(), 511u);
  EXPECT_TRUE(said.ends_with("xxx")) << said;
}

// Signals that wait in a queue's batch were given back twice: by the thread that destroyed the queue,
// and by the one that gave all of them back at the end.
TEST_F(AgentTest, SignalsOfAQueueThatIsDestroyedMeanwhileAreGivenBackOnce) {
  Load();
  for (int round = 0; round < 300; ++round) {
    hsa_queue_t* const queue = runtime_.CreateQueue(64);
    const uint64_t first = Launch(queue);
    ASSERT_TRUE(FakeRuntime::Of(queue).WaitUntilConsumed(first + 1));
    std::atomic<int> ready{0};
    const auto meet = [&] {
      for (++ready; ready != 2;) std::this_thread::yield();
    };
    std::thread destroys([&] {
      meet();
      EXPECT_EQ(runtime_.core().hsa_queue_destroy_fn(queue), HSA_STATUS_SUCCESS);
    });
    meet();
    GiveBackSignals();
    destroys.join();
  }
  GiveBackSignals();
  EXPECT_GE(FakeRuntime::live_signals.load(), 0);
}

TEST_F(AgentTest, ALogThatCannotBeOpenedChangesNothing) {
  setenv("ROCHOUND_LOG_DIR", "/dev/null/log", 1);
  Load();
  EXPECT_EQ(CurrentState(), State::kDisabled);
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  Launch(queue);
  EXPECT_TRUE(FakeRuntime::Of(queue).WaitUntilConsumed(1));
  OnUnload();
}

bool DrainThreadRuns() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const auto name = base::ReadFile(task.path() / "comm");
    if (name.ok() && name.value() == "rochound-drain\n") return true;
  }
  return false;
}

// Packets are looked at for probes; but not when nobody is left who serves doorbells that wait.
TEST_F(AgentTest, AProbedProgramsDoorbellIsNotHeldBackWhenWeStepAside) {
  setenv("ROCHOUND_PROBE_DIR", folder_->path().c_str(), 1);
  setenv("ROCHOUND_PROBE_WRITES", "1", 1);
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  Disable("a test");
  WakeDrainThread();
  for (int i = 0; i < 6000 && DrainThreadRuns(); ++i) usleep(10'000);
  ASSERT_FALSE(DrainThreadRuns());
  // The GPU has taken the first packet, and the read index does not say so yet.
  fake.Hold();
  fake.Reserve();
  Launch(queue);
  EXPECT_EQ(fake.doorbell.load(), 2u);
}

TEST_F(AgentTest, LoadedTwiceItGoesOn) {
  for (int life = 0; life < 3; ++life) {
    FakeRuntime runtime;
    ASSERT_TRUE(OnLoad(runtime.table(), 0, 0, nullptr));
    hsa_queue_t* queue = runtime.CreateQueue(64);
    FakeQueue& fake = FakeRuntime::Of(queue);
    fake.Write(fake.Reserve(), 64, {0});
    runtime.Ring(queue, 0);
    ASSERT_TRUE(fake.WaitUntilConsumed(1));
    runtime.core().hsa_queue_destroy_fn(queue);
    OnUnload();
  }
  EXPECT_EQ(Read().Timed(), 3u);
}

}  // namespace
}  // namespace rochound::agent
