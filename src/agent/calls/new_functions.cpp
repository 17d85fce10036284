// SPDX-License-Identifier: MIT
#include "agent/calls/new_functions.h"

#include <atomic>
#include <cstdint>

extern "C" {
// By the assembler below. NOLINTBEGIN(readability-identifier-naming)
__attribute__((visibility("hidden"))) uint64_t rochound_new_calls[256] = {};
__attribute__((visibility("hidden"))) void* rochound_new_next[256] = {};
__attribute__((visibility("hidden"))) extern const char rochound_new_counters[];
// NOLINTEND(readability-identifier-naming)
}

// One every 32 bytes.
asm(R"(
  .text
  .balign 32
  .globl rochound_new_counters
  .hidden rochound_new_counters
rochound_new_counters:
  .set rochound_at, 0
  .rept 256
  .balign 32
  lock incq rochound_new_calls+rochound_at(%rip)
  jmpq *rochound_new_next+rochound_at(%rip)
  .set rochound_at, rochound_at + 8
  .endr
)");

namespace rochound::agent {

namespace {

constexpr size_t kMost = 256;
constexpr size_t kCounterBytes = 32;

struct Counted {
  NewIn library;
  void** entry;
  std::string name;
};
constinit Counted* counted[kMost] = {};  // kept for ever
constinit std::atomic<size_t> used{0};

void* CounterOf(size_t at) { return const_cast<char*>(rochound_new_counters) + at * kCounterBytes; }

// The entry's place among the counted ones, a new one if need be.
size_t PlaceOf(NewIn library, void** entry, const char* name) {
  const size_t count = used.load(std::memory_order_relaxed);
  for (size_t at = 0; at < count; ++at)
    if (counted[at]->entry == entry) return at;
  if (count == kMost) return kMost;
  counted[count] = new Counted{library, entry, name};
  used.store(count + 1, std::memory_order_release);
  return count;
}

}  // namespace

void CountNewFunctions(NewIn library, void* table, const std::vector<NewFunction>& functions) {
  for (const NewFunction& function : functions) {
    auto* const entry = reinterpret_cast<void**>(static_cast<char*>(table) + function.offset);
    void* const next = __atomic_load_n(entry, __ATOMIC_RELAXED);
    if (next == nullptr) continue;
    const size_t at = PlaceOf(library, entry, function.name);
    if (at == kMost || next == CounterOf(at)) continue;
    rochound_new_next[at] = next;
    __atomic_store_n(entry, CounterOf(at), __ATOMIC_RELEASE);
  }
}

std::string NewFunctionsText(NewIn library) {
  std::string text;
  for (size_t at = 0; at < used.load(std::memory_order_acquire); ++at)
    if (counted[at]->library == library)
      text.append(text.empty() ? "" : ",")
          .append(counted[at]->name)
          .append(":")
          .append(std::to_string(__atomic_load_n(&rochound_new_calls[at], __ATOMIC_RELAXED)));
  return text;
}

}  // namespace rochound::agent
