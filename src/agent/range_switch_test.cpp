// SPDX-License-Identifier: MIT
//
// Who may switch the recorder on and off, and how their wishes come together. Each test is a
// process of its own (the agent's state lives as long as the process).
#include "agent/range_switch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "agent/session.h"
#include "agent/state.h"
#include "base/files.h"

namespace rochound::agent {
namespace {

class SwitchTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = base::TempDir::Create(std::filesystem::temp_directory_path(), "switch-test-");
    ASSERT_TRUE(folder.ok()) << folder.error().message;
    folder_ = std::make_unique<base::TempDir>(std::move(folder).value());
    setenv("ROCHOUND_LOG_DIR", (folder_->path() / "log").c_str(), 1);
    setenv("ROCHOUND_CONTROL_DIR", "", 1);
  }

  static void Begin(const char* range) {
    if (range != nullptr) setenv("ROCHOUND_RANGE", range, 1);
    ASSERT_TRUE(agent::SetUp());
  }

  std::unique_ptr<base::TempDir> folder_;
};

TEST_F(SwitchTest, ProgramAndOutsideEachKeepItOn) {
  Begin(nullptr);
  EXPECT_TRUE(Recording());
  StartByProgram();
  SwitchFromOutside(false);
  EXPECT_TRUE(Recording());
  StopByProgram();
  EXPECT_FALSE(Recording());
  StopByProgram();  // one too many does not count against the next start
  StartByProgram();
  EXPECT_TRUE(Recording());
  StopByProgram();
  EXPECT_FALSE(Recording());
}

TEST_F(SwitchTest, DisabledIsFinal) {
  Begin(nullptr);
  Disable("a test");
  EXPECT_STREQ(DisabledReason(), "a test");
  SwitchFromOutside(false);
  SwitchFromOutside(true);
  StartByProgram();
  EXPECT_EQ(CurrentState(), State::kDisabled);
}

TEST_F(SwitchTest, WishesThatCrossEndInTheStateTheyAskFor) {
  Begin(nullptr);
  std::atomic<int> round{0};
  std::atomic<int> done{0};
  constexpr int kRounds = 20000;
  std::thread other([&] {
    for (int mine = 1; mine <= kRounds; ++mine) {
      while (round.load() < mine) {
      }
      StartByProgram();
      StopByProgram();
      done.store(mine);
    }
  });
  for (int mine = 1; mine <= kRounds; ++mine) {
    SwitchFromOutside(true);
    round.store(mine);
    SwitchFromOutside(false);
    while (done.load() < mine) {
    }
    EXPECT_FALSE(Recording()) << mine;
    if (HasFailure()) round.store(kRounds);
    if (HasFailure()) break;
  }
  other.join();
}

TEST_F(SwitchTest, RecordsInsideTheRangeAndWhatIsNestedInIt) {
  Begin("wanted");
  EXPECT_FALSE(Recording());
  RangeBegins("other");
  EXPECT_FALSE(Recording());
  RangeBegins("wanted");
  EXPECT_TRUE(Recording());
  RangeBegins("inner");
  RangeBegins("wanted");
  RangeEnds();
  RangeEnds();
  EXPECT_TRUE(Recording());
  RangeEnds();
  EXPECT_FALSE(Recording());
  RangeEnds();
  RangeEnds();  // never begun
  EXPECT_FALSE(Recording());
}

TEST_F(SwitchTest, NamesAreWholeUnlessTheyEndInAStar) {
  Begin("step*");
  RangeBegins("ste");
  EXPECT_FALSE(Recording());
  RangeEnds();
  RangeBegins("step 17");
  EXPECT_TRUE(Recording());
  RangeEnds();
  RangeBegins("step");
  EXPECT_TRUE(Recording());
  RangeEnds();
  RangeBegins({});
  EXPECT_FALSE(Recording());
}

TEST_F(SwitchTest, RangesOfSeveralThreadsAreCounted) {
  Begin("wanted");
  RangeBegins("wanted");
  std::thread([] {
    RangeBegins("wanted");
    RangeEnds();
  }).join();
  EXPECT_TRUE(Recording());
  RangeEnds();
  EXPECT_FALSE(Recording());
}

TEST_F(SwitchTest, AThreadThatEndsInsideARangeEndsIt) {
  Begin("wanted");
  std::thread([] {
    RangeBegins("wanted");
    RangeBegins("inner");
    EXPECT_TRUE(Recording());
  }).join();
  EXPECT_FALSE(Recording());
}

TEST_F(SwitchTest, RangesWithAnIdMayEndElsewhere) {
  Begin("wanted");
  RangeBegins("wanted", 7);
  RangeBegins("other", 8);
  RangeBegins("wanted", 9);
  std::thread([] {
    RangeEnds(8);
    RangeEnds(7);
    RangeEnds(7);
  }).join();
  EXPECT_TRUE(Recording());
  RangeEnds(9);
  EXPECT_FALSE(Recording());
}

TEST_F(SwitchTest, TheWishForARangeDoesNotSwitchOn) {
  Begin("wanted");
  SwitchFromOutside(false);
  RangeBegins("wanted");
  EXPECT_FALSE(Recording());
  StartByProgram();
  EXPECT_TRUE(Recording());
  RangeEnds();
  EXPECT_FALSE(Recording());
}

TEST_F(SwitchTest, AForkedChildHasOnlyItsOwnThreadsRange) {
  Begin("wanted");
  RangeBegins("wanted", 1);
  const auto recording_in_child = [] {
    const pid_t child = fork();
    if (child == 0) _exit(Recording() ? 1 : 0);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    return WEXITSTATUS(status) == 1;
  };
  EXPECT_FALSE(recording_in_child());
  RangeBegins("wanted");
  EXPECT_TRUE(recording_in_child());
  RangeEnds();
  EXPECT_TRUE(Recording());
}

}  // namespace
}  // namespace rochound::agent
