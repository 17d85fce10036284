// SPDX-License-Identifier: MIT
//
// On which compute unit a workgroup runs, as a kernel can read it from HW_ID. Workgroups go round
// the units that the queue's mask allows, dies first, as the hardware's dispatcher starts out; how
// it goes on when units are busy is not modelled. Immutable once made; shared by a queue and its
// dispatches.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "softgpu/isa/architecture.h"
#include "softgpu/machine/device.h"

namespace rochound::softgpu {

struct ComputeUnit {
  uint8_t xcc = 0;     // die
  uint8_t engine = 0;  // shader engine of the die
  uint8_t array = 0;   // shader array of the engine
  uint8_t unit = 0;    // in the array
};

class Placement {
 public:
  // The units whose bit is set, numbered as KFD does: dies run fastest, then the two units of a
  // workgroup processor, engines, arrays, units. Bits beyond the device mean nothing. An empty mask
  // allows all.
  Placement(const DeviceConfig& device, std::span<const uint32_t> mask);

  const ComputeUnit& Of(uint64_t group) const { return units_[group % units_.size()]; }
  uint64_t unit_count() const { return units_.size(); }

 private:
  std::vector<ComputeUnit> units_;
};

// HW_ID (gfx9) or HW_ID1 of a wave. `number` counts the waves of the workgroup.
uint32_t HardwareId(const Architecture& architecture, const ComputeUnit& place, unsigned number,
                    unsigned simds_per_unit);

}  // namespace rochound::softgpu
