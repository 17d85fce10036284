// SPDX-License-Identifier: MIT
//
// Which launch is wanted, as the environment says:
//
//   ROCHOUND_CAPTURE_DIR       where the bundle goes; without it nothing is captured
//   ROCHOUND_CAPTURE_KERNEL    base/pattern.h, found in the symbol or its C++ name
//   ROCHOUND_CAPTURE_NTH       which of the launches that match, from 1
//   ROCHOUND_CAPTURE_DISPATCH  or which of all the process's dispatches, from 1
//   ROCHOUND_CAPTURE_SHAPE     grid=XxYxZ,workgroup=XxYxZ in work-items; either, both; * for any
//   ROCHOUND_CAPTURE_MEMORY    reachable or all
//
// Pure but for reading the environment; the caller holds whatever lock it needs.
#pragma once

#include <hsa/hsa.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/pattern.h"

namespace rochound::agent {

class CaptureChoice {
 public:
  // Null: nothing is wanted. `problem`: what is wanted cannot be understood.
  static std::unique_ptr<const CaptureChoice> FromEnvironment(std::string* problem);

  bool NameMatches(const std::string& symbol) const;
  bool ShapeMatches(const hsa_kernel_dispatch_packet_t& packet) const;
  // Why nothing was captured, after so many launches of which so many matched.
  std::string WhyNone(uint64_t launches, uint64_t matches) const;

  std::string directory;
  std::string kernel;  // as it was written; empty: any
  uint64_t nth = 1;
  uint64_t dispatch = 0;  // 0: count those that match
  bool all_memory = false;

 private:
  using Sizes = std::array<uint32_t, 3>;  // 0: any
  bool ReadShape(const std::string& text);

  std::optional<base::Pattern> pattern_;  // none: any name
  Sizes grid_{};
  Sizes workgroup_{};
};

// C++ name of a symbol, or the symbol itself.
std::string ReadableName(const std::string& symbol);

}  // namespace rochound::agent
