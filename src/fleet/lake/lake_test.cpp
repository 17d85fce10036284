// SPDX-License-Identifier: MIT
#include "fleet/lake/lake.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace rochound::fleet {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json Message(uint64_t nth, uint64_t launches) {
  json row = {{"rank", 0},
              {"pid", 1},
              {"start", 2},
              {"gpu", 1},
              {"kernel", "k"},
              {"code_object", ""},
              {"launches", launches},
              {"untimed", 0},
              {"work_items", 64},
              {"lds", 0},
              {"sum", 100 * launches},
              {"min", 100},
              {"max", 100},
              {"scale", 5},
              {"zeros", 0},
              {"first", 212},
              {"buckets", json::array({launches})}};
  return {{"tenant", "default"},
          {"host", "h"},
          {"epoch", "e"},
          {"number", nth},
          {"shard", 0},
          {"nth", nth},
          {"job", "j"},
          {"from_ns", 60000000000 * nth},
          {"interval_ns", 60000000000},
          {"rows", json::array({row})},
          {"losses", json::array({{{"rank", 0}, {"pid", 1}, {"what", "chunks"}, {"count", 2}}})}};
}

TEST(LakeTest, PathsOfStretches) {
  const Stretch stretch{"default", "2026-11-17", 3, 123456789, 10, 20};
  EXPECT_EQ(StretchPath(stretch),
            "sketches/tenant=default/day=2026-11-17/3-123456789-10-20.parquet");
  Stretch parsed;
  ASSERT_TRUE(ParseStretchPath("s3://b/p/" + StretchPath(stretch), &parsed));
  EXPECT_EQ(StretchPath(parsed), StretchPath(stretch));
  for (const char* wrong : {"", "x.parquet", "sketches/tenant=a/day=b/1-2-3.parquet",
                            "sketches/tenant=a/day=b/1-2-3-4.json"})
    EXPECT_FALSE(ParseStretchPath(wrong, &parsed)) << wrong;
}

TEST(LakeTest, AFileThatWasMergedIntoAnotherDoesNotCount) {
  const auto file = [](uint64_t first, uint64_t last) {
    const Stretch stretch{"t", "d", 0, 1, first, last};
    return LakeFile{StretchPath(stretch), stretch};
  };
  const auto live = Live({file(5, 9), file(1, 4), file(1, 9), file(10, 12)});
  ASSERT_EQ(live.size(), 2u);
  EXPECT_EQ(live[0].stretch.last, 9u);
  EXPECT_EQ(live[1].stretch.first, 10u);
}

TEST(LakeTest, StoresRowsAndKnowsWhatItHas) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-lake-");
  auto lake = Lake::Open(dir.value().path() / "lake");
  ASSERT_TRUE(lake.ok()) << lake.error().message;
  EXPECT_TRUE(lake.value().Files("default").value().empty());
  EXPECT_FALSE(lake.value().MakeView("default").value());
  for (uint64_t nth = 1; nth <= 3; ++nth) {
    const auto written = lake.value().Write({"default", "2026-11-17", 0, 77, nth, nth},
                                            LakeRows(Message(nth, nth * 10), nth));
    ASSERT_TRUE(written.ok()) << written.error().message;
  }
  // What a killed aggregator leaves is not read.
  ASSERT_TRUE(
      base::WriteFile(dir.value().path() / "lake/sketches/tenant=default/day=2026-11-17/.1.partial",
                      "half")
          .ok());
  EXPECT_EQ(lake.value().Files("default").value().size(), 3u);
  EXPECT_TRUE(lake.value().Files("other").value().empty());
  const auto numbers = lake.value().LastNumbers("default", 0);
  ASSERT_TRUE(numbers.ok()) << numbers.error().message;
  EXPECT_EQ(numbers.value().at({"h", "e"}), 3u);
  EXPECT_TRUE(lake.value().LastNumbers("default", 1).value().empty());
  ASSERT_TRUE(lake.value().MakeView("default").value());
  auto& database = lake.value().database();
  EXPECT_EQ(database.Number("SELECT sum(launches)::BIGINT FROM sketches").value(), 60);
  EXPECT_EQ(database.Number("SELECT sum(list_sum(buckets))::BIGINT FROM sketches").value(), 60);
  EXPECT_EQ(database.Number("SELECT sum(lost)::BIGINT FROM sketches WHERE loss = 'chunks'").value(),
            6);
}

}  // namespace
}  // namespace rochound::fleet
