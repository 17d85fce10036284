// SPDX-License-Identifier: MIT
#include "doctor/fault/reach.h"

#include "doctor/fault/follower.h"

namespace rochound::doctor {

Reach FindReach(const std::vector<codeobj::Instruction>& code, const std::string& processor,
                const codeobj::Kernel& kernel, const LaunchFacts& launch, const ReadSaved& read) {
  return Follower(code, processor, kernel, launch, read).Follow();
}

}  // namespace rochound::doctor
