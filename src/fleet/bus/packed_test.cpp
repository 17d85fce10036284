// SPDX-License-Identifier: MIT
#include "fleet/bus/packed.h"

#include <gtest/gtest.h>

namespace rochound::fleet {
namespace {

TEST(PackedTest, ThereAndBack) {
  std::string text = "{\"rows\": [";
  for (int i = 0; i < 1000; ++i)
    text += R"({"kernel": "name", "launches": )" + std::to_string(i) + "},";
  const std::string packed = Pack(text);
  EXPECT_LT(packed.size(), text.size() / 4);
  EXPECT_EQ(Unpack(packed).value(), text);
  EXPECT_EQ(Unpack(Pack("")).value(), "");
  EXPECT_EQ(Unpack("{}").value(), "{}");
}

TEST(PackedTest, DamagedOnesAreRefused) {
  const std::string packed = Pack(std::string(5000, 'x') + "yz");
  for (size_t size = 4; size < packed.size(); ++size)
    EXPECT_FALSE(Unpack(packed.substr(0, size)).ok());
  EXPECT_FALSE(Unpack(packed + "more").ok());
  // One that says it is a terabyte.
  EXPECT_FALSE(Unpack(std::string("\x28\xb5\x2f\xfd\xe0\0\0\0\0\0\1\0\0", 13)).ok());
}

}  // namespace
}  // namespace rochound::fleet
