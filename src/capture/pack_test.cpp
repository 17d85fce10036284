// SPDX-License-Identifier: MIT
#include "capture/pack.h"

#include <gtest/gtest.h>

#include <fstream>

#include "capture/bundle.h"
#include "capture/test_bundle.h"

namespace rochound::capture {
namespace {

namespace fs = std::filesystem;

// A launch with memory that shrinks, memory that does not, and much of neither.
TestLaunch LargeLaunch() {
  TestLaunch launch = SmallLaunch();
  launch.manifest.regions = {TestRegion(0x10000000, 2 * kChunkBytes + 4 * kPageBytes, true),
                             TestRegion(0x20000000, kChunkBytes + 77, true),
                             TestRegion(0x30000000, 3 * kChunkBytes, true)};
  launch.before = {Bytes(launch.manifest.regions[0].size), RandomBytes(kChunkBytes + 77, 20),
                   Bytes(3 * kChunkBytes)};
  for (size_t i = 0; i < launch.before[0].size(); ++i)
    launch.before[0][i] = static_cast<std::byte>(i / 1000);
  for (size_t i = 0; i < launch.before[2].size(); i += 2 * kPageBytes)
    launch.before[2][i] = std::byte{1};
  launch.after = launch.before;
  for (size_t i = kChunkBytes; i < 2 * kChunkBytes; i += 4) launch.after[0][i] ^= std::byte{1};
  std::fill_n(launch.after[2].begin(), kChunkBytes, std::byte{0});
  return launch;
}

void ExpectMemory(const fs::path& path, const TestLaunch& launch) {
  const auto bundle = Bundle::Open(path);
  ASSERT_TRUE(bundle.ok()) << bundle.error().message;
  for (uint32_t region = 0; region < launch.before.size(); ++region) {
    Bytes got(launch.before[region].size());
    ASSERT_TRUE(bundle.value().ReadBefore(region, 0, got).ok());
    EXPECT_TRUE(got == launch.before[region]) << region;
    ASSERT_TRUE(bundle.value().ReadAfter(region, 0, got).ok());
    EXPECT_TRUE(got == launch.after[region]) << region;
  }
  EXPECT_TRUE(std::ranges::equal(bundle.value().kernarg(), launch.kernarg));
  EXPECT_TRUE(std::ranges::equal(bundle.value().code_object(), launch.code_object));
}

TEST_F(BundleTest, PackedIsSmallerAndTheSame) {
  const TestLaunch launch = LargeLaunch();
  ASSERT_NO_FATAL_FAILURE(WriteBundle(Path("raw"), launch));
  uint64_t last = 0;
  uint64_t all = 0;
  const auto packed = Pack(Path("raw"), Path("packed"), {}, [&](uint64_t done, uint64_t total) {
    EXPECT_GT(done, last);
    last = done;
    all = total;
  });
  ASSERT_TRUE(packed.ok()) << packed.error().message;
  EXPECT_EQ(last, all);
  EXPECT_FALSE(fs::exists(Path("raw")));
  ExpectMemory(Path("packed"), launch);
  const PackSummary& summary = packed.value();
  EXPECT_EQ(summary.taken_bytes, 6 * kChunkBytes + 4 * kPageBytes + 77);
  // Half of the last region is zeros; what changed is a chunk of the first.
  EXPECT_EQ(summary.raw_bytes, 4 * kChunkBytes + 4 * kPageBytes + 77 + 3 * kChunkBytes / 2);
  EXPECT_GT(summary.stored_bytes, kChunkBytes);
  EXPECT_LT(summary.stored_bytes, kChunkBytes + (300 << 10));
  EXPECT_GT(summary.bundle_bytes, summary.stored_bytes);
  const auto bundle = Bundle::Open(Path("packed"));
  ASSERT_TRUE(bundle.ok());
  EXPECT_EQ(bundle.value().before(0)[0].encoding, Encoding::kZstd);
  EXPECT_EQ(bundle.value().before(1)[0].encoding, Encoding::kRaw);  // random bytes do not shrink
  EXPECT_EQ(bundle.value().after(2)[0].encoding, Encoding::kZeros);
}

TEST_F(BundleTest, PackedInPlaceAndAgain) {
  const TestLaunch launch = LargeLaunch();
  ASSERT_NO_FATAL_FAILURE(WriteBundle(Path("bundle"), launch));
  fs::create_directory(Path("bundle.packing"));  // somebody was killed
  fs::create_directory(Path("bundle.packing.partial"));
  std::ofstream(Path("bundle.packing.partial") / kBeforeDataName) << "half";
  for (const char* name : {"bundle", "bundle/", "./bundle"}) {
    const auto packed = Pack(Path(name), Path("bundle"), {.level = 1, .threads = 3});
    ASSERT_TRUE(packed.ok()) << packed.error().message;
    ExpectMemory(Path("bundle"), launch);
    EXPECT_EQ(std::distance(fs::directory_iterator(Path("")), {}), 1);
  }
}

TEST_F(BundleTest, PackingDoesNotHideDamage) {
  const TestLaunch launch = LargeLaunch();
  ASSERT_NO_FATAL_FAILURE(WriteBundle(Path("bundle"), launch));
  {
    std::fstream data(Path("bundle") / kAfterDataName, std::ios::in | std::ios::out);
    data.seekp(1000);
    data.put(100);
  }
  for (const char* to : {"bundle", "other"}) {
    const auto packed = Pack(Path("bundle"), Path(to));
    ASSERT_FALSE(packed.ok());
    EXPECT_NE(packed.error().message.find("checksum"), std::string::npos) << packed.error().message;
    EXPECT_EQ(std::distance(fs::directory_iterator(Path("")), {}), 1);
  }
  EXPECT_TRUE(Bundle::Open(Path("bundle")).ok());
}

TEST_F(BundleTest, PackingSparesWhatIsThere) {
  ASSERT_NO_FATAL_FAILURE(WriteBundle(Path("raw"), SmallLaunch()));
  ASSERT_NO_FATAL_FAILURE(WriteBundle(Path("other"), SmallLaunch()));
  const auto packed = Pack(Path("raw"), Path("other"));
  ASSERT_FALSE(packed.ok());
  EXPECT_NE(packed.error().message.find("is there already"), std::string::npos);
  EXPECT_TRUE(Bundle::Open(Path("raw")).ok());
  EXPECT_TRUE(Bundle::Open(Path("other")).ok());
}

}  // namespace
}  // namespace rochound::capture
