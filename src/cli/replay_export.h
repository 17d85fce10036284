// SPDX-License-Identifier: MIT
//
// `rochound replay export BUNDLE -o FOLDER`: the launch as a project that needs no rochound. Called
// by the replay command, on the main thread; says what happened on stderr and returns the exit
// code.
#pragma once

#include <filesystem>

namespace rochound::cli {

// An empty folder's name means the bundle's, with ".replay" instead of ".bundle", in the current
// folder.
int RunReplayExport(const std::filesystem::path& bundle, std::filesystem::path folder);

}  // namespace rochound::cli
