// SPDX-License-Identifier: MIT
//
// Counters in a rocpd file: rocprofv3's database. Called by RocprofFiles for each such file; one
// thread. The file may come from anybody.
#pragma once

#include <filesystem>

#include "profile/counter_source.h"

namespace rochound::profile {

// All dispatches of all processes in the file, with the counters that it has of them. An error if
// it is no rocpd file, or has no counter at all.
base::Result<CounterSet> ReadRocpdCounters(const std::filesystem::path& file);

// What stays the same of a code object's address from run to run: a file with the place in it, or
// the size of what was loaded from memory. "" if it says neither.
std::string StableUri(const std::string& uri);

}  // namespace rochound::profile
