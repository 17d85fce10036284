// SPDX-License-Identifier: MIT
//
// The agent between a program and a small runtime: rare orders of events, made to happen. Each test
// is a process of its own (the agent's state lives as long as the process).
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "agent/calls/ranges.h"
#include "agent/fake_runtime.h"
#include "agent/faults.h"
#include "agent/queues.h"
#include "agent/session.h"
#include "agent/state.h"
#include "base/clock.h"
#include "base/files.h"
#include "trace/reader.h"

extern "C" {
bool OnLoad(void* table, uint64_t version, uint64_t failed, const char* const* names);
void OnUnload();
}

namespace {

// Which of this thread's next allocations fails, from 1; 0: none.
constinit thread_local int failing_allocation = 0;

void* Allocate(size_t bytes) {
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
void operator delete(void* memory, size_t) noexcept { free(memory); }
void operator delete[](void* memory, size_t) noexcept { free(memory); }

namespace rochound::agent {
namespace {

// Only something that never happens takes so long.
constexpr uint64_t kHangNs = 60'000'000'000;

struct Seen : trace::Visitor {
  struct Times {
    uint64_t begin_ticks;
    uint64_t end_ticks;
  };
  std::map<uint64_t, trace::KernelDispatch> dispatches;
  std::map<uint64_t, Times> times;
  std::map<uint64_t, Times> copy_times;
  int copies = 0;

  void OnDispatch(const trace::Event<trace::KernelDispatch>& event) override {
    dispatches[event.record.dispatch] = event.record;
  }
  void OnKernelTime(const trace::Event<trace::KernelTime>& event) override {
    EXPECT_EQ(times.count(event.record.dispatch), 0u) << "two times for one dispatch";
    times[event.record.dispatch] = {event.record.begin_ticks, event.record.end_ticks};
  }
  void OnCopy(const trace::Event<trace::Copy>&) override { ++copies; }
  void OnCopyTime(const trace::Event<trace::CopyTime>& event) override {
    copy_times[event.record.copy] = {event.record.begin_ticks, event.record.end_ticks};
  }

  size_t Timed() const {
    size_t timed = 0;
    for (const auto& [dispatch, time] : times) timed += time.end_ticks != 0;
    return timed;
  }
};

class AgentTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = base::TempDir::Create(std::filesystem::temp_directory_path(), "agent-test-");
    ASSERT_TRUE(folder.ok()) << folder.error().message;
    folder_.emplace(std::move(folder).value());
    log_ = folder_->path() / "log";
    setenv("ROCHOUND_LOG_DIR", log_.c_str(), 1);
    setenv("ROCHOUND_RECORD", "kernels,copies", 1);
    setenv("ROCHOUND_CONTROL_DIR", (folder_->path() / "control").c_str(), 1);
  }

  void TearDown() override { OnUnload(); }  // a runtime says so before its queues go

  void Load() { ASSERT_TRUE(OnLoad(runtime_.table(), 0, 0, nullptr)); }

  // Everything the process has recorded, after a flush.
  Seen Read() {
    Flush();
    Seen seen;
    const auto run = trace::RunLog::Open(log_);
    EXPECT_TRUE(run.ok()) << run.error().message;
    if (!run.ok()) return seen;
    EXPECT_EQ(run.value().processes().size(), 1u);
    for (const auto& process : run.value().processes()) EXPECT_TRUE(process->Visit(seen).ok());
    return seen;
  }

  uint64_t Launch(hsa_queue_t* queue, hsa_signal_t signal = {0}, uint64_t kernel = 64) {
    FakeQueue& fake = FakeRuntime::Of(queue);
    const uint64_t index = fake.Reserve();
    fake.Write(index, kernel, signal);
    runtime_.Ring(queue, index);
    return index;
  }

  // A file that the process has beside its records; empty: it is not there, or nothing is in it.
  std::string FileOfProcess(const char* name) {
    for (const auto& process : std::filesystem::directory_iterator(log_)) {
      const auto text = base::ReadFile(process.path() / name);
      if (text.ok()) return text.value();
    }
    return {};
  }

  // A packet that waits for all before it, and the GPU passes it. Its index.
  uint64_t PassBarrier(hsa_queue_t* queue) {
    FakeQueue& fake = FakeRuntime::Of(queue);
    const uint64_t index = fake.Reserve();
    fake.Packet(index)->completion_signal = {0};
    __atomic_store_n(&fake.Packet(index)->header,
                     uint16_t{HSA_PACKET_TYPE_BARRIER_AND | 1 << HSA_PACKET_HEADER_BARRIER},
                     __ATOMIC_RELEASE);
    runtime_.Ring(queue, index);
    EXPECT_TRUE(fake.WaitUntilConsumed(index + 1));
    return index;
  }

  std::optional<base::TempDir> folder_;
  std::filesystem::path log_;
  FakeRuntime runtime_;
};

TEST_F(AgentTest, EveryDispatchOfABatchIsRecordedWithItsTimes) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(4096);
  FakeQueue& fake = FakeRuntime::Of(queue);
  for (int batch = 0; batch < 20; ++batch) {
    const uint64_t first = fake.Reserve(1000);
    for (uint64_t i = 0; i < 1000; ++i) fake.Write(first + i, 64, {0});
    runtime_.Ring(queue, first + 999);
    ASSERT_TRUE(fake.WaitUntilConsumed(first + 1000));
  }
  const Seen seen = Read();
  EXPECT_EQ(seen.dispatches.size(), 20000u);
  EXPECT_EQ(seen.Timed(), 20000u);
}

// Of a later release than ours: which they are is not known, but that they were there is.
TEST_F(AgentTest, PacketsOfUnknownKindsAreCounted) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const auto put = [&](uint16_t type, uint8_t format) {
    const uint64_t index = fake.Reserve();
    hsa_kernel_dispatch_packet_t* const packet = fake.Packet(index);
    packet->completion_signal = {0};
    packet->setup = format;
    __atomic_store_n(&packet->header, type, __ATOMIC_RELEASE);
    runtime_.Ring(queue, index);
  };
  for (int i = 0; i < 3; ++i) put(HSA_PACKET_TYPE_VENDOR_SPECIFIC, 7);
  put(HSA_PACKET_TYPE_VENDOR_SPECIFIC, HSA_AMD_PACKET_TYPE_BARRIER_VALUE);
  put(HSA_PACKET_TYPE_BARRIER_AND, 0);
  put(HSA_PACKET_TYPE_BARRIER_OR, 0);
  put(HSA_PACKET_TYPE_AGENT_DISPATCH, 0);
  put(9, 0);
  Launch(queue);
  EXPECT_EQ(Read().dispatches.size(), 1u);
  const auto run = trace::RunLog::Open(log_);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run.value().processes().front()->Info("new_packets"), "type 9:1,vendor format 7:3");
}

// By a function of a later release: the first ring tells of the queue.
TEST_F(AgentTest, AQueueThatWasCreatedInAnUnknownWayIsFollowed) {
  Load();
  hsa_queue_t* queue = FakeRuntime::CreateQueueElsewhere(64, /*tells=*/true);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const uint64_t first = fake.Reserve(3);
  for (uint64_t i = 0; i < 3; ++i) fake.Write(first + i, 64, {0});
  runtime_.Ring(queue, first + 2);
  for (int i = 0; i < 4; ++i) Launch(queue);
  ASSERT_TRUE(fake.WaitUntilConsumed(7));
  const Seen seen = Read();
  EXPECT_EQ(seen.dispatches.size(), 7u);
  EXPECT_EQ(seen.Timed(), 7u);
}

TEST_F(AgentTest, AQueueThatCannotBeFollowedIsToldOf) {
  Load();
  hsa_queue_t* queue = FakeRuntime::CreateQueueElsewhere(64, /*tells=*/false);
  for (int i = 0; i < 4; ++i) Launch(queue);
  ASSERT_TRUE(FakeRuntime::Of(queue).WaitUntilConsumed(4));
  EXPECT_EQ(Read().dispatches.size(), 0u);
  const auto run = trace::RunLog::Open(log_);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run.value().processes().front()->Info("unknown_doorbells"), "4");
}

TEST_F(AgentTest, TheProgramsSignalStaysInItsPacket) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  fake.Hold();
  const hsa_signal_t signal = runtime_.CreateSignal(1);
  const uint64_t index = Launch(queue, signal);
  EXPECT_EQ(fake.Packet(index)->completion_signal.handle, signal.handle);
  fake.Go();
  ASSERT_TRUE(fake.WaitUntilConsumed(1));
  EXPECT_EQ(Read().Timed(), 1u);
  runtime_.core().hsa_signal_destroy_fn(signal);
}

// HIP resets a signal of its pool the moment it has seen it fire.
TEST_F(AgentTest, ASignalThatIsReusedAtOnceLosesNoTimes) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const hsa_signal_t signal = runtime_.CreateSignal(1);
  for (uint64_t i = 0; i < 400; ++i) {
    Launch(queue, signal);
    auto* memory = reinterpret_cast<amd_signal_t*>(signal.handle);
    while (__atomic_load_n(&memory->value, __ATOMIC_ACQUIRE) != 0) std::this_thread::yield();
    runtime_.core().hsa_signal_silent_store_relaxed_fn(signal, 1);
  }
  ASSERT_TRUE(fake.WaitUntilConsumed(400));
  runtime_.core().hsa_signal_destroy_fn(signal);
  const Seen seen = Read();
  EXPECT_EQ(seen.dispatches.size(), 400u);
  EXPECT_EQ(seen.Timed(), 400u);
}

TEST_F(AgentTest, ASignalMayBeDestroyedTheMomentItFires) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  for (int i = 0; i < 300; ++i) {
    const hsa_signal_t signal = runtime_.CreateSignal(1);
    Launch(queue, signal);
    auto* memory = reinterpret_cast<amd_signal_t*>(signal.handle);
    while (__atomic_load_n(&memory->value, __ATOMIC_ACQUIRE) != 0) std::this_thread::yield();
    runtime_.core().hsa_signal_destroy_fn(signal);
  }
  EXPECT_EQ(Read().Timed(), 300u);
}

TEST_F(AgentTest, OfSeveralDispatchesOnOneCountingSignalTheLastHasTimes) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  fake.Hold();
  const hsa_signal_t signal = runtime_.CreateSignal(3);
  for (int i = 0; i < 3; ++i) Launch(queue, signal);
  fake.Go();
  ASSERT_TRUE(fake.WaitUntilConsumed(3));
  const Seen seen = Read();
  EXPECT_EQ(seen.dispatches.size(), 3u);
  EXPECT_EQ(seen.times.size(), 3u);
  EXPECT_GE(seen.Timed(), 1u);
  runtime_.core().hsa_signal_destroy_fn(signal);
}

TEST_F(AgentTest, ADoorbellAheadOfALatePacketWaitsForIt) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const uint64_t late = fake.Reserve();
  const uint64_t early = fake.Reserve();
  fake.Write(early, 64, {0});
  runtime_.Ring(queue, early);
  fake.Write(late, 64, {0});
  runtime_.Ring(queue, late);
  ASSERT_TRUE(fake.WaitUntilConsumed(2));
  EXPECT_EQ(Read().Timed(), 2u);
}

// Whoever rang is gone; the drain thread has to find the packet.
TEST_F(AgentTest, ALatePacketThatNobodyRingsForIsNotStuck) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const uint64_t late = fake.Reserve();
  const uint64_t early = fake.Reserve();
  fake.Write(early, 64, {0});
  runtime_.Ring(queue, early);
  fake.Write(late, 64, {0});
  ASSERT_TRUE(fake.WaitUntilConsumed(2));
}

// What was held back while recording is rung for by the next one who rings, recorded or not.
TEST_F(AgentTest, ADoorbellThatWasHeldBackIsNotLostWhenRecordingStops) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const uint64_t late = fake.Reserve();
  const uint64_t middle = fake.Reserve();
  const uint64_t early = fake.Reserve();
  fake.Write(early, 64, {0});
  runtime_.Ring(queue, early);
  SwitchFromOutside(false);
  fake.Write(middle, 64, {0});
  fake.Write(late, 64, {0});
  runtime_.Ring(queue, late);
  ASSERT_TRUE(fake.WaitUntilConsumed(3));
}

// The runtime's own packets on a program's queue do not come through the table.
TEST_F(AgentTest, APacketThatTheRuntimeRangForIsSteppedOver) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const uint64_t theirs = fake.Reserve();
  fake.Write(theirs, 64, {0});
  fake.doorbell = theirs + 1;
  ASSERT_TRUE(fake.WaitUntilConsumed(1));
  Launch(queue);
  ASSERT_TRUE(fake.WaitUntilConsumed(2));
  EXPECT_EQ(Read().Timed(), 1u);
}

TEST_F(AgentTest, ManyProducersOnOneQueue) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(1024);
  FakeQueue& fake = FakeRuntime::Of(queue);
  constexpr uint64_t kEach = 3000;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < kEach; ++i) {
        const uint64_t index = fake.Reserve();
        while (index - fake.consumed() >= 1024) std::this_thread::yield();
        fake.Write(index, 64, {0});
        runtime_.Ring(queue, index);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(fake.WaitUntilConsumed(4 * kEach));
  const Seen seen = Read();
  EXPECT_EQ(seen.dispatches.size(), 4 * kEach);
  EXPECT_EQ(seen.Timed(), 4 * kEach);
}

// The packet that another thread rang for is rung for by the thread that wrote the missing one, not
// some time later by a thread of ours.
TEST_F(AgentTest, AMissingPacketsDoorbellIsAlsoThatOfThoseBehindIt) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  for (int i = 0; i < 200; ++i) {
    const uint64_t late = fake.Reserve();
    const uint64_t early = fake.Reserve();
    fake.Write(early, 64, {0});
    runtime_.Ring(queue, early);
    fake.Write(late, 64, {0});
    runtime_.Ring(queue, late);
    ASSERT_EQ(fake.doorbell.load(), early + 1);
    ASSERT_TRUE(fake.WaitUntilConsumed(early + 1));
  }
}

// Completions that get lost: the kernels after them keep their times, and nothing is in flight for
// ever once a kernel with a barrier has ended.
TEST_F(AgentTest, LostCompletionsDoNotHideLaterKernels) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  constexpr uint64_t kLost = 100;
  for (uint64_t i = 0; i < kLost; ++i) {
    fake.LoseCompletionOf(fake.write_);
    Launch(queue);
    ASSERT_TRUE(fake.WaitUntilConsumed(i + 1));
  }
  for (uint64_t i = 0; i < 1000; ++i) {
    Launch(queue);
    ASSERT_TRUE(fake.WaitUntilConsumed(kLost + i + 1));
  }
  const uint64_t barrier = fake.Reserve();
  fake.Write(barrier, 64, {0}, true);
  runtime_.Ring(queue, barrier);
  ASSERT_TRUE(fake.WaitUntilConsumed(barrier + 1));
  const Seen seen = Read();
  EXPECT_EQ(seen.dispatches.size(), kLost + 1001);
  EXPECT_EQ(seen.times.size(), kLost + 1001);
  EXPECT_EQ(seen.Timed(), 1001u);
  OnUnload();
  EXPECT_EQ(FakeRuntime::live_signals.load(), 0);
}

TEST_F(AgentTest, ASignalThatIsAddedToLosesNoTimes) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  const hsa_signal_t signal = runtime_.CreateSignal(1);
  for (uint64_t i = 0; i < 400; ++i) {
    Launch(queue, signal);
    auto* memory = reinterpret_cast<amd_signal_t*>(signal.handle);
    while (__atomic_load_n(&memory->value, __ATOMIC_ACQUIRE) != 0) std::this_thread::yield();
    runtime_.core().hsa_signal_add_screlease_fn(signal, 1);
  }
  runtime_.core().hsa_signal_destroy_fn(signal);
  EXPECT_EQ(Read().Timed(), 400u);
}

// A program that counts its work: both kernels are under way when it has added for the second.
TEST_F(AgentTest, ASignalThatIsAddedToWhileItCountsIsFollowed) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const hsa_signal_t signal = runtime_.CreateSignal(0);
  for (uint64_t round = 0; round < 50; ++round) {
    fake.Hold();
    for (int i = 0; i < 2; ++i) {
      runtime_.core().hsa_signal_add_screlease_fn(signal, 1);
      Launch(queue, signal);
    }
    fake.Go();
    ASSERT_TRUE(fake.WaitUntilConsumed(round * 2 + 2));
    auto* memory = reinterpret_cast<amd_signal_t*>(signal.handle);
    while (__atomic_load_n(&memory->value, __ATOMIC_ACQUIRE) != 0) std::this_thread::yield();
  }
  const Seen seen = Read();
  EXPECT_EQ(seen.times.size(), 100u) << "none waits for a value that never comes";
  EXPECT_GE(seen.Timed(), 50u) << "each second one left its times in the signal";
  runtime_.core().hsa_signal_destroy_fn(signal);
}

// The program gives up on a kernel whose completion was lost, and uses the signal for the next.
TEST_F(AgentTest, ALostCompletionDoesNotGiveTheNextKernelsTimesToTheLast) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  const hsa_signal_t signal = runtime_.CreateSignal(1);
  constexpr uint64_t kRounds = 60;
  uint64_t lost = 0;
  for (uint64_t i = 0; i < kRounds; ++i) {
    const bool loses = i % 5 == 2;
    lost += loses;
    if (loses) fake.LoseCompletionOf(i);
    Launch(queue, signal);
    ASSERT_TRUE(fake.WaitUntilConsumed(i + 1));
    auto* memory = reinterpret_cast<amd_signal_t*>(signal.handle);
    while (!loses && __atomic_load_n(&memory->value, __ATOMIC_ACQUIRE) != 0)
      std::this_thread::yield();
    runtime_.core().hsa_signal_store_screlease_fn(signal, 1);
  }
  const Seen seen = Read();
  EXPECT_EQ(seen.times.size(), kRounds);
  EXPECT_EQ(seen.Timed(), kRounds - lost);
  for (const auto& [dispatch, time] : seen.times)
    EXPECT_EQ(time.end_ticks == 0, trace::PacketOf(dispatch) % 5 == 2) << dispatch;
  runtime_.core().hsa_signal_destroy_fn(signal);
}

// A barrier packet of the program's is evidence too: no kernel may come after the lost completion.
TEST_F(AgentTest, ABarrierPacketEndsKernelsWhoseCompletionsWereLost) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  fake.LoseCompletionOf(0);
  Launch(queue);
  for (int i = 0; i < 3; ++i) Launch(queue);
  const uint64_t barrier = PassBarrier(queue);
  Seen seen;
  const uint64_t deadline_ns = base::ClockNs(CLOCK_MONOTONIC) + kHangNs;
  while (seen.times.size() < barrier && base::ClockNs(CLOCK_MONOTONIC) < deadline_ns) seen = Read();
  EXPECT_EQ(seen.times.size(), barrier);
  EXPECT_EQ(seen.Timed(), 3u);
  EXPECT_EQ(HarvestDispatches(), 0u) << "nothing is in flight";
}

// The read index says that kernels have ended; their completions are written on a way of their own.
TEST_F(AgentTest, ACompletionThatComesLongAfterTheReadIndexPassedHasItsTimes) {
  constexpr uint64_t kLateNs = 300'000'000;
  constexpr uint64_t kSurelyInTimeNs = 900'000'000;
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  // A machine that sleeps three times too long shows nothing, so it is asked again.
  bool in_time = false;
  for (int attempt = 0; attempt < 20 && !in_time; ++attempt) {
    fake.LoseCompletionOf(fake.write_);
    const uint64_t late = Launch(queue);
    const uint64_t before_ns = base::ClockNs(CLOCK_MONOTONIC);
    PassBarrier(queue);
    usleep(kLateNs / 1000);
    const uint64_t end_ticks = fake.CompleteLost();
    in_time = base::ClockNs(CLOCK_MONOTONIC) - before_ns < kSurelyInTimeNs;
    if (!in_time) continue;
    const Seen seen = Read();
    const auto time = seen.times.find(trace::DispatchNumber(1, late));
    ASSERT_NE(time, seen.times.end());
    EXPECT_EQ(time->second.end_ticks, end_ticks);
  }
  EXPECT_TRUE(in_time);
}

// Nothing can come for a packet that has no signal of ours, so nobody waits for it.
TEST_F(AgentTest, ABarrierPacketEndsAKernelThatWasTakenBeforeItsDoorbellAtOnce) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  uint64_t kernel = 0;
  runtime_.core().hsa_executable_symbol_get_info_fn({1}, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
                                                    &kernel);
  const uint64_t taken = fake.Reserve();
  fake.Write(taken, kernel, {0});
  fake.doorbell = taken + 1;
  ASSERT_TRUE(fake.WaitUntilConsumed(taken + 1));
  runtime_.Ring(queue, taken);
  PassBarrier(queue);
  EXPECT_EQ(Read().times.size(), 1u);
}

TEST_F(AgentTest, APacketThatIsTakenBeforeItsDoorbellIsRecordedWithoutATime) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  uint64_t kernel = 0;
  runtime_.core().hsa_executable_symbol_get_info_fn({1}, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
                                                    &kernel);
  for (uint64_t i = 0; i < 20; ++i) {
    const uint64_t index = fake.Reserve();
    fake.Write(index, kernel, {0});
    if (i % 2 == 0) {
      fake.doorbell = index + 1;
      ASSERT_TRUE(fake.WaitUntilConsumed(index + 1));
    }
    runtime_.Ring(queue, index);
    ASSERT_TRUE(fake.WaitUntilConsumed(index + 1));
  }
  const uint64_t barrier = fake.Reserve();
  fake.Write(barrier, kernel, {0}, true);
  runtime_.Ring(queue, barrier);
  ASSERT_TRUE(fake.WaitUntilConsumed(barrier + 1));
  const Seen seen = Read();
  EXPECT_EQ(seen.dispatches.size(), 21u);
  EXPECT_EQ(seen.times.size(), 21u);
  EXPECT_EQ(seen.Timed(), 11u);
}

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

// A handler that calls exit while our code holds locks on its thread; `interrupted` comes to the
// runtime's function in which the handler runs.
void ExitInside(const std::function<void()>& load, const std::function<void()>& interrupted) {
  const pid_t child = fork();
  if (child == 0) {
    atexit([] { OnUnload(); });  // as a runtime does, after our own exit handler
    load();
    interrupted();
    _exit(1);
  }
  int status = 0;
  pid_t ended = 0;
  for (int tries = 0; tries < 2000 && ended == 0; ++tries) {
    usleep(10'000);
    ended = waitpid(child, &status, WNOHANG);
  }
  if (ended == 0) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

TEST_F(AgentTest, ExitInAHandlerThatInterruptsADoorbellEnds) {
  ExitInside([&] { Load(); },
             [&] {
               hsa_queue_t* queue = runtime_.CreateQueue(8192);
               FakeRuntime::Of(queue).Hold();
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
               FakeRuntime::interruption = [] { exit(7); };
               runtime_.core().hsa_signal_add_screlease_fn(signal, 1);
             });
}

// stderr is a pipe that nobody reads.
TEST_F(AgentTest, AMessageToAClosedPipeKillsNobody) {
  Load();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int kept = dup(STDERR_FILENO);
  close(ends[0]);
  dup2(ends[1], STDERR_FILENO);
  SayOnStderr("hello\n");
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
}

TEST_F(AgentTest, KernelsAreNamedByWhoAsksForTheirObject) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  uint64_t object = 0;
  runtime_.core().hsa_executable_symbol_get_info_fn({7}, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
                                                    &object);
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

TEST_F(AgentTest, ALogThatCannotBeOpenedChangesNothing) {
  setenv("ROCHOUND_LOG_DIR", "/dev/null/log", 1);
  Load();
  EXPECT_EQ(CurrentState(), State::kDisabled);
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  Launch(queue);
  EXPECT_TRUE(FakeRuntime::Of(queue).WaitUntilConsumed(1));
  OnUnload();
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
