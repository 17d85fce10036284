// SPDX-License-Identifier: MIT
//
// Feeds arbitrary bytes to the software GPU as code: decoding, lowering and running must end in a
// result or a named refusal, never in a crash. The first byte chooses target and wave size.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "softgpu/isa/single_wave.h"

namespace {

struct Variant {
  const char* target;
  unsigned wave_size;
};
constexpr Variant kVariants[] = {{"gfx942", 64}, {"gfx1030", 32}, {"gfx1030", 64}};
constexpr size_t kMaxCode = 64;
constexpr uint64_t kMaxInstructions = 64;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 5 || size > kMaxCode) return 0;
  const Variant& variant = kVariants[data[0] % std::size(kVariants)];
  rochound::softgpu::WaveState state;
  state.memory[0x20000] = std::vector<uint8_t>(4096);
  std::vector<uint8_t> code(data + 1, data + size);
  code.resize(code.size() / 4 * 4);
  rochound::softgpu::RunSingleWave(variant.target, variant.wave_size, code, state,
                                   kMaxInstructions);
  return 0;
}
