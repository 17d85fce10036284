// SPDX-License-Identifier: MIT
//
// Signals of ours, lent to packets that have none. GPU-only signals: no interrupt, no event. Taken
// by whoever holds a queue's lock, given back by whoever harvests; any thread, one short lock.
// Grows on demand up to what can be in flight, and gives everything back before the runtime goes.
#pragma once

#include <cstdint>

namespace rochound::agent {

// A signal with value 1 and no times, or 0: the runtime gave none.
uint64_t BorrowSignal();
void ReturnSignal(uint64_t signal);

// Makes sure that a good number are free; at set-up of a queue.
void PrepareSignals();

// The drain thread: makes more, if borrowers have run low.
void AnswerCallForSignals();

// Destroys all that are free; those lent are forgotten, their memory goes with the runtime.
void DestroySignals();

}  // namespace rochound::agent
