// SPDX-License-Identifier: MIT
#include "softgpu/memory/address_space.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace rochound::softgpu {
namespace {

constexpr uint64_t kPage = kGpuPageSize;

class AddressSpaceTest : public testing::Test {
 protected:
  AddressSpace space_;
  std::vector<uint8_t> bytes_ = std::vector<uint8_t>(16 * kPage);
};

TEST_F(AddressSpaceTest, FindsExactlyWhatIsMapped) {
  space_.Map(0x10000, 2 * kPage, bytes_.data(), kRead);
  AddressSpace::Reader reader(space_);
  reader.Enter();
  EXPECT_EQ(reader.Find(0xFFFF), nullptr);
  ASSERT_NE(reader.Find(0x10000), nullptr);
  EXPECT_NE(reader.Find(0x11FFF), nullptr);
  EXPECT_EQ(reader.Find(0x12000), nullptr);
  EXPECT_EQ(reader.Translate(0x10010, 4, kRead), bytes_.data() + 0x10);
  EXPECT_EQ(reader.Translate(0x10010, 4, kWrite), nullptr) << "read-only";
  EXPECT_EQ(reader.Translate(0x11FFE, 4, kRead), nullptr) << "runs over the end";
  reader.Leave();
}

TEST_F(AddressSpaceTest, UnmappingTheMiddleSplits) {
  space_.Map(0x10000, 4 * kPage, bytes_.data(), kRead | kWrite);
  space_.Unmap(0x11000, kPage);
  std::vector<Region> regions = space_.Snapshot();
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(regions[0].end, 0x11000u);
  EXPECT_EQ(regions[1].begin, 0x12000u);
  EXPECT_EQ(regions[1].host, bytes_.data() + 2 * kPage);
}

TEST_F(AddressSpaceTest, MappingAgainReplaces) {
  space_.Map(0x10000, 4 * kPage, bytes_.data(), kRead);
  space_.Map(0x11000, kPage, bytes_.data() + 8 * kPage, kRead | kWrite);
  AddressSpace::Reader reader(space_);
  reader.Enter();
  EXPECT_EQ(reader.Translate(0x11000, 1, kWrite), bytes_.data() + 8 * kPage);
  EXPECT_EQ(reader.Translate(0x12000, 1, kRead), bytes_.data() + 2 * kPage);
  reader.Leave();
}

TEST_F(AddressSpaceTest, UnmapWaitsForAReaderThatIsInside) {
  space_.Map(0x10000, kPage, bytes_.data(), kRead);
  AddressSpace::Reader reader(space_);
  reader.Enter();
  ASSERT_NE(reader.Find(0x10000), nullptr);
  std::atomic<bool> unmapped = false;
  std::thread driver([&] {
    space_.Unmap(0x10000, kPage);
    unmapped = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(unmapped);
  // Again and again: on a busy machine the driver may not have come to its Unmap yet.
  while (!unmapped) {
    reader.Refresh();
    std::this_thread::yield();
  }
  driver.join();
  EXPECT_EQ(reader.Find(0x10000), nullptr);
  reader.Leave();
}

TEST_F(AddressSpaceTest, ManyThreadsMapAndRead) {
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&] {
      AddressSpace::Reader reader(space_);
      reader.Enter();
      while (!done) {
        for (uint64_t page = 0; page < 16; ++page) {
          const Region* region = reader.Find(0x100000 + page * kPage);
          if (region != nullptr) {
            EXPECT_EQ(region->HostAddress(0x100000 + page * kPage), bytes_.data() + page * kPage);
          }
        }
        reader.Refresh();
      }
      reader.Leave();
    });
  }
  for (int round = 0; round < 200; ++round) {
    uint64_t page = round % 16;
    space_.Map(0x100000 + page * kPage, kPage, bytes_.data() + page * kPage, kRead);
    space_.Unmap(0x100000 + (round * 7) % 16 * kPage, kPage);
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace rochound::softgpu
