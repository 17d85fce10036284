// SPDX-License-Identifier: MIT
//
// The control socket: one per process, served by one thread of ours. See control.cpp for what it
// understands.
#pragma once

namespace rochound::agent {

// Starts serving, if the settings name a control directory. Failure leaves the recorder running
// without it, and says so once.
void ServeControl();

// In a forked child: the parent's socket is not ours.
void ForgetControlAfterFork();

}  // namespace rochound::agent
