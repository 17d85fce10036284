// SPDX-License-Identifier: MIT
//
// The ways in which a program changes its signals, other than a store, which may ring a doorbell
// (queues.h): a program that makes its signal ready for the next kernel this way must not give that
// kernel's times to the last one. On the program's threads.
#pragma once

#include <hsa/hsa_api_trace.h>

namespace rochound::agent {

// Puts the hooks of this file into the table.
void HookSignalChanges(CoreApiTable* core);

}  // namespace rochound::agent
