// SPDX-License-Identifier: MIT
#include "swap/swap_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"

namespace rochound::swap {
namespace {

std::vector<SwapAnswer> Check(const std::string& original, const std::string& candidate) {
  const std::filesystem::path folder = ROCHOUND_TEST_FILES;
  const auto answers = CheckSwaps(base::ReadFile(folder / original).value(),
                                  base::ReadFile(folder / candidate).value(), std::nullopt);
  EXPECT_TRUE(answers.ok()) << answers.error().message;
  return answers.ok() ? answers.value() : std::vector<SwapAnswer>();
}

TEST(SwapCheck, SaysWhichLaunchesAreLeft) {
  const auto answers = Check("swap.plain.co", "swap.better.co");
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(answers[0].fits);
  EXPECT_EQ(answers[0].symbol, "scale");
  EXPECT_EQ(answers[0].remark, "only launches with up to 256 work-items in a workgroup");
  EXPECT_NE(SwapAnswersText(answers).find("yes   gfx942  scale"), std::string::npos)
      << SwapAnswersText(answers);
}

TEST(SwapCheck, SaysWhyNot) {
  const auto answers = Check("swap.plain.co", "swap.argument.co");
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_FALSE(answers[0].fits);
  EXPECT_NE(answers[0].remark.find("argument 1"), std::string::npos) << answers[0].remark;
  EXPECT_FALSE(SwapAnswersJson(answers)["kernels"][0]["fits"].get<bool>());
}

TEST(SwapCheck, ReadsProgramsAndBundles) {
  // The same source for two targets, in a library and in a bundle: each has its own original.
  const auto answers = Check("library.so", "compressed.hsaco");
  ASSERT_EQ(answers.size(), 2u);
  for (const SwapAnswer& answer : answers) EXPECT_TRUE(answer.fits) << answer.remark;
  const auto none = Check("bundle.hsaco", "gfx942.co");
  EXPECT_TRUE(std::all_of(none.begin(), none.end(), [](const SwapAnswer& answer) {
    return answer.remark == "the original has no kernel of this name";
  }));
}

}  // namespace
}  // namespace rochound::swap
