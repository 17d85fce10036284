// SPDX-License-Identifier: MIT
//
// The LD_PRELOAD of a program that runs on the software GPU, and the one place that knows about
// sanitizer builds.
//
// When rochound is built with ASan or TSan so is the shim, and the sanitizer's runtime has to be
// the first library of the process. The programs are not built with it, so the runtime is preloaded
// in front of the shim (CMake finds it: ROCHOUND_SANITIZER_RUNTIME), and its leak check, which
// would blame the program and ROCm, is off unless ASAN_OPTIONS is already set.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace rochound::launch {

// The value for LD_PRELOAD: [sanitizer runtime:]shim[:existing]. At a space or a colon the dynamic
// loader would cut a path in two, so a shim in such a folder is named by a link in the store. Fails
// where the store has such a path, too.
base::Result<std::string> PreloadList(const std::filesystem::path& shim,
                                      const std::filesystem::path& store, const char* existing);

// The same for a program that gets an instrumented library another way: the existing list, with the
// runtime in front if it is not there already.
std::string WithSanitizerRuntime(const std::string& existing);

// Sets the sanitizer's own options for the program; does nothing in a plain build.
void SetSanitizerOptions();

}  // namespace rochound::launch
