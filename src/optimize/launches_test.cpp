// SPDX-License-Identifier: MIT
#include "optimize/launches.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "store/rpd/database.h"

namespace rochound::optimize {
namespace {

// A trace with the columns that are asked for.
constexpr const char* kTrace = R"(
CREATE TABLE rocpd_string (id INTEGER PRIMARY KEY, string TEXT);
CREATE TABLE rocpd_op (id INTEGER PRIMARY KEY, start INTEGER, "end" INTEGER);
CREATE TABLE rochound_kernel (id INTEGER PRIMARY KEY, mangledName_id INTEGER);
CREATE TABLE rochound_dispatch (op_id INTEGER PRIMARY KEY, kernel_id INTEGER, gridX INTEGER, gridY INTEGER,
  gridZ INTEGER, workgroupX INTEGER, workgroupY INTEGER, workgroupZ INTEGER);
INSERT INTO rocpd_string VALUES (1, '_Z4gemmPf.kd'), (2, 'gemm_small.kd'), (3, 'other.kd');
INSERT INTO rochound_kernel VALUES (1, 1), (2, 2), (3, 3), (4, 1);
INSERT INTO rocpd_op VALUES (1, 0, 10), (2, 10, 20), (3, 20, 120), (4, 120, 150), (5, 150, 160), (6, 160, 9160),
  (7, 9160, 9190), (8, 9190, 9220);
INSERT INTO rochound_dispatch VALUES (1, 1, 64, 1, 1, 64, 1, 1), (2, 1, 64, 1, 1, 64, 1, 1),
  (3, 1, 4096, 1, 1, 256, 1, 1), (4, 1, 128, 2, 1, 64, 1, 1), (5, 2, 64, 1, 1, 64, 1, 1),
  (6, 3, 64, 1, 1, 64, 1, 1), (7, 4, 128, 2, 1, 64, 1, 1), (8, 1, 128, 2, 1, 64, 1, 1);
)";

class Launches : public testing::Test {
 protected:
  void SetUp() override {
    auto database =
        store::Database::Open(file_, store::Database::Mode::kCreate);  // closed before it is read
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(database.value().Run(kTrace).ok());
  }
  base::TempDir folder_ =
      base::TempDir::Create(std::filesystem::temp_directory_path(), "launches-").value();
  std::filesystem::path file_ = folder_.path() / "trace.rpd";
};

TEST_F(Launches, ShapesThatTakeMostTimeComeFirst) {
  const auto read = ReadLaunches(file_, "gemm");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().kernel, "_Z4gemmPf");  // and not gemm_small, which takes less
  const auto& shapes = read.value().shapes;
  ASSERT_EQ(shapes.size(), 3u);
  EXPECT_EQ(shapes[0].grid[0], 4096u);  // once, 100 ns
  EXPECT_EQ(shapes[1].grid[0], 128u);   // three times, 90 ns, of two code objects
  EXPECT_EQ(shapes[1].launches, 3u);
  EXPECT_EQ(shapes[1].total_ns, 90);
  EXPECT_EQ(shapes[2].grid[0], 64u);  // the first launches of all, 20 ns
}

TEST_F(Launches, FindsByTheNameInCxxToo) {
  EXPECT_TRUE(ReadLaunches(file_, "gemm\\(float\\*\\)").ok());
  const auto none = ReadLaunches(file_, "nowhere");
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("launched no kernel"), std::string::npos);
}

TEST_F(Launches, EverySecondOneIsHeldOut) {
  const LaunchChoice choice = ChooseLaunches(ReadLaunches(file_, "gemm").value(), 5);
  ASSERT_EQ(choice.launches.size(), 5u);
  const uint32_t grids[] = {4096, 128, 64, 128, 64};
  const uint64_t nths[] = {1, 1, 1, 2, 2};
  const bool held[] = {false, true, false, true, false};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(choice.launches[i].shape.grid[0], grids[i]) << i;
    EXPECT_EQ(choice.launches[i].nth, nths[i]) << i;
    EXPECT_EQ(choice.launches[i].held_out, held[i]) << i;
  }
  EXPECT_EQ(DescribeLaunch(choice.launches[3]),
            "grid 128x2x1 in workgroups of 64x1x1, launch 2 of 3 (43% of the kernel's time)");
  EXPECT_EQ(ShapeOption(choice.launches[3].shape), "grid=128x2x1,workgroup=64x1x1");
  EXPECT_EQ(ChooseLaunches(ReadLaunches(file_, "gemm").value(), 2).launches.size(), 2u);
}

TEST_F(Launches, AKernelThatIsLaunchedOnceHasNothingToHoldOut) {
  const LaunchChoice choice = ChooseLaunches(ReadLaunches(file_, "other").value(), 5);
  ASSERT_EQ(choice.launches.size(), 1u);
  EXPECT_FALSE(choice.launches[0].held_out);
}

TEST_F(Launches, TheChoiceIsReadAsItWasWritten) {
  const LaunchChoice choice = ChooseLaunches(ReadLaunches(file_, "gemm").value(), 5);
  const auto read = ParseLaunchChoice(LaunchChoiceJson(choice));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(LaunchChoiceJson(read.value()), LaunchChoiceJson(choice));
  for (const char* const text : {"", "{}", "[]", R"({"kernel": "a", "launches": []})",
                                 R"({"kernel": "a", "launches": [{"grid": [1]}]})"})
    EXPECT_FALSE(ParseLaunchChoice(text).ok()) << text;
}

}  // namespace
}  // namespace rochound::optimize
