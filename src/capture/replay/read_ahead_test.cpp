// SPDX-License-Identifier: MIT
#include "capture/replay/read_ahead.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "capture/test_bundle.h"

namespace rochound::capture::replay {
namespace {

class ReadAheadTest : public testing::Test {
 protected:
  // A bundle with one region of so many chunks.
  Bundle Make(uint64_t chunks) {
    TestLaunch launch = SmallLaunch();
    launch.manifest.regions = {TestRegion(0x7f0000000000, chunks * kChunkBytes, true)};
    std::string error;
    const std::string path = (folder_.value().path() / "bundle").string();
    auto writer = BundleWriter::Create(path, &error);
    EXPECT_NE(writer, nullptr) << error;
    for (uint64_t i = 0; i < chunks; ++i) {
      const Bytes bytes(kChunkBytes, static_cast<std::byte>(i + 1));
      EXPECT_TRUE(writer->AddRegionBytes(Phase::kBefore, 0, i * kChunkBytes, bytes));
    }
    EXPECT_TRUE(writer->Finish(launch.manifest, launch.kernarg, launch.code_object))
        << writer->error();
    auto bundle = Bundle::Open(path);
    EXPECT_TRUE(bundle.ok()) << bundle.error().message;
    return std::move(bundle).value();
  }

  static std::vector<ReadAhead::Chunk> Chunks(uint64_t count) {
    std::vector<ReadAhead::Chunk> chunks;
    for (uint64_t i = 0; i < count; ++i) chunks.push_back({0, i * kChunkBytes, kChunkBytes});
    return chunks;
  }

  base::Result<base::TempDir> folder_ = base::TempDir::Create(testing::TempDir(), "read-ahead-");
};

TEST_F(ReadAheadTest, GivesAllChunksInOrder) {
  for (const uint64_t count : {1, 3, 40}) {
    folder_ = base::TempDir::Create(testing::TempDir(), "read-ahead-");
    const Bundle bundle = Make(count);
    ReadAhead ahead(bundle, Phase::kAfter, Chunks(count));
    for (uint64_t i = 0; i < count; ++i) {
      const auto bytes = ahead.Next();
      ASSERT_TRUE(bytes.ok()) << bytes.error().message;
      ASSERT_EQ(bytes.value().size(), kChunkBytes);
      ASSERT_EQ(bytes.value().front(), static_cast<std::byte>(i + 1));
      ASSERT_EQ(bytes.value().back(), static_cast<std::byte>(i + 1));
    }
  }
}

TEST_F(ReadAheadTest, ErrorsComeWithTheirChunkAndTheEndMayComeEarly) {
  const Bundle bundle = Make(20);
  auto chunks = Chunks(20);
  chunks[7].region = 99;
  ReadAhead ahead(bundle, Phase::kBefore, chunks);
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(ahead.Next().ok());
  EXPECT_FALSE(ahead.Next().ok());
}

}  // namespace
}  // namespace rochound::capture::replay
