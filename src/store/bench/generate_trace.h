// SPDX-License-Identifier: MIT
//
// Makes .rpd files of any size that look like a training run: threads that launch kernels in nested
// ranges, copy and synchronize, each with a queue of its own on one of the GPUs. The same for the
// same options. For benches and tests; one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace rochound::store {

struct GeneratorOptions {
  uint64_t events = 1'000'000;  // calls, ranges and operations, about
  uint32_t threads = 4;
  uint32_t gpus = 2;
  uint32_t kernels = 40;                 // different ones
  std::vector<std::string> extra_names;  // of kernels that run beside them
  uint64_t seed = 1;
};

// How many events there are in the file.
base::Result<uint64_t> GenerateRpd(const std::filesystem::path& path,
                                   const GeneratorOptions& options);

}  // namespace rochound::store
