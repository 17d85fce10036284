// SPDX-License-Identifier: MIT
#include "agent/calls/rccl_calls.h"

#include <dlfcn.h>
#include <rccl/amd_detail/api_trace.h>

#include <algorithm>
#include <atomic>

#include "agent/calls/functions.h"
#include "agent/calls/registered.h"
#include "agent/calls/table_finder.h"
#include "agent/calls/wrapper.h"
#include "agent/session.h"

namespace rochound::agent {

namespace {

// RCCL's first table had 37 functions.
constexpr TableSize kEntryCount = {37, 200};

enum : uint16_t {
  kBeforeFirst = kFirstRcclFunction - 1,
#define ROCHOUND_RCCL_FUNCTION(function, names, outs) kId_##function,
#include "agent/calls/rccl_functions.inc"
#undef ROCHOUND_RCCL_FUNCTION
  kBehindLast
};
static_assert(kBehindLast <= kFirstHipFunction);

template <auto kMember, uint16_t kFunction, uint32_t kOut>
using RcclWrapper = Wrapper<kMember, kFunction, Domain::kRccl, kOut>;

struct Entry {
  const char* function;
  size_t offset;
  void (*install)(rcclApiFuncTable* table);
};

const Entry kEntries[] = {
#define ROCHOUND_RCCL_FUNCTION(function, names, outs)    \
  {#function, offsetof(rcclApiFuncTable, function##_fn), \
   RcclWrapper<&rcclApiFuncTable::function##_fn, kId_##function, outs>::Install},
#include "agent/calls/rccl_functions.inc"
#undef ROCHOUND_RCCL_FUNCTION
};

// One recorder per function: the process's second RCCL keeps its own functions.
constinit std::atomic<bool> taken{false};

// Its first call makes RCCL fill in its table; this one only tells a number.
void MakeTable(void* handle) {
  using GetVersion = ncclResult_t (*)(int*);
  int version = 0;
  if (auto* ask = reinterpret_cast<GetVersion>(dlsym(handle, "ncclGetVersion"))) ask(&version);
}

}  // namespace

void TakeRcclTable(void* table) {
  if (taken.exchange(true)) return;
  auto* const rccl = static_cast<rcclApiFuncTable*>(table);
  for (const Entry& entry : kEntries)
    if (entry.offset + sizeof(void*) <= rccl->size) entry.install(rccl);
}

void AttachRccl(const std::vector<Library>& libraries) {
  static auto* const seen = new std::vector<uintptr_t>;  // outlives static destructors
  for (const Library& library : libraries) {
    if (!library.IsFile("librccl.so")) continue;
    if (std::find(seen->begin(), seen->end(), library.base) != seen->end()) continue;
    seen->push_back(library.base);
    void* const handle = HandleOf(library);
    if (handle == nullptr || taken.load()) continue;
    if (HandsOverTables(handle)) {
      AddInfo("rccl_calls", "registered");
      continue;
    }
    MakeTable(handle);
    auto* const table =
        static_cast<rcclApiFuncTable*>(FindTable(library, libraries, kEntryCount).table);
    std::vector<const Entry*> checked;
    size_t differ = 0;
    for (const Entry& entry : kEntries) {
      if (table == nullptr || entry.offset + sizeof(void*) > table->size) continue;
      const EntryCheck check = CheckTableEntry(library, handle, entry.function, entry.offset);
      if (check == EntryCheck::kAgrees) checked.push_back(&entry);
      if (check == EntryCheck::kDiffers) ++differ;
    }
    // Another order than our headers': what agreed then agreed by chance.
    if (differ * 4 > checked.size()) checked.clear();
    AddInfo("rccl_calls", checked.empty() ? "none" : "found");
    if (checked.empty() || taken.exchange(true)) continue;
    for (const Entry* entry : checked) entry->install(table);
  }
}

void AppendRcclFunctions(std::string* text) {
  static constexpr FunctionRow kRows[] = {
#define ROCHOUND_RCCL_FUNCTION(function, names, outs)                                         \
  RcclWrapper<&rcclApiFuncTable::function##_fn, kId_##function, outs>::Row("rccl", #function, \
                                                                           names),
#include "agent/calls/rccl_functions.inc"
#undef ROCHOUND_RCCL_FUNCTION
  };
  for (const FunctionRow& row : kRows) AppendRow(text, row);
}

}  // namespace rochound::agent
