// SPDX-License-Identifier: MIT
//
// The metadata note of a code object: MessagePack that says of every kernel what its arguments and
// resources are. Used by code_object.cpp alone; pure, any thread. Input that is not well-formed is
// an error; a field of the wrong type counts as absent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codeobj/code_object.h"

namespace rochound::codeobj {

struct Metadata {
  std::string target;  // "amdgcn-amd-amdhsa--gfx942"; empty before version 4
  std::vector<Kernel> kernels;
};

base::Result<Metadata> ReadMetadata(std::string_view message_pack);

}  // namespace rochound::codeobj
