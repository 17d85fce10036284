// SPDX-License-Identifier: MIT
//
// What the names in other tools' traces tell, in the words of our tables (docs/formats/foreign.md):
// which API a call is of and what kind of work it does, and which way a copy goes. Used by the
// readers of foreign formats. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rochound::store {

struct CallKind {
  std::string domain;    // hip, hsa, cuda, rccl, roctx, rochound (a recorder's own time), or empty
  std::string category;  // as CategoryOf of names.h, or empty
};
CallKind KindOfCall(std::string_view name);

// HIP's numbers of the directions of a copy.
enum class CopyDirection {
  kHostToHost = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kDeviceToDevice = 3,
  kUnknown = 4
};

// "Memcpy HtoD (Pageable -> Device)", "CopyHostToDevice", "MEMORY_COPY_HOST_TO_DEVICE",
// "hipMemcpyHostToDevice", ...
CopyDirection DirectionOf(std::string_view name);

// CopyHostToDevice and so on; a direction that is not known is Copy.
std::string_view OperationOfCopy(CopyDirection direction);

}  // namespace rochound::store
