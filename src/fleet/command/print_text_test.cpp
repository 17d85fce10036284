// SPDX-License-Identifier: MIT
#include "fleet/command/print_text.h"

#include <gtest/gtest.h>

namespace rochound::fleet {
namespace {

TEST(PrintText, NoKernelsNameSteersTheTerminal) {
  testing::internal::CaptureStdout();
  PrintText("{:>3}\t{}\n", 7, "a\033[2Jb\302\2332J");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "  7\ta\\x1b[2Jb\\x9b2J\n");
}

TEST(PrintText, JsonOfHalfACharacterIsStillJson) {
  testing::internal::CaptureStdout();
  PrintJson(nlohmann::json{{"kernel", "\303"}});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "{\n \"kernel\": \"\357\277\275\"\n}\n");
}

}  // namespace
}  // namespace rochound::fleet
