// SPDX-License-Identifier: MIT
#include "fleet/daemon/host_watch.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "fleet/daemon/test_records.h"

namespace rochound::fleet {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class HostWatchTest : public testing::Test {
 protected:
  HostWatchTest() : dir_(base::TempDir::Create(testing::TempDir(), "rochound-watch-").value()) {}

  WatchOptions Options() const {
    WatchOptions options;
    options.state = dir_.path() / "state";
    options.host = "host";
    options.interval_ns = 1000000000;
    options.grace_ns = 0;
    options.logs = {dir_.path() / "run"};
    options.find_recorders = false;
    return options;
  }

  // Everything that is in the spool: launches by kernel, merged.
  std::map<std::string, Histogram> Spooled(uint64_t* losses = nullptr) {
    std::map<std::string, Histogram> merged;
    Spool spool;
    EXPECT_TRUE(spool.Open(dir_.path() / "state/spool", UINT64_MAX).ok());
    uint64_t last = 0;
    spool.ForEach([&](const Spool::Message& message) {
      EXPECT_EQ(message.number, ++last);
      const json content = json::parse(message.text);
      EXPECT_EQ(content.at("number"), message.number);
      EXPECT_EQ(content.at("nth"), message.number);
      for (const json& row : content.at("rows")) {
        Histogram one;
        EXPECT_TRUE(one.Restore(row.at("scale"), row.at("zeros"), row.at("sum"), row.at("min"),
                                row.at("max"), row.at("first"), row.at("buckets")));
        merged[row.at("kernel")].Merge(one);
      }
      if (losses != nullptr)
        for (const json& loss : content.at("losses")) *losses += loss.at("count").get<uint64_t>();
      return true;
    });
    return merged;
  }

  base::TempDir dir_;
};

TEST_F(HostWatchTest, KilledAtAnyTimeCountsEachLaunchOnce) {
  TestLog log(dir_.path() / "run", {.chunk_bytes = 4096});
  log.Queue(1);
  log.Kernel(1, "first");
  log.Kernel(2, "second");
  log.Anchors(0);
  std::mt19937_64 random(5);
  std::map<std::string, Histogram> want;
  uint64_t packet = 0;
  auto watch = std::make_unique<HostWatch>(Options());
  ASSERT_TRUE(watch->Open().ok());
  for (int round = 0; round < 60; ++round) {
    const uint64_t at = static_cast<uint64_t>(round) * 100;  // a tenth of a second each
    log.Anchors(at);
    for (uint64_t i = 0; i < 20; ++i) {
      const uint64_t ticks = 1 + random() % 5000;
      const uint32_t kernel = 1 + random() % 2;
      log.Dispatch(packet, kernel, at);
      log.Time(packet, ticks, at);
      want[kernel == 1 ? "first" : "second"].Add(ticks * 10);
      ++packet;
    }
    // What is on disk when it is killed: sometimes the state of before the last step, with the
    // messages of after it.
    const bool killed = fs::exists(dir_.path() / "state/state") && random() % 3 == 0;
    if (killed)
      fs::copy_file(dir_.path() / "state/state", dir_.path() / "before",
                    fs::copy_options::overwrite_existing);
    ASSERT_TRUE(watch->Step(random() % 4 == 0).ok());
    if (killed) fs::rename(dir_.path() / "before", dir_.path() / "state/state");
    if (killed || random() % 5 == 0) {
      watch.reset();
      watch = std::make_unique<HostWatch>(Options());
      ASSERT_TRUE(watch->Open().ok());
    }
  }
  ASSERT_TRUE(watch->Step(true).ok());
  uint64_t losses = 0;
  EXPECT_EQ(Spooled(&losses), want);
  EXPECT_EQ(losses, 0u);
}

// A disk that takes nothing for a while: there is a folder where the next message should be.
TEST_F(HostWatchTest, AFullDiskLosesNothing) {
  TestLog log(dir_.path() / "run");
  log.Queue(1);
  log.Kernel(1, "kernel");
  log.Anchors(0);
  std::map<std::string, Histogram> want;
  HostWatch watch(Options());
  ASSERT_TRUE(watch.Open().ok());
  uint64_t packet = 0;
  int failures = 0;
  for (int round = 0; round < 30; ++round) {
    const uint64_t at = static_cast<uint64_t>(round) * 100;
    log.Anchors(at);
    for (uint64_t i = 0; i < 10; ++i, ++packet) {
      log.Dispatch(packet, 1, at);
      log.Time(packet, 100 + i, at);
      want["kernel"].Add(1000 + 10 * i);
    }
    const bool full = round % 10 >= 3 && round % 10 < 7;
    char name[32];
    snprintf(name, sizeof name, "%012zu.json", watch.spool().size() + 1);
    const fs::path next = dir_.path() / "state/spool" / name;
    if (full) fs::create_directories(next / "in the way");
    failures += !watch.Step(true).ok();
    if (full) fs::remove_all(next);
  }
  EXPECT_GE(failures, 10);
  ASSERT_TRUE(watch.Step(true).ok());
  uint64_t losses = 0;
  EXPECT_EQ(Spooled(&losses), want);
  EXPECT_EQ(losses, 0u);
}

TEST_F(HostWatchTest, DamageIsALossOnce) {
  TestLog log(dir_.path() / "run");
  log.Anchors(0);
  ASSERT_TRUE(base::WriteFile(log.folder() / "segment-000007", std::string(8192, 'x')).ok());
  for (int daemon = 0; daemon < 2; ++daemon) {
    HostWatch watch(Options());
    ASSERT_TRUE(watch.Open().ok());
    for (int round = 0; round < 3; ++round) ASSERT_TRUE(watch.Step(true).ok());
  }
  uint64_t losses = 0;
  Spooled(&losses);
  EXPECT_EQ(losses, 1u);
}

TEST_F(HostWatchTest, IntervalsInTheFutureAreNotWaitedFor) {
  TestLog log(dir_.path() / "run");
  log.Queue(1);
  log.Kernel(1, "kernel");
  log.Anchors(0);
  // The clock was ahead by two hours when this was recorded.
  log.Anchors(7200'000);
  log.Dispatch(1, 1, 7200'000);
  log.Time(1, 100, 7200'000);
  HostWatch watch(Options());
  ASSERT_TRUE(watch.Open().ok());
  ASSERT_TRUE(watch.Step().ok());
  EXPECT_EQ(watch.spool().size(), 1u);
}

TEST_F(HostWatchTest, AStateThatIsDamagedIsRefused) {
  TestLog log(dir_.path() / "run");
  {
    HostWatch watch(Options());
    ASSERT_TRUE(watch.Open().ok());
    ASSERT_TRUE(watch.Step().ok());
  }
  ASSERT_TRUE(base::WriteFile(dir_.path() / "state/state", "nonsense").ok());
  HostWatch again(Options());
  const auto opened = again.Open();
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("counted twice"), std::string::npos);
}

TEST_F(HostWatchTest, TwoDaemonsDoNotShareAState) {
  HostWatch one(Options()), two(Options());
  ASSERT_TRUE(one.Open().ok());
  EXPECT_FALSE(two.Open().ok());
}

TEST_F(HostWatchTest, AFullSpoolDropsTheOldestAndSaysSo) {
  TestLog log(dir_.path() / "run");
  log.Queue(1);
  log.Anchors(0);
  auto options = Options();
  options.spool_bytes = 20000;
  uint64_t launches = 0;
  {
    HostWatch watch(options);
    ASSERT_TRUE(watch.Open().ok());
    for (uint64_t round = 0; round < 40; ++round) {
      log.Anchors(1000 * (round + 1));
      for (uint32_t kernel = 1; kernel <= 5; ++kernel) {
        log.Kernel(kernel, "kernel" + std::to_string(kernel));
        log.Dispatch(launches, kernel, 1000 * (round + 1));
        log.Time(launches, 100 * kernel, 1000 * (round + 1));
        ++launches;
      }
      ASSERT_TRUE(watch.Step(true).ok());
      EXPECT_LE(watch.spool().bytes(), 25000u);
    }
  }
  // With room again, the last losses become a message, too.
  HostWatch watch(Options());
  ASSERT_TRUE(watch.Open().ok());
  ASSERT_TRUE(watch.Step(true).ok());
  // What is there and what is said to be lost is everything.
  uint64_t there = 0, lost = 0;
  watch.spool().ForEach([&](const Spool::Message& message) {
    const json content = json::parse(message.text);
    for (const json& row : content.at("rows")) there += row.at("launches").get<uint64_t>();
    for (const json& loss : content.at("losses"))
      if (loss.at("what").get<std::string>().starts_with("launches in messages"))
        lost += loss.at("count").get<uint64_t>();
    return true;
  });
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(there + lost, launches);
  EXPECT_GT(there, 0u);
}

// A file of the spool that a broken disk has changed is dropped like the others.
TEST_F(HostWatchTest, ADamagedMessageIsDroppedWithTheOthers) {
  const char* const damaged[] = {"", "[1]", R"({"job": 1})", R"({"job": "j", "rows": [1]})",
                                 R"({"job": "j", "rows": [], "losses": [{"what": 3}]})"};
  {
    TestLog log(dir_.path() / "run");
    ASSERT_TRUE(base::WriteFile(log.folder() / "segment-000007", std::string(8192, 'x')).ok());
    HostWatch watch(Options());
    ASSERT_TRUE(watch.Open().ok());
    ASSERT_TRUE(watch.Step(true).ok());
    ASSERT_EQ(watch.spool().size(), 1u);
  }
  for (const char* text : damaged) {
    Spool spool;
    ASSERT_TRUE(spool.Open(dir_.path() / "state/spool", UINT64_MAX).ok());
    const uint64_t number = spool.Oldest()->number;
    ASSERT_TRUE(spool.Add(number, std::string(text) + std::string(100, ' ')).ok());
    auto options = Options();
    options.spool_bytes = 10;
    HostWatch watch(options);
    ASSERT_TRUE(watch.Open().ok());
    ASSERT_TRUE(watch.Step(true).ok()) << text;
    ASSERT_TRUE(watch.Step(true).ok()) << text;
    const auto next = watch.spool().Oldest();
    ASSERT_TRUE(next) << text;
    EXPECT_GT(next->number, number) << text;
    EXPECT_NE(next->text.find("messages dropped since the spool was full"), std::string::npos);
  }
}

TEST_F(HostWatchTest, BeatsTellWhatIsInFlight) {
  TestLog log(dir_.path() / "run");
  log.Queue(1);
  log.Kernel(1, "ncclDevKernel_Generic");
  log.Anchors(0);
  log.Anchors(100);
  log.Dispatch(1, 1);
  log.Time(1, 500);
  log.Dispatch(2, 1);
  HostWatch watch(Options());
  ASSERT_TRUE(watch.Open().ok());
  ASSERT_TRUE(watch.Step().ok());
  const auto beats = watch.Beats();
  ASSERT_EQ(beats.size(), 1u);
  EXPECT_EQ(beats[0].state, "running");
  EXPECT_EQ(beats[0].dispatches, 2u);
  EXPECT_EQ(beats[0].launches, 1u);
  EXPECT_EQ(beats[0].collectives, 2u);
  ASSERT_EQ(beats[0].oldest.size(), 1u);
  EXPECT_EQ(beats[0].oldest[0].kernel, "ncclDevKernel_Generic");
}

}  // namespace
}  // namespace rochound::fleet
