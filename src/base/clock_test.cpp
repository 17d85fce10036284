// SPDX-License-Identifier: MIT
#include "base/clock.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace rochound::base {
namespace {

TEST(Clock, RunsForwardInNanoseconds) {
  const uint64_t raw = MonotonicRawNs();
  const uint64_t boot = BootTimeNs();
  usleep(20000);
  const uint64_t raw_passed = MonotonicRawNs() - raw;
  const uint64_t boot_passed = BootTimeNs() - boot;
  EXPECT_GE(raw_passed, 19000000u);
  EXPECT_GE(boot_passed, 19000000u);
  EXPECT_LT(raw_passed, 60000000000u);
  EXPECT_LT(boot_passed, 60000000000u);
}

}  // namespace
}  // namespace rochound::base
