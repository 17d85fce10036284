// SPDX-License-Identifier: MIT
#include "trace/follower.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "trace/tsc.h"
#include "trace/writer.h"

namespace rochound::trace {
namespace {

namespace fs = std::filesystem;

class FollowerTest : public testing::Test {
 protected:
  FollowerTest()
      : dir_(base::TempDir::Create(testing::TempDir(), "rochound-follower-").value()),
        run_((dir_.path() / "run").string()) {}

  Writer* Open(Writer::Options options = {}) const {
    options.directory = run_;
    std::string error;
    Writer* writer = Writer::Open(options, &error);
    EXPECT_NE(writer, nullptr) << error;
    return writer;
  }

  base::TempDir dir_;
  std::string run_;
};

bool WriteTime(ThreadLog* log, uint64_t dispatch) {
  auto* time = log->Reserve<KernelTime>();
  if (time == nullptr) return false;
  time->dispatch = dispatch;
  time->begin_ticks = 1;
  time->end_ticks = ReadTsc();
  log->Commit(time);
  return true;
}

// How often each dispatch was given.
struct FollowedTimes {
  std::map<uint64_t, int> times;
  Follower::Progress sum;

  void Poll(Follower* follower) {
    const auto progress = follower->Poll([&](const Head& head, const char* record) {
      if (head.kind == Kind::kKernelTime)
        ++times[reinterpret_cast<const KernelTime*>(record)->dispatch];
    });
    ASSERT_TRUE(progress.ok()) << progress.error().message;
    sum.records += progress.value().records;
    sum.lost_chunks += progress.value().lost_chunks;
    sum.damaged_chunks += progress.value().damaged_chunks;
    sum.finished = progress.value().finished;
  }
};

TEST_F(FollowerTest, GivesEachRecordOnceWhileThreadsWrite) {
  Writer* writer = Open({.chunk_bytes = 4096});
  constexpr int kThreads = 3;
  constexpr uint64_t kEach = 20000;
  std::atomic<int> writing{kThreads};
  std::atomic<uint64_t> written{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      ThreadLog* log = writer->Attach();
      for (uint64_t i = 0; i < kEach;) {
        if (WriteTime(log, t * kEach + i)) {
          ++i;
          ++written;
        } else {
          std::this_thread::yield();  // until the drain thread has made room
        }
      }
      writer->Detach(log);
      --writing;
    });
  std::thread drain([&] {
    while (writing > 0) writer->Maintain();
  });
  Follower follower(writer->process_directory());
  FollowedTimes seen;
  int polls = 0;
  while (writing > 0) {
    seen.Poll(&follower);
    // A follower that is made anew goes on where the old one was.
    if (++polls % 3 == 0) {
      const FollowerPosition position = follower.Position();
      follower = Follower(writer->process_directory());
      follower.Resume(position);
    }
  }
  for (std::thread& thread : threads) thread.join();
  drain.join();
  writer->Finish();
  seen.Poll(&follower);
  EXPECT_TRUE(seen.sum.finished);
  EXPECT_EQ(seen.sum.lost_chunks, 0u);
  EXPECT_EQ(seen.sum.damaged_chunks, 0u);
  EXPECT_EQ(seen.times.size(), kThreads * kEach);
  for (const auto& [dispatch, count] : seen.times) ASSERT_EQ(count, 1) << dispatch;
  const uint64_t records = seen.sum.records;
  seen.Poll(&follower);
  EXPECT_EQ(seen.sum.records, records);
}

TEST_F(FollowerTest, CountsChunksThatWereRecycledUnread) {
  Writer* writer = Open({.max_bytes = 64 * 1024, .recycle = true, .chunk_bytes = 4096});
  ThreadLog* log = writer->Attach();
  Follower follower(writer->process_directory());
  FollowedTimes seen;
  uint64_t next = 0;
  const auto write = [&](uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      while (!WriteTime(log, next)) writer->Maintain();
      ++next;
      if (i % 50 == 0) writer->Maintain();
    }
  };
  write(100);
  seen.Poll(&follower);
  EXPECT_EQ(seen.times.size(), 100u);
  EXPECT_EQ(seen.sum.lost_chunks, 0u);
  write(100);  // little enough to be read in time
  seen.Poll(&follower);
  EXPECT_EQ(seen.times.size(), 200u);
  EXPECT_EQ(seen.sum.lost_chunks, 0u);
  write(20000);  // the ring goes round many times
  seen.Poll(&follower);
  seen.Poll(&follower);
  EXPECT_LT(seen.times.size(), 5000u);
  EXPECT_GT(seen.sum.lost_chunks, 100u);
  EXPECT_EQ(seen.times.rbegin()->first, next - 1);
  for (const auto& [dispatch, count] : seen.times) ASSERT_EQ(count, 1) << dispatch;
}

TEST_F(FollowerTest, FindsStringsThatCameLater) {
  Writer* writer = Open();
  Follower follower(writer->process_directory());
  FollowedTimes seen;
  const uint32_t first = writer->Intern("first");
  seen.Poll(&follower);
  EXPECT_EQ(follower.String(first), "first");
  const uint32_t second = writer->Intern("second");
  EXPECT_EQ(follower.String(second), "second");
  EXPECT_EQ(follower.String(12345678), std::nullopt);
}

TEST_F(FollowerTest, SaysThatTheFolderIsGone) {
  Follower follower(dir_.path() / "nothing");
  EXPECT_FALSE(follower.Poll([](const Head&, const char*) {}).ok());
}

}  // namespace
}  // namespace rochound::trace
