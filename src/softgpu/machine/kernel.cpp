// SPDX-License-Identifier: MIT
#include "softgpu/machine/kernel.h"

#include <elf.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>

namespace rochound::softgpu {
namespace {

// The AMDHSA kernel descriptor, as LLVM's AMDGPU usage guide lays it out.
struct Descriptor {
  uint32_t group_segment_fixed_size;
  uint32_t private_segment_fixed_size;
  uint32_t kernarg_size;
  uint8_t reserved0[4];
  int64_t kernel_code_entry_byte_offset;
  uint8_t reserved1[20];
  uint32_t compute_pgm_rsrc3;
  uint32_t compute_pgm_rsrc1;
  uint32_t compute_pgm_rsrc2;
  uint16_t kernel_code_properties;
  uint16_t kernarg_preload;
  uint8_t reserved2[4];
};
static_assert(sizeof(Descriptor) == 64);

enum Property : uint16_t {
  kPrivateSegmentBuffer = 1 << 0,
  kDispatchPointer = 1 << 1,
  kQueuePointer = 1 << 2,
  kKernargPointer = 1 << 3,
  kDispatchId = 1 << 4,
  kFlatScratchInit = 1 << 5,
  kPrivateSegmentSize = 1 << 6,
  kWavefrontSize32 = 1 << 10,
};

constexpr uint32_t kMaxWorkgroupSize = 1024;

std::optional<Descriptor> ReadDescriptor(AddressSpace::Reader& memory, uint64_t address) {
  uint8_t* bytes = memory.Translate(address, sizeof(Descriptor), kRead);
  if (bytes == nullptr) return std::nullopt;
  Descriptor descriptor;
  std::memcpy(&descriptor, bytes, sizeof(descriptor));
  return descriptor;
}

}  // namespace

KernelProblem ReadKernel(AddressSpace::Reader& memory, const hsa_kernel_dispatch_packet_t& packet,
                         const DeviceConfig& device, const Architecture& architecture,
                         Kernel* kernel, uint64_t* bad, std::string* why) {
  *bad = packet.kernel_object;
  std::optional<Descriptor> descriptor = ReadDescriptor(memory, packet.kernel_object);
  if (!descriptor) return KernelProblem::kUnmapped;
  kernel->object = packet.kernel_object;
  kernel->entry =
      packet.kernel_object + static_cast<uint64_t>(descriptor->kernel_code_entry_byte_offset);
  kernel->wave_size =
      architecture.has_wave32 && (descriptor->kernel_code_properties & kWavefrontSize32) ? 32 : 64;
  uint32_t rsrc1 = descriptor->compute_pgm_rsrc1;
  constexpr uint32_t kWgpMode = 1u << 29;
  kernel->on_unit_pairs = architecture.has_wave32 && (rsrc1 & kWgpMode) != 0;
  kernel->vgpr_field = rsrc1 & 0x3F;
  // Rounding and denormals as in HW_REG_MODE, then DX10_CLAMP (bit 8) and IEEE (bit 9).
  kernel->mode = rsrc1 >> 12 & 0xFF;
  kernel->mode |= architecture.mode_has_clamp_and_ieee
                      ? (rsrc1 >> 21 & 1) << 8 | (rsrc1 >> 23 & 1) << 9
                      : 1u << 8;  // a NaN is always clamped to zero
  // Both change what instructions do, and no compiler asks for them by itself.
  constexpr uint32_t kFp16Overflow = 1u << 26;
  constexpr uint32_t kExceptions = 0x7Fu << 24;
  if ((rsrc1 & kFp16Overflow) || (descriptor->compute_pgm_rsrc2 & kExceptions)) {
    *why = "FP16_OVFL or floating-point exceptions, which are not implemented,";
    return KernelProblem::kInvalid;
  }
  kernel->group_bytes = packet.group_segment_size;
  kernel->private_bytes_per_lane = packet.private_segment_size;
  kernel->workitem_id_dimensions = (descriptor->compute_pgm_rsrc2 >> 11 & 3) + 1;
  const uint32_t grid[3] = {packet.grid_size_x, packet.grid_size_y, packet.grid_size_z};
  const uint32_t group[3] = {packet.workgroup_size_x, packet.workgroup_size_y,
                             packet.workgroup_size_z};
  kernel->group_count = 1;
  unsigned dimensions = packet.setup & 3;
  uint32_t group_size = 1;
  for (unsigned i = 0; i < 3; ++i) {
    kernel->grid[i] = i < dimensions || dimensions == 0 ? grid[i] : 1;
    kernel->group[i] = i < dimensions || dimensions == 0 ? group[i] : 1;
    if (kernel->grid[i] == 0 || kernel->group[i] == 0) {
      *why = "grid or workgroup size is zero";
      return KernelProblem::kInvalid;
    }
    group_size *= kernel->group[i];
    kernel->groups[i] = (kernel->grid[i] + kernel->group[i] - 1) / kernel->group[i];
    kernel->group_count *= kernel->groups[i];
  }
  if (group_size > kMaxWorkgroupSize) {
    *why = "workgroup of " + std::to_string(group_size) + " work-items";
    return KernelProblem::kInvalid;
  }
  if (kernel->group_bytes > device.lds_bytes) {
    *why = std::to_string(kernel->group_bytes) + " bytes of LDS";
    return KernelProblem::kInvalid;
  }
  kernel->waves_per_group = (group_size + kernel->wave_size - 1) / kernel->wave_size;
  return KernelProblem::kNone;
}

void PrepareScalars(const hsa_kernel_dispatch_packet_t& packet, const QueueFacts& queue,
                    const DeviceConfig& device, const Architecture& architecture,
                    AddressSpace::Reader& memory, Kernel* kernel) {
  std::optional<Descriptor> descriptor = ReadDescriptor(memory, packet.kernel_object);
  if (!descriptor) return;  // ReadKernel has succeeded on it
  uint16_t properties = descriptor->kernel_code_properties;
  uint32_t rsrc2 = descriptor->compute_pgm_rsrc2;
  std::array<uint32_t, kScalarRegisterCount>& s = kernel->scalars;
  unsigned next = 0;
  auto put32 = [&](uint32_t value) {
    if (next < kVccLo) s[next++] = value;
  };
  auto put64 = [&](uint64_t value) {
    put32(static_cast<uint32_t>(value));
    put32(static_cast<uint32_t>(value >> 32));
  };
  if (properties & kPrivateSegmentBuffer) {
    uint32_t words[4];
    std::copy_n(queue.scratch_descriptor, 4, words);
    // Where waves come in two sizes the runtime leaves the index stride to the command processor.
    if (architecture.has_wave32)
      words[3] = (words[3] & ~(3u << 21)) | (kernel->wave_size == 32 ? 2u : 3u) << 21;
    for (uint32_t word : words) put32(word);
  }
  if (properties & kDispatchPointer) put64(queue.packet_address);
  if (properties & kQueuePointer) put64(queue.queue_address);
  if (properties & kKernargPointer) put64(reinterpret_cast<uint64_t>(packet.kernarg_address));
  if (properties & kDispatchId) put64(queue.dispatch_id);
  if (properties & kFlatScratchInit) put64(queue.scratch_base);
  if (properties & kPrivateSegmentSize) put32(kernel->private_bytes_per_lane);
  // Registers that firmware could preload with kernel arguments stay untouched: the kernel starts
  // at the entry that loads them itself.
  next = rsrc2 >> 1 & 0x1F;
  for (unsigned i = 0; i < 3; ++i) {
    if ((rsrc2 >> (7 + i) & 1) && !architecture.workgroup_ids_in_ttmp)
      kernel->workgroup_id_register[i] = static_cast<int>(next++);
  }
  if (rsrc2 >> 10 & 1) kernel->workgroup_info_register = static_cast<int>(next++);
  if ((rsrc2 & 1) && !architecture.architected_flat_scratch)
    kernel->scratch_offset_register = static_cast<int>(next++);
  auto set64 = [&s](unsigned index, uint64_t value) {
    s[index] = static_cast<uint32_t>(value);
    s[index + 1] = static_cast<uint32_t>(value >> 32);
  };
  set64(kSharedBase, device.shared_aperture_base);
  set64(kSharedLimit, device.shared_aperture_base | 0xFFFFFFFF);
  set64(kPrivateBase, device.private_aperture_base);
  set64(kPrivateLimit, device.private_aperture_base | 0xFFFFFFFF);
}

std::string KernelName(AddressSpace::Reader& memory, uint64_t kernel_object) {
  char hex[32];
  std::snprintf(hex, sizeof(hex), "kernel object 0x%llx",
                static_cast<unsigned long long>(kernel_object));
  const Region* region = memory.Find(kernel_object);
  if (region == nullptr) return hex;
  // The loader keeps the ELF header, the dynamic symbols and the descriptors in one image.
  for (uint64_t base = kernel_object & ~(kGpuPageSize - 1); base >= region->begin;
       base -= kGpuPageSize) {
    const uint8_t* image = region->HostAddress(base);
    uint64_t size = region->end - base;
    if (size < sizeof(Elf64_Ehdr) || std::memcmp(image, ELFMAG, SELFMAG) != 0) continue;
    const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image);
    if (header->e_phoff + header->e_phnum * sizeof(Elf64_Phdr) > size) return hex;
    const auto* segments = reinterpret_cast<const Elf64_Phdr*>(image + header->e_phoff);
    uint64_t symbols = 0;
    uint64_t strings = 0;
    uint64_t strings_size = 0;
    for (unsigned i = 0; i < header->e_phnum; ++i) {
      if (segments[i].p_type != PT_DYNAMIC) continue;
      uint64_t count = segments[i].p_memsz / sizeof(Elf64_Dyn);
      if (segments[i].p_vaddr + segments[i].p_memsz > size) return hex;
      const auto* dynamic = reinterpret_cast<const Elf64_Dyn*>(image + segments[i].p_vaddr);
      for (uint64_t d = 0; d < count && dynamic[d].d_tag != DT_NULL; ++d) {
        if (dynamic[d].d_tag == DT_SYMTAB) symbols = dynamic[d].d_un.d_ptr;
        if (dynamic[d].d_tag == DT_STRTAB) strings = dynamic[d].d_un.d_ptr;
        if (dynamic[d].d_tag == DT_STRSZ) strings_size = dynamic[d].d_un.d_val;
      }
    }
    if (symbols == 0 || strings + strings_size > size) return hex;
    // The symbol table's length is not recorded; the string table follows it in practice, and a
    // name outside of the strings ends the search in any case.
    for (uint64_t at = symbols; at + sizeof(Elf64_Sym) <= size; at += sizeof(Elf64_Sym)) {
      const auto* symbol = reinterpret_cast<const Elf64_Sym*>(image + at);
      if (symbol->st_name >= strings_size) break;
      if (symbol->st_value != kernel_object - base || symbol->st_name == 0) continue;
      const char* name = reinterpret_cast<const char*>(image + strings + symbol->st_name);
      std::string text(name, strnlen(name, strings_size - symbol->st_name));
      if (text.ends_with(".kd")) text.resize(text.size() - 3);
      return text;
    }
    return hex;
  }
  return hex;
}

}  // namespace rochound::softgpu
