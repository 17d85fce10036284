// SPDX-License-Identifier: MIT
//
// What the GPU that a software GPU stands for can do at most: from its device file, the table of
// known hardware and the description of its architecture. Any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/gpu_model.h"
#include "profile/architecture.h"

namespace rochound::cli {

base::Result<profile::Architecture> FindArchitecture(const std::string& target);
profile::Device DeviceOf(const GpuModel& gpu);

}  // namespace rochound::cli
