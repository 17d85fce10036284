// SPDX-License-Identifier: MIT
#include "capture/gws.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace rochound::capture {
namespace {

using base::Error;
using base::Result;

// Machine code that differs between the two families.
struct Family {
  const char* processor;  // how its name starts
  uint32_t barrier;       // ds_gws_barrier without its offset
  uint32_t clear_m0;      // s_mov_b32 m0, 0
  uint32_t init;          // ds_gws_init v0 gds, the first half
};

constexpr Family kFamilies[] = {
    {"gfx9", 0xd93b0000, 0xbefc0080, 0xd9330000},
    {"gfx10", 0xd8760000, 0xbefc0380, 0xd8660000},
};
constexpr uint32_t kMoveLiteralToV0 = 0x7e0002ff;  // v_mov_b32 v0, what follows
constexpr uint32_t kWaitForAll = 0xbf8c0000;       // s_waitcnt 0
constexpr uint32_t kEndProgram = 0xbf810000;

const Family* FamilyOf(const codeobj::CodeObject& object) {
  const auto* found =
      std::find_if(std::begin(kFamilies), std::end(kFamilies), [&](const Family& family) {
        return object.target().processor.starts_with(family.processor);
      });
  return found == std::end(kFamilies) ? nullptr : found;
}

uint32_t WordAt(std::string_view bytes, uint64_t offset) {
  uint32_t word;
  memcpy(&word, bytes.data() + offset, sizeof(word));
  return word;
}

}  // namespace

bool UsesGws(std::string_view bytes, const codeobj::CodeObject& object) {
  const Family* const family = FamilyOf(object);
  if (family == nullptr) return false;
  for (const codeobj::Segment& segment : object.segments()) {
    if (!segment.executable || segment.offset > bytes.size()) continue;
    const uint64_t end =
        segment.offset + std::min(segment.file_size, bytes.size() - segment.offset);
    for (uint64_t at = segment.offset; at + 8 <= end; at += 4)
      if ((WordAt(bytes, at) & 0xffff0000) == family->barrier && WordAt(bytes, at + 4) < 256)
        return true;
  }
  return false;
}

Result<std::string> MakeGwsInit(std::string_view bytes, const codeobj::CodeObject& object,
                                const codeobj::Kernel& kernel, const Launch& launch) {
  const Family* const family = FamilyOf(object);
  if (family == nullptr)
    return Error{"no way is known to set up GWS on " + object.target().processor};
  uint32_t workgroups = 1;
  for (size_t axis = 0; axis < 3; ++axis) {
    const uint32_t size = std::max(launch.workgroup[axis], 1U);
    workgroups *= (std::max(launch.grid[axis], 1U) + size - 1) / size;
  }
  const uint32_t code[] = {family->clear_m0, kMoveLiteralToV0, workgroups - 1, family->init, 0,
                           kWaitForAll,      kEndProgram};
  for (const codeobj::Segment& segment : object.segments()) {
    const uint64_t place = kernel.code_address - segment.address;
    if (!segment.executable || kernel.code_address < segment.address ||
        place + sizeof(code) > segment.file_size ||
        segment.offset + place + sizeof(code) > bytes.size())
      continue;
    std::string patched(bytes);
    memcpy(patched.data() + segment.offset + place, code, sizeof(code));
    return patched;
  }
  return Error{"the code of kernel '" + kernel.name + "' is not in its code object"};
}

}  // namespace rochound::capture
