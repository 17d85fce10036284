// SPDX-License-Identifier: MIT
//
// What `rochound run` does about GPUs that failed: explains it on stderr and keeps the evidence
// beside the trace. On main's only thread.
#pragma once

#include <filesystem>
#include <string>

namespace rochound::doctor {

// Looks through a run's log. The evidence of each process that failed goes to `output`.fault, or
// .fault-2 and so on. How the first one failed, in a sentence; empty: none did.
std::string ReportFaults(const std::filesystem::path& log, const std::filesystem::path& output);

// A trace got another name: the evidence beside it goes with it.
void MoveEvidence(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace rochound::doctor
