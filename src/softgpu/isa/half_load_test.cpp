// SPDX-License-Identifier: MIT
//
// What a load of one half does to the other half of its register: the golden files leave it open,
// since AMD's documents do; the compiler and rocBLAS say it.
#include <gtest/gtest.h>

#include <cstring>

#include "softgpu/isa/single_wave.h"

namespace rochound::softgpu {
namespace {

constexpr uint64_t kMemory = 0x200000;
constexpr uint32_t kOld = 0xAAAABBBB;

WaveState Loaded(const char* target, unsigned wave_size, const std::vector<uint32_t>& words) {
  WaveState state;
  std::vector<uint8_t> bytes(4096);
  bytes[0] = 0x34;
  bytes[1] = 0x12;
  state.memory[kMemory] = bytes;
  std::memcpy(state.lds.data(), bytes.data(), 16);
  for (unsigned r = 6; r < 12; ++r) state.vgpr[r].fill(kOld);
  state.vgpr[2].fill(0);
  state.vgpr[4].fill(kMemory);
  state.vgpr[5].fill(0);
  state.sgpr[8] = kMemory;
  state.sgpr[10] = 4096;
  state.sgpr[11] = 0x20000;
  state.exec = 1;
  std::vector<uint8_t> code(words.size() * 4);
  std::memcpy(code.data(), words.data(), code.size());
  EXPECT_EQ(RunSingleWave(target, wave_size, code, state).stopped, "");
  return state;
}

TEST(HalfLoadTest, ClearsTheOtherHalfOnCdna) {
  WaveState state = Loaded("gfx942", 64,
                           {
                               0xd8b60000,
                               0x06000002,  // ds_read_u16_d16_hi v6, v2
                               0xd8b40000,
                               0x07000002,  // ds_read_u16_d16 v7, v2
                               0xdc948000,
                               0x087f0004,  // global_load_short_d16_hi v8, v[4:5], off
                               0xdc908000,
                               0x097f0004,  // global_load_short_d16 v9, v[4:5], off
                               0xe0941000,
                               0x80020a02,  // buffer_load_short_d16_hi v10, v2, s[8:11]
                               0xe0801000,
                               0x80020b02,  // buffer_load_ubyte_d16 v11, v2, s[8:11]
                           });
  EXPECT_EQ(state.vgpr[6][0], 0x12340000u);
  EXPECT_EQ(state.vgpr[7][0], 0x00001234u);
  EXPECT_EQ(state.vgpr[8][0], 0x12340000u);
  EXPECT_EQ(state.vgpr[9][0], 0x00001234u);
  EXPECT_EQ(state.vgpr[10][0], 0x12340000u);
  EXPECT_EQ(state.vgpr[11][0], 0x00000034u);
  for (unsigned r = 6; r < 12; ++r)
    EXPECT_EQ(state.vgpr[r][1], kOld) << "an inactive lane of v" << r;
}

TEST(HalfLoadTest, KeepsTheOtherHalfOnRdna) {
  WaveState state = Loaded("gfx1030", 32,
                           {
                               0xda9c0000,
                               0x06000002,  // ds_read_u16_d16_hi v6, v2
                               0xda980000,
                               0x07000002,  // ds_read_u16_d16 v7, v2
                               0xdc948000,
                               0x087d0004,  // global_load_short_d16_hi v8, v[4:5], off
                               0xdc908000,
                               0x097d0004,  // global_load_short_d16 v9, v[4:5], off
                           });
  EXPECT_EQ(state.vgpr[6][0], 0x1234BBBBu);
  EXPECT_EQ(state.vgpr[7][0], 0xAAAA1234u);
  EXPECT_EQ(state.vgpr[8][0], 0x1234BBBBu);
  EXPECT_EQ(state.vgpr[9][0], 0xAAAA1234u);
}

}  // namespace
}  // namespace rochound::softgpu
