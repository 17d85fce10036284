// SPDX-License-Identifier: MIT
//
// Recorders for HIP's dispatch tables, as HIP (6 and later) hands them to tools through
// rocprofiler-register, or as hip_table_finder.h finds them. Set-up only. A release whose headers
// have no tables gets hip_tables_none.cpp instead of hip_tables.cpp.
#pragma once

#include <chrono>  // before headers of HIP 6, which define __noinline__
#include <cstddef>
#include <cstdint>
#include <string>

namespace rochound::agent {

enum class HipTable : uint8_t { kRuntime, kCompiler };

// What our headers say about one entry.
struct HipTableEntry {
  HipTable table;
  const char* function;
  size_t offset;  // in its table
  void (*install)(void* table);
};

struct HipTableEntries {
  const HipTableEntry* first;
  size_t count;
  const HipTableEntry* begin() const { return first; }
  const HipTableEntry* end() const { return first + count; }
};
HipTableEntries KnownHipEntries();

// There is one recorder per function, so one table of each kind is taken; the process's second HIP
// is left alone. True for the first who asks: it may install entries.
bool ClaimHipTable(HipTable kind);

bool HasHipTable(HipTable kind);

// Lines of the functions file.
void AppendHipTableFunctions(std::string* text);

}  // namespace rochound::agent
