// SPDX-License-Identifier: MIT
//
// Global wave sync (GWS): the device-wide barriers behind ds_gws_init and ds_gws_barrier, which
// cooperative launches use on some targets. One per device; called by the threads that run waves.
#pragma once

#include <array>
#include <cstdint>

#include "base/mutex.h"

namespace rochound::softgpu {

class GlobalWaveSync {
 public:
  static constexpr unsigned kResources = 64;

  // The barrier opens when waves_minus_1 + 1 waves have arrived.
  void Init(unsigned resource, uint32_t waves_minus_1);

  // A wave arrives; *ticket is what it passes to Passed. The last one to arrive opens the barrier
  // and sets the count for the next time.
  void Arrive(unsigned resource, uint32_t waves_minus_1, uint64_t* ticket);
  bool Passed(unsigned resource, uint64_t ticket);

 private:
  struct Resource {
    uint64_t opened = 1;  // how often, from 1: a ticket is never 0
    uint32_t missing = 0;
  };
  base::Mutex mutex_;
  std::array<Resource, kResources> resources_ ROCHOUND_GUARDED_BY(mutex_);
};

}  // namespace rochound::softgpu
