// SPDX-License-Identifier: MIT
//
// Another tool's tracer in the real HIP and the real libroctx64: what it registered, before us or
// after us, stays. Neither library needs a GPU for that.
#include "agent/calls/tracer_slot.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <initializer_list>

#include "agent/calls/hip_tracer.h"
#include "agent/calls/libraries.h"
#include "agent/calls/roctx.h"

namespace rochound::agent {
namespace {

using Callback = int (*)(uint32_t domain, uint32_t operation, void* data);
using Register = void (*)(Callback callback);

std::atomic<int> neighbour_calls{0};
int Neighbour(uint32_t, uint32_t, void*) {
  ++neighbour_calls;
  return 1;
}

class HipTracer : public testing::Test {
 protected:
  void SetUp() override {
    handle_ = dlopen("libamdhip64.so", RTLD_LAZY);
    ASSERT_NE(handle_, nullptr) << dlerror();
    register_ = reinterpret_cast<Register>(dlsym(handle_, "hipRegisterTracerCallback"));
    if (register_ == nullptr) GTEST_SKIP() << "this release's HIP has one callback per function";
  }

  // Whether HIP's memory has the neighbour's callback: the only word that can have it.
  bool HasNeighbour() const {
    for (const Library& library : LoadedLibraries()) {
      if (!library.IsFile("libamdhip64.so")) continue;
      for (uintptr_t at = (library.zeroed_begin + 7) & ~uintptr_t{7}; at + 8 <= library.zeroed_end;
           at += 8)
        if (*reinterpret_cast<const uintptr_t*>(at) == reinterpret_cast<uintptr_t>(&Neighbour))
          return true;
    }
    return false;
  }

  void* handle_ = nullptr;
  Register register_ = nullptr;
};

TEST_F(HipTracer, OneThatIsThereIsNotReplaced) {
  register_(&Neighbour);
  ASSERT_TRUE(HasNeighbour());
  EXPECT_EQ(AttachHipTracer(handle_, false, false), TracerKind::kNone);
  EXPECT_TRUE(HasNeighbour());
  DetachHipTracers();
  EXPECT_TRUE(HasNeighbour());
}

TEST_F(HipTracer, OneThatComesAfterUsIsNotCleared) {
  EXPECT_NE(AttachHipTracer(handle_, false, false), TracerKind::kNone);
  register_(&Neighbour);
  ASSERT_TRUE(HasNeighbour());
  DetachHipTracers();
  EXPECT_TRUE(HasNeighbour());
}

TEST_F(HipTracer, OursGoesAndMayComeAgain) {
  const TracerSlot slot(reinterpret_cast<void*>(register_));
  ASSERT_TRUE(slot.found());
  EXPECT_EQ(AttachHipTracer(handle_, false, false), TracerKind::kFull);
  EXPECT_FALSE(slot.Take(reinterpret_cast<void*>(&Neighbour)));
  DetachHipTracers();
  EXPECT_TRUE(slot.Take(reinterpret_cast<void*>(&Neighbour)));
  EXPECT_TRUE(HasNeighbour());
}

TEST(RoctxTracer, OneThatIsThereGoesOn) {
  void* const roctx = dlopen("libroctx64.so.4", RTLD_NOW | RTLD_LOCAL);
  if (roctx == nullptr) GTEST_SKIP() << "this release has no libroctx64: " << dlerror();
  const auto take = reinterpret_cast<Register>(dlsym(roctx, "roctxRegisterTracerCallback"));
  ASSERT_NE(take, nullptr);
  const auto mark = reinterpret_cast<void (*)(const char*)>(dlsym(roctx, "roctxMarkA"));
  take(&Neighbour);
  mark("before");
  OpenRoctx();
  mark("beside us");
  AttachRoctx(LoadedLibraries());
  mark("beside us");
  EXPECT_EQ(neighbour_calls, 3);
}

TEST(TracerSlot, AFunctionThatDoesMoreIsNotUnderstood) {
  const uint8_t counts_first[] = {0x48, 0xff, 0x05, 0, 0, 0, 0, 0x48, 0x89, 0x3d, 0, 0, 0, 0, 0xc3};
  EXPECT_FALSE(TracerSlot(counts_first).found());
  const uint8_t goes_on[] = {0x48, 0x89, 0x3d, 1, 0, 0, 0, 0xe9, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_FALSE(TracerSlot(goes_on).found());
  EXPECT_FALSE(TracerSlot(nullptr).found());
  EXPECT_FALSE(TracerSlot().Take(counts_first));
}

TEST(TracerSlot, EveryShapeLeadsToItsWord) {
  struct alignas(8) {
    uint8_t code[24];
    uintptr_t word;
    uintptr_t* pointer;
  } one = {{}, 0, nullptr};
  one.pointer = &one.word;
  const auto try_code = [&](std::initializer_list<uint8_t> bytes) {
    std::copy(bytes.begin(), bytes.end(), one.code);
    one.word = 0;
    const TracerSlot slot(one.code);
    EXPECT_TRUE(slot.Take(&one));
    EXPECT_EQ(one.word, reinterpret_cast<uintptr_t>(&one));
    slot.Release(&slot);
    EXPECT_NE(one.word, 0u);
    slot.Release(&one);
    EXPECT_EQ(one.word, 0u);
  };
  try_code({0x48, 0x89, 0x3d, 24 - 7, 0, 0, 0, 0xc3});
  try_code({0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x87, 0x3d, 24 - 11, 0, 0, 0, 0xc3});
  try_code({0x48, 0x8d, 0x05, 24 - 7, 0, 0, 0, 0x48, 0x89, 0x38, 0xc3});
  try_code({0x48, 0x8b, 0x05, 32 - 7, 0, 0, 0, 0x48, 0x89, 0x38, 0xc3});
}

}  // namespace
}  // namespace rochound::agent
