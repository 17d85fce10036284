// SPDX-License-Identifier: MIT
//
// The instructions of a kernel that has no probes, from another build of the same program: what
// `-a report --code FILE` shows beside the source. Which of them make the accesses that probes have
// told is found out by name and line. Reads files that may come from anybody; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace rochound::probe {

struct PlainInstruction {
  std::string text;  // "global_load_dword v1, v[2:3], off"
  // File and line; innermost first. Empty: the code was built without -g.
  std::vector<std::pair<std::string, uint64_t>> at;
};

// target: of the GPU that the kernel ran on, "gfx1030".
base::Result<std::vector<PlainInstruction>> ReadPlainCode(const std::filesystem::path& file,
                                                          const std::string& kernel,
                                                          const std::string& target);

// An access of a probe's, as far as instructions can be found by it.
struct ToldAccess {
  std::string instruction;  // "global_load_dword"; empty: not known
  std::vector<std::pair<std::string, uint64_t>> at;
};

// For each access the number of its instruction, or that of none: code.size(). Accesses that share
// name and line are given to instructions in their order; what remains shares the last one.
std::vector<size_t> FindInstructions(const std::vector<PlainInstruction>& code,
                                     const std::vector<ToldAccess>& accesses);

}  // namespace rochound::probe
