// SPDX-License-Identifier: MIT
#include "optimize/clock_watch.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace rochound::optimize {
namespace {

namespace fs = std::filesystem;

// A machine with one GPU of this vendor.
void MakeCard(const fs::path& machine, const char* name, const char* vendor, const char* clock) {
  const fs::path device = machine / "sys/class/drm" / name / "device";
  fs::create_directories(device / "hwmon/hwmon3");
  ASSERT_TRUE(base::WriteFile(device / "vendor", vendor).ok());
  ASSERT_TRUE(base::WriteFile(device / "hwmon/hwmon3/freq1_input", clock).ok());
}

TEST(ClockWatch, SeesTheClockChange) {
  auto machine = base::TempDir::Create("/tmp", "rochound-clocks-").value();
  MakeCard(machine.path(), "card0", "0x1002\n", "500000000\n");
  MakeCard(machine.path(), "card1", "0x10de\n", "9000000000\n");
  ClockWatch watch(machine.path());
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  MakeCard(machine.path(), "card0", "0x1002\n", "2500000000\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const auto range = watch.Stop();
  ASSERT_TRUE(range);
  EXPECT_EQ(range->least, 500);
  EXPECT_EQ(range->most, 2500);
  EXPECT_FALSE(range->steady());
  EXPECT_TRUE((ClockRange{2400, 2500, 9}).steady());
}

TEST(ClockWatch, TellsNothingWithoutFiles) {
  auto machine = base::TempDir::Create("/tmp", "rochound-clocks-").value();
  EXPECT_FALSE(ClockWatch(machine.path()).Stop());
}

}  // namespace
}  // namespace rochound::optimize
