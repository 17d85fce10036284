// SPDX-License-Identifier: MIT
//
// One GPU's facts and their verdicts. Used by facts.cpp alone.
#pragma once

#include "doctor/machine_facts.h"

namespace rochound::doctor {

// nullptr: that source does not show this GPU.
struct GpuSources {
  const KfdGpu* kfd = nullptr;  // never nullptr
  const DrmGpu* drm = nullptr;
  const RuntimeGpu* hsa = nullptr;
  const RuntimeGpu* hip = nullptr;
  const RuntimeGpu* hip_without_wgp = nullptr;
  const RuntimeGpu* smi = nullptr;
};

GpuReport JudgeGpu(const Machine& machine, const GpuSources& sources, Report* report);

}  // namespace rochound::doctor
