// SPDX-License-Identifier: MIT
#include "fleet/daemon/recorders.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

namespace rochound::fleet {
namespace {

JobPlace PlaceWith(std::string variable) {
  char program[] = "/bin/sleep", seconds[] = "60";
  char* arguments[] = {program, seconds, nullptr};
  char* environment[] = {variable.data(), nullptr};
  pid_t child = 0;
  EXPECT_EQ(posix_spawn(&child, program, nullptr, nullptr, arguments, environment), 0);
  // The kernel shows the environment a moment after posix_spawn has returned.
  const auto path = "/proc/" + std::to_string(child) + "/environ";
  for (int i = 0; i < 60'000 && std::ifstream(path).peek() == EOF; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const JobPlace place = FindJobPlace(child);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return place;
}

// Who runs a program writes its environment; the lake refuses messages with numbers beyond.
TEST(RecordersTest, ARankThatNoJobHasIsNotKnown) {
  EXPECT_EQ(PlaceWith("RANK=7").rank, 7);
  EXPECT_EQ(PlaceWith("RANK=2147483647").rank, INT32_MAX);
  EXPECT_EQ(PlaceWith("RANK=2147483648").rank, -1);
  EXPECT_EQ(PlaceWith("RANK=-99").rank, -1);
  EXPECT_EQ(PlaceWith("RANK=x").rank, -1);
}

}  // namespace
}  // namespace rochound::fleet
