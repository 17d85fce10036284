// SPDX-License-Identifier: MIT
#include "agent/new_packets.h"

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace rochound::agent {
namespace {

// Formats whose names are not in the headers of every release: ROCr's own commands to a GPU, those
// to agents that are no GPUs, and a profiler's mark, which no GPU sees.
constexpr uint8_t kPm4Commands = 1;
constexpr uint8_t kAieCommands = 3;
constexpr uint8_t kInterceptMarker = 0xfe;

constinit std::atomic<uint64_t> types[256];
constinit std::atomic<uint64_t> formats[256];
constinit std::atomic<uint64_t> doorbells{0};

bool IsKnownFormat(uint8_t format) {
  return format == kPm4Commands || format == HSA_AMD_PACKET_TYPE_BARRIER_VALUE ||
         format == kAieCommands || format == kInterceptMarker;
}

}  // namespace

void CountIfNew(const void* packet) {
  hsa_amd_vendor_packet_header_t header;
  std::memcpy(&header, packet, sizeof header);
  const uint8_t type = header.header >> HSA_PACKET_HEADER_TYPE & 0xff;
  if (type > HSA_PACKET_TYPE_BARRIER_OR)
    types[type].fetch_add(1, std::memory_order_relaxed);
  else if (type == HSA_PACKET_TYPE_VENDOR_SPECIFIC && !IsKnownFormat(header.AmdFormat))
    formats[header.AmdFormat].fetch_add(1, std::memory_order_relaxed);
}

std::string NewPacketsText() {
  std::string text;
  const auto add = [&](const char* kind, size_t number, uint64_t count) {
    if (count != 0)
      text.append(text.empty() ? "" : ",")
          .append(kind)
          .append(std::to_string(number))
          .append(":") += std::to_string(count);
  };
  for (size_t i = 0; i < 256; ++i) add("type ", i, types[i].load(std::memory_order_relaxed));
  for (size_t i = 0; i < 256; ++i)
    add("vendor format ", i, formats[i].load(std::memory_order_relaxed));
  return text;
}

void CountUnknownDoorbell() { doorbells.fetch_add(1, std::memory_order_relaxed); }

std::string UnknownDoorbellsText() {
  const uint64_t count = doorbells.load(std::memory_order_relaxed);
  return count != 0 ? std::to_string(count) : std::string();
}

}  // namespace rochound::agent
