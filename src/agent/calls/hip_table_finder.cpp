// SPDX-License-Identifier: MIT
#include "agent/calls/hip_table_finder.h"

#include "agent/calls/table_finder.h"

namespace rochound::agent {

namespace {

// HIP 6.0 had over 400 functions in its runtime table; the compiler's table has nine entries since.
constexpr size_t kLeastRuntimeEntries = 300;
constexpr size_t kMostRuntimeEntries = 4000;
constexpr size_t kCompilerEntries = 9;

}  // namespace

std::vector<const HipTableEntry*> CheckedEntries(const Library& library, void* handle,
                                                 HipTable kind, size_t size) {
  std::vector<const HipTableEntry*> checked;
  size_t differ = 0;
  for (const HipTableEntry& entry : KnownHipEntries()) {
    if (entry.table != kind || entry.offset + sizeof(void*) > size) continue;
    const EntryCheck check = CheckTableEntry(library, handle, entry.function, entry.offset);
    if (check == EntryCheck::kAgrees) checked.push_back(&entry);
    if (check == EntryCheck::kDiffers) ++differ;
  }
  // Another order than our headers': what agreed then agreed by chance.
  if (differ * 50 > checked.size()) checked.clear();
  return checked;
}

FoundHipTables FindHipTables(const Library& library, const std::vector<Library>& loaded) {
  FoundHipTables found;
  const FoundTable runtime =
      FindTable(library, loaded, {kLeastRuntimeEntries, kMostRuntimeEntries});
  const FoundTable compiler = FindTable(library, loaded, {kCompilerEntries, kCompilerEntries});
  found.runtime = runtime.in_use ? runtime.table : nullptr;
  found.compiler = compiler.in_use ? compiler.table : nullptr;
  found.has_profiler = runtime.foreign;
  found.being_handed_over = !runtime.in_use;
  return found;
}

}  // namespace rochound::agent
