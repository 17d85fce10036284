// SPDX-License-Identifier: MIT
//
// An AMD GPU code object (an ELF file, versions 3 to 6 of AMD's ABI) as plain tables: its kernels
// with arguments and resources, its variables and functions, what is loaded where, and which words
// the loader fills with addresses. Read by whatever captures, replays or shows a launch, any
// thread; nothing refers to the bytes afterwards. The input may come from anybody: what does not
// fit together gives an error, never a crash. Files that only contain code objects (what hipcc
// writes, programs, libraries) go through fat_binary.h first.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codeobj/target.h"

namespace rochound::codeobj {

struct Argument {
  std::string name;       // empty where the compiler dropped it
  std::string type_name;  // "float*"; OpenCL compilers write it, HIP's does not always
  uint64_t offset = 0;    // in the kernarg segment; see BytesOf
  uint64_t size = 0;
  std::string value_kind;             // "by_value", "global_buffer", "hidden_block_count_x", ...
  std::string address_space;          // "global", "local", "generic", ...; empty for values
  std::string access, actual_access;  // "read_only", ...; empty if the compiler does not say
  uint64_t pointee_align = 0;         // of dynamic LDS
  bool is_const = false, is_restrict = false, is_volatile = false, is_pipe = false;

  // The runtime fills it; the source does not have it.
  bool hidden() const { return value_kind.starts_with("hidden_"); }
  // It holds an address of memory (not of LDS, whose "address" is a size).
  bool pointer() const { return value_kind == "global_buffer"; }
  // Its bytes in a kernarg segment; empty if it is not all inside.
  std::string_view BytesOf(std::string_view kernarg) const;
};

// The 64 bytes that a dispatch packet's kernel_object points to.
struct Descriptor {
  std::array<uint8_t, 64> bytes{};
  uint32_t group_segment_fixed_size = 0;
  uint32_t private_segment_fixed_size = 0;
  uint32_t kernarg_size = 0;
  int64_t entry_offset = 0;  // from the descriptor to the first instruction
  uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
  uint16_t properties = 0;
  uint16_t kernarg_preload = 0;

  uint32_t vgpr_granules() const { return rsrc1 & 0x3f; }             // as encoded: one less
  uint32_t sgpr_granules() const { return (rsrc1 >> 6) & 0xf; }       // 0 from gfx10 on
  uint32_t accum_offset() const { return ((rsrc3 & 0x3f) + 1) * 4; }  // gfx90a, gfx94x, gfx950 only
  bool wave32() const { return (properties & 1 << 10) != 0; }
  bool uses_dynamic_stack() const { return (properties & 1 << 11) != 0; }
};

struct Kernel {
  std::string name;    // of the function; mangled
  std::string symbol;  // of the descriptor; the name and ".kd"
  // False: an assembled kernel without metadata. Then only the descriptor is known, and the sizes
  // below are copied from it.
  bool has_metadata = false;
  std::vector<Argument> arguments;  // explicit ones first, then hidden ones

  uint64_t descriptor_address = 0;  // as in the file, before loading
  Descriptor descriptor;
  uint64_t code_address = 0;
  uint64_t code_size = 0;  // 0: the file does not say

  uint64_t kernarg_segment_size = 0;
  uint64_t kernarg_segment_align = 0;
  uint64_t group_segment_fixed_size = 0;
  uint64_t private_segment_fixed_size = 0;
  uint64_t wavefront_size = 0;
  uint64_t sgpr_count = 0;
  uint64_t vgpr_count = 0;  // where there are AGPRs, both together
  uint64_t agpr_count = 0;
  uint64_t sgpr_spill_count = 0;
  uint64_t vgpr_spill_count = 0;
  uint64_t max_flat_workgroup_size = 0;
  std::array<uint64_t, 3> reqd_workgroup_size{};  // zeros: any
  bool uses_dynamic_stack = false;
  bool workgroup_processor_mode = false;  // gfx10 and later
  bool uniform_work_group_size = false;
  std::string language;

  size_t ExplicitArguments() const;
};

struct Symbol {
  std::string name;
  uint64_t address = 0;
  uint64_t size = 0;
  std::string section;    // ".data", ".bss", ".rodata", ".text", ...
  bool global = false;    // hipModuleGetGlobal and the loader find it
  bool writable = false;  // by the section's flags
};

struct Segment {  // a PT_LOAD
  uint64_t address = 0, memory_size = 0;
  uint64_t offset = 0, file_size = 0;
  bool readable = false, writable = false, executable = false;
};

enum class RelocationType : uint32_t {
  kNone = 0,
  kAbs32Lo = 1,
  kAbs32Hi = 2,
  kAbs64 = 3,
  kAbs32 = 6,
  kRelative64 = 13,
};

struct Relocation {  // what the loader writes into a word
  uint64_t address = 0;
  RelocationType type = RelocationType::kNone;  // others are kept with their number
  int64_t addend = 0;
  std::string symbol;  // empty: the addend is an address in this object

  // 8 or 4 bytes; 0 for a type that is not listed above.
  uint64_t size() const;
};

class CodeObject {
 public:
  static base::Result<CodeObject> Parse(std::string_view bytes);

  const Target& target() const { return target_; }
  int version() const { return version_; }  // 3 to 6
  const std::vector<Kernel>& kernels() const { return kernels_; }
  // Device variables: everything with a name and bytes that is no kernel descriptor.
  const std::vector<Symbol>& variables() const { return variables_; }
  const std::vector<Symbol>& functions() const { return functions_; }
  // Names that it uses and that something else has to define.
  const std::vector<std::string>& undefined() const { return undefined_; }
  const std::vector<Segment>& segments() const { return segments_; }
  const std::vector<Relocation>& relocations() const { return relocations_; }

  // By either of its names; nullptr if there is none.
  const Kernel* FindKernel(std::string_view name) const;
  // The same, with an error that lists what there is.
  base::Result<const Kernel*> GetKernel(std::string_view name) const;

 private:
  friend class CodeObjectParser;

  Target target_;
  int version_ = 0;
  std::vector<Kernel> kernels_;
  std::vector<Symbol> variables_, functions_;
  std::vector<std::string> undefined_;
  std::vector<Segment> segments_;
  std::vector<Relocation> relocations_;
};

// How an error calls the two kernels that it is about.
struct KernelRoles {
  const char* first = "the captured kernel";
  const char* second = "the other kernel";
};

// Whether a kernarg segment made for the first kernel fits the second: explicit arguments must
// agree in count, offset, size, kind and address space. The error says which one differs and how.
base::Result<void> SameArguments(const Kernel& first, const Kernel& second,
                                 const KernelRoles& roles = {});

}  // namespace rochound::codeobj
