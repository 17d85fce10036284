// SPDX-License-Identifier: MIT
//
// What rochound-replay answers, for people. A pure function of its JSON, any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace rochound::cli {

// Several lines; what is wrong comes first.
std::string ReplayText(const nlohmann::ordered_json& answer);

// 1234567 -> "1.235 ms".
std::string TimeText(double nanoseconds);

}  // namespace rochound::cli
