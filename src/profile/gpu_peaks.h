// SPDX-License-Identifier: MIT
//
// What a GPU can do at most: from the device file of the software GPU that stands for it, or from
// what this machine's runtime says of it; the table of known hardware, and the description of its
// architecture. Any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "doctor/runtimes.h"
#include "profile/architecture.h"
#include "softgpu/tree/gpu_model.h"

namespace rochound::profile {

base::Result<profile::Architecture> FindArchitecture(const std::string& target);
profile::Device DeviceOf(const softgpu::GpuModel& gpu);
// Of a GPU of this machine.
profile::Device DeviceOf(const doctor::RuntimeGpu& gpu);

}  // namespace rochound::profile
