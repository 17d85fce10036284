// SPDX-License-Identifier: MIT
//
// Signals of ours, lent to packets that have none. GPU-only signals: no interrupt, no event. Taken
// by whoever holds a queue's lock, given back by whoever harvests; any thread, one short lock.
// Grows on demand up to what can be in flight, and gives everything back before the runtime goes.
#pragma once

#include <cstdint>

namespace rochound::agent {

// A few signals, each with value 1 and no times, in one place that a queue's lock guards: what
// lends and what harvests meet at the pool only once per batch.
struct SignalBatch {
  static constexpr uint32_t kMost = 64;
  uint32_t count = 0;
  uint64_t signals[kMost];
};

// A signal, or 0: the runtime gave none. Fills the batch from the pool when it is empty.
uint64_t BorrowSignal(SignalBatch* batch);

// Makes a used signal as new and keeps it in the batch; a full batch goes to the pool.
void ReturnSignal(SignalBatch* batch, uint64_t signal);
void ReturnBatch(SignalBatch* batch);

// A signal that the GPU may still write to: it is not lent again.
void RetireSignal(uint64_t signal);

// Makes sure that a good number are free; at set-up of a queue.
void PrepareSignals();

// The drain thread: makes more, if borrowers have run low.
void AnswerCallForSignals();

// Destroys all that are free; those lent are forgotten, their memory goes with the runtime.
void DestroySignals();

// In a forked child, whose signals are the parent's.
void ForgetSignalsAfterFork();

}  // namespace rochound::agent
