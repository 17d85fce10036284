// SPDX-License-Identifier: MIT
//
// What an installation brings along beside the libraries of its command
// (docs/decisions/portable.md). Any thread.
#pragma once

#include <filesystem>
#include <string>

namespace rochound::store {

// The file of an extension of DuckDB; empty where there is none, and DuckDB looks for it where it
// always looks.
std::filesystem::path BundledExtension(const std::string& name);

}  // namespace rochound::store
