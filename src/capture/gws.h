// SPDX-License-Identifier: MIT
//
// Global wave sync (GWS): a counter inside the GPU, behind the grid barrier of cooperative launches
// on gfx9 up to gfx90a and on gfx10; other GPUs have the barrier in memory. HIP launches a kernel
// of its own that sets the counter, then the cooperative one, both on the one queue that may use
// GWS. Memory does not show any of that, so whoever runs a captured launch again has to do the
// same. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "capture/manifest.h"
#include "codeobj/code_object.h"

namespace rochound::capture {

// Whether code in there waits at such a barrier. bytes: what object was read from.
bool UsesGws(std::string_view bytes, const codeobj::CodeObject& object);

// The same code object, whose kernel now does nothing but set the counter for a launch of this
// shape. It is to be launched with one work-item.
base::Result<std::string> MakeGwsInit(std::string_view bytes, const codeobj::CodeObject& object,
                                      const codeobj::Kernel& kernel, const Launch& launch);

}  // namespace rochound::capture
