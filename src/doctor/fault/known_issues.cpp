// SPDX-License-Identifier: MIT
#include "doctor/fault/known_issues.h"

#include <algorithm>
#include <sstream>

namespace rochound::doctor {
namespace {

constexpr KnownIssue kIssues[] = {
    {"gfx1010 gfx1011 gfx1012", "aperture", "",
     "PyTorch built for gfx1030 ends so on RDNA 1 under HSA_OVERRIDE_GFX_VERSION=10.3.0",
     "Use a build for this GPU: RDNA 1 does not have all instructions of gfx1030.",
     "https://github.com/AUTOMATIC1111/stable-diffusion-webui/issues/9283"},
    {"gfx103", "aperture", "",
     "reported as infrequent with matrix kernels that RDNA 2 has no instructions for",
     "Compare with the same kernel compiled for this GPU, and without matrix instructions.",
     "https://github.com/tracel-ai/cubecl/pull/662"},
    {"gfx1151", "aperture", "", "reported with ROCm 7 after hours of work; open",
     "Try a newer ROCm and kernel driver, and record the run to see which kernel it is.",
     "https://github.com/ggml-org/whisper.cpp/issues/3576"},
    {"gfx906", "aperture", "", "reported with kernels that were changed for this GPU",
     "Compare with the library's own kernels.",
     "https://github.com/iacopPBK/llama.cpp-gfx906/issues/17"},
};

}  // namespace

std::vector<KnownIssue> FindKnownIssues(const std::string& target, const std::string& cause,
                                        const std::string& kernel) {
  std::vector<KnownIssue> found;
  if (target.empty()) return found;
  std::copy_if(std::begin(kIssues), std::end(kIssues), std::back_inserter(found),
               [&](const KnownIssue& issue) {
                 std::istringstream starts(issue.targets);
                 bool same = false;
                 for (std::string start; starts >> start;) same |= target.starts_with(start);
                 return same && cause == issue.cause &&
                        kernel.find(issue.kernel) != std::string::npos;
               });
  return found;
}

}  // namespace rochound::doctor
