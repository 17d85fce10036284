// SPDX-License-Identifier: MIT
#include "store/convert/symbolizer.h"

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <random>

#include "base/files.h"
#include "store/convert/source_lines.h"

namespace rochound::store {
namespace {

// Something with a name of its own to be asked for.
__attribute__((noinline)) uint64_t WhereAmI() {
  return reinterpret_cast<uint64_t>(__builtin_return_address(0));
}

}  // namespace

constexpr int kLineOfTheCall = __LINE__ + 2;
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
  const std::string name = "rochound::store::SymbolizerTestCaller(int)";
  // Without its line where this test was built without debug information.
  const std::string found = symbolizer.Name(SymbolizerTestCaller(1));
  EXPECT_TRUE(found == name ||
              found == name + " (symbolizer_test.cpp:" + std::to_string(kLineOfTheCall) + ")")
      << found;
  // The very end of a function: where a call that never returns would return to.
  const auto begin = reinterpret_cast<uint64_t>(&SymbolizerTestCaller);
  EXPECT_EQ(symbolizer.Name(begin + 1).substr(0, name.size()), name);
  EXPECT_NE(symbolizer.Name(begin).substr(0, name.size()), name);
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

// A log names what it likes.
TEST_F(SymbolizerTest, OpensNothingButRegularFiles) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-elf-").value();
  const std::string fifo = (dir.path() / "fifo").string(), huge = (dir.path() / "huge").string();
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  ASSERT_TRUE(base::WriteFile(huge,
                              "\x7f"
                              "ELF")
                  .ok());
  std::filesystem::resize_file(huge, uint64_t{1} << 42);
  Symbolizer symbolizer("1000-2000 r-xp 00000000 08:01 77 " + fifo +
                        "\n"
                        "2000-3000 r-xp 00000000 08:01 77 /dev/zero\n"
                        "3000-4000 r-xp 00000000 08:01 77 " +
                        dir.path().string() +
                        "\n"
                        "4000-5000 r-xp 00000000 08:01 77 " +
                        huge + "\n");
  EXPECT_EQ(symbolizer.Name(0x1010), "fifo+0x10");
  EXPECT_EQ(symbolizer.Name(0x2010), "zero+0x10");
  EXPECT_EQ(symbolizer.Name(0x3010), dir.path().filename().string() + "+0x10");
  EXPECT_EQ(symbolizer.Name(0x4010), "huge+0x10");
}

// As many tables as an ELF file can have, each the whole file: no time and no memory is lost.
TEST_F(SymbolizerTest, TablesThatOverlapAreNoBomb) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-elf-").value();
  constexpr size_t kTables = 60000;
  std::string bytes(sizeof(Elf64_Ehdr) + kTables * sizeof(Elf64_Shdr), '\x12');
  Elf64_Ehdr header{};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_shoff = sizeof header;
  header.e_shnum = kTables;
  memcpy(bytes.data(), &header, sizeof header);
  for (size_t i = 0; i < kTables; ++i) {
    Elf64_Shdr table{};
    table.sh_type = SHT_SYMTAB;
    table.sh_size = bytes.size();
    memcpy(bytes.data() + sizeof header + i * sizeof table, &table, sizeof table);
  }
  const std::string path = (dir.path() / "bomb").string();
  ASSERT_TRUE(base::WriteFile(path, bytes).ok());
  Symbolizer symbolizer("1000-2000 r-xp 00000000 08:01 77 " + path + "\n");
  EXPECT_EQ(symbolizer.Name(0x1010), "bomb+0x10");
}

// Version 4, written by hand: one file, rows 0x1000 line 10, 0x1004 line 12, end 0x1010.
std::string SmallLineTable() {
  std::string body;
  const auto put = [&](std::initializer_list<int> bytes) {
    for (const int byte : bytes) body.push_back(static_cast<char>(byte));
  };
  put({1, 1, 1, -5, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1});  // up to the opcodes' arguments
  body.append("src", 4);
  put({0});
  body.append("small.c", 8);
  put({1, 0, 0, 0});
  const size_t header = body.size();
  put({0, 9, 2, 0, 0x10, 0, 0, 0, 0, 0, 0});  // address 0x1000
  put({3, 9, 1});                             // line 10, a row
  put({13 + 4 * 14 + 7});                     // address + 4, line + 2, a row
  put({2, 12, 0, 1, 1});                      // address + 12, the end
  std::string table;
  const auto put4 = [&](size_t value) {
    for (int i = 0; i < 4; ++i) table.push_back(static_cast<char>(value >> (8 * i)));
  };
  put4(body.size() + 6);
  table.append("\4\0", 2);
  put4(header);
  return table + body;
}

TEST(SourceLinesTest, FindsLines) {
  const SourceLines lines(SmallLineTable(), "", "");
  EXPECT_EQ(lines.Find(0xfff), "");
  EXPECT_EQ(lines.Find(0x1000), "small.c:10");
  EXPECT_EQ(lines.Find(0x1003), "small.c:10");
  EXPECT_EQ(lines.Find(0x1004), "small.c:12");
  EXPECT_EQ(lines.Find(0x100f), "small.c:12");
  EXPECT_EQ(lines.Find(0x1010), "");
  EXPECT_EQ(SourceLines().Find(0x1000), "");
}

TEST(SourceLinesTest, SurvivesDamage) {
  const std::string good = SmallLineTable();
  for (size_t size = 0; size < good.size(); ++size)
    SourceLines(good.substr(0, size), "", "").Find(0x1004);
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string bad = good + good;
    for (int i = 0; i < 3; ++i) bad[random() % bad.size()] = static_cast<char>(random());
    SourceLines(bad, "a", "").Find(0x1000 + random() % 32);
  }
}

}  // namespace
}  // namespace rochound::store
