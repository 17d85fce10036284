// SPDX-License-Identifier: MIT
//
// Thread traces of the software GPU: of its counters with code (rochound softgpu --counters-code),
// folders are made in the shape that rocprofv3 --att leaves, so that one reader reads both, and
// whatever else reads that shape does. Hits are exact, cycles are the model's, and code.json says
// so in a field of its own. Instructions are those that ran; where the code object is found that
// they come from, the others of the kernel and the source lines are added. Offline, one thread.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace rochound::profile {

// Where code objects may be: a code object, an offload bundle, a program or a library.
struct CodeFile {
  std::string name;
  std::string bytes;
};

struct WrittenTraces {
  std::vector<std::filesystem::path> files;  // each a code.json
  std::vector<std::string> warnings;
};

// folder/PROCESS/ui_output_agent_GPU_dispatch_ORDER/ for each launch that was counted with its code
// and whose kernel is wanted, by its symbol.
base::Result<WrittenTraces> WriteSoftgpuTraces(
    const std::filesystem::path& counters, const std::function<bool(const std::string&)>& wanted,
    const std::vector<CodeFile>& code, const std::filesystem::path& folder);

}  // namespace rochound::profile
