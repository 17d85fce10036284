// SPDX-License-Identifier: MIT
#include "softgpu/driver/svm.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <vector>

#include "softgpu/driver/memory.h"
#include "softgpu/driver/test_support.h"

namespace rochound::softgpu {
namespace {

constexpr uint64_t kPage = kGpuPageSize;

class SvmTest : public testing::Test {
 protected:
  SvmTest() {
    for (uint32_t i = 0; i < 2; ++i) {
      gpus_.push_back(std::make_unique<Gpu>());
      gpus_[i]->facts = TestFacts(i + 1);
      gpus_[i]->index = i;
      gpus_[i]->device = &devices_[i];
    }
    memory_ = std::make_unique<MemoryManager>(gpus_);
    host_ = reinterpret_cast<uint64_t>(
        mmap(nullptr, 16 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  ~SvmTest() override { munmap(reinterpret_cast<void*>(host_), 16 * kPage); }

  int Call(uint32_t operation, uint64_t begin, uint64_t size,
           std::vector<kfd::SvmAttribute>& attributes) {
    std::vector<uint64_t> words(3 + attributes.size());
    auto& args = *reinterpret_cast<kfd::SvmArgs*>(words.data());
    args.start_address = begin;
    args.size = size;
    args.operation = operation;
    args.attribute_count = static_cast<uint32_t>(attributes.size());
    auto* behind = reinterpret_cast<kfd::SvmAttribute*>(&args + 1);
    std::copy(attributes.begin(), attributes.end(), behind);
    const int error = memory_->Svm(args);
    std::copy(behind, behind + attributes.size(), attributes.begin());
    return error;
  }
  int Set(uint64_t page, uint64_t pages, std::vector<kfd::SvmAttribute> attributes) {
    return Call(kfd::kSvmSet, host_ + page * kPage, pages * kPage, attributes);
  }
  std::vector<kfd::SvmAttribute> Get(uint64_t page, uint64_t pages,
                                     std::vector<kfd::SvmAttribute> attributes) {
    EXPECT_EQ(Call(kfd::kSvmGet, host_ + page * kPage, pages * kPage, attributes), 0);
    return attributes;
  }
  bool Sees(int gpu, uint64_t page, uint8_t access = kRead) {
    const uint64_t address = host_ + page * kPage;
    const uint8_t* seen = GpuSees(devices_[gpu], address, kPage, access);
    EXPECT_TRUE(seen == nullptr || seen == reinterpret_cast<uint8_t*>(address));
    return seen != nullptr;
  }

  FakeDevice devices_[2];
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::unique_ptr<MemoryManager> memory_;
  uint64_t host_ = 0;
};

TEST_F(SvmTest, AccessIsPerGpuAndAtTheProgramsAddress) {
  ASSERT_EQ(Set(1, 2, {{kfd::kSvmAccessInPlace, 50001}}), 0);
  EXPECT_FALSE(Sees(0, 0));
  EXPECT_TRUE(Sees(0, 1, kRead | kWrite));
  EXPECT_TRUE(Sees(0, 2));
  EXPECT_FALSE(Sees(0, 3));
  EXPECT_FALSE(Sees(0, 1, kExecute));
  EXPECT_FALSE(Sees(1, 1));
  ASSERT_EQ(Set(2, 1, {{kfd::kSvmNoAccess, 50001}, {kfd::kSvmAccess, 50002}}), 0);
  EXPECT_TRUE(Sees(0, 1));
  EXPECT_FALSE(Sees(0, 2));
  EXPECT_TRUE(Sees(1, 2));
}

TEST_F(SvmTest, FlagsSayWhatAGpuMayDo) {
  ASSERT_EQ(Set(0, 4, {{kfd::kSvmAccess, 50001}}), 0);
  ASSERT_EQ(Set(1, 1, {{kfd::kSvmSetFlags, kfd::kSvmGpuReadOnly | kfd::kSvmGpuExecute}}), 0);
  EXPECT_TRUE(Sees(0, 1, kRead | kExecute));
  EXPECT_FALSE(Sees(0, 1, kWrite));
  EXPECT_TRUE(Sees(0, 0, kWrite));
  ASSERT_EQ(Set(1, 1, {{kfd::kSvmClearFlags, kfd::kSvmGpuReadOnly | kfd::kSvmGpuExecute}}), 0);
  EXPECT_TRUE(Sees(0, 1, kWrite));
  EXPECT_EQ(devices_[0].address_space().Snapshot().size(), 1u) << "equal neighbours are one again";
}

TEST_F(SvmTest, PiecesBecomeOneRegion) {
  for (uint64_t page : {5, 1, 3, 2, 4}) ASSERT_EQ(Set(page, 1, {{kfd::kSvmAccess, 50001}}), 0);
  const auto regions = devices_[0].address_space().Snapshot();
  ASSERT_EQ(regions.size(), 1u);
  EXPECT_EQ(regions[0].begin, host_ + kPage);
  EXPECT_EQ(regions[0].end, host_ + 6 * kPage);
}

TEST_F(SvmTest, AttributesAreRememberedAndCombined) {
  ASSERT_EQ(Set(0, 2, {{kfd::kSvmPreferredLocation, 50001}, {kfd::kSvmPrefetchLocation, 0}}), 0);
  ASSERT_EQ(Set(2, 2,
                {{kfd::kSvmPreferredLocation, 50002},
                 {kfd::kSvmPrefetchLocation, 0},
                 {kfd::kSvmAccess, 50002},
                 {kfd::kSvmClearFlags, kfd::kSvmCoherent}}),
            0);
  auto got = Get(0, 2, {{kfd::kSvmPreferredLocation, 0}, {kfd::kSvmAccess, 50002}});
  EXPECT_EQ(got[0].value, 50001u);
  EXPECT_EQ(got[1].type, kfd::kSvmNoAccess);
  got = Get(2, 2, {{kfd::kSvmPreferredLocation, 0}, {kfd::kSvmAccess, 50002}});
  EXPECT_EQ(got[0].value, 50002u);
  EXPECT_EQ(got[1].type, kfd::kSvmAccess);
  got = Get(1, 2,
            {{kfd::kSvmPreferredLocation, 0},
             {kfd::kSvmPrefetchLocation, 7},
             {kfd::kSvmSetFlags, 0},
             {kfd::kSvmClearFlags, 0}});
  EXPECT_EQ(got[0].value, kfd::kSvmLocationUndefined);
  EXPECT_EQ(got[1].value, 0u);
  EXPECT_EQ(got[2].value, kfd::kSvmHostAccess);
  EXPECT_EQ(got[3].value, ~uint32_t{kfd::kSvmHostAccess | kfd::kSvmCoherent});
  got = Get(9, 1, {{kfd::kSvmPreferredLocation, 0}, {kfd::kSvmSetFlags, 0}});
  EXPECT_EQ(got[0].value, kfd::kSvmLocationUndefined);
  EXPECT_EQ(got[1].value, kfd::kSvmHostAccess | kfd::kSvmCoherent);
}

TEST_F(SvmTest, WhatTheProgramUnmapsNoGpuSees) {
  ASSERT_EQ(Set(0, 8, {{kfd::kSvmAccess, 50001}}), 0);
  memory_->ProgramUnmaps(host_ + 2 * kPage, 3 * kPage);
  EXPECT_TRUE(Sees(0, 1));
  for (uint64_t page : {2, 3, 4}) EXPECT_FALSE(Sees(0, page)) << page;
  EXPECT_TRUE(Sees(0, 5));
}

TEST_F(SvmTest, RangesGiveWayToBuffersAndBuffersStay) {
  ASSERT_EQ(Set(0, 8, {{kfd::kSvmAccess, 50001}, {kfd::kSvmAccess, 50002}}), 0);
  kfd::AllocMemoryArgs buffer{};
  buffer.va_addr = host_ + 2 * kPage;
  buffer.size = kPage;
  buffer.flags = kfd::kAllocVram | kfd::kAllocWritable;
  ASSERT_EQ(memory_->Alloc(*gpus_[0], buffer), 0);
  uint32_t id = 50001;
  kfd::MapMemoryArgs map{buffer.handle, reinterpret_cast<uint64_t>(&id), 1, 0};
  ASSERT_EQ(memory_->Map(map), 0);
  EXPECT_NE(GpuSees(devices_[0], buffer.va_addr, kPage, kRead),
            reinterpret_cast<uint8_t*>(buffer.va_addr));
  EXPECT_FALSE(Sees(1, 2)) << "the memory is gone for every GPU";
  EXPECT_TRUE(Sees(0, 1));
  EXPECT_TRUE(Sees(0, 3));
  EXPECT_EQ(Set(0, 8, {{kfd::kSvmAccess, 50001}}), -EADDRINUSE);
}

TEST_F(SvmTest, BadRequestsAreRefused) {
  EXPECT_EQ(Set(0, 0, {}), -EINVAL);
  EXPECT_EQ(Set(0, 1, {{kfd::kSvmAccess, 4711}}), -EINVAL);
  EXPECT_EQ(Set(0, 1, {{99, 0}}), -EINVAL);
  EXPECT_EQ(Set(0, 1, {{kfd::kSvmPreferredLocation, 4711}}), -EINVAL);
  std::vector<kfd::SvmAttribute> none;
  EXPECT_EQ(Call(kfd::kSvmSet, host_ + 1, kPage, none), -EINVAL);
  EXPECT_EQ(Call(7, host_, kPage, none), -EINVAL);
  munmap(reinterpret_cast<void*>(host_ + 8 * kPage), kPage);
  EXPECT_EQ(Set(7, 3, {{kfd::kSvmAccess, 50001}}), -EFAULT) << "a hole in the program's memory";
}

}  // namespace
}  // namespace rochound::softgpu
