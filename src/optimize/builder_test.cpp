// SPDX-License-Identifier: MIT
#include "optimize/builder.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace rochound::optimize {
namespace {

TEST(Builder, FindsHeadersBesideTheSource) {
  auto folder = base::TempDir::Create("/tmp", "rochound-builder-");
  ASSERT_TRUE(folder.ok());
  const auto write = [&](const char* name, const char* text) {
    EXPECT_TRUE(base::WriteFile(folder.value().path() / name, text).ok());
    return folder.value().path() / name;
  };
  const auto source = write(
      "a.hip", "#include <hip/hip_runtime.h>\n  # include \"b.h\"  // it\n#include \"none.h\"\n");
  const auto b = write("b.h", "#include \"c.h\"\n#include \"b.h\"\n");
  const auto c = write("c.h", "int c;\n");
  write("secret.txt", "s");
  EXPECT_EQ(HeadersOf(source), (std::vector<std::filesystem::path>{b, c}));
}

}  // namespace
}  // namespace rochound::optimize
