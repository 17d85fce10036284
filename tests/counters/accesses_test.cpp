// SPDX-License-Identifier: MIT
//
// Kernels with accesses that are known by construction (kernels.s), on every target and wave size:
// the access trace says exactly these, lane by lane.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "softgpu/counters/access_trace.h"
#include "softgpu/isa/disassembler.h"
#include "softgpu/machine/local_machine.h"

namespace rochound::softgpu {
namespace {

struct Target {
  const char* name;
  unsigned wave;
};
std::ostream& operator<<(std::ostream& out, const Target& target) {
  return out << target.name << "_wave" << target.wave;
}

constexpr Target kTargets[] = {
    {"gfx90a", 64},  {"gfx942", 64},  {"gfx950", 64},  {"gfx1030", 32}, {"gfx1030", 64},
    {"gfx1100", 32}, {"gfx1100", 64}, {"gfx1201", 32}, {"gfx1201", 64},
};

using Lines = std::vector<std::string>;

class AccessesTest : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    if (!Disassembler::Knows(GetParam().name))
      GTEST_SKIP() << "the LLVM that this build uses is too old for " << GetParam().name;
    DeviceConfig config = LocalMachine::Mi300x();
    config.name = config.target = GetParam().name;
    machine_ = std::make_unique<LocalMachine>(config);
    machine_->LoadCodeObject(
        fmt::format("{}/{}_wave{}.hsaco", ROCHOUND_KERNELS, GetParam().name, GetParam().wave));
    machine_->GiveScratch(64, 16);
    kernarg_ = static_cast<void**>(machine_->Allocate(4096));
    kernarg_[0] = machine_->Allocate(1 << 16);
    buffer_ = reinterpret_cast<uint64_t>(kernarg_[0]);
    char name[] = "/tmp/rochound_accesses_XXXXXX";
    const int file = mkstemp(name);
    ASSERT_GE(file, 0);
    close(file);
    path_ = name;
    AccessRecorder::Instance().Open(path_, "", "");
  }
  void TearDown() override {
    if (path_.empty()) return;
    AccessRecorder::Instance().Open("", "", "");
    unlink(path_.c_str());
  }

  void Run(const std::string& kernel, unsigned grid, unsigned group) {
    LocalMachine::Launch launch;
    launch.kernel_object = machine_->KernelObject(kernel);
    ASSERT_NE(launch.kernel_object, 0u) << kernel;
    launch.kernarg = kernarg_;
    launch.grid = grid;
    launch.group = static_cast<uint16_t>(group);
    launch.group_bytes = 8192;
    launch.private_bytes = kernel == "scratch" ? 64 : 0;
    machine_->Submit(launch);
    ASSERT_TRUE(machine_->Wait()) << machine_->error();
  }
  Lines All() const {
    std::ifstream file(path_);
    Lines lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  // What one full wave does: accesses only, without group, wave, program counter and mnemonic,
  // and without those of the scalar unit unless asked for.
  Lines OneWave(const std::string& kernel, bool scalar = false) {
    Run(kernel, wave_, wave_);
    Lines accesses;
    for (const std::string& line : All()) {
      if (!line.starts_with("a ") && !line.starts_with("+ ")) continue;
      size_t at = 2;
      if (line[0] == 'a') {
        for (int field = 0; field < 4; ++field) at = line.find(' ', at) + 1;
      }
      if (scalar || line.find(" scalar ") == std::string::npos)
        accesses.push_back((line[0] == '+' ? "+ " : "") + line.substr(at));
    }
    return accesses;
  }

  std::string At(uint64_t offset) const { return fmt::format("{:x}", buffer_ + offset); }

  const unsigned wave_ = GetParam().wave;
  const std::string all_ = wave_ == 64 ? "ffffffffffffffff" : "ffffffff";
  std::unique_ptr<LocalMachine> machine_;
  void** kernarg_ = nullptr;
  uint64_t buffer_ = 0;
  std::string path_;
};

TEST_P(AccessesTest, Global) {
  EXPECT_EQ(OneWave("coalesced"), (Lines{"load global 4 " + all_ + " " + At(0) + "+4",
                                         "store global 4 " + all_ + " " + At(1024) + "+4"}));
}

TEST_P(AccessesTest, Wide) {
  EXPECT_EQ(OneWave("wide"), (Lines{"load global 16 " + all_ + " " + At(0) + "+10",
                                    "store global 16 " + all_ + " " + At(0) + "+10"}));
}

TEST_P(AccessesTest, Unaligned) {
  EXPECT_EQ(OneWave("across_lines"), (Lines{"load global 8 " + all_ + " " + At(124) + "+100"}));
}

TEST_P(AccessesTest, Atomics) {
  EXPECT_EQ(OneWave("global_atomics"), (Lines{"atomic global 4 " + all_ + " " + At(0) + "+0",
                                              "atomic global 8 " + all_ + " " + At(64) + "+8"}));
}

TEST_P(AccessesTest, OnlyActiveLanes) {
  EXPECT_EQ(OneWave("atomics_of_some"), (Lines{"atomic global 4 1f " + At(0) + "+0"}));
}

TEST_P(AccessesTest, Lds) {
  EXPECT_EQ(OneWave("lds_stride_32"),
            (Lines{"store lds 4 " + all_ + " 0+80", "load lds 4 " + all_ + " 0+80"}));
}

TEST_P(AccessesTest, TwoPlacesOfLds) {
  EXPECT_EQ(OneWave("lds_pairs"),
            (Lines{"store lds 4 " + all_ + " 0+4", "+ store lds 4 " + all_ + " 100+4",
                   "load lds 4 " + all_ + " 0+4", "+ load lds 4 " + all_ + " 100+4"}));
}

TEST_P(AccessesTest, FlatSaysWhereItWent) {
  EXPECT_EQ(OneWave("flat"),
            (Lines{"store lds 4 " + all_ + " 0+4", "load global 4 " + all_ + " " + At(0) + "+0"}));
}

TEST_P(AccessesTest, BufferDropsWhatIsOutOfRange) {
  const std::string lower = wave_ == 64 ? "ffffffff" : "ffff";
  EXPECT_EQ(OneWave("buffer"), (Lines{"load global 4 " + lower + " " + At(0) + "+4"}));
}

TEST_P(AccessesTest, ScratchLiesInterleaved) {
  const Lines lines = OneWave("scratch");
  ASSERT_EQ(lines.size(), 3u);
  const std::string store = "store scratch 4 " + all_ + " ";
  ASSERT_TRUE(lines[0].starts_with(store)) << lines[0];
  const uint64_t dword1 = std::stoull(lines[0].substr(store.size()), nullptr, 16);
  EXPECT_EQ(lines[0], fmt::format("{}{:x}+4", store, dword1));
  EXPECT_EQ(lines[1], fmt::format("load scratch 4 {} {:x}+4", all_, dword1 + 4 * wave_));
  EXPECT_EQ(lines[2], fmt::format("+ load scratch 4 {} {:x}+4", all_, dword1 + 8 * wave_));
}

TEST_P(AccessesTest, TheScalarUnitHasNoLanes) {
  const std::string kernarg = fmt::format("{:x}", reinterpret_cast<uint64_t>(kernarg_));
  EXPECT_EQ(OneWave("scalar_loads", true),
            (Lines{"load scalar 8 0 " + kernarg, "load scalar 64 0 " + At(0),
                   "load scalar 32 0 " + At(0x30), "load scalar 16 0 " + At(0x10)}));
}

// Many workgroups on several threads, the last one partial: every wave has its two accesses, in
// order, and the program counters are the same in all of them.
TEST_P(AccessesTest, EveryWaveOfEveryWorkgroup) {
  const unsigned groups = 50;
  Run("coalesced", groups * 2 * wave_ - 5, 2 * wave_);
  std::vector<Lines> waves(groups * 2);
  std::string load_at;
  unsigned heads = 0;
  for (const std::string& line : All()) {
    std::istringstream fields(line);
    std::string first, pc, mnemonic, action, space, bytes, mask, address;
    fields >> first;
    heads += first == "dispatch" || first == "end";
    if (first != "a") continue;
    unsigned group = 0, wave = 0;
    fields >> group >> wave >> pc >> mnemonic >> action >> space >> bytes >> mask >> address;
    if (space == "scalar") continue;
    ASSERT_LT(group * 2 + wave, waves.size()) << line;
    waves[group * 2 + wave].push_back(action);
    if (action == "load") {
      if (load_at.empty()) load_at = pc;
      EXPECT_EQ(pc, load_at);
    }
    const bool last = group == groups - 1 && wave == 1;
    const uint64_t expected = (~uint64_t{0} >> (64 - wave_)) >> (last ? 5 : 0);
    EXPECT_EQ(mask, fmt::format("{:x}", expected)) << line;
    EXPECT_EQ(address, At((action == "load" ? 0 : 1024) + wave * wave_ * 4) + "+4");
  }
  EXPECT_EQ(heads, 2u);
  for (const Lines& wave : waves) EXPECT_EQ(wave, (Lines{"load", "store"}));
}

TEST_P(AccessesTest, FiltersChooseDispatches) {
  AccessRecorder::Instance().Open(path_, "^(strided|wide)$", "1,3-4");
  for (const char* kernel : {"strided", "strided", "wide", "wide", "coalesced", "strided"})
    Run(kernel, wave_, wave_);
  Lines kernels;
  for (const std::string& line : All()) {
    if (line.starts_with("dispatch ")) kernels.push_back(line.substr(line.rfind(' ') + 1));
  }
  EXPECT_EQ(kernels, (Lines{"strided", "wide"}));
}

INSTANTIATE_TEST_SUITE_P(All, AccessesTest, testing::ValuesIn(kTargets),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace rochound::softgpu
