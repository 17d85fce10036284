// SPDX-License-Identifier: MIT
#include "agent/own_memory.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace rochound::agent {
namespace {

// Where the kernel keeps the clock: pages that belong to no process, mapped as a driver maps its
// memory. 0: there are none.
uint64_t DriverMemory() {
  uint64_t begin = 0;
  FILE* const maps = fopen("/proc/self/maps", "re");
  char line[512];
  while (maps != nullptr && fgets(line, sizeof line, maps) != nullptr)
    if (strstr(line, "[vvar]") != nullptr) begin = strtoull(line, nullptr, 16);
  if (maps != nullptr) fclose(maps);
  return begin;
}

TEST(OwnMemory, IsReadWhateverItIs) {
  std::vector<char> text(3 << 20, 'x');
  std::vector<char> copy(text.size());
  EXPECT_TRUE(ReadOwnMemory(reinterpret_cast<uint64_t>(text.data()), copy.data(), copy.size()));
  EXPECT_EQ(copy, text);
  copy.assign(copy.size(), 0);
  EXPECT_TRUE(ReadByFile(text.data(), copy.data(), copy.size()));
  EXPECT_EQ(copy, text);
}

TEST(OwnMemory, OfADriverIsReadToo) {
  const uint64_t address = DriverMemory();
  if (address == 0) GTEST_SKIP() << "this kernel gives no such memory to programs";
  uint64_t words[4] = {};
  const iovec to{words, sizeof words};
  const iovec from{reinterpret_cast<void*>(address), sizeof words};
  if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) > 0)
    GTEST_SKIP() << "here the kernel reads it as any other memory";
  EXPECT_TRUE(ReadOwnMemory(address, words, sizeof words));
}

TEST(OwnMemory, ThatIsNotThereIsNotRead) {
  auto* const pages = static_cast<char*>(
      mmap(nullptr, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(munmap(pages + 4096, 4096), 0);
  ASSERT_EQ(mprotect(pages + 8192, 4096, PROT_NONE), 0);
  char bytes[4096];
  const auto at = reinterpret_cast<uint64_t>(pages);
  EXPECT_TRUE(ReadOwnMemory(at, bytes, sizeof bytes));
  EXPECT_FALSE(ReadOwnMemory(at + 4096, bytes, 8));
  EXPECT_FALSE(ReadOwnMemory(at + 4090, bytes, 16)) << "half of it is not there";
  EXPECT_FALSE(ReadOwnMemory(at + 8192, bytes, 8)) << "nobody may read it";
  EXPECT_FALSE(ReadOwnMemory(0, bytes, 8));
  EXPECT_FALSE(ReadOwnMemory(~uint64_t{0} - 4, bytes, 8));
  munmap(pages, 4096);
  munmap(pages + 8192, 4096);
}

}  // namespace
}  // namespace rochound::agent
