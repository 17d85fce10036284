// SPDX-License-Identifier: MIT
//
// Runs a few instructions in one wave, without any device, queue or driver: what the golden tests
// and the decoder fuzzer call. Single-threaded; the state is copied in and out.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rochound::softgpu {

using VectorRegister = std::array<uint32_t, 64>;

struct WaveState {
  std::array<uint32_t, 106> sgpr{};
  uint64_t vcc = 0;
  uint64_t exec = ~uint64_t{0};
  uint32_t m0 = 0;
  bool scc = false;
  uint32_t mode = 0xF0;  // round to nearest, denormals kept; same layout as HW_REG_MODE
  std::vector<VectorRegister> vgpr = std::vector<VectorRegister>(256);
  std::vector<VectorRegister> agpr = std::vector<VectorRegister>(256);
  std::vector<uint8_t> lds = std::vector<uint8_t>(65536);
  // Mapped memory: address -> bytes. Addresses and sizes are multiples of 4096.
  std::map<uint64_t, std::vector<uint8_t>> memory;
  // Scratch, in that memory: the dwords of the lanes are interleaved.
  uint64_t scratch_base = 0;
  uint32_t scratch_bytes_per_lane = 0;
};

struct SingleWaveResult {
  // Empty if the code ran to its end, else what stopped it: "memory fault ...", "illegal
  // instruction ...", "aperture violation ...", "trap ...", "not implemented: ...".
  std::string stopped;
  uint64_t instructions = 0;
};

// Runs `code` (an s_endpgm is added) at address 0x10000 until it ends or `max_instructions` ran.
SingleWaveResult RunSingleWave(std::string_view target, unsigned wave_size,
                               const std::vector<uint8_t>& code, WaveState& state,
                               uint64_t max_instructions = 100000);

}  // namespace rochound::softgpu
