// SPDX-License-Identifier: MIT
//
// Packets and queues of kinds that our headers do not know: a later release's. What they do is not
// known, so they are counted and told as missing. Any thread; the count is one addition.
#pragma once

#include <string>

namespace rochound::agent {

// A packet of a queue that is no kernel dispatch, and is there.
void CountIfNew(const void* packet);

// "type 9:2,vendor format 7:3"; empty: there were none.
std::string NewPacketsText();

// A doorbell was rung whose queue we do not follow.
void CountUnknownDoorbell();
std::string UnknownDoorbellsText();  // their number; empty: there were none

}  // namespace rochound::agent
