// SPDX-License-Identifier: MIT
#include "agent/calls/hip_table_finder.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace rochound::agent {

namespace {

// HIP 6.0 had over 400 functions in its runtime table; the compiler's table has nine entries since.
constexpr size_t kLeastRuntimeEntries = 300;
constexpr size_t kMostRuntimeEntries = 4000;
constexpr size_t kCompilerEntries = 9;

// The exported function's own length, at most this much, is searched.
constexpr size_t kMostCodeBytes = 400;

// Whether a table of HIP's functions starts here: its size, then pointers into HIP's code. A few of
// the runtime table's are null (functions of old interfaces that this build does not have).
bool LooksLikeTable(const Library& library, const uintptr_t* words, size_t available, size_t least,
                    size_t most) {
  const uintptr_t size = words[0];
  if (size % sizeof(uintptr_t) != 0) return false;
  const size_t entries = size / sizeof(uintptr_t) - 1;
  if (size == 0 || entries < least || entries > most || entries + 1 > available) return false;
  size_t empty = 0;
  for (size_t i = 1; i <= entries; ++i) {
    if (words[i] == 0)
      ++empty;
    else if (!library.HasCode(words[i]))
      return false;
  }
  return empty * 20 <= entries && words[1] != 0;
}

// The only place where such a table starts, or null.
void* OnlyTable(const Library& library, size_t least, size_t most) {
  const auto aligned = (library.zeroed_begin + sizeof(uintptr_t) - 1) & ~(sizeof(uintptr_t) - 1);
  if (library.zeroed_end <= aligned) return nullptr;
  auto* words = reinterpret_cast<uintptr_t*>(aligned);
  const size_t count = (library.zeroed_end - aligned) / sizeof(uintptr_t);
  void* found = nullptr;
  for (size_t i = 0; i < count; ++i) {
    if (!LooksLikeTable(library, words + i, count - i, least, most)) continue;
    if (found != nullptr) return nullptr;
    found = words + i;
  }
  return found;
}

// Whether the exported function of that name mentions the offset the way an instruction does that
// jumps or calls through [register + offset] or loads from there.
enum class Check { kAgrees, kDiffers, kNotExported };
Check CheckEntry(const Library& library, void* handle, const HipTableEntry& entry) {
  void* address = dlsym(handle, entry.function);
  if (address == nullptr || !library.HasCode(reinterpret_cast<uintptr_t>(address)))
    return Check::kNotExported;
  Dl_info info;
  const ElfW(Sym)* symbol = nullptr;
  if (dladdr1(address, &info, const_cast<void**>(reinterpret_cast<const void**>(&symbol)),
              RTLD_DL_SYMENT) == 0 ||
      symbol == nullptr || info.dli_saddr != address)
    return Check::kNotExported;
  const size_t bytes = std::min<size_t>(symbol->st_size, kMostCodeBytes);
  const auto* code = static_cast<const uint8_t*>(address);
  for (size_t i = 1; i < bytes; ++i) {
    // opcode ff /4 (jump), ff /2 (call), 8b (load); then the ModRM byte tells the displacement's
    // size.
    const uint8_t modrm = code[i];
    const bool opcode = code[i - 1] == 0x8b ||
                        (code[i - 1] == 0xff && ((modrm >> 3 & 7) == 4 || (modrm >> 3 & 7) == 2));
    if (!opcode || (modrm & 7) == 4) continue;
    if (modrm >> 6 == 1 && i + 1 < bytes) {
      if (static_cast<int8_t>(code[i + 1]) == static_cast<int64_t>(entry.offset))
        return Check::kAgrees;
    } else if (modrm >> 6 == 2 && i + 4 < bytes) {
      int32_t displacement = 0;
      std::memcpy(&displacement, code + i + 1, sizeof(displacement));
      if (displacement == static_cast<int64_t>(entry.offset)) return Check::kAgrees;
    }
  }
  return Check::kDiffers;
}

}  // namespace

std::vector<const HipTableEntry*> CheckedEntries(const Library& library, void* handle,
                                                 HipTable kind, size_t size) {
  std::vector<const HipTableEntry*> checked;
  size_t differ = 0;
  for (const HipTableEntry& entry : KnownHipEntries()) {
    if (entry.table != kind || entry.offset + sizeof(void*) > size) continue;
    const Check check = CheckEntry(library, handle, entry);
    if (check == Check::kAgrees) checked.push_back(&entry);
    if (check == Check::kDiffers) ++differ;
  }
  // Another order than our headers': what agreed then agreed by chance.
  if (differ * 50 > checked.size()) checked.clear();
  return checked;
}

FoundHipTables FindHipTables(const Library& library) {
  FoundHipTables found;
  found.runtime = OnlyTable(library, kLeastRuntimeEntries, kMostRuntimeEntries);
  found.compiler = OnlyTable(library, kCompilerEntries, kCompilerEntries);
  return found;
}

}  // namespace rochound::agent
