// SPDX-License-Identifier: MIT
#include "capture/proof.h"

#include <gtest/gtest.h>

namespace rochound::capture {
namespace {

TEST(ProofText, SaysWhatWasProved) {
  EXPECT_EQ(ProofText({}), "equal in every byte, from the captured input");
  EXPECT_EQ(ProofText({"", 0, "", 3}), "equal in every byte, from the captured input and 3 others");
  // A tolerance that was not needed does not make it less.
  EXPECT_EQ(ProofText({"relative 0.001", 0, "", 1}),
            "equal in every byte, from the captured input and 1 other");
  EXPECT_EQ(ProofText({"relative 0.001", 4,
                       "0.0005 of the value at y[3] (float): 2.001 instead of 2", 0}),
            "equal within the tolerance (relative 0.001): worst error 0.0005 of the value at y[3] "
            "(float): 2.001 instead of 2; 4 bytes differ, from the captured input");
  // 0 and -0: nothing is off, and yet a byte differs.
  EXPECT_EQ(ProofText({"relative 0.001", 1, "", 0}),
            "equal within the tolerance (relative 0.001); 1 byte differs, from the captured input");
  EXPECT_EQ(ProofText({"", 8, "", 2}),
            "equal but for the bits of NaN; 8 bytes differ, from the captured input and 2 others");
}

}  // namespace
}  // namespace rochound::capture
