// SPDX-License-Identifier: MIT
#include "softgpu/machine/global_wave_sync.h"

#include "base/check.h"
#include "base/mutex.h"

namespace rochound::softgpu {

void GlobalWaveSync::Init(unsigned resource, uint32_t waves_minus_1) {
  ROCHOUND_DCHECK(resource < kResources);
  const base::Lock lock(mutex_);
  resources_[resource].missing = waves_minus_1 + 1;
}

void GlobalWaveSync::Arrive(unsigned resource, uint32_t waves_minus_1, uint64_t* ticket) {
  ROCHOUND_DCHECK(resource < kResources);
  const base::Lock lock(mutex_);
  Resource& r = resources_[resource];
  *ticket = r.opened;
  if (r.missing > 1) {
    --r.missing;
  } else {
    ++r.opened;
    r.missing = waves_minus_1 + 1;
  }
}

bool GlobalWaveSync::Passed(unsigned resource, uint64_t ticket) {
  ROCHOUND_DCHECK(resource < kResources && ticket != 0);
  const base::Lock lock(mutex_);
  return resources_[resource].opened != ticket;
}

}  // namespace rochound::softgpu
