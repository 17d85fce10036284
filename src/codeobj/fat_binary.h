// SPDX-License-Identifier: MIT
//
// Finds the code objects in whatever file a user has: a code object itself, an offload bundle
// (hipcc --genco, --offload-device-only), compressed or not, or a program, library or object file
// that HIP code was compiled into. Called by offline code, any thread. What is not compressed
// stays where it is: the caller keeps the bytes as long as the results. Input may come from
// anybody; how much all compressed bundles of a file may unfold to is limited.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codeobj/target.h"

namespace rochound::codeobj {

struct EmbeddedObject {
  std::string triple;  // as the bundle says it: "hipv4-amdgcn-amd-amdhsa--gfx942"
  Target target;
  std::string_view bytes;                    // the code object
  std::shared_ptr<const std::string> owner;  // what bytes are in, if they were compressed
};

inline constexpr uint64_t kLargestBundle = uint64_t{8} << 30;

// At least one, in the file's order; what is in a bundle for the host or for no GPU is left out.
base::Result<std::vector<EmbeddedObject>> FindCodeObjects(std::string_view bytes,
                                                          uint64_t largest = kLargestBundle);

// The one that runs on this GPU, the most specific first; nullptr if none does.
const EmbeddedObject* BestFor(const std::vector<EmbeddedObject>& objects, const Target& gpu);

}  // namespace rochound::codeobj
