// SPDX-License-Identifier: MIT
#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace rochound::base {
namespace {

Result<int> Half(int number) {
  if (number % 2 != 0) return Error{"odd"};
  return number / 2;
}

Result<int> Quarter(int number) {
  ROCHOUND_TRY(int half, Half(number));
  ROCHOUND_TRY(const int quarter, Half(half));
  return quarter;
}

Result<void> MustBeEven(int number) {
  if (auto half = Half(number); !half.ok())
    return half.error().In("number " + std::to_string(number));
  return {};
}

Result<std::string> Describe(int number) {
  ROCHOUND_CHECK(MustBeEven(number));
  return std::string("even");
}

TEST(Result, CarriesAValue) {
  Result<int> result = Half(8);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value(), 4);
}

TEST(Result, CarriesAnError) {
  Result<int> result = Half(7);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "odd");
}

TEST(Result, TryReturnsTheFirstError) {
  EXPECT_EQ(Quarter(8).value(), 2);
  EXPECT_EQ(Quarter(6).error().message, "odd");
}

TEST(Result, CheckReturnsTheErrorWithItsContext) {
  EXPECT_EQ(Describe(2).value(), "even");
  EXPECT_EQ(Describe(3).error().message, "number 3: odd");
}

TEST(Result, MovesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(5));
  std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 5);
}

TEST(Result, AStringAndAnErrorAreNotConfused) {
  Result<std::string> text(std::string("fine"));
  EXPECT_TRUE(text.ok());
}

TEST(ResultDeathTest, ValueOfAnErrorEndsTheProcess) {
  EXPECT_DEATH({ (void)Half(7).value(); }, "");
}

}  // namespace
}  // namespace rochound::base
