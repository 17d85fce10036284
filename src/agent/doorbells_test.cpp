// SPDX-License-Identifier: MIT
//
// Many producers ring the doorbells of a small runtime's queues while another thread starts, stops,
// pauses and disables the recorder, opens and closes its range, and while a launch is held for a
// capture. Once everybody has rung, the real doorbell is at the highest value that was rung
// for, and the GPU takes every packet.
//
// A capture happens once in a process and Disable is final, so each life is a process of its own;
// the whole is as many lives as give the number of toggles: 2,500 per case, and with ROCHOUND_FULL
// in the environment 25,000.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "agent/capture.h"
#include "agent/fake_runtime.h"
#include "agent/range_switch.h"
#include "agent/session.h"
#include "agent/state.h"
#include "base/clock.h"
#include "base/files.h"

extern "C" {
bool OnLoad(void* table, uint64_t version, uint64_t failed, const char* const* names);
void OnUnload();
}

namespace rochound::agent {
namespace {

enum class Kind { kSwitches, kRanges, kCapture, kDisable };

constexpr int kProducers = 4;
constexpr int kBurst = 20;  // launches of a producer between two meetings
constexpr int kTogglesOfALife = 500;
constexpr uint32_t kPackets = 256;
constexpr uint64_t kPatienceNs = 30'000'000'000;
constexpr uint64_t kLongestRingNs = 10'000'000'000;

// What a life leaves to the process that started it.
struct Account {
  std::atomic<uint64_t> rings{0};
  std::atomic<uint64_t> recorded_rings{0};  // recording was on
  std::atomic<uint64_t> toggles{0};
  std::atomic<uint64_t> meetings{0};
  std::atomic<uint64_t> captures{0};
  std::atomic<uint64_t> longest_ring_ns{0};
  std::atomic<bool> failed{false};
  char problem[256] = {};

  void Fail(const char* what, uint64_t found, uint64_t wanted) {
    if (failed.exchange(true)) return;
    snprintf(problem, sizeof problem, "%s: %llu, wanted %llu", what,
             static_cast<unsigned long long>(found), static_cast<unsigned long long>(wanted));
  }
};

uint64_t Now() { return base::ClockNs(CLOCK_MONOTONIC); }

class Life {
 public:
  Life(Kind kind, unsigned seed, Account* account)
      : kind_(kind), random_(seed), account_(*account), meeting_(kProducers, Meeting{this}) {
    OnLoad(runtime_.table(), 0, 0, nullptr);
    for (hsa_queue_t*& queue : queues_) queue = runtime_.CreateQueue(kPackets);
    kernel_ = runtime_.KernelObject(1);
  }

  void Run() {
    std::vector<std::thread> producers;
    for (unsigned i = 0; i < kProducers; ++i)
      producers.emplace_back([this, seed = random_()] { Produce(seed); });
    Toggle();
    end_ = true;
    for (std::thread& producer : producers) producer.join();
    for (hsa_queue_t* queue : queues_) WaitUntilTaken(FakeRuntime::Of(queue));
    if (kind_ == Kind::kCapture && !CaptureRequested()) ++account_.captures;
    OnUnload();
  }

 private:
  // All producers have returned from their last ring.
  struct Meeting {
    Life* life;
    void operator()() noexcept { life->Meet(); }
  };

  void Meet() noexcept {
    ++account_.meetings;
    for (hsa_queue_t* queue : queues_) {
      FakeQueue& fake = FakeRuntime::Of(queue);
      const uint64_t highest = fake.write_.load();
      // A packet that nobody rang for after it was written is found by a thread of ours.
      const uint64_t deadline = Now() + (with_silent_ ? kPatienceNs : 0);
      while (fake.doorbell < highest && Now() < deadline) std::this_thread::yield();
      if (fake.doorbell != highest) account_.Fail("the doorbell is at", fake.doorbell, highest);
    }
    with_silent_ = !with_silent_;
    leave_ = end_ || account_.failed;
  }

  void WaitUntilTaken(FakeQueue& fake) {
    const uint64_t deadline = Now() + kPatienceNs;
    while (fake.consumed() < fake.write_ && Now() < deadline) std::this_thread::yield();
    if (fake.consumed() < fake.write_)
      account_.Fail("packets that the GPU took", fake.consumed(), fake.write_);
  }

  uint64_t Reserve(FakeQueue& fake, uint64_t count) {
    const uint64_t first = fake.Reserve(count);
    const uint64_t deadline = Now() + kPatienceNs;
    while (first + count - fake.consumed() > kPackets) {
      if (Now() > deadline) {
        account_.Fail("packets that the GPU took", fake.consumed(), first);
        break;
      }
      std::this_thread::yield();
    }
    return first;
  }

  void Ring(hsa_queue_t* queue, uint64_t index) {
    ++account_.rings;
    account_.recorded_rings += Recording();
    const uint64_t begin = Now();
    runtime_.Ring(queue, index);
    const uint64_t took = Now() - begin;
    uint64_t longest = account_.longest_ring_ns;
    while (longest < took && !account_.longest_ring_ns.compare_exchange_weak(longest, took)) {
    }
    if (took > kLongestRingNs) account_.Fail("nanoseconds in a ring", took, kLongestRingNs);
  }

  void Produce(unsigned seed) {
    std::minstd_rand random(seed);
    while (!leave_) {
      for (int burst = 0; burst < kBurst && !account_.failed; ++burst) {
        hsa_queue_t* const queue = queues_[random() % queues_.size()];
        FakeQueue& fake = FakeRuntime::Of(queue);
        const bool silent = with_silent_ && random() % 4 == 0;
        const bool backwards = silent || burst == kBurst - 1 || random() % 2 == 0;
        const uint64_t first = Reserve(fake, backwards ? 2 : 1);
        if (backwards) {
          // The doorbell of the second is ahead of the first, and held back while we record. The
          // recorder may be switched before the first is rung for.
          fake.Write(first + 1, kernel_, {0});
          Ring(queue, first + 1);
          for (unsigned pause = random() % 8; pause != 0; --pause) std::this_thread::yield();
        }
        fake.Write(first, kernel_, {0});
        if (!silent) Ring(queue, first);
      }
      meeting_.arrive_and_wait();
    }
  }

  // A queue that comes and goes beside the others.
  void UseAQueue() {
    hsa_queue_t* const queue = runtime_.CreateQueue(64);
    FakeQueue& fake = FakeRuntime::Of(queue);
    for (int i = 0; i < 3; ++i) {
      const uint64_t index = fake.Reserve();
      fake.Write(index, kernel_, {0});
      Ring(queue, index);
    }
    if (fake.doorbell != 3) account_.Fail("the new queue's doorbell is at", fake.doorbell, 3);
    if (random_() % 2 == 0) WaitUntilTaken(fake);
    runtime_.core().hsa_queue_destroy_fn(queue);
  }

  void ToggleOnce() {
    switch (random_() % (kind_ == Kind::kRanges ? 10 : 6)) {
      case 0:
      case 1:
        return SwitchFromOutside(true);
      case 2:
        return SwitchFromOutside(false);
      case 3:
        return StartByProgram();
      case 4:
        return StopByProgram();
      case 5:
        return PauseByProgram(paused_ = !paused_);
      default:
        in_range_ ? RangeEnds() : RangeBegins("work");
        in_range_ = !in_range_;
    }
  }

  void Toggle() {
    const int disable_at = kind_ == Kind::kDisable ? static_cast<int>(random_() % 400 + 50) : -1;
    for (int i = 0; i < kTogglesOfALife && !account_.failed; ++i) {
      if (i == disable_at) Disable("a test");
      ToggleOnce();
      ++account_.toggles;
      if (i % 50 == 49) UseAQueue();
      if (i % 400 == 200) Flush();
      for (unsigned pause = random_() % 16; pause != 0; --pause) std::this_thread::yield();
    }
    // What was asked for last does not keep the capture from being reached.
    SwitchFromOutside(true);
    PauseByProgram(false);
  }

  const Kind kind_;
  std::minstd_rand random_;
  Account& account_;
  FakeRuntime runtime_;
  std::array<hsa_queue_t*, 2> queues_{};
  uint64_t kernel_ = 0;
  std::atomic<bool> end_{false};
  std::atomic<bool> leave_{false};
  std::atomic<bool> with_silent_{false};
  bool paused_ = false;
  bool in_range_ = false;
  std::barrier<Meeting> meeting_;
};

void Prepare(const std::filesystem::path& folder) {
  setenv("ROCHOUND_LOG_DIR", (folder / "log").c_str(), 1);
  setenv("ROCHOUND_RECORD", "kernels,copies", 1);
  setenv("ROCHOUND_CONTROL_DIR", "", 1);
}

void LiveOnce(Kind kind, unsigned seed, const std::filesystem::path& folder, Account* account) {
  Prepare(folder);
  if (kind == Kind::kRanges) setenv("ROCHOUND_RANGE", "work", 1);
  if (kind == Kind::kCapture) {
    setenv("ROCHOUND_CAPTURE_DIR", (folder / "bundle").c_str(), 1);
    setenv("ROCHOUND_CAPTURE_NTH", std::to_string(seed * 97 % 700 + 1).c_str(), 1);
  }
  // The recorder's word about being disabled, once per life.
  if (kind == Kind::kDisable && freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
  Life(kind, seed, account).Run();
}

// A page that processes share.
class SharedAccount {
 public:
  SharedAccount()
      : account_(new (mmap(nullptr, sizeof(Account), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Account) {}
  ~SharedAccount() { munmap(account_, sizeof(Account)); }
  SharedAccount(const SharedAccount&) = delete;
  SharedAccount& operator=(const SharedAccount&) = delete;
  Account* get() const { return account_; }

 private:
  Account* account_;
};

// Runs life(folder, account) in a process of its own.
template <typename OneLife>
void InAProcess(Account* account, unsigned number, OneLife life) {
  const auto folder =
      base::TempDir::Create(std::filesystem::temp_directory_path(), "doorbells-test-");
  ASSERT_TRUE(folder.ok()) << folder.error().message;
  const pid_t child = fork();
  if (child == 0) {
    life(folder.value().path());
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0) << "life " << number;
  ASSERT_FALSE(account->failed) << "life " << number << ": " << account->problem;
}

void LiveOften(Kind kind) {
  const uint64_t toggles = getenv("ROCHOUND_FULL") != nullptr ? 25'000 : 2'500;
  constexpr unsigned kMostLives = 400;
  const SharedAccount shared;
  Account* const account = shared.get();
  // A machine may give nearly all of its time to the toggling thread; then further lives follow.
  const auto shows_nothing = [&] {
    return account->recorded_rings <= account->rings / 200 ||
           account->recorded_rings >= account->rings / 200 * 199 ||
           account->meetings <= toggles / 100 ||
           (account->captures > 0) != (kind == Kind::kCapture);
  };
  for (unsigned seed = 1; account->toggles < toggles || (shows_nothing() && seed <= kMostLives);
       ++seed) {
    ASSERT_NO_FATAL_FAILURE(InAProcess(
        account, seed, [&](const auto& folder) { LiveOnce(kind, seed, folder, account); }));
  }
  printf("%llu toggles, %llu rings, %llu of them recorded, %llu meetings, longest ring %.1f ms\n",
         static_cast<unsigned long long>(account->toggles),
         static_cast<unsigned long long>(account->rings),
         static_cast<unsigned long long>(account->recorded_rings),
         static_cast<unsigned long long>(account->meetings),
         static_cast<double>(account->longest_ring_ns) / 1e6);
  EXPECT_FALSE(shows_nothing());
}

// While nothing was recorded, a packet was rung for whose two predecessors are not written yet. A
// launch is captured now, and the thread that is to write them rings for the second of them first:
// it must not wait for the lock until the capture gives up.
void CaptureBesideALateProducer(bool on_its_queue, const std::filesystem::path& folder,
                                Account* account) {
  Prepare(folder);
  setenv("ROCHOUND_CAPTURE_DIR", (folder / "bundle").c_str(), 1);
  FakeRuntime runtime;
  OnLoad(runtime.table(), 0, 0, nullptr);
  hsa_queue_t* const captured = runtime.CreateQueue(kPackets);
  hsa_queue_t* const late = on_its_queue ? captured : runtime.CreateQueue(kPackets);
  const uint64_t kernel = runtime.KernelObject(1);
  const auto launch = [&](hsa_queue_t* queue, uint64_t index) {
    FakeRuntime::Of(queue).Write(index, kernel, {0});
    runtime.Ring(queue, index);
  };
  SwitchFromOutside(false);
  FakeRuntime::Of(late).Reserve(3);
  launch(late, 2);
  SwitchFromOutside(true);
  const uint64_t begin = Now();
  std::thread capture([&] { launch(captured, FakeRuntime::Of(captured).Reserve()); });
  usleep(50'000);  // it waits for the two
  launch(late, 1);
  launch(late, 0);
  capture.join();
  // With its queue's lock it waits 10 s, beside another queue 1 s.
  if (const uint64_t took = Now() - begin; took > 8'000'000'000)
    account->Fail("nanoseconds until all were rung for", took, 8'000'000'000);
  for (hsa_queue_t* queue : {captured, late}) {
    FakeQueue& fake = FakeRuntime::Of(queue);
    if (!fake.WaitUntilConsumed(fake.write_))
      account->Fail("packets that the GPU took", fake.consumed(), fake.write_);
  }
  if (CaptureRequested()) account->Fail("captures asked for", 1, 0);
  OnUnload();
}

void CaptureBesideALateProducer(bool on_its_queue) {
  const SharedAccount shared;
  InAProcess(shared.get(), 1, [&](const auto& folder) {
    CaptureBesideALateProducer(on_its_queue, folder, shared.get());
  });
}

// The GPU took the packet before its doorbell and asks for scratch memory. The runtime, which gives
// it, reads the packet: it must be valid, although the capture waits for another queue.
void CaptureBesideARequestForScratch(bool before_the_doorbell, const std::filesystem::path& folder,
                                     Account* account) {
  Prepare(folder);
  setenv("ROCHOUND_CAPTURE_DIR", (folder / "bundle").c_str(), 1);
  FakeRuntime runtime;
  OnLoad(runtime.table(), 0, 0, nullptr);
  hsa_queue_t* const queue = runtime.CreateQueue(kPackets);
  FakeQueue& captured = FakeRuntime::Of(queue);
  const uint64_t kernel = runtime.KernelObject(1);
  SwitchFromOutside(false);
  hsa_queue_t* const busy = runtime.CreateQueue(kPackets);
  FakeQueue& other = FakeRuntime::Of(busy);
  other.Hold();
  other.Write(other.Reserve(), kernel, {0});
  runtime.Ring(busy, 0);
  SwitchFromOutside(true);

  captured.Hold();
  captured.Packet(0)->private_segment_size = 256;
  captured.Write(captured.Reserve(), kernel, {0});
  if (before_the_doorbell) captured.AskForScratch();
  std::thread capture([&] { runtime.Ring(queue, 0); });
  usleep(50'000);
  captured.AskForScratch();
  usleep(10'000);  // a thread of the runtime's wakes up
  const int type = __atomic_load_n(&captured.Packet(0)->header, __ATOMIC_ACQUIRE) & 0xff;
  if (type != HSA_PACKET_TYPE_KERNEL_DISPATCH)
    account->Fail("type of the packet that the runtime reads", type, 2);
  captured.GiveScratch();
  captured.Go();
  other.Go();
  capture.join();
  for (FakeQueue* fake : {&captured, &other})
    if (!fake->WaitUntilConsumed(1)) account->Fail("packets that the GPU took", 0, 1);
  OnUnload();
}

void CaptureBesideARequestForScratch(bool before_the_doorbell) {
  const SharedAccount shared;
  InAProcess(shared.get(), 1, [&](const auto& folder) {
    CaptureBesideARequestForScratch(before_the_doorbell, folder, shared.get());
  });
}

TEST(DoorbellsTest, SwitchesLoseNone) { LiveOften(Kind::kSwitches); }
TEST(DoorbellsTest, RangesLoseNone) { LiveOften(Kind::kRanges); }
TEST(DoorbellsTest, ACaptureLosesNone) { LiveOften(Kind::kCapture); }
TEST(DoorbellsTest, ACaptureLetsALateProducerOfItsQueueRing) { CaptureBesideALateProducer(true); }
TEST(DoorbellsTest, ACaptureWaitsForNoLateProducerOfAnotherQueue) {
  CaptureBesideALateProducer(false);
}
TEST(DoorbellsTest, APacketThatNeedsScratchIsNotHeld) { CaptureBesideARequestForScratch(true); }
TEST(DoorbellsTest, APacketIsGivenBackWhenItNeedsScratch) {
  CaptureBesideARequestForScratch(false);
}
TEST(DoorbellsTest, DisableLosesNone) { LiveOften(Kind::kDisable); }

}  // namespace
}  // namespace rochound::agent
