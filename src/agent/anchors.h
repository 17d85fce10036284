// SPDX-License-Identifier: MIT
//
// Clock anchors: the same instant in several clocks, from which a reader converts every time stamp.
// Written by the drain thread.
#pragma once

#include <cstdint>

namespace rochound::agent {

// The host's clocks; and those of each GPU that has been seen to work, while the runtime lives.
void RecordAnchors();

// A GPU's counter was at `ticks` when work of it ended. True: the first such news of this GPU,
// which from now on can be anchored.
bool SawTicks(uint16_t agent, uint64_t ticks);

}  // namespace rochound::agent
