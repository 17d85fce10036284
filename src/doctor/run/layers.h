// SPDX-License-Identifier: MIT
//
// Through which libraries a process reached the GPU: the program, a CUDA layer if there is one
// (ZLUDA or another that offers CUDA's functions and calls HIP), HIP, HSA, the driver. Found out
// from the libraries that it had mapped, and from these files as far as they are still there. Any
// thread; nothing fails, what cannot be read is not said.
#pragma once

#include <string>
#include <vector>

namespace rochound::doctor {

struct Layer {
  std::string name;  // file name, or KFD
  std::string path;  // empty: no file
  std::string kind;  // program, cuda, hip, hsa, driver
  std::string what;  // of a CUDA library: ZLUDA, NVIDIA's own, unknown CUDA layer
  std::vector<std::string> evidence;
};

// From the program down. libraries: the paths that were mapped.
std::vector<Layer> FindLayers(const std::string& executable,
                              const std::vector<std::string>& libraries);

// program -> libcuda.so.1 (ZLUDA) -> libamdhip64.so.7 -> libhsa-runtime64.so.1 -> KFD
std::string Chain(const std::vector<Layer>& layers);

}  // namespace rochound::doctor
