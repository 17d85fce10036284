// SPDX-License-Identifier: MIT
//
// What a kernel dispatch packet and the kernel descriptor it points to say, put into the form that
// starting waves needs. Plain data; made by the queue's thread, read by all that run its
// workgroups.
#pragma once

#include <hsa/hsa.h>

#include <array>
#include <cstdint>
#include <string>

#include "softgpu/isa/architecture.h"
#include "softgpu/isa/instruction.h"
#include "softgpu/machine/device.h"

namespace rochound::softgpu {

struct Kernel {
  uint64_t object = 0;  // address of the descriptor
  uint64_t entry = 0;
  unsigned wave_size = 64;
  uint32_t mode = 0xF0;
  uint32_t group_bytes = 0;  // LDS, fixed and dynamic
  uint32_t private_bytes_per_lane = 0;
  uint32_t vgpr_field = 0;              // as encoded: units of vector registers, less one
  unsigned workitem_id_dimensions = 1;  // how many of x, y, z the kernel wants in VGPRs
  unsigned grid[3] = {};
  unsigned group[3] = {};
  unsigned groups[3] = {};
  uint64_t group_count = 0;
  unsigned waves_per_group = 0;  // of a full one
  bool on_unit_pairs = false;    // WGP mode: a workgroup has the LDS of two compute units

  // Scalar registers every wave starts with; the positions below are filled per workgroup and wave.
  std::array<uint32_t, kScalarRegisterCount> scalars{};
  int workgroup_id_register[3] = {-1, -1, -1};
  int workgroup_info_register = -1;
  int scratch_offset_register = -1;
};

// What the queue (amd_queue_t) contributes.
struct QueueFacts {
  uint64_t queue_address = 0;
  uint64_t packet_address = 0;
  uint64_t dispatch_id = 0;
  uint32_t scratch_descriptor[4] = {};
  uint64_t scratch_base = 0;
};

enum class KernelProblem {
  kNone,
  kUnmapped,  // *bad: address of the descriptor
  kInvalid,   // *why
};

KernelProblem ReadKernel(AddressSpace::Reader& memory, const hsa_kernel_dispatch_packet_t& packet,
                         const DeviceConfig& device, const Architecture& architecture,
                         Kernel* kernel, uint64_t* bad, std::string* why);

// Fills the scalars; after the queue's scratch is known to suffice.
void PrepareScalars(const hsa_kernel_dispatch_packet_t& packet, const QueueFacts& queue,
                    const DeviceConfig& device, const Architecture& architecture,
                    AddressSpace::Reader& memory, Kernel* kernel);

// The kernel's symbol, from the dynamic symbol table of the loaded code object; its address in hex
// if there is none to be found. Slow, for messages.
std::string KernelName(AddressSpace::Reader& memory, uint64_t kernel_object);

}  // namespace rochound::softgpu
