// SPDX-License-Identifier: MIT
//
// What a capture bundle says about one kernel launch: plain values and their JSON, one description
// (manifest_fields.h) for the agent, which writes it inside the user's program, and for everybody
// who reads it later. docs/formats/capture-bundle.md describes the directory around it. A field
// that was once written is never reused or reshaped. No threads, no ownership; FromJson refuses
// what cannot be true and says which field.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rochound::capture {

inline constexpr int kFormatVersion = 1;

struct Range {
  uint64_t base = 0;
  uint64_t size = 0;
};

// One piece of memory that the launch could touch.
struct Region {
  uint64_t base = 0;          // where the GPU saw it
  uint64_t size = 0;          // bytes
  std::string kind;           // pool, vmem, host, locked, managed, ipc, code_object, kernarg
  int32_t owner = -1;         // index into agents; -1: not known
  std::string access = "rw";  // ro, rw, none
  bool taken = false;         // its bytes are in the bundle; otherwise only that it existed
  std::string reached_by;  // "kernarg+16", "region 3+0x40": the first pointer found into it; "all"
  uint64_t host_base = 0;  // locked memory: where the program saw it
};

struct Agent {
  std::string name;     // gfx942
  std::string isa;      // amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-
  std::string product;  // marketing name
  std::string device;   // cpu, gpu
  std::string uuid;
  uint32_t node = 0;  // the driver's node
  uint32_t compute_units = 0;
  uint32_t wavefront = 0;
};

// Filled in when the bundle is packed, from the code object's metadata.
struct Argument {
  std::string name;
  std::string type_name;
  std::string value_kind;
  std::string address_space;
  uint32_t offset = 0;
  uint32_t size = 0;
  int32_t region = -1;         // a pointer: the region that it points into
  uint64_t region_offset = 0;  // and where in it
};

struct Launch {
  std::array<uint8_t, 64> packet{};  // the AQL packet as the program wrote it
  uint16_t setup = 0;
  std::array<uint32_t, 3> grid{};
  std::array<uint32_t, 3> workgroup{};
  uint32_t group_bytes = 0;    // LDS, static and dynamic
  uint32_t private_bytes = 0;  // scratch per work-item
  uint64_t kernel_object = 0;  // address of the kernel's descriptor
  uint64_t kernarg = 0;        // its address; the bytes are in kernarg.bin
  uint32_t kernarg_bytes = 0;
  uint64_t duration_ns = 0;  // GPU time of the captured run; 0: not known
  uint64_t dispatch = 0;     // which of the process's dispatches, from 1
  uint64_t match = 0;        // which of those that matched, from 1
  bool unfinished = false;   // it failed, or did not end: the bundle has no results of it
};

struct CodeObject {
  Range loaded;             // where its image was in memory; also a region of kind code_object
  uint64_t load_delta = 0;  // loaded address = ELF address + delta (wraps)
  std::string uri;
};

struct Manifest {
  int version = kFormatVersion;
  std::string made_by;  // rochound 0.1
  std::string created;  // ISO 8601, UTC
  std::string command;
  std::string host;
  uint64_t pid = 0;
  std::string runtime;  // version of the HSA runtime
  std::string kernel;   // symbol without .kd, as the linker knows it
  std::string memory;   // reachable, all
  int32_t agent = 0;    // which of agents ran it
  std::vector<Agent> agents;
  Launch launch;
  CodeObject code_object;
  std::vector<Region> regions;      // sorted by base, disjoint
  std::vector<Argument> arguments;  // empty until packed
  std::vector<std::string> notes;   // what a reader must know: "other queues were not quiet", ...
};

// Never fails: what is not UTF-8 is replaced, control characters become spaces (the text is shown
// on terminals), and addresses are written as "0x..." since JSON's numbers lose bits elsewhere.
std::string ToJson(const Manifest& manifest);

// Offline only (library rochound_capture).
base::Result<Manifest> FromJson(std::string_view text);

// What cannot be true of any manifest, as a message; empty: nothing. The writer asks before it
// finishes, the reader before it believes.
std::string Implausible(const Manifest& manifest);

}  // namespace rochound::capture
