// SPDX-License-Identifier: MIT
//
// The walk up the stack, against glibc's own, and against stacks that make no sense.
#include <execinfo.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "agent/calls/libraries.h"
#include "agent/calls/stacks.h"
#include "agent/calls/unwind_rules.h"

namespace rochound::agent {
namespace {

constexpr size_t kMost = 64;

struct Both {
  std::vector<uint64_t> ours;
  std::vector<uint64_t> theirs;
};

__attribute__((noinline)) Both Walk() {
  Frame frame;
  asm volatile(
      "leaq 0(%%rip), %0\n\t"
      "movq %%rsp, %1\n\t"
      "movq %%rbp, %2"
      : "=&r"(frame.instruction), "=&r"(frame.sp), "=&r"(frame.bp));
  Both both;
  uint64_t addresses[kMost];
  const size_t count = WalkStack(frame, StackEnd(frame.sp), addresses, kMost);
  both.ours.assign(addresses, addresses + count);
  void* frames[kMost];
  const int theirs = backtrace(frames, kMost);
  for (int i = 1; i < theirs; ++i) both.theirs.push_back(reinterpret_cast<uint64_t>(frames[i]));
  return both;
}

// Different shapes of frames: with and without frame pointer, with aligned and variable locals.
__attribute__((noinline)) Both Plain(int depth) {
  Both both = depth == 0 ? Walk() : Plain(depth - 1);
  asm volatile("" ::: "memory");
  return both;
}
__attribute__((noinline, optimize("no-omit-frame-pointer"))) Both WithPointer(size_t bytes) {
  auto* local = static_cast<volatile char*>(alloca(bytes));
  local[bytes - 1] = 1;
  Both both = Plain(2);
  asm volatile("" : : "r"(local) : "memory");
  return both;
}
__attribute__((noinline)) Both Large() {
  volatile char local[20000];
  local[19999] = 1;
  Both both = WithPointer(777);
  asm volatile("" : : "r"(local) : "memory");
  return both;
}

void ExpectSame(const Both& both) {
  ASSERT_GE(both.ours.size(), 4u);
  // glibc's walk may go one further, into the code that starts a thread.
  ASSERT_GE(both.theirs.size(), both.ours.size());
  ASSERT_LE(both.theirs.size(), both.ours.size() + 1);
  for (size_t i = 0; i < both.ours.size(); ++i) EXPECT_EQ(both.ours[i], both.theirs[i]) << i;
}

// A sanitizer puts frames of its own on the stack, and intercepts what the walk is compared with.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SKIP_IF_FRAMES_ARE_ADDED() GTEST_SKIP() << "a sanitizer puts frames of its own on the stack"
#else
#define SKIP_IF_FRAMES_ARE_ADDED() static_cast<void>(0)
#endif

class Unwind : public testing::Test {
 protected:
  void SetUp() override { SetUnwindLibraries(LoadedLibraries()); }
};

TEST_F(Unwind, SeesWhatGlibcSees) {
  SKIP_IF_FRAMES_ARE_ADDED();
  ExpectSame(Large());
  ExpectSame(Large());  // now from the cache
}

TEST_F(Unwind, WorksOnOtherThreads) {
  SKIP_IF_FRAMES_ARE_ADDED();
  Both both;
  std::thread([&] { both = Large(); }).join();
  ExpectSame(both);
}

int CompareForQsort(const void*, const void*) {
  static bool once = false;
  if (!once) {
    once = true;
    ExpectSame(Large());
  }
  return 0;
}

TEST_F(Unwind, GoesThroughOtherLibraries) {
  SKIP_IF_FRAMES_ARE_ADDED();
  int numbers[] = {3, 1, 2};
  qsort(numbers, 3, sizeof(int), CompareForQsort);
}

TEST_F(Unwind, RulesAreKept) {
  const auto here = reinterpret_cast<uint64_t>(&abort);
  const UnwindRule fresh = ReadRule(here);
  const UnwindRule first = RuleAt(here);
  const UnwindRule again = RuleAt(here);
  EXPECT_EQ(fresh.kind(), UnwindRule::Kind::kRule);
  EXPECT_EQ(first.bits(), fresh.bits());
  EXPECT_EQ(again.bits(), fresh.bits());
  // At a function's first instruction only the return address is on the stack.
  EXPECT_FALSE(fresh.from_bp());
  EXPECT_FALSE(fresh.bp_saved());
  EXPECT_EQ(fresh.cfa_offset(), 8);
}

TEST_F(Unwind, ARuleFitsItsWord) {
  for (const int64_t cfa : {8, -8, 1 << 20, -(1 << 20)}) {
    for (const int64_t bp : {-16, 16, 1 << 20, -(1 << 20), 0}) {
      const UnwindRule rule = UnwindRule::Step(true, cfa, false, bp);
      EXPECT_EQ(rule.cfa_offset(), cfa);
      EXPECT_EQ(rule.bp_offset(), bp);
      EXPECT_TRUE(rule.from_bp() && rule.code() && !rule.bp_saved());
      EXPECT_EQ(rule.kind(), UnwindRule::Kind::kRule);
    }
  }
  EXPECT_FALSE(UnwindRule().code());
  EXPECT_TRUE(UnwindRule(UnwindRule::Kind::kOutermost, true).code());
}

TEST_F(Unwind, AddressesThatAreNotCodeHaveNoRule) {
  EXPECT_EQ(RuleAt(0).kind(), UnwindRule::Kind::kNone);
  EXPECT_EQ(RuleAt(12345).kind(), UnwindRule::Kind::kNone);
  EXPECT_EQ(RuleAt(~uint64_t{0}).kind(), UnwindRule::Kind::kNone);
  int local = 0;
  EXPECT_EQ(RuleAt(reinterpret_cast<uint64_t>(&local)).kind(), UnwindRule::Kind::kNone);
}

// Tables that are not there any more: a library was unloaded since its address was noted.
TEST_F(Unwind, UnmappedTablesAreNotRead) {
  SKIP_IF_FRAMES_ARE_ADDED();
  void* gone = mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(gone, MAP_FAILED);
  munmap(gone, 8192);
  Library library;
  library.code_begin = reinterpret_cast<uintptr_t>(gone);
  library.code_end = library.code_begin + 4096;
  library.unwind_tables = library.code_begin + 4096;
  SetUnwindLibraries({library});
  EXPECT_EQ(RuleAt(library.code_begin + 100).kind(), UnwindRule::Kind::kNone);
}

// Stacks full of numbers that mean nothing, plausible addresses among them: the walk must end,
// inside.
TEST_F(Unwind, NonsenseEndsTheWalk) {
  std::mt19937_64 random(1);
  std::vector<uint64_t> code;
  for (const Library& library : LoadedLibraries())
    if (library.code_end > library.code_begin)
      for (int i = 0; i < 20; ++i)
        code.push_back(library.code_begin + random() % (library.code_end - library.code_begin));
  std::vector<uint64_t> stack(512);
  const auto begin = reinterpret_cast<uint64_t>(stack.data());
  const uint64_t end = begin + stack.size() * 8;
  for (int round = 0; round < 3000; ++round) {
    for (uint64_t& word : stack) {
      const uint64_t kind = random() % 4;
      word = kind == 0   ? code[random() % code.size()]
             : kind == 1 ? begin + random() % (end - begin)
             : kind == 2 ? random()
                         : random() % 100;
    }
    const Frame frame{code[random() % code.size()], begin + random() % 64 * 8,
                      random() % 2 != 0 ? begin + random() % (end - begin) : random()};
    uint64_t addresses[kMost];
    EXPECT_LE(WalkStack(frame, end, addresses, kMost), kMost);
  }
}

// A coroutine's stack is not the thread's: nothing is known about where it ends.
void OnOtherStack() {
  EXPECT_EQ(StackEnd(reinterpret_cast<uint64_t>(__builtin_frame_address(0))), 0u);
}

TEST_F(Unwind, ForeignStacksAreLeftAlone) {
  SKIP_IF_FRAMES_ARE_ADDED();
  int local = 0;
  EXPECT_NE(StackEnd(reinterpret_cast<uint64_t>(&local)), 0u);
  std::vector<char> memory(65536);
  ucontext_t back;
  ucontext_t there;
  ASSERT_EQ(getcontext(&there), 0);
  there.uc_stack.ss_sp = memory.data();
  there.uc_stack.ss_size = memory.size();
  there.uc_link = &back;
  makecontext(&there, OnOtherStack, 0);
  ASSERT_EQ(swapcontext(&back, &there), 0);
}

}  // namespace
}  // namespace rochound::agent
