// SPDX-License-Identifier: MIT
//
// A captured launch as a project of its own, for somebody without rochound: C++ source that makes
// plain HSA calls, a CMakeLists.txt, and the data, uncompressed. Offline; the caller's thread. What
// the bundle says goes into source code, so all its text is written as literals that cannot end
// early. A folder that could not be finished is removed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "base/result.h"
#include "capture/bundle.h"

namespace rochound::capture {

// Makes the folder, which must not be there, for the user alone: it holds the user's data.
// progress(done, all) counts the bytes of memory that are written.
base::Result<void> Export(const Bundle& bundle, const std::filesystem::path& folder,
                          const std::function<void(uint64_t, uint64_t)>& progress = {});

// The program, the same for all launches; it includes the launch.h that is written beside it.
extern const char* const kExportedMain;

}  // namespace rochound::capture
