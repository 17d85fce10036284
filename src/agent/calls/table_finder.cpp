// SPDX-License-Identifier: MIT
#include "agent/calls/table_finder.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace rochound::agent {

namespace {

// The exported function's own length, at most this much, is searched.
constexpr size_t kMostCodeBytes = 400;

// Whether a table of functions starts here: its size, then pointers to code. A few of HIP's are
// null (functions of old interfaces that this build does not have).
template <typename IsCode>
bool LooksLikeTable(const uintptr_t* words, size_t available, TableSize wanted, IsCode is_code) {
  const uintptr_t size = words[0];
  if (size % sizeof(uintptr_t) != 0) return false;
  const size_t entries = size / sizeof(uintptr_t) - 1;
  if (size == 0 || entries < wanted.least || entries > wanted.most || entries + 1 > available)
    return false;
  size_t empty = 0;
  for (size_t i = 1; i <= entries; ++i) {
    if (words[i] == 0)
      ++empty;
    else if (!is_code(words[i]))
      return false;
  }
  return empty * 20 <= entries && words[1] != 0;
}

// visit(base register, displacement) for whatever looks like a load, call or jump through
// [register + displacement].
template <typename Visit>
void EachDisplacement(const void* function, size_t code_bytes, Visit visit) {
  const size_t bytes = std::min(code_bytes, kMostCodeBytes);
  const auto* code = static_cast<const uint8_t*>(function);
  for (size_t i = 1; i < bytes; ++i) {
    // opcode ff /4 (jump), ff /2 (call), 8b (load); then the ModRM byte tells the displacement's
    // size.
    const uint8_t modrm = code[i];
    const bool opcode = code[i - 1] == 0x8b ||
                        (code[i - 1] == 0xff && ((modrm >> 3 & 7) == 4 || (modrm >> 3 & 7) == 2));
    if (!opcode || (modrm & 7) == 4) continue;
    if (modrm >> 6 == 1 && i + 1 < bytes) {
      visit(modrm & 7, static_cast<int8_t>(code[i + 1]));
    } else if (modrm >> 6 == 2 && i + 4 < bytes) {
      int32_t displacement = 0;
      std::memcpy(&displacement, code + i + 1, sizeof(displacement));
      visit(modrm & 7, displacement);
    }
  }
}

// A library's zeroed memory as words.
struct Words {
  uintptr_t* first = nullptr;
  size_t count = 0;
};

Words ZeroedWords(const Library& library) {
  const auto aligned = (library.zeroed_begin + sizeof(uintptr_t) - 1) & ~(sizeof(uintptr_t) - 1);
  if (library.zeroed_end <= aligned) return {};
  return {reinterpret_cast<uintptr_t*>(aligned),
          (library.zeroed_end - aligned) / sizeof(uintptr_t)};
}

template <typename IsCode>
FoundTable Find(const Words& words, TableSize wanted, IsCode is_code) {
  FoundTable found;
  for (size_t i = 0; i < words.count; ++i) {
    if (!LooksLikeTable(words.first + i, words.count - i, wanted, is_code)) continue;
    if (found.table != nullptr) return {};
    found.table = words.first + i;
  }
  return found;
}

}  // namespace

FoundTable FindTable(const Library& library, const std::vector<Library>& loaded, TableSize wanted) {
  const Words words = ZeroedWords(library);
  FoundTable found =
      Find(words, wanted, [&](uintptr_t address) { return library.HasCode(address); });
  if (found.table != nullptr) return found;
  found = Find(words, wanted, [&](uintptr_t address) {
    return library.HasCode(address) ||
           std::any_of(loaded.begin(), loaded.end(),
                       [&](const Library& one) { return one.HasCode(address); });
  });
  if (found.table == nullptr) return found;
  found.foreign = true;
  const auto place = reinterpret_cast<uintptr_t>(found.table);
  found.in_use =
      std::find(words.first, words.first + words.count, place) != words.first + words.count;
  return found;
}

EntryCheck CheckTableEntry(const Library& library, void* handle, const char* function,
                           size_t offset) {
  void* address = dlsym(handle, function);
  if (address == nullptr || !library.HasCode(reinterpret_cast<uintptr_t>(address)))
    return EntryCheck::kNotExported;
  Dl_info info;
  const ElfW(Sym)* symbol = nullptr;
  if (dladdr1(address, &info, const_cast<void**>(reinterpret_cast<const void**>(&symbol)),
              RTLD_DL_SYMENT) == 0 ||
      symbol == nullptr || info.dli_saddr != address)
    return EntryCheck::kNotExported;
  bool agrees = false;
  EachDisplacement(address, symbol->st_size, [&](uint8_t, int64_t displacement) {
    agrees = agrees || displacement == static_cast<int64_t>(offset);
  });
  return agrees ? EntryCheck::kAgrees : EntryCheck::kDiffers;
}

size_t LookedUpOffset(const void* function, size_t code_bytes, size_t table_bytes) {
  constexpr uint8_t kReturned = 0;  // rax
  constexpr size_t kSeveral = SIZE_MAX;
  const auto look = [&](const void* from, size_t bytes, uint8_t table) {
    size_t found = 0;
    bool several = false;
    EachDisplacement(from, bytes, [&](uint8_t base, int64_t displacement) {
      if (base != table || displacement <= 0 || displacement % sizeof(void*) != 0) return;
      const auto offset = static_cast<size_t>(displacement);
      if (offset + sizeof(void*) > table_bytes || offset == found) return;
      several = several || found != 0;
      found = offset;
    });
    return several ? kSeveral : found;
  };
  const size_t bytes = std::min(code_bytes, kMostCodeBytes);
  size_t found = look(function, bytes, kReturned);
  // A function with structures among its arguments needs rax for them, and keeps the table in
  // another register: mov register, rax.
  const auto* const code = static_cast<const uint8_t*>(function);
  for (size_t i = 2; i < bytes && found == 0; ++i)
    if (code[i - 2] == 0x48 && code[i - 1] == 0x89 && (code[i] & 0xf8) == 0xc0) {
      found = look(code + i, bytes - i, code[i] & 7);
      break;
    }
  return found == kSeveral ? 0 : found;
}

uintptr_t TablePointer(const void* function, size_t code_bytes) {
  constexpr uint8_t kLoad[] = {0x48, 0x8b, 0x05};  // mov rax, [rip + displacement]
  constexpr size_t kBytes = sizeof(kLoad) + sizeof(int32_t);
  const auto* code = static_cast<const uint8_t*>(function);
  uintptr_t found = 0;
  for (size_t i = 0; i + kBytes <= std::min(code_bytes, kMostCodeBytes); ++i) {
    if (std::memcmp(code + i, kLoad, sizeof(kLoad)) != 0) continue;
    int32_t displacement = 0;
    std::memcpy(&displacement, code + i + sizeof(kLoad), sizeof(displacement));
    if (found != 0) return 0;
    found = reinterpret_cast<uintptr_t>(code + i + kBytes) + static_cast<intptr_t>(displacement);
  }
  return found;
}

}  // namespace rochound::agent
