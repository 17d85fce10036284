// SPDX-License-Identifier: MIT
//
// Finds memory that a captured launch writes and does not read, so that another build of its kernel
// can be asked to write it, too (docs/guides/capture.md, "What equal means"). Called by `rochound
// replay` and `rochound run --swap-verify` on their only thread; starts processes.
#pragma once

#include <filesystem>
#include <string>

namespace rochound::launch {

// For rochound-replay's --poison; empty: none was found. softgpu: GPUs, or empty.
std::string FindPoison(const std::filesystem::path& bundle, const std::string& softgpu,
                       double timeout_seconds);

}  // namespace rochound::launch
