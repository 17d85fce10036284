// SPDX-License-Identifier: MIT
#include "base/hash.h"

#include <gtest/gtest.h>

namespace rochound::base {
namespace {

TEST(Hash, HasThePublishedValues) {
  EXPECT_EQ(Fnv1a64(""), 0xcbf29ce484222325ull);
  EXPECT_EQ(Fnv1a64("a"), 0xaf63dc4c8601ec8cull);
  EXPECT_EQ(Fnv1a64("foobar"), 0x85944171f73967e8ull);
}

TEST(Hash, PiecesHashLikeTheWhole) { EXPECT_EQ(Fnv1a64("bar", Fnv1a64("foo")), Fnv1a64("foobar")); }

TEST(Hash, BytesAboveAsciiAreUnsigned) { EXPECT_EQ(Fnv1a64("\xff"), 0xaf64724c8602eb6eull); }

TEST(Hash, HexHasSixteenDigits) {
  EXPECT_EQ(Hex64(0), "0000000000000000");
  EXPECT_EQ(Hex64(0x1234abcdull), "000000001234abcd");
  EXPECT_EQ(Hex64(~0ull), "ffffffffffffffff");
}

}  // namespace
}  // namespace rochound::base
