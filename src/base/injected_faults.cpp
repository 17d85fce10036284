// SPDX-License-Identifier: MIT
#include "base/injected_faults.h"

#include <charconv>

namespace rochound::base {
namespace {

constexpr InjectedFault kFaults[] = {
    {"no-rescue", &InjectedFaults::no_rescue, 1, true,
     "a packet that no doorbell was rung for is never taken"},
    {"early-packets", &InjectedFaults::early_packets, 16, true,
     "one in N doorbells finds the queue unmapped; when it is mapped again, packets are taken up "
     "to "
     "the write index, before their doorbells"},
    {"early-read-index", &InjectedFaults::early_read_index, 1, true,
     "the read index passes a kernel without scratch memory when it starts; its packet may be "
     "overwritten"},
    {"late-completions", &InjectedFaults::late_completions, 16, true,
     "one in N completions comes late, after those of later packets unless a barrier is between"},
    {"drop-completions", &InjectedFaults::drop_completions, 64, false,
     "one in N kernels never completes its signal"},
    {"inactive-queues", &InjectedFaults::inactive_queues, 1000, false,
     "one in N kernels makes its queue inactive, with an error, instead of running"},
};

// SplitMix64's last step: each bit of the input changes about half of the output's.
constexpr uint64_t Mix(uint64_t word) {
  word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ull;
  word = (word ^ word >> 27) * 0x94d049bb133111ebull;
  return word ^ word >> 31;
}

bool ReadNumber(std::string_view text, uint64_t most, uint64_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && *number != 0 &&
         *number <= most;
}

std::string Names() {
  std::string names = "strict";
  for (const InjectedFault& fault : kFaults) names += ", " + std::string(fault.name);
  return names + ", seed=N";
}

// One word of the list; false: there is none of that name.
bool Apply(std::string_view name, uint64_t number, bool numbered, InjectedFaults* faults) {
  if (name == "seed" && numbered) {
    faults->seed = number;
    return true;
  }
  if (name == "strict" && !numbered) {
    for (const InjectedFault& fault : kFaults)
      if (fault.strict) faults->*fault.chance = fault.usual;
    return true;
  }
  for (const InjectedFault& fault : kFaults) {
    if (fault.name != name) continue;
    faults->*fault.chance = numbered ? static_cast<uint32_t>(number) : fault.usual;
    return true;
  }
  return false;
}

}  // namespace

std::span<const InjectedFault> KnownInjectedFaults() { return kFaults; }

uint64_t InjectedFaults::Random(uint32_t InjectedFaults::* chance, uint32_t queue,
                                uint64_t packet) const {
  uint64_t which = 0;
  while (kFaults[which].chance != chance) ++which;
  return Mix(Mix(Mix(seed + which * 0x9e3779b97f4a7c15ull) + queue) + packet);
}

Result<InjectedFaults> ParseInjectedFaults(std::string_view list) {
  InjectedFaults faults;
  while (!list.empty()) {
    const std::string_view word = list.substr(0, list.find(','));
    list.remove_prefix(word.size() == list.size() ? word.size() : word.size() + 1);
    const size_t equals = word.find('=');
    const bool numbered = equals != word.npos;
    uint64_t number = 0;
    if (numbered && !ReadNumber(word.substr(equals + 1), UINT32_MAX, &number))
      return Error{"fault '" + std::string(word) + "': what follows = is no number from 1 to " +
                   std::to_string(UINT32_MAX)};
    if (!Apply(word.substr(0, equals), number, numbered, &faults))
      return Error{"there is no fault '" + std::string(word) + "'; there are " + Names()};
  }
  return faults;
}

}  // namespace rochound::base
