// SPDX-License-Identifier: MIT
#include "doctor/fault/known_issues.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace rochound::doctor {
namespace {

constexpr KnownIssue kIssues[] = {
    {"gfx101 gfx103", 602, 0, "aperture", "",
     "reported for RDNA 1 and RDNA 2 from ROCm 6.2 on, with convolutions of PyTorch among others",
     "Try the same program with a ROCm before 6.2, and record it to see which kernel it is.",
     "https://github.com/ROCm/ROCm/issues/5051"},
    {"gfx1010 gfx1011 gfx1012", 503, 0, "aperture", "",
     "reported for PyTorch on RDNA 1 since ROCm 5.3, with HSA_OVERRIDE_GFX_VERSION=10.3.0; builds "
     "with ROCm 5.2 work",
     "Use a build for this GPU: RDNA 1 does not have all instructions of gfx1030.",
     "https://github.com/ROCm/ROCm/issues/2527"},
    {"gfx1010 gfx1011 gfx1012", 0, 0, "aperture", "",
     "PyTorch built for gfx1030 ends so on RDNA 1 under HSA_OVERRIDE_GFX_VERSION=10.3.0",
     "Use a build for this GPU: RDNA 1 does not have all instructions of gfx1030.",
     "https://github.com/AUTOMATIC1111/stable-diffusion-webui/issues/9283"},
    {"gfx103", 0, 0, "aperture", "",
     "reported as infrequent with matrix kernels that RDNA 2 has no instructions for",
     "Compare with the same kernel compiled for this GPU, and without matrix instructions.",
     "https://github.com/tracel-ai/cubecl/pull/662"},
    {"gfx1151", 700, 0, "aperture", "", "reported with ROCm 7 after hours of work; open",
     "Try a newer ROCm and kernel driver, and record the run to see which kernel it is.",
     "https://github.com/ggml-org/whisper.cpp/issues/3576"},
    {"gfx906", 0, 506, "aperture", "",
     "reported for the Radeon VII Pro; resolved by ROCm 5.5 or 5.6", "Update ROCm.",
     "https://github.com/ROCm/ROCm/issues/2153"},
    {"gfx906", 0, 0, "aperture", "", "reported with kernels that were changed for this GPU",
     "Compare with the library's own kernels.",
     "https://github.com/iacopPBK/llama.cpp-gfx906/issues/17"},
    {"gfx90a gfx94", 0, 0, "aperture", "triton_",
     "kernels of Triton before 3.3 (scatter) and 3.4 (unfold) ended so",
     "Update Triton, or PyTorch with it.", "https://github.com/pytorch/pytorch/issues/147378"},
    {"gfx", 700, 0, "aperture", "concatenate_fusion",
     "reported for fused concatenations of JAX 0.9 with ROCm 7.2", "Try a newer jax-rocm plugin.",
     "https://github.com/ROCm/rocm-jax/issues/453"},
};

}  // namespace

std::vector<KnownIssue> FindKnownIssues(const std::string& target, unsigned rocm,
                                        const std::string& cause, const std::string& kernel) {
  std::vector<KnownIssue> found;
  if (target.empty()) return found;
  std::copy_if(std::begin(kIssues), std::end(kIssues), std::back_inserter(found),
               [&](const KnownIssue& issue) {
                 std::istringstream starts(issue.targets);
                 bool same = false;
                 for (std::string start; starts >> start;) same |= target.starts_with(start);
                 const bool then =
                     rocm == 0 || (rocm >= issue.since && (issue.until == 0 || rocm < issue.until));
                 return same && then && cause == issue.cause &&
                        kernel.find(issue.kernel) != std::string::npos;
               });
  return found;
}

unsigned RocmRelease(const std::string& maps) {
  constexpr char kName[] = "libamdhip64.so.";
  const size_t at = maps.find(kName);
  unsigned major = 0, minor = 0;
  if (at == std::string::npos ||
      sscanf(maps.c_str() + at + sizeof kName - 1, "%u.%u", &major, &minor) != 2)
    return 0;
  return major * 100 + minor;
}

}  // namespace rochound::doctor
