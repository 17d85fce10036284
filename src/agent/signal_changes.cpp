// SPDX-License-Identifier: MIT
#include "agent/signal_changes.h"

#include <hsa/hsa.h>

#include "agent/pending.h"
#include "agent/runtime.h"

namespace rochound::agent {
namespace {

template <auto kEntry>
struct Change;

// Its result is not asked for, so what has finished is taken before.
template <typename... Arguments, void (*CoreApiTable::*kEntry)(hsa_signal_t, Arguments...)>
struct Change<kEntry> {
  static void Call(hsa_signal_t signal, Arguments... arguments) {
    BeforeSignalChanges(signal);
    (Real().core.*kEntry)(signal, arguments...);
  }
};

template <hsa_signal_value_t (*CoreApiTable::*kEntry)(hsa_signal_t, hsa_signal_value_t)>
struct Change<kEntry> {
  static hsa_signal_value_t Call(hsa_signal_t signal, hsa_signal_value_t value) {
    return ReplaceSignalValue(signal, nullptr,
                              [&] { return (Real().core.*kEntry)(signal, value); });
  }
};

// A compare-and-swap that fails changes nothing.
template <hsa_signal_value_t (*CoreApiTable::*kEntry)(hsa_signal_t, hsa_signal_value_t,
                                                      hsa_signal_value_t)>
struct Change<kEntry> {
  static hsa_signal_value_t Call(hsa_signal_t signal, hsa_signal_value_t expected,
                                 hsa_signal_value_t value) {
    const auto swap = [&] { return (Real().core.*kEntry)(signal, expected, value); };
    // One reference: a function of more would need memory.
    return ReplaceSignalValue(signal, &expected, [&swap] { return swap(); });
  }
};

// Adding changes no order: a program may count work that way while some of it is in flight.
template <auto kEntry, int kSign>
void Add(hsa_signal_t signal, hsa_signal_value_t value) {
  AddToSignal(signal, kSign * value, [&] { (Real().core.*kEntry)(signal, value); });
}

template <int kSign, auto... kEntries>
void HookAdditions(CoreApiTable* core) {
  const auto hook = [&]<auto kEntry>() {
    if (core->*kEntry != nullptr) core->*kEntry = Add<kEntry, kSign>;
  };
  (hook.template operator()<kEntries>(), ...);
}

template <auto... kEntries>
void HookChanges(CoreApiTable* core) {
  const auto hook = [&]<auto kEntry>() {
    if (core->*kEntry != nullptr) core->*kEntry = Change<kEntry>::Call;
  };
  (hook.template operator()<kEntries>(), ...);
}

hsa_status_t SignalDestroy(hsa_signal_t signal) {
  BeforeSignalChanges(signal);
  return Real().core.hsa_signal_destroy_fn(signal);
}

}  // namespace

void HookSignalChanges(CoreApiTable* core) {
  using Core = CoreApiTable;
  HookChanges<&Core::hsa_signal_exchange_scacq_screl_fn, &Core::hsa_signal_exchange_scacquire_fn,
              &Core::hsa_signal_exchange_screlease_fn, &Core::hsa_signal_exchange_relaxed_fn,
              &Core::hsa_signal_cas_scacq_screl_fn, &Core::hsa_signal_cas_scacquire_fn,
              &Core::hsa_signal_cas_screlease_fn, &Core::hsa_signal_cas_relaxed_fn,
              &Core::hsa_signal_and_scacq_screl_fn, &Core::hsa_signal_and_scacquire_fn,
              &Core::hsa_signal_and_screlease_fn, &Core::hsa_signal_and_relaxed_fn,
              &Core::hsa_signal_or_scacq_screl_fn, &Core::hsa_signal_or_scacquire_fn,
              &Core::hsa_signal_or_screlease_fn, &Core::hsa_signal_or_relaxed_fn,
              &Core::hsa_signal_xor_scacq_screl_fn, &Core::hsa_signal_xor_scacquire_fn,
              &Core::hsa_signal_xor_screlease_fn, &Core::hsa_signal_xor_relaxed_fn>(core);
  HookAdditions<1, &Core::hsa_signal_add_scacq_screl_fn, &Core::hsa_signal_add_scacquire_fn,
                &Core::hsa_signal_add_screlease_fn, &Core::hsa_signal_add_relaxed_fn>(core);
  HookAdditions<-1, &Core::hsa_signal_subtract_scacq_screl_fn,
                &Core::hsa_signal_subtract_scacquire_fn, &Core::hsa_signal_subtract_screlease_fn,
                &Core::hsa_signal_subtract_relaxed_fn>(core);
  core->hsa_signal_destroy_fn = SignalDestroy;
}

}  // namespace rochound::agent
