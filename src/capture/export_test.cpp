// SPDX-License-Identifier: MIT
//
// What can be said of an exported project without running it; tests/capture builds and runs some.
#include "capture/export.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>

#include "capture/test_bundle.h"
#include "codeobj/code_object.h"

namespace rochound::capture {
namespace {

namespace fs = std::filesystem;

class ExportTest : public BundleTest {
 protected:
  ExportTest() {
    const std::string file = base::ReadFile(ROCHOUND_TEST_FILES "/gfx942.co").value();
    const auto object = codeobj::CodeObject::Parse(file);
    launch_.code_object.resize(file.size());
    memcpy(launch_.code_object.data(), file.data(), file.size());
    launch_.manifest.code_object.load_delta = 0x1000;
    launch_.manifest.launch.kernel_object =
        0x1000 + object.value().FindKernel("plain")->descriptor_address;
  }

  base::Result<void> ExportIt() {
    WriteBundle(Path("bundle"), launch_);
    const auto bundle = Bundle::Open(Path("bundle"));
    if (!bundle.ok()) return bundle.error();
    return Export(bundle.value(), Path("project"));
  }
  std::string Content(const char* name) const {
    return base::ReadFile(Path("project") / name).value();
  }

  TestLaunch launch_ = SmallLaunch();
};

TEST_F(ExportTest, HoldsTheLaunch) {
  const auto done = ExportIt();
  ASSERT_TRUE(done.ok()) << done.error().message;
  const std::string header = Content("launch.h");
  EXPECT_NE(header.find("kKernelSymbol = \"plain.kd\""), std::string::npos) << header;
  EXPECT_NE(header.find("kGrid[3] = {1024, 1, 1}"), std::string::npos);
  EXPECT_NE(header.find("{0x7f0000200000, 16384, true},  // pool, kernarg+0"), std::string::npos);
  EXPECT_EQ(header.find("0x7f0000100000"), std::string::npos);  // was not taken
  EXPECT_EQ(Content("kernarg.bin").size(), 24u);
  EXPECT_EQ(Content("kernel.hsaco").size(), launch_.code_object.size());
  // Three extents with their heads: a page, a page and 100 bytes, a page; and what changed.
  EXPECT_EQ(Content("before.bin").size(), 3 * 16 + 3 * kPageBytes + 100);
  EXPECT_EQ(Content("expected.bin").size(), 3 * 16 + 2 * kPageBytes + 100);
  EXPECT_EQ(Content("main.cpp"), kExportedMain);
  struct stat status{};
  ASSERT_EQ(stat(Path("project").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

// A bundle is somebody's text that becomes source code.
TEST_F(ExportTest, TextCannotBecomeCode) {
  launch_.manifest.agents[1].isa = "gfx942\"; int evil; //\\";
  launch_.manifest.agents[1].product = "GPU */ int evil; \?\?/";
  launch_.manifest.notes = {"a note that ends in a backslash \\", "`$(evil)` <script>"};
  launch_.manifest.regions[0].reached_by = "kernarg+0\\";
  const auto done = ExportIt();
  ASSERT_TRUE(done.ok()) << done.error().message;
  const std::string header = Content("launch.h");
  EXPECT_NE(header.find("kIsa = \"gfx942\\042; int evil; //\\134\";\n"), std::string::npos)
      << header;
  size_t at = 0;
  while ((at = header.find('\n', at + 1)) != std::string::npos)
    EXPECT_NE(header[at - 1], '\\') << header.substr(0, at);
  const std::string readme = Content("README.md");
  EXPECT_EQ(readme.find("<script>"), std::string::npos);
}

TEST_F(ExportTest, LeavesNothingHalfDone) {
  fs::create_directory(Path("project"));
  auto done = ExportIt();
  ASSERT_FALSE(done.ok());
  EXPECT_NE(done.error().message.find("is there already"), std::string::npos);
  fs::remove(Path("project"));
  std::string data = base::ReadFile(Path("bundle") / kAfterDataName).value();
  data[5] = static_cast<char>(data[5] + 1);
  ASSERT_TRUE(base::WriteFile(Path("bundle") / kAfterDataName, data).ok());
  const auto bundle = Bundle::Open(Path("bundle"));
  ASSERT_TRUE(bundle.ok());
  done = Export(bundle.value(), Path("project"));
  ASSERT_FALSE(done.ok());
  EXPECT_FALSE(fs::exists(Path("project")));
}

TEST_F(ExportTest, NeedsAKernel) {
  launch_.manifest.launch.kernel_object += 8;
  launch_.manifest.kernel = "nothing";
  EXPECT_NE(ExportIt().error().message.find("no kernel 'nothing'"), std::string::npos);
  EXPECT_FALSE(fs::exists(Path("project")));
}

}  // namespace
}  // namespace rochound::capture
