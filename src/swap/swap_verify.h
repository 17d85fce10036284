// SPDX-License-Identifier: MIT
//
// `rochound run --swap-verify`: launches of originals that the agent captured are run again after
// the program's end, with the original and with the candidate, and the bytes that both leave are
// compared as `rochound replay compare` does it. Nothing of it happens in the program. One thread;
// starts processes. Whatever goes wrong makes a launch "not verified", and the reason is reported.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "store/convert/swap_comparison.h"

namespace rochound::swap {

// Where captured launches are, in the folder of a run's log.
std::filesystem::path SwapSamples(const std::filesystem::path& log_directory);

// Compares what is there and keeps the results there. What differs is said at once, and its bundle
// is moved to a place beside rpd; without rpd all bundles stay where they are.
void CompareSwaps(const std::filesystem::path& samples, const std::string& softgpu,
                  const std::filesystem::path& rpd);

store::SwapComparisons ReadSwapComparisons(const std::filesystem::path& samples);

// What the answer of rochound-replay to `compare` says about its only candidate.
store::SwapComparison JudgeSwap(const nlohmann::ordered_json& answer);

}  // namespace rochound::swap
