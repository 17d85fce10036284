// SPDX-License-Identifier: MIT
//
// What a GPU can do at most: from the device file of the software GPU that stands for it, or from
// what this machine's runtime says of it; the table of known hardware, and the description of its
// architecture. Any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/gpu_model.h"
#include "doctor/runtimes.h"
#include "profile/architecture.h"

namespace rochound::cli {

base::Result<profile::Architecture> FindArchitecture(const std::string& target);
profile::Device DeviceOf(const GpuModel& gpu);
// Of a GPU of this machine.
profile::Device DeviceOf(const doctor::RuntimeGpu& gpu);

}  // namespace rochound::cli
