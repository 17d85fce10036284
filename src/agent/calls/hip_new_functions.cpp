// SPDX-License-Identifier: MIT
#include "agent/calls/hip_new_functions.h"

#include <atomic>
#include <cstdint>

extern "C" {
// By the assembler below. NOLINTBEGIN(readability-identifier-naming)
__attribute__((visibility("hidden"))) uint64_t rochound_new_hip_calls[256] = {};
__attribute__((visibility("hidden"))) void* rochound_new_hip_next[256] = {};
__attribute__((visibility("hidden"))) extern const char rochound_new_hip_counters[];
// NOLINTEND(readability-identifier-naming)
}

// One every 32 bytes.
asm(R"(
  .text
  .balign 32
  .globl rochound_new_hip_counters
  .hidden rochound_new_hip_counters
rochound_new_hip_counters:
  .set rochound_at, 0
  .rept 256
  .balign 32
  lock incq rochound_new_hip_calls+rochound_at(%rip)
  jmpq *rochound_new_hip_next+rochound_at(%rip)
  .set rochound_at, rochound_at + 8
  .endr
)");

namespace rochound::agent {

namespace {

constexpr size_t kMost = 256;
constexpr size_t kCounterBytes = 32;
constinit const char* names[kMost] = {};
constinit std::atomic<size_t> used{0};

}  // namespace

void CountNewHipFunctions(void* table, const std::vector<NewHipFunction>& functions) {
  for (const NewHipFunction& function : functions) {
    const size_t at = used.load(std::memory_order_relaxed);
    if (at == kMost) return;
    auto* const entry = reinterpret_cast<void**>(static_cast<char*>(table) + function.offset);
    void* const next = __atomic_load_n(entry, __ATOMIC_RELAXED);
    if (next == nullptr) continue;
    names[at] = function.name;
    rochound_new_hip_next[at] = next;
    used.store(at + 1, std::memory_order_release);
    __atomic_store_n(entry, const_cast<char*>(rochound_new_hip_counters) + at * kCounterBytes,
                     __ATOMIC_RELEASE);
  }
}

std::string NewHipFunctionsText() {
  std::string text;
  for (size_t at = 0; at < used.load(std::memory_order_acquire); ++at)
    text.append(text.empty() ? "" : ",")
        .append(names[at])
        .append(":")
        .append(std::to_string(__atomic_load_n(&rochound_new_hip_calls[at], __ATOMIC_RELAXED)));
  return text;
}

}  // namespace rochound::agent
