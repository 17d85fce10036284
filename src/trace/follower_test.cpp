// SPDX-License-Identifier: MIT
#include "trace/follower.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
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

// A segment that somebody made by hand.
class RawSegment {
 public:
  RawSegment(const fs::path& folder, uint32_t chunk_bytes) : chunk_bytes_(chunk_bytes) {
    fs::create_directories(folder);
    file_.open(folder / "segment-000000", std::ios::binary);
    SegmentHeader header{};
    header.magic = kSegmentMagic;
    header.version = kLogVersion;
    header.header_bytes = kSegmentHeaderBytes;
    header.chunk_bytes = chunk_bytes;
    header.chunk_count = kMaxSegmentChunks;
    file_.write(reinterpret_cast<const char*>(&header), sizeof header);
  }
  // With one record; the rest is a hole.
  void Chunk(ChunkState state, uint32_t order) {
    ChunkHeader header{};
    header.magic = kChunkMagic;
    header.state = state;
    header.order = order;
    ThreadHere here{};
    here.head = HeadOf<ThreadHere>();
    here.tid = 1;
    const uint64_t begin = kSegmentHeaderBytes + chunks_++ * chunk_bytes_;
    file_.seekp(static_cast<std::streamoff>(begin));
    file_.write(reinterpret_cast<const char*>(&header), sizeof header);
    file_.write(reinterpret_cast<const char*>(&here), sizeof here);
    file_.seekp(static_cast<std::streamoff>(begin + chunk_bytes_ - 1));
    file_.put(0);
    file_.flush();
  }

 private:
  std::ofstream file_;
  uint64_t chunk_bytes_, chunks_ = 0;
};

// That this process has read from files so far.
uint64_t BytesRead() {
  std::ifstream io("/proc/self/io");
  std::string name;
  uint64_t bytes = 0;
  io >> name >> bytes;
  return bytes;
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
    sum.more = progress.value().more;
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

TEST_F(FollowerTest, AnyGapOfOrdersIsCountedWithoutMemory) {
  RawSegment segment(run_, 4096);
  segment.Chunk(ChunkState::kClosed, 1);
  segment.Chunk(ChunkState::kClosed, UINT32_MAX);
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    Follower follower{fs::path(run_)};
    FollowedTimes seen;
    seen.Poll(&follower);
    const bool small = follower.Position().missing.size() < 10000;
    seen.Poll(&follower);
    _exit(small && seen.sum.records == 2 && seen.sum.lost_chunks == UINT32_MAX - 2 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(FollowerTest, AChunkIsReadAsFarAsItIsWritten) {
  RawSegment segment(run_, kMaxChunkBytes);
  for (uint32_t order = 1; order <= 8; ++order) segment.Chunk(ChunkState::kWriting, order);
  Follower follower{fs::path(run_)};
  FollowedTimes seen;
  const uint64_t before = BytesRead();
  seen.Poll(&follower);
  EXPECT_EQ(seen.sum.records, 8u);
  EXPECT_LT(BytesRead() - before, 8u << 20);
}

TEST_F(FollowerTest, WhatIsTooMuchForOnePollIsReadByTheNext) {
  RawSegment segment(run_, kMaxChunkBytes);
  for (uint32_t order = 24; order >= 1; --order) segment.Chunk(ChunkState::kClosed, order);
  Follower follower{fs::path(run_)};
  FollowedTimes seen;
  const uint64_t before = BytesRead();
  seen.Poll(&follower);
  EXPECT_LT(BytesRead() - before, uint64_t{5} << 28);
  EXPECT_LT(seen.sum.records, 24u);
  EXPECT_TRUE(seen.sum.more);
  seen.Poll(&follower);
  EXPECT_FALSE(seen.sum.more);
  seen.Poll(&follower);
  EXPECT_EQ(seen.sum.records, 24u);
  EXPECT_EQ(seen.sum.lost_chunks, 0u);
}

// One file under many names would be read as often.
TEST_F(FollowerTest, ASegmentHasTheNumberOfItsName) {
  RawSegment segment(run_, 4096);
  segment.Chunk(ChunkState::kClosed, 1);
  fs::create_hard_link(fs::path(run_) / "segment-000000", fs::path(run_) / "segment-000001");
  Follower follower{fs::path(run_)};
  FollowedTimes seen;
  seen.Poll(&follower);
  EXPECT_EQ(seen.sum.records, 1u);
  EXPECT_EQ(seen.sum.damaged_chunks, 1u);
}

TEST_F(FollowerTest, AStringIsReadAlone) {
  Writer* writer = Open();
  const uint32_t id = writer->Intern("name");
  fs::resize_file(fs::path(writer->process_directory()) / "strings", uint64_t{3} << 30);
  Follower follower(writer->process_directory());
  const uint64_t before = BytesRead();
  EXPECT_EQ(follower.String(id), "name");
  EXPECT_EQ(follower.String(id + 1000), std::nullopt);
  EXPECT_EQ(follower.String(UINT32_MAX), std::nullopt);
  EXPECT_LT(BytesRead() - before, 1u << 20);
}

TEST_F(FollowerTest, SaysThatTheFolderIsGone) {
  Follower follower(dir_.path() / "nothing");
  EXPECT_FALSE(follower.Poll([](const Head&, const char*) {}).ok());
}

}  // namespace
}  // namespace rochound::trace
