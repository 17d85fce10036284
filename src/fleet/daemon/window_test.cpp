// SPDX-License-Identifier: MIT
#include "fleet/daemon/window.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>

#include "fleet/daemon/test_records.h"
#include "trace/reader.h"

namespace rochound::fleet {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kStranger = 65534;

struct Collector : trace::Visitor {
  void OnDispatch(const trace::Event<trace::KernelDispatch>& event) override {
    dispatches.insert(trace::PacketOf(event.record.dispatch));
  }
  void OnKernelTime(const trace::Event<trace::KernelTime>& event) override {
    times.insert(trace::PacketOf(event.record.dispatch));
  }
  std::set<uint64_t> dispatches, times;
};

TEST(WindowTest, HoldsEveryRecordOfItsSpanAndOpensAsALog) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-window-");
  TestLog log(dir.value().path() / "run", {.chunk_bytes = 4096});
  log.Queue(1);
  log.Kernel(1, "kernel");
  log.Anchors(0);
  // One launch per millisecond, ten seconds long.
  for (uint64_t at = 0; at < 10000; ++at) {
    if (at % 1000 == 999) log.Anchors(at + 1);
    log.Dispatch(at, 1, at);
    log.Time(at, 100, at);
  }
  log.writer->Maintain();
  const auto second = [&](uint64_t number) { return log.base_realtime + number * 1000000000; };
  const auto to = dir.value().path() / "window" / log.folder().filename();
  const auto size = CopyWindow(log.folder(), second(4), second(6), to);
  ASSERT_TRUE(size.ok()) << size.error().message;
  EXPECT_EQ(size.value().complete_from_ns, 0u);
  const auto opened = trace::ProcessLog::Open(to);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_TRUE(opened.value()->problems().empty()) << opened.value()->problems().front();
  Collector seen;
  ASSERT_TRUE(opened.value()->Visit(seen).ok());
  for (uint64_t at = 4000; at <= 6000; ++at) {
    EXPECT_TRUE(seen.dispatches.contains(at)) << at;
    EXPECT_TRUE(seen.times.contains(at)) << at;
  }
  // And not much else.
  EXPECT_LT(seen.dispatches.size(), 3000u);
  ASSERT_EQ(opened.value()->kernels().size(), 1u);
  EXPECT_EQ(opened.value()->String(opened.value()->kernels().begin()->second.name), "kernel");
}

TEST(WindowTest, OfNoLogIsAnError) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-window-");
  EXPECT_FALSE(CopyWindow(dir.value().path() / "none", 0, 1, dir.value().path() / "to").ok());
}

// The daemon may read everybody's files, and who writes the log makes links in it.
TEST(WindowTest, HoldsNoFileThatIsNotTheOwners) {
  if (geteuid() != 0) GTEST_SKIP() << "only root has the rights of others";
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-window-").value();
  TestLog log(dir.path() / "run");
  log.Anchors(0);
  TestLog other(dir.path() / "other");
  other.Anchors(0);
  ASSERT_TRUE(base::WriteFile(dir.path() / "secret", "root's").ok());
  ASSERT_TRUE(base::WriteFile(log.folder() / "facts", "own").ok());
  fs::create_symlink(dir.path() / "secret", log.folder() / "maps");
  fs::create_symlink(other.folder() / "segment-000000", log.folder() / "segment-000009");
  fs::create_hard_link(dir.path() / "secret", log.folder() / "code_objects");
  for (const char* name : {"info", "functions", "strings", "facts", "segment-000000"})
    ASSERT_EQ(chown((log.folder() / name).c_str(), kStranger, kStranger), 0);
  ASSERT_EQ(chown(log.folder().c_str(), kStranger, kStranger), 0);
  const fs::path to = dir.path() / "window" / log.folder().filename();
  const auto size = CopyWindow(log.folder(), 0, UINT64_MAX / 2, to);
  ASSERT_TRUE(size.ok()) << size.error().message;
  EXPECT_TRUE(fs::exists(to / "segment-000000"));
  EXPECT_TRUE(fs::exists(to / "strings"));
  EXPECT_TRUE(fs::exists(to / "facts"));
  EXPECT_FALSE(fs::exists(to / "maps"));
  EXPECT_FALSE(fs::exists(to / "code_objects"));
  EXPECT_FALSE(fs::exists(to / "segment-000009"));
}

TEST(WindowTest, IsWrittenToNoPlaceThatIsThereAlready) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-window-").value();
  TestLog log(dir.path() / "run");
  log.Anchors(0);
  ASSERT_TRUE(base::WriteFile(dir.path() / "state", "the daemon's").ok());
  const fs::path to = dir.path() / "window" / log.folder().filename();
  fs::create_directories(to);
  fs::create_symlink(dir.path() / "state", to / "segment-000000");
  EXPECT_FALSE(CopyWindow(log.folder(), 0, UINT64_MAX / 2, to).ok());
  EXPECT_TRUE(base::ReadFile(dir.path() / "state").value() == "the daemon's");
}

// A file can be called terabytes long and hold nothing.
TEST(WindowTest, EndsWithTheLastChunkThatIsInIt) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-window-").value();
  TestLog log(dir.path() / "run");
  log.Anchors(0);
  fs::resize_file(log.folder() / "segment-000000", 100u << 20);
  const fs::path to = dir.path() / "window" / log.folder().filename();
  ASSERT_TRUE(CopyWindow(log.folder(), 0, UINT64_MAX / 2, to).ok());
  EXPECT_LT(fs::file_size(to / "segment-000000"), 1u << 20);
  fs::resize_file(log.folder() / "segment-000000", uint64_t{1} << 40);
  (void)CopyWindow(log.folder(), 0, UINT64_MAX / 2, dir.path() / "again").ok();
  EXPECT_FALSE(fs::exists(dir.path() / "again/segment-000000")) << "it is no recorder's";
}

}  // namespace
}  // namespace rochound::fleet
