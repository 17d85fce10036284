// SPDX-License-Identifier: MIT
#include "launch/control_client.h"

#include <gtest/gtest.h>

namespace rochound::launch {
namespace {

TEST(ControlAnswers, AreReadLineByLine) {
  const ControlAnswer answer = ParseControlAnswer(
      "ok\nprotocol=1\nstate=recording\ndirectory=/a=b\nin_flight.0=2500000000 1 3 Add\nend\n");
  EXPECT_EQ(answer.outcome, ControlAnswer::kDone);
  EXPECT_EQ(answer.Text("state"), "recording");
  EXPECT_EQ(answer.Text("directory"), "/a=b");
  EXPECT_EQ(answer.Number("protocol"), 1);
  ASSERT_EQ(answer.LongWork().size(), 1u);
  EXPECT_EQ(answer.LongWork()[0].kernel, "Add");
  EXPECT_DOUBLE_EQ(answer.LongWork()[0].seconds, 2.5);
}

TEST(ControlAnswers, WithoutAnEndOrABeginningFail) {
  for (const char* text : {"", "ok\n", "ok\nstate=off\n", "state=off\nend\n", "\n\n"})
    EXPECT_EQ(ParseControlAnswer(text).outcome, ControlAnswer::kFailed) << text;
  EXPECT_EQ(ParseControlAnswer("error it is busy\n").error, "it is busy");
}

// Root asks everybody's sockets.
TEST(ControlAnswers, SteerNoTerminal) {
  EXPECT_EQ(ParseControlAnswer("ok\nreason=\x1b[2J\xc2\x9b"
                               "2J\nend\n")
                .Text("reason"),
            "\\x1b[2J\\x9b2J");
  EXPECT_EQ(ParseControlAnswer("error \x1b]0;x\a\n").error, "\\x1b]0;x\\x07");
}

}  // namespace
}  // namespace rochound::launch
