// SPDX-License-Identifier: MIT
//
// What commands read from the bus: answers and beats of daemons, and events. Anybody who may write
// to the bus may write anything there, so a message is checked once, here, and its members have the
// types that docs/formats/fleet.md gives them from then on. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

namespace rochound::fleet {

// Nothing: it is no JSON object, or one of its members has another type than it should. Members may
// be missing. `cards` are not looked into: CardsOf does that.
std::optional<nlohmann::json> ParseDaemonMessage(std::string_view text);

// Ranks of the processes of a beat that have not ended.
std::set<int64_t> RanksOfBeat(const nlohmann::json& beat);

}  // namespace rochound::fleet
