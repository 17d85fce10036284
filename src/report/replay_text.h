// SPDX-License-Identifier: MIT
//
// What rochound-replay answers, for people. A pure function of its JSON, any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace rochound::report {

// Several lines; what is wrong comes first.
std::string ReplayText(const nlohmann::ordered_json& answer);

// The string of this name; empty if there is none.
std::string TextIn(const nlohmann::ordered_json& json, const char* name);

// 1234567 -> "1.235 ms".
std::string TimeText(double nanoseconds);

}  // namespace rochound::report
