// SPDX-License-Identifier: MIT
//
// The control socket: `rochound ctl` starts, stops and asks the recorder of a running process
// through it. One per process, in a directory that only its user can enter, served by one thread of
// ours: never a signal, and no thread of the program waits for it. What is spoken is described in
// docs/formats/control.md. Failure leaves the recorder running without control, said once.
#pragma once

#include <ctime>

namespace rochound::agent {

// Starts serving, unless ROCHOUND_CONTROL_DIR is set to nothing.
void ServeControl();

// The process ends in good order: takes the socket's name away. Of others `rochound ctl list` does.
void LeaveControl();

// Before a fork: waits, at most until then, for the control thread to be between two requests.
// True: it is held there, until it is released.
bool HoldControlForFork(const timespec& deadline);
void ReleaseControlAfterFork();

// In a forked child: the parent's socket is not ours.
void ForgetControlAfterFork();

}  // namespace rochound::agent
