// SPDX-License-Identifier: MIT
#include "optimize/precision.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/files.h"

namespace rochound::optimize {
namespace {

TEST(Precision, ComparesErrorsWithTheLargestValue) {
  const Outputs reference = {{"a", {1, 100, NAN}}};
  const auto errors = CompareWith(reference, {{"a", {1.001, 100, NAN}}}, {{"a", {1, 100.01, NAN}}});
  EXPECT_NEAR(errors.original, 1e-5, 1e-9);
  EXPECT_NEAR(errors.candidate, 1e-4, 1e-9);
  EXPECT_TRUE(IsLessPrecise(errors));
  EXPECT_FALSE(IsLessPrecise({1e-5, 1.9e-5}));
  EXPECT_TRUE(IsLessPrecise({1e-5, 2.5e-5}));
  EXPECT_FALSE(IsLessPrecise({0, 6e-8}));  // one rounding
  EXPECT_TRUE(IsLessPrecise({0, 6e-7}));   // ten
  EXPECT_TRUE(IsLessPrecise(CompareWith(reference, reference, {{"a", {NAN, 100, NAN}}})));
}

TEST(Precision, ReadsWhatReplayDumps) {
  auto folder = base::TempDir::Create("/tmp", "rochound-precision-").value();
  const float values[] = {1.5F, -2, 3};
  const auto write = [&](const char* name, std::string_view text) {
    EXPECT_TRUE(base::WriteFile(folder.path() / name, text).ok());
  };
  write("outputs.json", R"([{"file": "r.bin", "region": 1, "arguments": [
      {"argument": "out", "type": "float", "offset": 4, "bytes": 8},
      {"argument": "n", "type": "int32", "offset": 0, "bytes": 4}]}])");
  write("r.bin", {reinterpret_cast<const char*>(values), sizeof(values)});
  const auto outputs = ReadOutputs(folder.path(), "");
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ(outputs.value(), (Outputs{{"r.bin out", {-2, 3}}}));
}

}  // namespace
}  // namespace rochound::optimize
