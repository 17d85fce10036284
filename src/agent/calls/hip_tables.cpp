// SPDX-License-Identifier: MIT
#include "agent/calls/hip_tables.h"

// First, for the types that the next one uses without including them.
#include <hip/amd_detail/hip_prof_str.h>

#include <atomic>
#include <hip/amd_detail/hip_api_trace.hpp>
#include <iterator>

#include "agent/calls/functions.h"
#include "agent/calls/wrapper.h"

namespace rochound::agent {

namespace {

enum : uint16_t {
  kBeforeFirst = kFirstHipFunction - 1,
#define ROCHOUND_HIP_FUNCTION(table, function, names, outs) kId_##function,
#include "agent/calls/hip_functions.inc"
#undef ROCHOUND_HIP_FUNCTION
  kBehindLast
};
static_assert(kBehindLast <= kFirstTracedFunction);

template <auto kMember, uint16_t kFunction, uint32_t kOut>
using HipWrapper = Wrapper<kMember, kFunction, Domain::kHip, kOut>;

template <typename Table>
constexpr HipTable KindOf() {
  return std::is_same_v<Table, HipDispatchTable> ? HipTable::kRuntime : HipTable::kCompiler;
}

template <typename W, typename Table>
HipTableEntry Entry(const char* function) {
  return {KindOf<Table>(), function, W::Offset(),
          [](void* table) { W::Install(static_cast<Table*>(table)); }};
}

constinit std::atomic<bool> taken[2] = {false, false};

}  // namespace

HipTableEntries KnownHipEntries() {
  static const HipTableEntry kEntries[] = {
#define ROCHOUND_HIP_FUNCTION(table, function, names, outs) \
  Entry<HipWrapper<&table::function##_fn, kId_##function, outs>, table>(#function),
#include "agent/calls/hip_functions.inc"
#undef ROCHOUND_HIP_FUNCTION
  };
  return {kEntries, std::size(kEntries)};
}

bool ClaimHipTable(HipTable kind) { return !taken[static_cast<int>(kind)].exchange(true); }
bool HasHipTable(HipTable kind) { return taken[static_cast<int>(kind)].load(); }

void AppendHipTableFunctions(std::string* text) {
  static constexpr FunctionRow kRows[] = {
#define ROCHOUND_HIP_FUNCTION(table, function, names, outs) \
  HipWrapper<&table::function##_fn, kId_##function, outs>::Row("hip", #function, names),
#include "agent/calls/hip_functions.inc"
#undef ROCHOUND_HIP_FUNCTION
  };
  for (const FunctionRow& row : kRows) AppendRow(text, row);
}

}  // namespace rochound::agent
