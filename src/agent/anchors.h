// SPDX-License-Identifier: MIT
//
// Clock anchors: the same instant in several clocks, from which a reader converts every time stamp.
// Written by the drain thread.
#pragma once

namespace rochound::agent {

// The host's clocks; and each GPU's, while the runtime lives.
void NoteAnchors();

}  // namespace rochound::agent
