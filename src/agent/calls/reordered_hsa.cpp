// SPDX-License-Identifier: MIT
//
// For tests: a library that exports HSA's functions as ROCr does, by way of its tables, in the
// reverse order of HSA's headers, with functions between and after them that these do not know, and
// with a table more. With SHIFTED, in the order of the headers, but for the last two of each table.
#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>

#include <cstddef>
#include <cstdint>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

using Function = void (*)();

enum Number {
#define ROCHOUND_HSA_FUNCTION(type, part, function, names, outs) k_##function,
#include "agent/calls/hsa_functions.inc"
#undef ROCHOUND_HSA_FUNCTION
  kFunctions,
  kNewOne,
  kNewBetween,
  kNameless,
  kOfNewTable
};

struct Version {
  uint32_t major;
  uint32_t minor;
  uint32_t step;
  uint32_t reserved;
};
// Each has room for the functions of all, so that there are gaps.
struct Table {
  Version version;
  Function entries[kFunctions + 3];
};
struct Root {
  Version version;
  Table* tables[16];
};

constexpr bool IsCore(const char* part) { return part[0] == 'c'; }
constexpr bool IsAmd(const char* part) { return part[0] == 'a'; }

// An entry's place among those of its table, which has so many bytes in the headers.
constexpr size_t Index(size_t offset) { return (offset - sizeof(Version)) / sizeof(Function); }
#ifdef SHIFTED
constexpr size_t kBetween = Index(sizeof(AmdExtTable)) - 2;
constexpr size_t Place(Number, size_t offset, size_t bytes) {
  return Index(offset) + (offset + 2 * sizeof(Function) >= bytes ? 1 : 0);
}
#else
constexpr size_t kBetween = kFunctions - k_hsa_init;
constexpr size_t Place(Number function, size_t, size_t) { return kFunctions - function; }
#endif
#define PLACE(type, function) Place(k_##function, offsetof(type, function##_fn), sizeof(type))

Root root;
Table core_table, amd_table, new_table;
Table *core = nullptr, *amd = nullptr;
int last = -1;

template <Number kNumber>
void Called() {
  last = kNumber;
}

}  // namespace

// As a runtime whose HSA has that many tables, and one more.
EXPORTED void* TheTables(uint32_t tables) {
  core = &core_table;
  amd = &amd_table;
  core_table.version = amd_table.version = {99, sizeof(Table), 0, 0};
#define ROCHOUND_HSA_FUNCTION(type, part, function, names, outs)                       \
  if (IsCore(#part)) core_table.entries[PLACE(type, function)] = Called<k_##function>; \
  if (IsAmd(#part)) amd_table.entries[PLACE(type, function)] = Called<k_##function>;
#include "agent/calls/hsa_functions.inc"
#undef ROCHOUND_HSA_FUNCTION
  core_table.entries[kFunctions + 1] = Called<kNewOne>;
  core_table.entries[kFunctions + 2] = Called<kNameless>;
  amd_table.entries[kBetween] = Called<kNewBetween>;
  new_table.version = {1, sizeof(Version) + sizeof(Function), 0, 0};
  new_table.entries[0] = Called<kOfNewTable>;
  root.version = {99, static_cast<uint32_t>(sizeof(Version) + (tables + 1) * sizeof(Table*)), 0, 0};
  root.tables[0] = core;
  root.tables[1] = amd;
  root.tables[tables] = &new_table;
  return &root;
}

// The function that was called last, by its number in the list; those that are not in it follow.
EXPORTED int LastCalled() { return last; }

// HSA's headers declare them otherwise: only the symbol is called so.
#define ROCHOUND_HSA_FUNCTION(type, part, function, names, outs) \
  EXPORTED void Call_##function() asm(#function);                \
  void Call_##function() { (IsCore(#part) ? core : amd)->entries[PLACE(type, function)](); }
#include "agent/calls/hsa_functions.inc"
#undef ROCHOUND_HSA_FUNCTION
EXPORTED void hsa_new_one() { core->entries[kFunctions + 1](); }
EXPORTED void hsa_amd_new_between() { amd->entries[kBetween](); }
EXPORTED void hsa_of_new_table() {
  root.tables[root.version.minor / sizeof(Table*) - 3]->entries[0]();
}
