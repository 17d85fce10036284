// SPDX-License-Identifier: MIT
//
// The file "facts" of a process's log: which libraries are loaded and how much processor time its
// threads have used, for those who ask afterwards whether this ran on a GPU at all, and through
// which layers. Written by the drain thread now and then, since a process may be killed, and at the
// end.
#pragma once

#include <cstdint>

namespace rochound::agent {

// The log was opened: from here on time is counted.
void ProcessFactsBegin();

// The drain thread; seldom does anything.
void WriteProcessFacts(uint64_t now_ns);

// This thread, which recorded something, ends: its name is kept. The first thousand are.
void RememberEndedThread();

// The process ends; the drain thread may be at it.
void WriteLastProcessFacts();

void ForgetProcessFactsAfterFork();

}  // namespace rochound::agent
