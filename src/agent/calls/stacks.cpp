// SPDX-License-Identifier: MIT
#include "agent/calls/stacks.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>

#include "agent/calls/call.h"
#include "agent/calls/unwind_rules.h"

namespace rochound::agent {

namespace {

uint64_t Load(uint64_t address) {
  uint64_t value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof(value));
  return value;
}

constexpr uint64_t kUnknownStack = 1;

void FindStack() {
  call_state.stack_low = call_state.stack_high = kUnknownStack;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* low = nullptr;
  size_t bytes = 0;
  if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
    call_state.stack_low = reinterpret_cast<uint64_t>(low);
    call_state.stack_high = call_state.stack_low + bytes;
  }
  pthread_attr_destroy(&attributes);
}

}  // namespace

uint64_t StackEnd(uint64_t sp) {
  if (call_state.stack_high == 0) FindStack();
  return sp >= call_state.stack_low && sp < call_state.stack_high ? call_state.stack_high : 0;
}

size_t WalkStack(Frame frame, uint64_t stack_end, uint64_t* addresses, size_t most) {
  size_t count = 0;
  UnwindRule rule = RuleAt(frame.instruction);
  // Each step goes up, so the walk ends.
  while (count < most && rule.kind() != UnwindRule::Kind::kOutermost) {
    const bool told = rule.kind() == UnwindRule::Kind::kRule;
    uint64_t cfa = frame.bp + 16;  // of a function with a frame pointer
    if (told)
      cfa = (rule.from_bp() ? frame.bp : frame.sp) + static_cast<uint64_t>(rule.cfa_offset());
    if (cfa % 8 != 0 || cfa < frame.sp + (told ? 8 : 16) || cfa > stack_end) break;
    uint64_t bp = frame.bp;
    if (!told) {
      bp = Load(cfa - 16);
    } else if (rule.bp_saved()) {
      const uint64_t place = cfa + static_cast<uint64_t>(rule.bp_offset());
      if (place < frame.sp || place > stack_end - 8) break;
      bp = Load(place);
    }
    const uint64_t back = Load(cfa - 8);
    frame = {back - 1, cfa, bp};
    rule = RuleAt(frame.instruction);
    // Code made at run time is in no library and may be right; a stray word is not.
    if (rule.code() || (told && back > 4096)) addresses[count++] = back;
    if (!rule.code()) break;
  }
  return count;
}

__attribute__((noinline)) size_t CallerStack(uint64_t* addresses, size_t most) {
  Frame frame;
  asm volatile(
      "leaq 0(%%rip), %0\n\t"
      "movq %%rsp, %1\n\t"
      "movq %%rbp, %2"
      : "=&r"(frame.instruction), "=&r"(frame.sp), "=&r"(frame.bp));
  const uint64_t end = StackEnd(frame.sp);
  if (end == 0) return 0;
  const size_t count = WalkStack(frame, end, addresses, most);
  // The recorder's own frames come first and say nothing.
  size_t first = 0;
  while (first < count && IsOurCode(addresses[first])) ++first;
  std::copy(addresses + first, addresses + count, addresses);
  return count - first;
}

namespace internal {

namespace {
constexpr size_t kMostFrames = 48;
constexpr size_t kPerRecord = 6;
}  // namespace

void WriteStack(ThreadState* thread, uint64_t correlation) {
  uint64_t addresses[kMostFrames];
  size_t count = 0;
  {
    const Inside inside(thread);
    count = CallerStack(addresses, kMostFrames);
  }
  for (size_t at = 0; at < count; at += kPerRecord) {
    auto* record = thread->log->Reserve<trace::StackFrames>();
    if (record == nullptr) return;
    const size_t here = std::min(count - at, kPerRecord);
    record->correlation = correlation;
    for (size_t i = 0; i < here; ++i) record->addresses[i] = addresses[at + i];
    for (size_t i = here; i < kPerRecord; ++i) record->addresses[i] = 0;
    thread->log->Commit(record, static_cast<uint16_t>(here), static_cast<uint32_t>(at));
  }
}

}  // namespace internal

}  // namespace rochound::agent
