// SPDX-License-Identifier: MIT
#include "softgpu/machine/placement.h"

#include <algorithm>

namespace rochound::softgpu {

Placement::Placement(const DeviceConfig& device, std::span<const uint32_t> mask) {
  const uint32_t dies = std::max(device.xcc_count, 1u);
  const uint32_t engines = std::max(device.shader_engines / dies, 1u);
  const uint32_t arrays = std::max(device.arrays_per_engine, 1u);
  // Where two units make a workgroup processor, they are neighbours in the mask.
  const Architecture* architecture = FindArchitecture(device.target);
  const uint32_t together = architecture != nullptr && architecture->bit & kRdnaTargets ? 2 : 1;
  for (uint32_t number = 0; number < device.compute_units; ++number) {
    const uint32_t in_die = number / dies / together;
    ComputeUnit place;
    place.xcc = static_cast<uint8_t>(number % dies);
    place.engine = static_cast<uint8_t>(in_die % engines);
    place.array = static_cast<uint8_t>(in_die / engines % arrays);
    place.unit =
        static_cast<uint8_t>(in_die / engines / arrays * together + number / dies % together);
    const bool allowed =
        mask.empty() || (number / 32 < mask.size() && (mask[number / 32] >> number % 32 & 1));
    if (allowed) units_.push_back(place);
  }
  // A mask without any unit of this device would stop the queue for ever; the driver refuses it.
  if (units_.empty()) units_.emplace_back();
}

uint32_t HardwareId(const Architecture& architecture, const ComputeUnit& place, unsigned number,
                    unsigned simds_per_unit) {
  const uint32_t simd = simds_per_unit == 0 ? 0 : number % simds_per_unit;
  const uint32_t wave = simds_per_unit == 0 ? number : number / simds_per_unit;
  if (architecture.bit & kGfx9Targets) {
    return (wave & 0xF) | simd << 4 | (place.unit & 0xFu) << 8 | (place.array & 1u) << 12 |
           (place.engine & 7u) << 13;
  }
  // Two units make a workgroup processor with four SIMDs.
  return (wave & 0x1F) | (place.unit % 2u * 2 + simd) << 8 | (place.unit / 2u & 0xF) << 10 |
         (place.array & 1u) << 16 | (place.engine & 7u) << 18;
}

}  // namespace rochound::softgpu
