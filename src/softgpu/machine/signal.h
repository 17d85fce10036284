// SPDX-License-Identifier: MIT
//
// HSA signals as the GPU sees them: 64 bytes of memory with a value, a time stamp pair and, if the
// host may block on it, a mailbox and an event. Called by queue threads; the Reader is entered.
#pragma once

#include <cstdint>
#include <optional>

#include "softgpu/machine/device.h"

namespace rochound::softgpu {

// When a packet began and ended, in ticks of the GPU's clock.
struct PacketTimes {
  uint64_t start = 0;
  uint64_t end = 0;
};

// Both return false if the signal is not in mapped memory; *bad is then the address.
bool ReadSignal(AddressSpace::Reader& memory, uint64_t signal, int64_t* value, uint64_t* bad);

// Stores the times if there are any, takes one off the value, and raises the signal's event if it
// has one. A null handle is fine and does nothing.
bool CompleteSignal(AddressSpace::Reader& memory, uint64_t signal,
                    const std::optional<PacketTimes>& times, uint32_t gpu_id,
                    DriverCallbacks* callbacks, uint64_t* bad);

// Stores a value and raises the event, as the queue does with its inactive signal.
bool StoreSignal(AddressSpace::Reader& memory, uint64_t signal, int64_t value, uint32_t gpu_id,
                 DriverCallbacks* callbacks, uint64_t* bad);

}  // namespace rochound::softgpu
