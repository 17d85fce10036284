// SPDX-License-Identifier: MIT
//
// A kernel's argument block: what pointers in it point to, and how the captured one is laid out
// for another build of the kernel, whose hidden arguments may be elsewhere. Pure functions, any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/manifest.h"
#include "capture/replay/elements.h"
#include "codeobj/code_object.h"

namespace rochound::capture::replay {

struct Kernarg {
  std::vector<std::byte> bytes;
  std::vector<std::string> notes;
};

// Explicit arguments must agree (codeobj::SameArguments); hidden ones are found by kind, those that
// the captured kernel did not have are worked out from the launch, or zero with a note.
base::Result<Kernarg> LayOutFor(const codeobj::Kernel& captured, std::span<const std::byte> bytes,
                                const codeobj::Kernel& other, const Launch& launch);

// Memory that an argument points to: from the pointer on to the next argument's, or to the region's
// end.
struct TypedSpan {
  uint64_t base = 0, end = 0;
  Element type = Element::kUnknown;
  uint32_t argument = 0;  // index into the kernel's arguments
  std::string name;       // of the argument, or "argument 2"
  uint32_t region = 0;
  bool read_only = false;  // only arguments of type `T const*` have this pointer
};

// Sorted and disjoint. demangled: of the kernel, for the types of its parameters; metadata goes
// first.
std::vector<TypedSpan> TypeMemory(const codeobj::Kernel& kernel, std::span<const std::byte> bytes,
                                  std::span<const Region> regions, const std::string& demangled);

// "hidden_hostcall_buffer", ... of arguments that are not zero and stand for a service of the host,
// which replay does not have.
std::vector<std::string> HostServices(const codeobj::Kernel& kernel,
                                      std::span<const std::byte> bytes);

}  // namespace rochound::capture::replay
