// SPDX-License-Identifier: MIT
//
// Kernels with counts that are known by construction (kernels.s), on every target and wave size:
// every single count has to be equal. A new target is a line in CMakeLists.txt and one in kTargets.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "softgpu/counters/dispatch_counters.h"
#include "softgpu/isa/disassembler.h"
#include "softgpu/isa/tables.h"
#include "softgpu/machine/local_machine.h"

namespace rochound::softgpu {
namespace {

using enum InstructionClass;

struct Target {
  const char* name;
  unsigned wave;
  unsigned generation;
  unsigned line_bytes;
};
std::ostream& operator<<(std::ostream& out, const Target& target) {
  return out << target.name << "_wave" << target.wave;
}

constexpr Target kTargets[] = {
    {"gfx90a", 64, 9, 64},    {"gfx942", 64, 9, 128},   {"gfx950", 64, 9, 128},
    {"gfx1030", 32, 10, 128}, {"gfx1030", 64, 10, 128}, {"gfx1100", 32, 11, 128},
    {"gfx1100", 64, 11, 128}, {"gfx1201", 32, 12, 128}, {"gfx1201", 64, 12, 128},
};

// Everything that is counted, for a dispatch. What a test does not set has to be zero.
struct Counts {
  std::map<InstructionClass, uint64_t> instructions;
  uint64_t waves = 0;
  uint64_t lanes_active = 0;
  uint64_t lanes_possible = 0;
  std::array<MemorySums, kMemorySpaces> memory;
  LdsSums lds;
  uint64_t taken = 0;
  uint64_t not_taken = 0;
  uint64_t divergent = 0;
  uint64_t splits = 0;
  uint64_t barriers = 0;
  uint64_t atomic_lanes = 0;

  MemorySums& global() { return memory[0]; }
  MemorySums& local() { return memory[1]; }
  MemorySums& scratch() { return memory[2]; }
  MemorySums& scalar() { return memory[3]; }

  // Everything but the waves is the sum over this many waves that do the same.
  void Times(uint64_t factor) {
    for (auto& [name, count] : instructions) count *= factor;
    for (MemorySums& sums : memory) {
      for (uint64_t& bytes : sums.bytes) bytes *= factor;
      for (uint64_t& lines : sums.lines) lines *= factor;
    }
    for (uint64_t* count : {&lanes_active, &lanes_possible, &lds.instructions, &lds.lane_accesses,
                            &lds.cycles, &lds.bank_conflicts, &lds.address_conflicts, &taken,
                            &not_taken, &divergent, &splits, &barriers, &atomic_lanes})
      *count *= factor;
  }
};

// For a readable difference.
std::map<std::string, uint64_t> Flatten(const Counts& counts) {
  std::map<std::string, uint64_t> flat;
  for (const auto& [name, count] : counts.instructions) {
    if (count != 0) flat["instructions." + std::string(NameOf(name))] = count;
  }
  constexpr const char* kSpaces[] = {"global", "lds", "scratch", "scalar"};
  constexpr const char* kActions[] = {"read", "written", "atomic"};
  for (unsigned space = 0; space < kMemorySpaces; ++space) {
    for (unsigned action = 0; action < kMemoryActions; ++action) {
      const std::string name = std::string(kSpaces[space]) + "." + kActions[action];
      flat[name + ".bytes"] = counts.memory[space].bytes[action];
      flat[name + ".lines"] = counts.memory[space].lines[action];
    }
  }
  flat["waves"] = counts.waves;
  flat["lanes.active"] = counts.lanes_active;
  flat["lanes.possible"] = counts.lanes_possible;
  flat["lds.instructions"] = counts.lds.instructions;
  flat["lds.lane_accesses"] = counts.lds.lane_accesses;
  flat["lds.cycles"] = counts.lds.cycles;
  flat["lds.bank_conflicts"] = counts.lds.bank_conflicts;
  flat["lds.address_conflicts"] = counts.lds.address_conflicts;
  flat["branches.taken"] = counts.taken;
  flat["branches.not_taken"] = counts.not_taken;
  flat["branches.divergent"] = counts.divergent;
  flat["exec_splits"] = counts.splits;
  flat["barriers"] = counts.barriers;
  flat["atomic_lanes"] = counts.atomic_lanes;
  std::erase_if(flat, [](const auto& entry) { return entry.second == 0; });
  return flat;
}

Counts CountsOf(const DispatchRecord& record) {
  Counts counts;
  const auto by_class = InstructionsByClass(record.sums);
  for (unsigned i = 0; i < kInstructionClasses; ++i)
    counts.instructions[static_cast<InstructionClass>(i)] = by_class[i];
  const Sums& sums = record.sums;
  counts.waves = sums.waves;
  counts.lanes_active = sums.lanes_active;
  counts.lanes_possible = sums.lanes_possible;
  counts.memory = sums.memory;
  counts.lds = sums.lds;
  counts.taken = sums.branches_taken;
  counts.not_taken = sums.branches_not_taken;
  counts.divergent = sums.branches_divergent;
  counts.splits = sums.exec_splits;
  counts.barriers = sums.barriers;
  counts.atomic_lanes = sums.atomic_lanes;
  return counts;
}

class CountersTest : public testing::TestWithParam<Target> {
 protected:
  static DeviceConfig Config() {
    DeviceConfig config = LocalMachine::Mi300x();
    config.name = GetParam().name;
    config.target = GetParam().name;
    config.compute_units = 10;
    return config;
  }

  void SetUp() override {
    if (!Disassembler::Knows(GetParam().name))
      GTEST_SKIP() << "the LLVM that this build uses is too old for " << GetParam().name;
    const std::string object = std::string(ROCHOUND_KERNELS) + "/" + GetParam().name + "_wave" +
                               std::to_string(GetParam().wave) + ".hsaco";
    machine_ = std::make_unique<LocalMachine>(Config());
    machine_->LoadCodeObject(object);
    machine_->GiveScratch(64, 16);
    buffer_ = machine_->Allocate(1 << 16);
    kernarg_ = static_cast<void**>(machine_->Allocate(4096));
    kernarg_[0] = buffer_;
    CounterRecorder::Instance().Start();
  }
  void TearDown() override {
    if (machine_ == nullptr) return;
    CounterRecorder::Instance().Stop();
    while (CounterRecorder::Instance().Front()) CounterRecorder::Instance().Pop();
  }

  DispatchRecord Run(const std::string& kernel, LocalMachine::Launch launch) {
    launch.kernel_object = machine_->KernelObject(kernel);
    launch.kernarg = kernarg_;
    EXPECT_NE(launch.kernel_object, 0u) << kernel;
    const uint64_t before = machine_->device().instructions_executed();
    machine_->Submit(launch);
    EXPECT_TRUE(machine_->Wait()) << machine_->error();
    std::optional<DispatchRecord> record = CounterRecorder::Instance().Front();
    if (!record) {
      ADD_FAILURE() << "no record of " << kernel;
      return {};
    }
    CounterRecorder::Instance().Pop();
    EXPECT_TRUE(record->completed);
    EXPECT_EQ(record->identity.kernel.find("kernel object"), std::string::npos)
        << record->identity.kernel;
    // The machine's own count knows nothing of ours. It counts a wait at gfx12's barrier as often
    // as it is tried.
    const auto by_class = InstructionsByClass(record->sums);
    const uint64_t counted = std::accumulate(by_class.begin(), by_class.end(), uint64_t{0});
    const uint64_t executed = machine_->device().instructions_executed() - before;
    if (is_gfx12_ && record->sums.barriers != 0) {
      EXPECT_LE(counted, executed);
    } else {
      EXPECT_EQ(counted, executed);
    }
    return *record;
  }

  // One workgroup of one full wave does what `expected` says.
  void ExpectOneWave(const std::string& kernel, Counts expected,
                     const LocalMachine::Launch& launch = {}) {
    LocalMachine::Launch one = launch;
    one.grid = wave_;
    one.group = static_cast<uint16_t>(wave_);
    expected.waves = 1;
    expected.instructions[kOther] += 1;  // s_endpgm
    EXPECT_EQ(Flatten(CountsOf(Run(kernel, one))), Flatten(expected)) << kernel;
    // Many of them, on several threads.
    one.grid = wave_ * 24;
    expected.Times(24);
    expected.waves = 24;
    EXPECT_EQ(Flatten(CountsOf(Run(kernel, one))), Flatten(expected)) << kernel << " x 24";
  }

  static bool IsImplemented(const char* mnemonic) {
    return FindRow(*FindArchitecture(GetParam().name), mnemonic) != nullptr;
  }

  // Vector instructions of which all lanes were active.
  void AllLanes(Counts& counts, uint64_t instructions) const {
    counts.lanes_active += instructions * wave_;
    counts.lanes_possible += instructions * wave_;
  }
  void LoadBufferAddress(Counts& counts) const {
    counts.instructions[kSmem] += 1;
    counts.instructions[kWait] += 1;
    counts.scalar().bytes[0] += 8;
    counts.scalar().lines[0] += 1;
  }

  const unsigned wave_ = GetParam().wave;
  const unsigned line_ = GetParam().line_bytes;
  const unsigned halves_ = wave_ / 32;
  const bool is_gfx950_ = std::string(GetParam().name) == "gfx950";
  const bool is_gfx12_ = GetParam().generation == 12;
  std::unique_ptr<LocalMachine> machine_;
  void* buffer_ = nullptr;
  void** kernarg_ = nullptr;
};

// ---- Instructions and lanes

TEST_P(CountersTest, Empty) { ExpectOneWave("empty", {}); }

TEST_P(CountersTest, FmaLoop) {
  Counts c;
  c.instructions = {{kSalu, 1 + 2 * 100}, {kValu, 400}, {kBranch, 100}};
  c.taken = 99;
  c.not_taken = 1;
  AllLanes(c, 400);
  ExpectOneWave("fma_loop", c);
}

TEST_P(CountersTest, LongStraightCode) {
  Counts c;
  c.instructions = {{kValu, 700}};
  AllLanes(c, 700);
  ExpectOneWave("long_straight", c);
}

TEST_P(CountersTest, Transcendental) {
  Counts c;
  c.instructions = {{kValu, 1}, {kValuTranscendental, 5}};
  AllLanes(c, 6);
  ExpectOneWave("transcendental", c);
}

TEST_P(CountersTest, Doubles) {
  Counts c;
  c.instructions = {{kValu, 8}};
  AllLanes(c, 8);
  ExpectOneWave("doubles", c);
}

TEST_P(CountersTest, Matrix) {
  if (GetParam().generation == 10) GTEST_SKIP() << "gfx10 has no matrix instructions";
  const bool is_gfx90a = std::string(GetParam().name) == "gfx90a";
  const char* mnemonic = GetParam().generation != 9 ? "v_wmma_f32_16x16x16_f16"
                         : is_gfx90a                ? "v_mfma_f32_16x16x16f16"
                                                    : "v_mfma_f32_16x16x16_f16";
  ASSERT_TRUE(IsImplemented(mnemonic)) << mnemonic;
  Counts c;
  c.instructions = {{kMatrix, 5}};
  AllLanes(c, 5);
  ExpectOneWave("matrix", c);
}

// A pair is one instruction.
TEST_P(CountersTest, Pairs) {
  if (GetParam().generation < 11 || wave_ != 32)
    GTEST_SKIP() << "pairs are of gfx11 and gfx12, in waves of 32";
  Counts c;
  c.instructions = {{kValu, 3}};
  AllLanes(c, 3);
  ExpectOneWave("pairs", c);
  LocalMachine::Launch launch;
  launch.grid = wave_;
  launch.group = static_cast<uint16_t>(wave_);
  const DispatchRecord record = Run("pairs", launch);
  EXPECT_EQ(record.sums.dual_issued, 3u);
  EXPECT_NE(ToJson(record).find("\"v_dual_mov_b32 :: v_dual_mov_b32\":3"), std::string::npos)
      << ToJson(record);
}

// Two full waves and ten lanes, then a workgroup of five.
TEST_P(CountersTest, PartialWaves) {
  const unsigned group = 2 * wave_ + 10;
  LocalMachine::Launch launch;
  launch.grid = group + 5;
  launch.group = static_cast<uint16_t>(group);
  Counts c;
  c.waves = 4;
  c.instructions = {{kValu, 4 * 3}, {kOther, 4}};
  c.lanes_active = 3 * (group + 5);
  c.lanes_possible = 3 * 4 * wave_;
  const DispatchRecord record = Run("three_moves", launch);
  EXPECT_EQ(Flatten(CountsOf(record)), Flatten(c));
  EXPECT_EQ(record.identity.kernel, "three_moves");
  EXPECT_EQ(record.identity.group_count, 2u);
  EXPECT_EQ(record.identity.grid[0], group + 5);
  EXPECT_EQ(record.identity.group[0], group);
}

// 20 x 6 in workgroups of 8 x 4: three by two, of 32, 32, 16, 16, 16 and 8 work-items.
TEST_P(CountersTest, TwoDimensions) {
  LocalMachine::Launch launch;
  launch.grid = 20;
  launch.group = 8;
  launch.grid_y = 6;
  launch.group_y = 4;
  Counts c;
  c.waves = 6;
  c.instructions = {{kValu, 6 * 3}, {kOther, 6}};
  c.lanes_active = 3 * 20 * 6;
  c.lanes_possible = 3 * 6 * wave_;
  const DispatchRecord record = Run("three_moves", launch);
  EXPECT_EQ(Flatten(CountsOf(record)), Flatten(c));
  EXPECT_EQ(record.identity.grid[1], 6u);
  EXPECT_EQ(record.identity.group[1], 4u);
}

// ---- Global memory

TEST_P(CountersTest, Coalesced) {
  Counts c;
  c.instructions = {{kValu, 1}, {kGlobalLoad, 1}, {kGlobalStore, 1}, {kWait, 1}};
  LoadBufferAddress(c);
  AllLanes(c, 3);
  c.global().bytes = {wave_ * 4, wave_ * 4, 0};
  c.global().lines = {wave_ * 4 / line_, wave_ * 4 / line_, 0};
  ExpectOneWave("coalesced", c);
}

TEST_P(CountersTest, Strided) {
  Counts c;
  c.instructions = {{kValu, 1}, {kGlobalLoad, 1}, {kWait, 1}};
  LoadBufferAddress(c);
  AllLanes(c, 2);
  c.global().bytes[0] = wave_ * 4;
  c.global().lines[0] = wave_;
  ExpectOneWave("strided", c);
}

TEST_P(CountersTest, Wide) {
  Counts c;
  c.instructions = {{kValu, 1}, {kGlobalLoad, 1}, {kGlobalStore, 1}, {kWait, 1}};
  LoadBufferAddress(c);
  AllLanes(c, 3);
  c.global().bytes = {wave_ * 16, wave_ * 16, 0};
  c.global().lines = {wave_ * 16 / line_, wave_ * 16 / line_, 0};
  ExpectOneWave("wide", c);
}

TEST_P(CountersTest, SameAddress) {
  Counts c;
  c.instructions = {{kValu, 1}, {kGlobalLoad, 1}, {kWait, 1}};
  LoadBufferAddress(c);
  AllLanes(c, 2);
  c.global().bytes[0] = wave_ * 8;
  c.global().lines[0] = 1;
  ExpectOneWave("same_address", c);
}

TEST_P(CountersTest, AcrossLines) {
  Counts c;
  c.instructions = {{kValu, 1}, {kGlobalLoad, 1}, {kWait, 1}};
  LoadBufferAddress(c);
  AllLanes(c, 2);
  c.global().bytes[0] = wave_ * 8;
  c.global().lines[0] = 2 * wave_;
  ExpectOneWave("across_lines", c);
}

TEST_P(CountersTest, GlobalPairs) {
  Counts c;
  c.instructions = {{kValu, 2}, {kGlobalLoad, 2}, {kGlobalStore, 1}, {kWait, 1}};
  LoadBufferAddress(c);
  AllLanes(c, 5);
  c.global().bytes = {wave_ * 3, wave_ * 1, 0};
  c.global().lines = {2, 1, 0};
  ExpectOneWave("global_pairs", c);
}

TEST_P(CountersTest, GlobalAtomics) {
  Counts c;
  c.instructions = {{kValu, 4}, {kGlobalAtomic, 2}};
  LoadBufferAddress(c);
  AllLanes(c, 6);
  c.atomic_lanes = 2 * wave_;
  c.global().bytes[2] = wave_ * (4 + 8);
  // The second one starts in the middle of a line of 128 bytes.
  c.global().lines[2] = 1 + (line_ == 64 ? wave_ * 8 / 64 : wave_ * 8 / 128 + 1);
  ExpectOneWave("global_atomics", c);
}

TEST_P(CountersTest, AtomicsOfSomeLanes) {
  Counts c;
  c.instructions = {{kValu, 3}, {kSalu, 1}, {kGlobalAtomic, 1}, {kWait, 1}};
  LoadBufferAddress(c);
  AllLanes(c, 3);
  c.lanes_active += 5;
  c.lanes_possible += wave_;
  c.atomic_lanes = 5;
  c.splits = 1;
  c.global().bytes[2] = 5 * 4;
  c.global().lines[2] = 1;
  ExpectOneWave("atomics_of_some", c);
}

// ---- LDS

TEST_P(CountersTest, LdsConsecutive) {
  Counts c;
  c.instructions = {{kValu, 1}, {kLdsStore, 1}, {kLdsLoad, 1}, {kWait, 2}};
  AllLanes(c, 3);
  c.local().bytes = {wave_ * 4, wave_ * 4, 0};
  c.lds = {2, 2 * wave_, 2 * halves_, 0, 0};
  ExpectOneWave("lds_consecutive", c, {.group_bytes = 512});
}

TEST_P(CountersTest, LdsStrideTwo) {
  Counts c;
  c.instructions = {{kValu, 1}, {kLdsStore, 1}, {kLdsLoad, 1}, {kWait, 1}};
  AllLanes(c, 3);
  c.local().bytes = {wave_ * 4, wave_ * 4, 0};
  const unsigned conflicts = halves_ + (is_gfx950_ ? 0 : halves_);
  c.lds = {2, 2 * wave_, 2 * halves_ + conflicts, conflicts, 0};
  ExpectOneWave("lds_stride_2", c, {.group_bytes = 512});
}

TEST_P(CountersTest, LdsStrideOfAllBanks) {
  Counts c;
  c.instructions = {{kValu, 1}, {kLdsStore, 1}, {kLdsLoad, 1}, {kWait, 1}};
  AllLanes(c, 3);
  c.local().bytes = {wave_ * 4, wave_ * 4, 0};
  const unsigned conflicts = halves_ * 31 + halves_ * (is_gfx950_ ? 15 : 31);
  c.lds = {2, 2 * wave_, 2 * halves_ + conflicts, conflicts, 0};
  ExpectOneWave("lds_stride_32", c, {.group_bytes = 8192});
}

TEST_P(CountersTest, LdsBroadcast) {
  Counts c;
  c.instructions = {{kValu, 1}, {kLdsLoad, 1}, {kWait, 1}};
  AllLanes(c, 2);
  c.local().bytes[0] = wave_ * 4;
  c.lds = {1, wave_, halves_, 0, 0};
  ExpectOneWave("lds_broadcast", c, {.group_bytes = 512});
}

TEST_P(CountersTest, LdsSixteenBytes) {
  Counts c;
  c.instructions = {{kValu, 1}, {kLdsStore, 1}, {kLdsLoad, 1}, {kWait, 1}};
  AllLanes(c, 3);
  c.local().bytes = {wave_ * 16, wave_ * 16, 0};
  c.lds = {2, 2 * wave_, wave_ / 8 + wave_ / (is_gfx950_ ? 16 : 8), 0, 0};
  ExpectOneWave("lds_b128", c, {.group_bytes = 1024});
}

TEST_P(CountersTest, LdsEightOfSixteenBytes) {
  Counts c;
  c.instructions = {{kValu, 1}, {kLdsStore, 1}, {kLdsLoad, 1}, {kWait, 1}};
  AllLanes(c, 3);
  c.local().bytes = {wave_ * 8, wave_ * 8, 0};
  const unsigned groups = wave_ / 16 + wave_ / (is_gfx950_ ? 32 : 16);
  c.lds = {2, 2 * wave_, 2 * groups, groups, 0};
  ExpectOneWave("lds_b64_gaps", c, {.group_bytes = 1024});
}

TEST_P(CountersTest, LdsPairs) {
  Counts c;
  c.instructions = {{kValu, 1}, {kLdsStore, 1}, {kLdsLoad, 1}, {kWait, 1}};
  AllLanes(c, 3);
  c.local().bytes = {wave_ * 8, wave_ * 8, 0};
  c.lds = {2, 4 * wave_, 4 * halves_, 0, 0};
  ExpectOneWave("lds_pairs", c, {.group_bytes = 1024});
}

TEST_P(CountersTest, LdsAtomics) {
  Counts c;
  c.instructions = {{kValu, 3}, {kLdsAtomic, 2}, {kWait, 1}};
  AllLanes(c, 5);
  c.local().bytes[2] = 2 * wave_ * 4;
  c.atomic_lanes = 2 * wave_;
  c.lds = {2, 2 * wave_, halves_ * 32 + halves_, 0, halves_ * 31};
  ExpectOneWave("lds_atomics", c, {.group_bytes = 512});
}

TEST_P(CountersTest, Exchanges) {
  Counts c;
  c.instructions = {{kValu, 1}, {kLdsExchange, 2}, {kWait, 1}};
  AllLanes(c, 3);
  ExpectOneWave("exchanges", c);
}

// ---- Other memory

TEST_P(CountersTest, Flat) {
  Counts c;
  c.instructions = {{kSalu, 1}, {kValu, 4}, {kFlatStore, 1}, {kFlatLoad, 1}, {kWait, 2}};
  LoadBufferAddress(c);
  AllLanes(c, 6);
  c.local().bytes[1] = wave_ * 4;
  c.lds = {1, wave_, halves_, 0, 0};
  c.global().bytes[0] = wave_ * 4;
  c.global().lines[0] = 1;
  ExpectOneWave("flat", c, {.group_bytes = 512});
}

TEST_P(CountersTest, Scratch) {
  Counts c;
  c.instructions = {{kValu, 1}, {kScratchStore, 1}, {kScratchLoad, 1}, {kWait, 1}};
  AllLanes(c, 3);
  c.scratch().bytes = {wave_ * 8, wave_ * 4, 0};
  c.scratch().lines = {wave_ * 8 / line_, wave_ * 4 / line_, 0};
  ExpectOneWave("scratch", c, {.private_bytes = 64});
}

TEST_P(CountersTest, BufferHalfOutOfRange) {
  Counts c;
  c.instructions = {{kSalu, 3}, {kValu, 1}, {kBufferLoad, 1}, {kWait, 1}};
  LoadBufferAddress(c);
  AllLanes(c, 2);
  c.global().bytes[0] = wave_ / 2 * 4;
  c.global().lines[0] = (wave_ / 2 * 4 + line_ - 1) / line_;
  ExpectOneWave("buffer", c);
}

TEST_P(CountersTest, ScalarLoads) {
  Counts c;
  c.instructions = {{kSmem, 3}, {kWait, 1}};
  LoadBufferAddress(c);
  c.scalar().bytes[0] += 64 + 32 + 16;
  c.scalar().lines[0] += 1 + 2 + 1;
  ExpectOneWave("scalar_loads", c);
}

// ---- Control

TEST_P(CountersTest, Divergent) {
  Counts c;
  c.instructions = {{kSalu, 6}, {kValu, 3 + 2 + 1}, {kBranch, 3}};
  AllLanes(c, 5);
  c.lanes_active += 10;
  c.lanes_possible += wave_;
  c.taken = 1;
  c.not_taken = 2;
  c.divergent = 1;
  c.splits = 1;
  ExpectOneWave("divergent", c);
}

TEST_P(CountersTest, LanesLeaveALoopOneByOne) {
  Counts c;
  c.instructions = {{kSalu, wave_}, {kValu, 1 + 2 * wave_}, {kBranch, wave_}};
  AllLanes(c, 1);
  c.lanes_active += uint64_t{wave_} * (wave_ + 1);
  c.lanes_possible += 2 * uint64_t{wave_} * wave_;
  c.taken = wave_ - 1;
  c.not_taken = 1;
  c.divergent = wave_ - 1;
  c.splits = wave_ - 1;
  ExpectOneWave("leaving", c);
}

TEST_P(CountersTest, Branches) {
  Counts c;
  c.instructions = {{kSalu, 2}, {kBranch, 5}};
  c.taken = 3;
  c.not_taken = 2;
  ExpectOneWave("branches", c);
}

TEST_P(CountersTest, Barriers) {
  const char* mnemonic = is_gfx12_ ? "s_barrier_wait" : "s_barrier";
  ASSERT_TRUE(IsImplemented(mnemonic)) << mnemonic;
  LocalMachine::Launch launch;
  launch.group = static_cast<uint16_t>(wave_ * 4);
  launch.grid = launch.group * 3u;
  launch.group_bytes = 512;
  const unsigned waves = 12;
  Counts c;
  c.waves = waves;
  c.instructions = {{kSalu, waves * (1 + 6)},
                    {kBranch, waves * 3},
                    {kBarrier, waves * 3 * (is_gfx12_ ? 2 : 1)},
                    {kOther, waves}};
  c.taken = waves * 2;
  c.not_taken = waves;
  c.barriers = waves * 3;
  EXPECT_EQ(Flatten(CountsOf(Run("barriers", launch))), Flatten(c));
}

// ---- What is made of it

TEST_P(CountersTest, MnemonicsAndJson) {
  LocalMachine::Launch launch;
  launch.grid = wave_;
  launch.group = static_cast<uint16_t>(wave_);
  const std::string json = ToJson(Run("fma_loop", launch));
  EXPECT_NE(json.find("\"v_fma_f32\":400"), std::string::npos) << json;
  EXPECT_NE(json.find("\"s_cbranch_scc1\":100"), std::string::npos) << json;
  EXPECT_NE(json.find("\"kernel\":\"fma_loop\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"unmeasured\":{}"), std::string::npos) << json;
}

// By hand, from the tables of docs/softgpu-counters.md: one wave alone is bound by its latency.
TEST_P(CountersTest, ModelledCyclesOfALoop) {
  LocalMachine::Launch launch;
  launch.grid = wave_;
  launch.group = static_cast<uint16_t>(wave_);
  const DispatchRecord record = Run("fma_loop", launch);
  const bool is_cdna = GetParam().generation == 9;
  const uint64_t vector = is_cdna ? 4 : wave_ / 32;
  const uint64_t scalar = is_cdna ? 4 : 1;
  const uint64_t taken = is_cdna ? 16 : 8;
  // 400 FMAs, 1 + 200 scalar, 99 taken branches and one that is not, the end.
  const uint64_t alone = 400 * vector + 201 * scalar + 99 * taken + scalar + scalar;
  EXPECT_EQ(record.sums.longest_wave, alone);
  EXPECT_EQ(record.modelled.cycles, alone);
  EXPECT_STREQ(record.modelled.bound, "latency");
  EXPECT_EQ(record.sums.busy.simd, 400 * vector);
}

TEST_P(CountersTest, ModelledCyclesFollowTheWait) {
  LocalMachine::Launch launch;
  launch.grid = wave_;
  launch.group = static_cast<uint16_t>(wave_);
  const DispatchRecord record = Run("strided", launch);
  const TargetRules& rules = RulesFor(*record.identity.architecture);
  // The wait for the address, then the one for a line per lane; then the wait itself and the end.
  const uint64_t vector = std::max(rules.issue_interval, wave_ / rules.simd_lanes);
  const uint64_t issue = rules.issue_interval;
  const uint64_t expected = (issue + rules.scalar_latency) + issue + vector +
                            (issue + rules.memory_latency + wave_) + issue + issue;
  EXPECT_EQ(record.sums.longest_wave, expected);
}

TEST_P(CountersTest, NothingIsCountedWhenOff) {
  CounterRecorder::Instance().Stop();
  LocalMachine::Launch launch;
  launch.grid = wave_;
  launch.group = static_cast<uint16_t>(wave_);
  launch.kernel_object = machine_->KernelObject("fma_loop");
  launch.kernarg = kernarg_;
  machine_->Submit(launch);
  EXPECT_TRUE(machine_->Wait()) << machine_->error();
  EXPECT_FALSE(CounterRecorder::Instance().Front());
  CounterRecorder::Instance().Start();
}

// Off means the plain loop: a kernel of cheap instructions is much faster then. Within one run, the
// best of several, taking turns.
TEST_P(CountersTest, TheLoopIsThePlainOneWhenOff) {
  LocalMachine::Launch launch;
  launch.grid = wave_;
  launch.group = static_cast<uint16_t>(wave_);
  launch.kernel_object = machine_->KernelObject("spin");
  launch.kernarg = kernarg_;
  double best[2] = {1e9, 1e9};
  for (int i = 0; i < 10; ++i) {
    const bool on = i % 2 == 0;
    if (!on) CounterRecorder::Instance().Stop();
    const auto start = std::chrono::steady_clock::now();
    machine_->Submit(launch);
    ASSERT_TRUE(machine_->Wait()) << machine_->error();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best[on] = std::min(best[on], took.count());
    if (!on) CounterRecorder::Instance().Start();
  }
  RecordProperty("counted_to_plain", std::to_string(best[1] / best[0]));
  EXPECT_GT(best[1], 1.5 * best[0]) << best[1] << " s counted, " << best[0] << " s plain";
}

INSTANTIATE_TEST_SUITE_P(Targets, CountersTest, testing::ValuesIn(kTargets),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace rochound::softgpu
