// SPDX-License-Identifier: MIT
#include "agent/calls/hsa_calls.h"

#include <cstddef>
#include <type_traits>

#include "agent/calls/functions.h"
#include "agent/calls/wrapper.h"

namespace rochound::agent {

namespace {

enum : uint16_t {
  kBeforeFirst = kFirstHsaFunction - 1,
#define ROCHOUND_HSA_FUNCTION(table, part, function, names, outs) kId_##function,
#include "agent/calls/hsa_functions.inc"
#undef ROCHOUND_HSA_FUNCTION
  kBehindLast
};
static_assert(kBehindLast <= kFirstRcclFunction);

template <auto kMember, uint16_t kFunction, uint32_t kOut>
using HsaWrapper = Wrapper<kMember, kFunction, Domain::kHsa, kOut>;

}  // namespace

void InstallHsaCalls(HsaApiTable* table) {
#define ROCHOUND_HSA_FUNCTION(type, part, function, names, outs) \
  HsaWrapper<&type::function##_fn, kId_##function, outs>::Install(table->part);
#include "agent/calls/hsa_functions.inc"
#undef ROCHOUND_HSA_FUNCTION
}

void AppendHsaFunctions(std::string* text) {
  static constexpr FunctionRow kRows[] = {
#define ROCHOUND_HSA_FUNCTION(type, part, function, names, outs) \
  HsaWrapper<&type::function##_fn, kId_##function, outs>::Row("hsa", #function, names),
#include "agent/calls/hsa_functions.inc"
#undef ROCHOUND_HSA_FUNCTION
  };
  for (const FunctionRow& row : kRows) AppendRow(text, row);
}

}  // namespace rochound::agent
