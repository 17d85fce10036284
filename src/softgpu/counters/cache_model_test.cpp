// SPDX-License-Identifier: MIT
//
// Streams whose hits are known.
#include "softgpu/counters/cache_model.h"

#include <gtest/gtest.h>

namespace rochound::softgpu {
namespace {

constexpr uint64_t kLine = 128;

// Two compute units on two dies. L1: 4 KiB, 4 ways; L2: 64 KiB, 16 ways.
CacheShapes Small(const char* mall = "0") {
  const auto shapes = ParseCacheShapes(std::string("units=4 dies=2 l1=4096/128/4 scalar=1024/64/2 "
                                                   "l2=65536/128/16 mall=") +
                                       mall);
  EXPECT_TRUE(shapes.has_value());
  return shapes.value_or(CacheShapes{});
}

// A wave's instruction that touches a line, 32 lanes with 4 bytes each.
void Touch(CacheModel* model, uint64_t address, MemoryAction action, uint64_t group = 0) {
  std::vector<MemoryPart> parts;
  for (uint8_t lane = 0; lane < 32; ++lane)
    parts.push_back({address + 4u * lane, MemorySpace::kGlobal, 4, lane});
  model->Access(group, parts, action);
}

void Stream(CacheModel* model, uint64_t bytes, MemoryAction action, uint64_t group = 0) {
  for (uint64_t at = 0; at < bytes; at += kLine) Touch(model, at, action, group);
}

TEST(CacheModelTest, AStreamThatFitsIsReadOnce) {
  CacheModel model(Small());
  Stream(&model, 4096, MemoryAction::kLoad);
  EXPECT_EQ(model.l1().misses, 32U);
  EXPECT_EQ(model.l1().hits, 0U);
  Stream(&model, 4096, MemoryAction::kLoad);
  EXPECT_EQ(model.l1().hits, 32U);
  EXPECT_EQ(model.l1().read_bytes, 4096U);
  EXPECT_EQ(model.l2().misses, 32U);
  EXPECT_EQ(model.memory_read_bytes(), 4096U);
}

TEST(CacheModelTest, AStreamThatDoesNotFitIsReadAgain) {
  // Twice L1: what was used last stays, so that each line is gone when it is wanted again. L2 has
  // it.
  CacheModel model(Small());
  for (int pass = 0; pass < 3; ++pass) Stream(&model, 8192, MemoryAction::kLoad);
  EXPECT_EQ(model.l1().hits, 0U);
  EXPECT_EQ(model.l1().misses, 3 * 64U);
  EXPECT_EQ(model.l2().misses, 64U);
  EXPECT_EQ(model.l2().hits, 2 * 64U);
  EXPECT_EQ(model.memory_read_bytes(), 8192U);
  // Twice L2: nothing helps.
  CacheModel large(Small());
  for (int pass = 0; pass < 2; ++pass) Stream(&large, 131072, MemoryAction::kLoad);
  EXPECT_EQ(large.l2().hits, 0U);
  EXPECT_EQ(large.memory_read_bytes(), 2 * 131072U);
  // But a MALL that holds it.
  CacheModel behind(Small("1048576/64/16"));
  for (int pass = 0; pass < 2; ++pass) Stream(&behind, 131072, MemoryAction::kLoad);
  EXPECT_EQ(behind.l2().hits, 0U);
  EXPECT_EQ(behind.mall().misses, 131072U / 64);
  EXPECT_EQ(behind.mall().hits, 131072U / 64);
  EXPECT_EQ(behind.memory_read_bytes(), 131072U);
}

TEST(CacheModelTest, LinesOfOneSetShareItsWays) {
  // L1 has 8 sets: lines that are 1024 bytes apart are of one set, which holds four.
  for (const uint64_t lines : {4, 5}) {
    CacheModel model(Small());
    for (int pass = 0; pass < 2; ++pass)
      for (uint64_t i = 0; i < lines; ++i) Touch(&model, i * 1024, MemoryAction::kLoad);
    EXPECT_EQ(model.l1().hits, lines == 4 ? 4U : 0U);
  }
}

TEST(CacheModelTest, StoresGoThroughL1AndStayInL2) {
  CacheModel model(Small());
  for (int pass = 0; pass < 2; ++pass) Stream(&model, 4096, MemoryAction::kStore);
  EXPECT_EQ(model.l1().written_bytes, 2 * 4096U);
  EXPECT_EQ(model.l2().misses, 32U);
  EXPECT_EQ(model.l2().hits, 32U);
  EXPECT_EQ(model.memory_written_bytes(), 0U);
  model.Finish();
  EXPECT_EQ(model.memory_written_bytes(), 4096U);
  EXPECT_EQ(model.memory_read_bytes(), 0U);  // nothing of the old is needed
  // Four bytes are written as the 32 that memory takes.
  CacheModel one(Small());
  const MemoryPart part{640, MemorySpace::kGlobal, 4, 0};
  one.Access(0, {&part, 1}, MemoryAction::kStore);
  one.Finish();
  EXPECT_EQ(one.memory_written_bytes(), 32U);
  // What does not fit is written when it has to go.
  CacheModel large(Small());
  Stream(&large, 131072, MemoryAction::kStore);
  EXPECT_EQ(large.memory_written_bytes(), 65536U);
  large.Finish();
  EXPECT_EQ(large.memory_written_bytes(), 131072U);
  // A MALL keeps it.
  CacheModel behind(Small("1048576/64/16"));
  Stream(&behind, 131072, MemoryAction::kStore);
  behind.Finish();
  EXPECT_EQ(behind.memory_written_bytes(), 0U);
  EXPECT_EQ(behind.left_in_mall_bytes(), 131072U);
}

TEST(CacheModelTest, AtomicsReadAndWriteInL2) {
  CacheModel model(Small());
  Touch(&model, 0, MemoryAction::kAtomic);
  Touch(&model, 0, MemoryAction::kAtomic);
  EXPECT_EQ(model.l1().hits + model.l1().misses, 0U);
  EXPECT_EQ(model.l2().misses, 1U);
  EXPECT_EQ(model.l2().hits, 1U);
  EXPECT_EQ(model.memory_read_bytes(), kLine);
  model.Finish();
  EXPECT_EQ(model.memory_written_bytes(), kLine);
}

TEST(CacheModelTest, WorkgroupsShareWhatTheirUnitAndDieHave) {
  CacheModel model(Small());
  Touch(&model, 0, MemoryAction::kLoad, 0);
  Touch(&model, 0, MemoryAction::kLoad, 4);  // the same compute unit
  EXPECT_EQ(model.l1().hits, 1U);
  Touch(&model, 0, MemoryAction::kLoad, 2);  // another one of the same die
  EXPECT_EQ(model.l1().hits, 1U);
  EXPECT_EQ(model.l2().hits, 1U);
  Touch(&model, 0, MemoryAction::kLoad, 1);  // another die
  EXPECT_EQ(model.l2().misses, 2U);
  EXPECT_EQ(model.memory_read_bytes(), 2 * kLine);
}

TEST(CacheModelTest, TheScalarUnitHasItsOwn) {
  CacheModel model(Small());
  const MemoryPart part{100, MemorySpace::kScalar, 16, 0};
  for (int i = 0; i < 3; ++i) model.Access(0, {&part, 1}, MemoryAction::kLoad);
  EXPECT_EQ(model.scalar().misses, 1U);
  EXPECT_EQ(model.scalar().hits, 2U);
  EXPECT_EQ(model.scalar().read_bytes, 64U);
  EXPECT_EQ(model.l1().misses, 0U);
  EXPECT_EQ(model.memory_read_bytes(), kLine);
  const MemoryPart lds{100, MemorySpace::kLds, 16, 0};
  model.Access(0, {&lds, 1}, MemoryAction::kLoad);
  EXPECT_EQ(model.l1().misses, 0U);
}

TEST(CacheModelTest, ShapesThatNoCacheHasAreRefused) {
  const std::string good = "units=4 dies=2 l1=4096/128/4 scalar=1024/64/2 l2=65536/128/16";
  EXPECT_TRUE(ParseCacheShapes(good));
  for (const char* bad : {"", "l1=4096/128/4", "l1", "l9=4096/128/4", "units=0", "dies=x"})
    EXPECT_FALSE(ParseCacheShapes(bad)) << bad;
  for (const char* bad : {" l1=4096/128", " l1=4096/100/4", " l1=4096/128/0", " l1=5000/128/4",
                          " l1=0", " l2=0", " mall=1/2/3", " l1=-1/128/4", " l1=4096/8192/1"})
    EXPECT_FALSE(ParseCacheShapes(good + bad)) << bad;
}

}  // namespace
}  // namespace rochound::softgpu
