// SPDX-License-Identifier: MIT
#include "agent/calls/tracer_slot.h"

#include <cstring>
#include <initializer_list>

namespace rochound::agent {

namespace {

// Whether these bytes come next; if so, goes past them.
bool Skip(const uint8_t** code, std::initializer_list<uint8_t> bytes) {
  if (std::memcmp(*code, bytes.begin(), bytes.size()) != 0) return false;
  *code += bytes.size();
  return true;
}

// The address that a displacement from the next instruction means.
uintptr_t SkipAddress(const uint8_t** code) {
  int32_t displacement = 0;
  std::memcpy(&displacement, *code, sizeof displacement);
  *code += sizeof displacement;
  return reinterpret_cast<uintptr_t>(*code) + static_cast<uintptr_t>(intptr_t{displacement});
}

// The whole function must be one of these, so that there is no doubt about what it does:
//   mov %rdi, word(%rip); ret
//   xchg %rdi, word(%rip); ret
//   lea word(%rip), %rax; mov %rdi, (%rax); ret
//   mov pointer_to_word(%rip), %rax; mov %rdi, (%rax); ret
uintptr_t StoredWord(const uint8_t* code) {
  Skip(&code, {0xf3, 0x0f, 0x1e, 0xfa});  // endbr64
  uintptr_t word = 0;
  if (Skip(&code, {0x48, 0x89, 0x3d}) || Skip(&code, {0x48, 0x87, 0x3d})) {
    word = SkipAddress(&code);
  } else if (Skip(&code, {0x48, 0x8d, 0x05})) {
    word = SkipAddress(&code);
    if (!Skip(&code, {0x48, 0x89, 0x38})) return 0;
  } else if (Skip(&code, {0x48, 0x8b, 0x05})) {
    const uintptr_t pointer = SkipAddress(&code);
    if (!Skip(&code, {0x48, 0x89, 0x38})) return 0;
    word = *reinterpret_cast<const uintptr_t*>(pointer);
  }
  return Skip(&code, {0xc3}) && word % sizeof(uintptr_t) == 0 ? word : 0;
}

}  // namespace

TracerSlot::TracerSlot(const void* store)
    : word_(reinterpret_cast<uintptr_t*>(
          store == nullptr ? 0 : StoredWord(static_cast<const uint8_t*>(store)))) {}

bool TracerSlot::Take(const void* ours) const {
  uintptr_t expected = 0;
  return word_ != nullptr &&
         __atomic_compare_exchange_n(word_, &expected, reinterpret_cast<uintptr_t>(ours), false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

void TracerSlot::Release(const void* ours) const {
  auto expected = reinterpret_cast<uintptr_t>(ours);
  if (word_ != nullptr)
    __atomic_compare_exchange_n(word_, &expected, uintptr_t{0}, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_ACQUIRE);
}

}  // namespace rochound::agent
