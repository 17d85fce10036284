// SPDX-License-Identifier: MIT
#include "store/convert/joined_events.h"

#include <algorithm>

namespace rochound::store {

int64_t SizeOfCopy(const FunctionFacts& facts, const CallArguments& arguments) {
  const CopyCall& copy = facts.copy;
  const auto number = [&](int argument) {
    return static_cast<int64_t>(WordOf(facts.function, arguments, argument));
  };
  if (copy.size >= 0) return number(copy.size);
  return copy.width >= 0 ? number(copy.width) * std::max<int64_t>(number(copy.height), 1) : 0;
}

int64_t KindOfCopy(const FunctionFacts& facts, const CallArguments& arguments) {
  return facts.copy.kind >= 0
             ? static_cast<int64_t>(WordOf(facts.function, arguments, facts.copy.kind))
             : int64_t{facts.copy.fixed_kind};
}

std::string_view DirectionOf(const trace::Copy& copy, const ProcessContext& process) {
  const auto kind = static_cast<trace::CopyKind>(copy.head.small);
  if (kind == trace::CopyKind::kFill) return "FillBuffer";
  const bool by_kernel = kind == trace::CopyKind::kByKernel || copy.head.kind == trace::Kind::kEnd;
  if (by_kernel && copy.head.wide == kUnknownAgents)
    return kCopyKernel;  // nothing was told: most copy within their GPU
  const bool from_gpu = process.GpuId(copy.head.wide >> 16) >= 0;
  const bool to_gpu = process.GpuId(copy.head.wide & 0xffff) >= 0;
  return from_gpu ? (to_gpu ? "CopyDeviceToDevice" : "CopyDeviceToHost")
                  : (to_gpu ? "CopyHostToDevice" : "CopyHostToHost");
}

}  // namespace rochound::store
