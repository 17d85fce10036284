// SPDX-License-Identifier: MIT
#include "softgpu/isa/single_wave.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "softgpu/isa/code_cache.h"

namespace rochound::softgpu {
namespace {

constexpr uint64_t kCodeAddress = 0x10000;
// Where flat addresses mean LDS and scratch, as on the devices.
constexpr uint64_t kSharedAperture = uint64_t{1} << 48;
constexpr uint64_t kPrivateAperture = uint64_t{1} << 49;

class QuietEnvironment : public WaveEnvironment {
 public:
  void SendInterrupt(uint32_t) override {}
  bool GlobalWaveSync(Wave&, const Op*, uint32_t) override { return false; }
};

// The encoding of s_endpgm.
uint32_t EndOfProgram(const Architecture& architecture) {
  return architecture.bit & (kGfx11Targets | kGfx12Targets) ? 0xBFB00000 : 0xBF810000;
}

std::string Describe(const Wave& wave) {
  char address[32];
  std::snprintf(address, sizeof(address), " at 0x%llx",
                static_cast<unsigned long long>(wave.fault.address));
  switch (wave.stop) {
    case StopReason::kMemoryFault:
      return std::string("memory fault") + address;
    case StopReason::kApertureViolation:
      return std::string("aperture violation") + address;
    case StopReason::kMemoryViolation:
      return "memory violation";
    case StopReason::kIllegalInstruction:
      return wave.fault.detail.starts_with("not implemented")
                 ? wave.fault.detail
                 : "illegal instruction: " + wave.fault.detail;
    case StopReason::kTrap:
      return "trap";
    default:
      return "";
  }
}

}  // namespace

SingleWaveResult RunSingleWave(std::string_view target, unsigned wave_size,
                               const std::vector<uint8_t>& code, WaveState& state,
                               uint64_t max_instructions) {
  SingleWaveResult result;
  const Architecture* architecture = FindArchitecture(target);
  std::unique_ptr<CodeCache> cache =
      architecture == nullptr ? nullptr : CodeCache::Create(*architecture, wave_size);
  if (cache == nullptr) {
    result.stopped = "not implemented: target " + std::string(target);
    return result;
  }
  std::vector<uint8_t> code_pages((code.size() + 4 + 4095) / 4096 * 4096);
  std::copy(code.begin(), code.end(), code_pages.begin());
  const uint32_t end = EndOfProgram(*architecture);
  std::memcpy(code_pages.data() + code.size(), &end, 4);

  AddressSpace space;
  space.Map(kCodeAddress, code_pages.size(), code_pages.data(), kRead | kExecute);
  for (auto& [address, bytes] : state.memory)
    space.Map(address, bytes.size(), bytes.data(), kRead | kWrite);
  AddressSpace::Reader reader(space);
  reader.Enter();

  QuietEnvironment environment;
  auto rows = std::make_unique<uint32_t[]>(kRegisterRows * kRowLanes);
  Wave wave;
  wave.rows = rows.get();
  wave.architecture = architecture;
  wave.memory = &reader;
  wave.code = cache.get();
  wave.environment = &environment;
  SplitBarrier barrier{.members = 1};
  wave.split_barrier = &barrier;
  wave.scratch_base = state.scratch_base;
  wave.scratch_bytes_per_lane = state.scratch_bytes_per_lane;
  wave.SetPair(kSharedBase, kSharedAperture);
  wave.SetPair(kPrivateBase, kPrivateAperture);
  wave.lds = state.lds.data();
  wave.lds_bytes = static_cast<uint32_t>(state.lds.size());
  wave.lanes = static_cast<uint8_t>(wave_size);
  wave.full_exec = wave_size == 32 ? 0xFFFFFFFF : ~uint64_t{0};
  wave.mode = state.mode;
  wave.scc = state.scc;
  std::copy(state.sgpr.begin(), state.sgpr.end(), wave.sgpr);
  wave.SetPair(kVccLo, state.vcc);
  wave.SetPair(kExecLo, state.exec & wave.full_exec);
  wave.sgpr[kM0] = state.m0;
  for (size_t i = 0; i < state.vgpr.size(); ++i)
    std::copy(state.vgpr[i].begin(), state.vgpr[i].end(), wave.Row(static_cast<unsigned>(i)));
  for (size_t i = 0; i < state.agpr.size(); ++i)
    std::copy(state.agpr[i].begin(), state.agpr[i].end(),
              wave.Row(kFirstAgprRow + static_cast<unsigned>(i)));

  wave.next = cache->At(reader, kCodeAddress);
  while (result.instructions < max_instructions) {
    result.instructions += RunWave(wave, max_instructions - result.instructions);
    // A lone wave has nobody to wait for.
    if (wave.stop != StopReason::kBarrier && wave.stop != StopReason::kYield) break;
  }
  result.stopped = Describe(wave);

  std::copy_n(wave.sgpr, state.sgpr.size(), state.sgpr.begin());
  state.vcc = wave.Pair(kVccLo);
  state.exec = wave.exec();
  state.m0 = wave.sgpr[kM0];
  state.scc = wave.scc;
  state.mode = wave.mode;
  for (size_t i = 0; i < state.vgpr.size(); ++i)
    std::copy_n(wave.Row(static_cast<unsigned>(i)), 64, state.vgpr[i].begin());
  for (size_t i = 0; i < state.agpr.size(); ++i)
    std::copy_n(wave.Row(kFirstAgprRow + static_cast<unsigned>(i)), 64, state.agpr[i].begin());
  reader.Leave();
  return result;
}

}  // namespace rochound::softgpu
