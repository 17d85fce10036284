// SPDX-License-Identifier: MIT
//
// Brings a code object of ours into the runtime, for the agent's swapping. Any thread; what was
// loaded stays until the runtime ends.
#pragma once

#include <hsa/hsa.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rochound::agent {

struct LoadedKernel {
  uint64_t object = 0;  // for dispatch packets
  uint32_t kernarg_bytes = 0;
};

// A variable that the code object leaves open.
struct BoundVariable {
  std::string name;
  uint64_t address = 0;
};

// bytes: kept as long as the process lives. False: *problem says why.
bool LoadCode(uint16_t agent, std::string_view bytes, const std::vector<BoundVariable>& variables,
              hsa_executable_t* loaded, std::string* problem);
bool FindLoadedKernel(hsa_executable_t executable, uint16_t agent, const std::string& symbol,
                      LoadedKernel* found, std::string* problem);

// The most LDS that a workgroup can have there.
uint64_t MostGroupBytes(uint16_t agent);

// A file that nobody else may change, unless `shared`. False: *problem says why.
bool ReadTrustedFile(const std::string& path, bool shared, std::string* bytes,
                     std::string* problem);

}  // namespace rochound::agent
