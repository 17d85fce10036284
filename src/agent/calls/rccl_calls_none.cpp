// SPDX-License-Identifier: MIT
//
// Where RCCL's headers are not installed: its calls are not recorded.
#include "agent/calls/rccl_calls.h"

namespace rochound::agent {

void TakeRcclTable(void* /*table*/) {}
void AttachRccl(const std::vector<Library>& /*libraries*/) {}
void AppendRcclFunctions(std::string* /*text*/) {}

}  // namespace rochound::agent
