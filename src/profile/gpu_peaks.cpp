// SPDX-License-Identifier: MIT
#include "profile/gpu_peaks.h"

#include <fmt/format.h>

#include "base/installation.h"
#include "doctor/hardware.h"

namespace rochound::profile {

namespace {

void UseBoostClock(const doctor::KnownGpu* known, profile::Device* device) {
  if (known == nullptr || known->boost_mhz == 0 || device->target != known->target) return;
  device->clock_mhz = known->boost_mhz;
  device->clock_source =
      fmt::format("boost clock of the {} in the table of known hardware", known->product);
}

}  // namespace

base::Result<profile::Architecture> FindArchitecture(const std::string& target) {
  ROCHOUND_TRY(const std::filesystem::path folder,
               base::FindBesideExecutable("../share/rochound/architectures",
                                          "the descriptions of architectures"));
  return profile::LoadArchitecture(folder, target);
}

profile::Device DeviceOf(const softgpu::GpuModel& gpu) {
  profile::Device device;
  device.name = gpu.name;
  device.target = gpu.target;
  device.compute_units = static_cast<double>(gpu.cu_count);
  device.simds_per_unit = static_cast<double>(gpu.simd_per_cu);
  device.waves_per_simd = static_cast<double>(gpu.max_waves_per_simd);
  device.dies = static_cast<double>(gpu.num_xcc == 0 ? 1 : gpu.num_xcc);
  device.clock_mhz = static_cast<double>(gpu.engine_clock_mhz);
  device.clock_source = "the device file of " + gpu.name;
  device.memory_clock_mhz = static_cast<double>(gpu.memory_clock_mhz);
  device.memory_width_bits = static_cast<double>(gpu.vram_width_bits);
  device.memory_source = "the device file of " + gpu.name;
  UseBoostClock(doctor::FindKnownGpu(gpu.device_id, gpu.revision_id), &device);
  return device;
}

profile::Device DeviceOf(const doctor::RuntimeGpu& gpu) {
  profile::Device device;
  device.name = gpu.name;
  device.target = gpu.processor();
  device.compute_units = static_cast<double>(gpu.compute_units.value_or(0));
  device.clock_mhz = static_cast<double>(gpu.clock_mhz.value_or(0));
  device.clock_source = "the runtime";
  device.memory_clock_mhz = static_cast<double>(gpu.memory_clock_mhz.value_or(0));
  device.memory_width_bits = static_cast<double>(gpu.memory_width.value_or(0));
  device.memory_source = "the runtime";
  // The runtime does not tell the revision; where it matters, no clock is taken.
  const doctor::KnownGpu* known = gpu.device_id ? doctor::FindKnownGpu(*gpu.device_id, 0) : nullptr;
  UseBoostClock(known, &device);
  if (known != nullptr) device.dies = known->xccs;
  return device;
}

}  // namespace rochound::profile
