// SPDX-License-Identifier: MIT
#include "agent/packets.h"

#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa_ext_amd.h>

#include <cstddef>
#include <cstring>

#include "agent/own_memory.h"
#include "base/hash.h"
#include "contract/fault_record.h"

namespace rochound::agent {
namespace {

namespace fault = contract::fault_record;

using Json = base::JsonText;

constexpr size_t kMostPackets = 64;

uint16_t TypeOf(const Queue& queue, uint64_t at) {
  return __atomic_load_n(&queue.Packet(at)->header, __ATOMIC_ACQUIRE) >> HSA_PACKET_HEADER_TYPE &
         0xff;
}

// null: it is not there any more.
Json SignalValue(uint64_t signal) {
  int64_t value = 0;
  if (!ReadOwnMemory(signal + offsetof(amd_signal_t, value), &value, sizeof value)) return nullptr;
  return value;
}

const char* ConditionName(uint32_t condition) {
  switch (condition) {
    case HSA_SIGNAL_CONDITION_EQ:
      return "==";
    case HSA_SIGNAL_CONDITION_NE:
      return "!=";
    case HSA_SIGNAL_CONDITION_LT:
      return "<";
    default:
      return ">=";
  }
}

Json DescribeBarrier(const hsa_barrier_and_packet_t& packet) {
  Json waits = Json::Array();
  for (const hsa_signal_t& signal : packet.dep_signal)
    if (signal.handle != 0)
      waits.Add({{fault::kSignal, AddressText(signal.handle)},
                 {fault::kValue, SignalValue(signal.handle)},
                 {fault::kWanted, 0},
                 {fault::kMask, -1},
                 {fault::kCondition, "=="}});
  return waits;
}

Json DescribeBarrierValue(const hsa_amd_barrier_value_packet_t& packet) {
  Json waits = Json::Array();
  if (packet.signal.handle != 0)
    waits.Add({{fault::kSignal, AddressText(packet.signal.handle)},
               {fault::kValue, SignalValue(packet.signal.handle)},
               {fault::kWanted, packet.value},
               {fault::kMask, packet.mask},
               {fault::kCondition, ConditionName(packet.cond)}});
  return waits;
}

}  // namespace

std::string AddressText(uint64_t address) { return "0x" + base::Hex64(address); }

bool IsValidPacket(const Queue& queue, uint64_t at) {
  return TypeOf(queue, at) != HSA_PACKET_TYPE_INVALID;
}

std::vector<PacketCopy> CopyPackets(const Queue& queue, uint64_t first, uint64_t end) {
  std::vector<PacketCopy> copies;
  for (uint64_t at = first; at < end && copies.size() < kMostPackets; ++at) {
    const uint16_t type = TypeOf(queue, at);
    if (type == HSA_PACKET_TYPE_INVALID) continue;
    PacketCopy& copy = copies.emplace_back();
    copy.at = at;
    std::memcpy(&copy.content, queue.Packet(at), sizeof copy.content);
    // The GPU may have taken it since.
    copy.content.header = static_cast<uint16_t>(type << HSA_PACKET_HEADER_TYPE);
  }
  return copies;
}

Json DescribePackets(const std::vector<PacketCopy>& copies) {
  Json packets = Json::Array();
  for (const PacketCopy& copy : copies) {
    const hsa_barrier_and_packet_t& barrier = copy.content;
    const uint16_t type = barrier.header >> HSA_PACKET_HEADER_TYPE & 0xff;
    hsa_amd_barrier_value_packet_t value;
    std::memcpy(&value, &barrier, sizeof value);
    Json packet = {{fault::kPacket, copy.at},
                   {fault::kCompletionSignal, AddressText(barrier.completion_signal.handle)}};
    if (type == HSA_PACKET_TYPE_KERNEL_DISPATCH) {
      packet.Add(fault::kType, "dispatch");
    } else if (type == HSA_PACKET_TYPE_BARRIER_AND || type == HSA_PACKET_TYPE_BARRIER_OR) {
      packet.Add(fault::kType, type == HSA_PACKET_TYPE_BARRIER_AND ? "barrier_and" : "barrier_or");
      packet.Add(fault::kWaits, DescribeBarrier(barrier));
    } else if (type == HSA_PACKET_TYPE_VENDOR_SPECIFIC &&
               value.header.AmdFormat == HSA_AMD_PACKET_TYPE_BARRIER_VALUE) {
      packet.Add(fault::kType, "barrier_value");
      packet.Add(fault::kWaits, DescribeBarrierValue(value));
    } else {
      packet.Add(fault::kType, "other");
    }
    packets.Add(packet);
  }
  return packets;
}

}  // namespace rochound::agent
