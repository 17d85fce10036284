// SPDX-License-Identifier: MIT
#include "store/symbolizer.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace rochound::store {
namespace {

// Something with a name of its own to be asked for.
__attribute__((noinline)) uint64_t WhereAmI() {
  return reinterpret_cast<uint64_t>(__builtin_return_address(0));
}

}  // namespace

__attribute__((noinline)) uint64_t SymbolizerTestCaller(int unused) {
  const uint64_t address = WhereAmI();
  asm volatile("" ::"r"(unused));  // so that the call is not a jump
  return address;
}

namespace {

class SymbolizerTest : public testing::Test {
 protected:
  SymbolizerTest() : maps_(base::ReadFile("/proc/self/maps").value()) {}
  std::string maps_;
};

TEST_F(SymbolizerTest, NamesFunctionsOfTheProgram) {
  Symbolizer symbolizer(maps_);
  EXPECT_EQ(symbolizer.Name(SymbolizerTestCaller(1)), "rochound::store::SymbolizerTestCaller(int)");
  // The very end of a function: where a call that never returns would return to.
  const auto begin = reinterpret_cast<uint64_t>(&SymbolizerTestCaller);
  EXPECT_EQ(symbolizer.Name(begin + 1), "rochound::store::SymbolizerTestCaller(int)");
  EXPECT_NE(symbolizer.Name(begin), "rochound::store::SymbolizerTestCaller(int)");
}

TEST_F(SymbolizerTest, NamesFunctionsOfLibraries) {
  Symbolizer symbolizer(maps_);
  const auto address = reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "pthread_create"));
  ASSERT_NE(address, 0u);
  EXPECT_NE(symbolizer.Name(address + 4).find("pthread_create"), std::string::npos)
      << symbolizer.Name(address + 4);
}

TEST_F(SymbolizerTest, TellsWhatItCanWithoutAName) {
  Symbolizer symbolizer(
      "1000-2000 r-xp 00000000 00:00 0 \n"
      "5000-6000 r-xp 00003000 08:01 77                         /no/such/dir/lib gone.so\n"
      "rubbish\n"
      "7000-8000 r-xp 00000000 00:00 0                          [vdso]\n");
  EXPECT_EQ(symbolizer.Name(0x5010), "lib gone.so+0x3010");
  EXPECT_EQ(symbolizer.Name(0x7010), "[vdso]+0x10");
  EXPECT_EQ(symbolizer.Name(0x1010), "0x1010");
  EXPECT_EQ(symbolizer.Name(0x9010), "0x9010");
  EXPECT_EQ(symbolizer.Name(0), "0x0");
  EXPECT_EQ(Symbolizer("").Name(5), "0x5");
}

TEST_F(SymbolizerTest, SurvivesFilesThatOnlyLookLikeElf) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-elf-").value();
  std::string bytes = base::ReadFile("/proc/self/exe").value().substr(0, 100000);
  for (const size_t size : {0ul, 4ul, 63ul, 64ul, 1000ul, 100000ul}) {
    const std::string path = (dir.path() / ("x" + std::to_string(size))).string();
    ASSERT_TRUE(base::WriteFile(path, bytes.substr(0, size)).ok());
    Symbolizer symbolizer("1000-900000 r-xp 00000000 08:01 77 " + path + "\n");
    EXPECT_EQ(symbolizer.Name(0x1010), "x" + std::to_string(size) + "+0x10");
  }
}

}  // namespace
}  // namespace rochound::store
