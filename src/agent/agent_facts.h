// SPDX-License-Identifier: MIT
//
// What the runtime says about an agent, for whoever describes this process to somebody else. Asked
// anew each time; any thread, while the runtime lives.
#pragma once

#include <cstdint>
#include <string>

namespace rochound::agent {

struct AgentFacts {
  std::string name;     // gfx942
  std::string product;  // marketing name
  std::string isa;      // amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-; empty: not a GPU
  std::string uuid;
  uint32_t node = 0;
  uint32_t compute_units = 0;
  uint32_t wavefront = 0;
};

AgentFacts DescribeAgent(uint16_t index);

}  // namespace rochound::agent
