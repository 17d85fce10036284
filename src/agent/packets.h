// SPDX-License-Identifier: MIT
//
// What is in a queue and is not over: kernels, barriers and the signals that they wait for. For
// the records of faults and hangs, and for whoever asks what a program waits for. Any thread; reads
// the queue's ring, which the program and the GPU go on changing, and signals, which may be gone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/queue.h"
#include "base/json_text.h"

namespace rochound::agent {

std::string AddressText(uint64_t address);

// A packet that is there, by its type; false: it is over, or was not written yet.
bool IsValidPacket(const Queue& queue, uint64_t at);

// A packet as it was in the ring. Packets of other types have the same size, and their completion
// signal in the same place.
struct PacketCopy {
  uint64_t at = 0;
  hsa_barrier_and_packet_t content{};
};

// The packets from `first` to before `end` that are there, some dozens at most. Asks nobody, so that
// it can be done while the queue is locked.
std::vector<PacketCopy> CopyPackets(const Queue& queue, uint64_t first, uint64_t end);

// Type, completion signal, and what barriers wait for. Each: {"packet", "type",
// "completion_signal", "waits": [{"signal", "value", "wanted", "mask", "condition"}]}
base::JsonText DescribePackets(const std::vector<PacketCopy>& copies);

}  // namespace rochound::agent
