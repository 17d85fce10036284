// SPDX-License-Identifier: MIT
//
// Queues and dispatches without any runtime: a few words of code, a descriptor, a packet.
#include <gtest/gtest.h>
#include <hsa/amd_hsa_signal.h>
#include <signal.h>
#include <sys/mman.h>

#include <memory>
#include <thread>
#include <utility>

#include "softgpu/isa/disassembler.h"
#include "softgpu/machine/local_machine.h"

namespace rochound::softgpu {
namespace {

constexpr uint32_t kEnd = 0xBF810000;        // s_endpgm
constexpr uint32_t kBarrier = 0xBF8A0000;    // s_barrier
constexpr uint32_t kForever = 0xBF82FFFF;    // s_branch to itself
constexpr uint32_t kTrap = 0xBF920002;       // s_trap 2
constexpr uint32_t kUndefined = 0xFFFFFFFF;  // no instruction

class MachineTest : public testing::TestWithParam<const char*> {
 protected:
  static DeviceConfig Config() {
    return GetParam() == std::string("mi300x") ? LocalMachine::Mi300x() : LocalMachine::Rx6800xt();
  }
  void SetUp() override {
    if (!Disassembler::Knows(Config().target))
      GTEST_SKIP() << "the LLVM that this build uses is too old for " << Config().target;
    machine_ = std::make_unique<LocalMachine>(Config());
  }
  std::unique_ptr<LocalMachine> machine_;
};

TEST_P(MachineTest, AnEmptyKernelCompletes) {
  uint64_t kernel = machine_->LoadWords({kEnd});
  for (int i = 0; i < 10000; ++i) machine_->Submit({kernel, 64, 64});
  EXPECT_TRUE(machine_->Wait()) << machine_->error();
  EXPECT_EQ(machine_->device().instructions_executed(), 10000u * (64 / machine_->WaveSize()));
}

// The runtime sets a bit of the queue when somebody wants times. Who forgets to ask gets none, as
// from a GPU.
TEST_P(MachineTest, TimesAreLeftOnlyWhereTheQueueHasThemOn) {
  auto* const signals = static_cast<amd_signal_t*>(machine_->Allocate(2 * sizeof(amd_signal_t)));
  const uint64_t kernel = machine_->LoadWords({kEnd});
  const auto run = [&](amd_signal_t* signal) {
    signal->value = 1;
    machine_->Submit({.kernel_object = kernel,
                      .grid = 64,
                      .group = 64,
                      .signal = reinterpret_cast<uint64_t>(signal)});
    machine_->device().Kick();
    while (__atomic_load_n(&signal->value, __ATOMIC_ACQUIRE) != 0) std::this_thread::yield();
  };
  run(&signals[0]);
  EXPECT_EQ(signals[0].start_ts, 0u);
  EXPECT_EQ(signals[0].end_ts, 0u);
  machine_->SwitchTimesOn();
  run(&signals[1]);
  EXPECT_NE(signals[1].start_ts, 0u);
  EXPECT_LE(signals[1].start_ts, signals[1].end_ts);
}

TEST_P(MachineTest, DoorbellsRungInTheWrongOrderLoseNothing) {
  uint64_t kernel = machine_->LoadWords({kEnd});
  for (int i = 0; i < 5; ++i) {
    uint64_t first = machine_->Enqueue({kernel, 64, 64});
    uint64_t second = machine_->Enqueue({kernel, 64, 64});
    machine_->Ring(second);  // overwritten, most of the time before anybody looks
    machine_->Ring(first);
    ASSERT_TRUE(machine_->Wait()) << machine_->error();
  }
}

// What stands on the doorbell (the recorder edits packets there) must find them untouched. Without
// the rescue of a packet whose doorbell seems lost, which a slow machine may wait for.
TEST_P(MachineTest, APacketIsNotTakenAheadOfItsDoorbell) {
  DeviceConfig config = Config();
  config.faults.no_rescue = 1;
  machine_ = std::make_unique<LocalMachine>(config);
  uint64_t kernel = machine_->LoadWords({kEnd});
  uint64_t first = machine_->Enqueue({kernel, 64, 64});
  uint64_t second = machine_->Enqueue({kernel, 64, 64});
  machine_->Ring(first);
  const uint64_t one = 64u / machine_->WaveSize();
  for (int i = 0; i < 60000 && machine_->device().instructions_executed() < one; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(machine_->device().instructions_executed(), one);
  machine_->Ring(second);
  EXPECT_TRUE(machine_->Wait()) << machine_->error();
}

TEST_P(MachineTest, APacketWithoutADoorbellWaits) {
  machine_->Enqueue({machine_->LoadWords({kEnd}), 64, 64});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(machine_->device().instructions_executed(), 0u);
  machine_->Ring(0);
  EXPECT_TRUE(machine_->Wait());
}

// A mode that is not implemented must not run as another one.
TEST_P(MachineTest, AKernelThatWantsFp16OverflowOrExceptionsIsRefused) {
  constexpr size_t kRsrc1 = 48, kRsrc2 = 52;  // in the kernel descriptor
  const std::pair<size_t, uint32_t> wants[] = {{kRsrc1, 1u << 26}, {kRsrc2, 1u << 24}};
  for (const auto& [offset, bit] : wants) {
    LocalMachine machine(Config());
    const uint64_t kernel = machine.LoadWords({kEnd});
    *reinterpret_cast<uint32_t*>(kernel + offset) |= bit;
    machine.Submit({kernel, 64, 64});
    EXPECT_FALSE(machine.Wait());
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "FP16_OVFL", machine.error());
  }
}

TEST_P(MachineTest, EveryWaveOfEveryWorkgroupRuns) {
  uint64_t kernel = machine_->LoadWords({kBarrier, kEnd});
  machine_->Submit({kernel, 1000 * 256 + 10, 256});
  EXPECT_TRUE(machine_->Wait()) << machine_->error();
  uint64_t waves = 1000 * (256 / machine_->WaveSize()) + 1;  // the last workgroup has 10 items
  EXPECT_EQ(machine_->device().instructions_executed(), waves * 2);
}

TEST_P(MachineTest, CodeMappedWhereOtherCodeWasIsDecodedAnew) {
  uint64_t kernel = machine_->LoadWords({kEnd});
  machine_->Submit({kernel, 1, 1});
  ASSERT_TRUE(machine_->Wait()) << machine_->error();
  // Freed and allocated again with something else in it, and nobody flushed an instruction cache.
  AddressSpace& space = machine_->device().address_space();
  space.Unmap(kernel, kGpuPageSize);
  uint64_t other = machine_->LoadWords({kBarrier, kEnd});
  space.Map(kernel, kGpuPageSize, reinterpret_cast<uint8_t*>(other), kRead | kExecute);
  machine_->Submit({kernel, 1, 1});
  ASSERT_TRUE(machine_->Wait()) << machine_->error();
  EXPECT_EQ(machine_->device().instructions_executed(), 1u + 2u);
}

TEST_P(MachineTest, CodeMappedWhereDecodingEndedIsDecodedAnew) {
  // The last instruction of the page jumps back to the end, but it might fall through: whatever
  // follows is decoded, and nothing is there yet.
  constexpr uint32_t kSkipOne = 0xBF820001;  // s_branch over the next instruction
  constexpr uint32_t kNoOp = 0xBF800000;
  constexpr size_t kWords = kGpuPageSize / 4 - 64;
  std::vector<uint32_t> words(kWords, kNoOp);
  words[0] = kSkipOne;
  words[1] = kEnd;
  words[kWords - 1] = 0xBF840000 | static_cast<uint16_t>(1 - kWords);  // s_cbranch_scc0 to the end
  uint64_t first = machine_->LoadWords(words);
  machine_->Submit({first, 1, 1});
  ASSERT_TRUE(machine_->Wait()) << machine_->error();
  uint64_t second = machine_->LoadWords({kEnd});
  uint64_t entry = first + kGpuPageSize;
  *reinterpret_cast<int64_t*>(second + 16) = static_cast<int64_t>(entry - second);
  auto* page = static_cast<uint32_t*>(machine_->Allocate(kGpuPageSize));
  page[0] = kEnd;
  machine_->device().address_space().Map(entry, kGpuPageSize, reinterpret_cast<uint8_t*>(page),
                                         kRead | kExecute);
  machine_->Submit({second, 1, 1});
  EXPECT_TRUE(machine_->Wait()) << machine_->error();
}

TEST_P(MachineTest, AnUndefinedInstructionHaltsWithItsPlace) {
  uint64_t kernel = machine_->LoadWords({kBarrier, kUndefined, kEnd});
  machine_->Submit({kernel, 64, 64});
  EXPECT_FALSE(machine_->Wait());
  EXPECT_NE(machine_->error().find("illegal instruction"), std::string::npos) << machine_->error();
  EXPECT_NE(machine_->error().find("entry + 0x4"), std::string::npos) << machine_->error();
  EXPECT_NE(machine_->error().find(Config().target), std::string::npos) << machine_->error();
}

TEST_P(MachineTest, RunningOffTheCodeIsAFetchFault) {
  // The last page of code is full of no-ops and nothing is mapped after it.
  uint64_t kernel = machine_->LoadWords(std::vector<uint32_t>(1024 - 64, 0xBF800000));
  machine_->Submit({kernel, 64, 64});
  EXPECT_FALSE(machine_->Wait());
  EXPECT_NE(machine_->error().find("instruction fetch"), std::string::npos) << machine_->error();
}

TEST_P(MachineTest, MemoryThatTheProgramUnmappedIsAMemoryFault) {
  void* pages = mmap(nullptr, 2 * kGpuPageSize, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto address = reinterpret_cast<uint64_t>(pages);
  machine_->device().address_space().Map(address, 2 * kGpuPageSize, static_cast<uint8_t*>(pages),
                                         kRead);
  const bool gfx9 = GetParam() == std::string("mi300x");
  const uint32_t move = gfx9 ? 0xBE8000FF : 0xBE8003FF;  // s_mov_b32 s0, literal
  std::vector<uint32_t> words = {move, static_cast<uint32_t>(address + kGpuPageSize),
                                 move | 1 << 16, static_cast<uint32_t>(address >> 32)};
  // s_load_dword s2, s[0:1], 0x0
  words.insert(words.end(), {gfx9 ? 0xC0020080 : 0xF4000080, gfx9 ? 0 : 0xFA000000, kEnd});
  uint64_t kernel = machine_->LoadWords(words);
  machine_->Submit({kernel, 1, 1});
  ASSERT_TRUE(machine_->Wait()) << machine_->error();
  munmap(static_cast<uint8_t*>(pages) + kGpuPageSize, kGpuPageSize);
  machine_->Submit({kernel, 1, 1});
  EXPECT_FALSE(machine_->Wait());
  char place[32];
  std::snprintf(place, sizeof(place), "read from 0x%lx", address + kGpuPageSize);
  EXPECT_NE(machine_->error().find(place), std::string::npos) << machine_->error();
  EXPECT_EQ(msync(static_cast<uint8_t*>(pages) + kGpuPageSize, kGpuPageSize, MS_ASYNC), -1)
      << "something was left there";
}

TEST_P(MachineTest, ATrapHalts) {
  machine_->Submit({machine_->LoadWords({kTrap}), 64, 64});
  EXPECT_FALSE(machine_->Wait());
  EXPECT_NE(machine_->error().find("trap"), std::string::npos) << machine_->error();
}

TEST_P(MachineTest, AKernelThatIsNotThereIsAMemoryFault) {
  machine_->Submit({0x123000, 64, 64});
  EXPECT_FALSE(machine_->Wait());
  EXPECT_NE(machine_->error().find("kernel descriptor"), std::string::npos) << machine_->error();
}

TEST_P(MachineTest, AHaltedQueueRunsNothingMore) {
  uint64_t good = machine_->LoadWords({kEnd});
  machine_->Submit({machine_->LoadWords({kTrap}), 64, 64});
  machine_->Submit({good, 64, 64});
  EXPECT_FALSE(machine_->Wait());
  uint64_t before = machine_->device().instructions_executed();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(machine_->device().instructions_executed(), before);
}

TEST_P(MachineTest, DestroyingAQueueEndsAnEndlessKernel) {
  // The destructor of the machine destroys the queue: the test passes if it returns.
  machine_->Submit({machine_->LoadWords({kForever}), 1 << 20, 256});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

TEST_P(MachineTest, TooMuchLdsIsRefused) {
  machine_->Submit({machine_->LoadWords({kEnd}), 64, 64, nullptr, 1 << 20});
  EXPECT_FALSE(machine_->Wait());
  EXPECT_NE(machine_->error().find("LDS"), std::string::npos) << machine_->error();
}

TEST(MachineDeathTest, ACrashOfTheProgramIsStillOne) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  LocalMachine machine(LocalMachine::Mi300x());
  volatile uintptr_t nowhere = 64;
  EXPECT_DEATH(*reinterpret_cast<volatile int*>(nowhere) = 1, "");
  EXPECT_DEATH(raise(SIGSEGV), "");
}

INSTANTIATE_TEST_SUITE_P(Devices, MachineTest, testing::Values("mi300x", "rx6800xt"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace rochound::softgpu
