// SPDX-License-Identifier: MIT
//
// The functions whose calls are recorded, and their numbers. A number is only valid within one log:
// the functions file that is beside the log says what it means. Set-up only; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "agent/calls/values.h"

namespace rochound::agent {

struct FunctionRow {
  uint16_t id;
  const char* domain;  // hip, hsa, rccl
  const char* name;
  const char* arguments;  // names, separated by commas
  const TypeName* types;  // of the arguments
  size_t count;
  TypeName result;
  bool wide_result;  // does not fit the call record: a last argument word called "return" has it
};

// First number of each list. Zero is no function.
inline constexpr uint16_t kFirstHsaFunction = 1;
inline constexpr uint16_t kFirstRcclFunction = 801;
inline constexpr uint16_t kFirstHipFunction = 1001;
inline constexpr uint16_t kFirstTracedFunction = 3001;  // plus HIP's own number

// One line of the functions file: id, domain, name, result, name:type,...
void AppendRow(std::string* text, const FunctionRow& row);

}  // namespace rochound::agent
