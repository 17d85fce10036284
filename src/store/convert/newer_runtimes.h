// SPDX-License-Identifier: MIT
//
// What a runtime newer than the recorder did that could only be counted: the agent's lines in the
// info file, made into sentences for rochound_lost.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rochound::store {

struct NotRecorded {
  uint64_t count = 0;  // 0: nothing is missing
  std::string note;
};

// counts: "name:calls,name:calls", a name may be empty; version: empty if it is not known.
NotRecorded NewerCalls(std::string_view library, std::string_view version, std::string_view counts);

// counts: "kind:packets,kind:packets".
NotRecorded NewerPackets(std::string_view counts);

// rings: a number, or empty.
NotRecorded UnknownDoorbells(std::string_view rings);

}  // namespace rochound::store
