// SPDX-License-Identifier: MIT
//
// Jobs of 64 ranks whose truth is known: each rank's log is written as the agent does, read by the
// daemon, and judged from its messages. Times have the noise of real ones: launches differ by a few
// percent, one in two hundred takes several times as long, ranks differ by half a percent for good,
// and all of them drift together.
#include "fleet/stragglers/stragglers.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <map>
#include <random>

#include "fleet/daemon/host_watch.h"
#include "fleet/daemon/test_records.h"

namespace rochound::fleet {
namespace {

constexpr int kRanks = 64;
constexpr int kIntervals = 6;
constexpr int kStepsPerInterval = 200;
constexpr uint64_t kIntervalMs = 5000;
constexpr int kKernels = 3;
constexpr double kKernelUs[kKernels] = {9000, 4000, 1500};
constexpr double kHostUs = 1500, kCollectiveUs = 2000;

struct Planted {
  std::map<int, double> slow;  // by rank: how much longer its kernels take
  std::map<int, double> late;  // by rank: how much of a step it is late for reasons of its host
  int from_interval = 0;       // before, all are well
};

// All ranks take part in a collective at the end of each step, and leave it together.
std::vector<KernelInterval> RunJob(const Planted& planted, uint64_t seed) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-stragglers-").value();
  std::mt19937_64 random(seed);
  const auto normal = [&](double sigma) {
    return std::normal_distribution<double>(0, sigma)(random);
  };
  std::vector<double> constant;  // of a rank: no two GPUs are the same
  std::vector<std::unique_ptr<TestLog>> logs;
  for (int rank = 0; rank < kRanks; ++rank) {
    constant.push_back(normal(0.005));
    auto& log =
        *logs.emplace_back(std::make_unique<TestLog>(dir.path() / ("rank" + std::to_string(rank))));
    log.Anchors(0);
    log.Anchors(100);
    log.Queue(1);
    for (uint32_t kernel = 0; kernel < kKernels; ++kernel)
      log.Kernel(kernel + 1, "kernel" + std::to_string(kernel));
    log.Kernel(kKernels + 1, "ncclDevKernel_Generic_1");
  }
  uint64_t packet = 0;
  for (int interval = 0; interval < kIntervals; ++interval) {
    const double drift = normal(0.01);
    for (int rank = 0; rank < kRanks; ++rank) logs[static_cast<size_t>(rank)]->writer->Maintain();
    for (int step = 0; step < kStepsPerInterval; ++step) {
      const uint64_t at_ms = 200 + static_cast<uint64_t>(interval) * kIntervalMs +
                             static_cast<uint64_t>(step) * kIntervalMs / kStepsPerInterval;
      std::vector<double> arrives(kRanks);
      std::vector<std::array<double, kKernels>> takes(kRanks);
      for (size_t rank = 0; rank < kRanks; ++rank) {
        const bool begun = interval >= planted.from_interval;
        const auto slow = planted.slow.find(static_cast<int>(rank));
        const auto late = planted.late.find(static_cast<int>(rank));
        double own = 1 + constant[rank] + drift;
        if (begun && slow != planted.slow.end()) own *= 1 + slow->second;
        for (size_t kernel = 0; kernel < kKernels; ++kernel) {
          double time = kKernelUs[kernel] * own * std::exp(normal(0.03));
          if (random() % 200 == 0) time *= 1 + 4 * std::uniform_real_distribution<>()(random);
          takes[rank][kernel] = time;
          arrives[rank] += time;
        }
        arrives[rank] += kHostUs * std::exp(normal(0.2));
        if (begun && late != planted.late.end()) arrives[rank] += late->second * 16000;
      }
      const double leaves = *std::max_element(arrives.begin(), arrives.end()) + kCollectiveUs;
      for (size_t rank = 0; rank < kRanks; ++rank) {
        TestLog& log = *logs[rank];
        for (uint32_t kernel = 0; kernel < kKernels; ++kernel) {
          log.Dispatch(packet + kernel, kernel + 1, at_ms);
          log.Time(packet + kernel, static_cast<uint64_t>(takes[rank][kernel] * 100), at_ms);
        }
        log.Dispatch(packet + kKernels, kKernels + 1, at_ms);
        log.Time(packet + kKernels, static_cast<uint64_t>((leaves - arrives[rank]) * 100), at_ms);
      }
      packet += kKernels + 1;
    }
  }
  std::vector<KernelInterval> rows;
  for (int rank = 0; rank < kRanks; ++rank) {
    WatchOptions options;
    options.state = dir.path() / ("state" + std::to_string(rank));
    options.host = "host" + std::to_string(rank / 8);
    options.interval_ns = kIntervalMs * 1000000;
    options.logs = {dir.path() / ("rank" + std::to_string(rank))};
    options.find_recorders = false;
    HostWatch watch(options);
    EXPECT_TRUE(watch.Open().ok());
    EXPECT_TRUE(watch.Step(true).ok());
    watch.spool().ForEach([&](const Spool::Message& message) {
      const auto content = nlohmann::json::parse(message.text);
      for (const auto& row : content.at("rows")) {
        Histogram ns;
        EXPECT_TRUE(ns.Restore(row.at("scale"), row.at("zeros"), row.at("sum"), row.at("min"),
                               row.at("max"), row.at("first"), row.at("buckets")));
        rows.push_back({rank, content.at("host"), row.at("kernel"), row.at("code_object"),
                        content.at("from_ns"), content.at("interval_ns"), ns,
                        row.at("work_items")});
      }
      return true;
    });
  }
  return rows;
}

// Logs are never given back within a process: each job has one of its own. The exit code of
// `judge`.
template <typename Judge>
int InChild(Judge judge) {
  const pid_t child = fork();
  if (child == 0) {
    const int code = judge();
    fflush(stdout);
    _exit(testing::Test::HasFailure() ? 99 : code);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

TEST(StragglersTest, NobodyIsAccusedWithoutCause) {
  const int runs = getenv("ROCHOUND_FULL") != nullptr ? 1000 : 100;
  for (int run = 0; run < runs; ++run) {
    const int accused = InChild([&] {
      const auto rows = RunJob({}, 1000 + static_cast<uint64_t>(run));
      // With a past, too: the first half of the job.
      uint64_t first = UINT64_MAX;
      for (const KernelInterval& row : rows) first = std::min(first, row.from_ns);
      int count = 0;
      for (const uint64_t since : {uint64_t{0}, first + 3 * kIntervalMs * 1000000}) {
        const auto report = FindStragglers(rows, since);
        EXPECT_EQ(report.why_not, "");
        EXPECT_EQ(report.ranks.size(), static_cast<size_t>(kRanks));
        for (const RankScore& rank : report.ranks) {
          if (!rank.accused()) continue;
          ++count;
          printf("run %d: rank %ld slower %.3f late %.3f before %.3f\n", run, rank.rank,
                 rank.slower, rank.late, rank.than_before);
        }
      }
      return count;
    });
    ASSERT_EQ(accused, 0) << "run " << run;
  }
}

TEST(StragglersTest, SlowRanksAreFoundFromFivePercentOn) {
  int found_small = 0;
  for (const double part : {0.03, 0.05, 0.06, 0.08, 0.12, 0.2, 0.35, 0.5})
    for (int run = 0; run < 5; ++run) {
      const int code = InChild([&] {
        const Planted planted{{{17, part}, {42, part}}, {}, 0};
        const auto report = FindStragglers(RunJob(planted, 50 + static_cast<uint64_t>(run)));
        int found = 0;
        for (const RankScore& rank : report.ranks) {
          const bool is_planted = rank.rank == 17 || rank.rank == 42;
          found += rank.is_slow && is_planted;
          EXPECT_TRUE(!rank.accused() || is_planted) << part << ": rank " << rank.rank << " slower "
                                                     << rank.slower << " late " << rank.late;
          if (is_planted && part >= 0.05) {
            EXPECT_NEAR(rank.slower, part, 0.02) << "rank " << rank.rank;
          }
        }
        return found;
      });
      if (part >= 0.05) {
        EXPECT_EQ(code, 2) << part << ", run " << run;
      } else {
        found_small += code;
      }
    }
  printf("of 10 ranks that were 3%% slower, %d were found\n", found_small);
}

TEST(StragglersTest, WaitingCountsAgainstTheRankThatIsWaitedFor) {
  const int code = InChild([] {
    const auto report = FindStragglers(RunJob({{}, {{5, 0.3}}, 0}, 7));
    EXPECT_EQ(report.ranks.front().rank, 5);
    EXPECT_TRUE(report.ranks.front().is_late);
    EXPECT_FALSE(report.ranks.front().is_slow);
    for (const RankScore& rank : report.ranks)
      EXPECT_TRUE(rank.rank == 5 || !rank.accused()) << rank.rank;
    EXPECT_NE(report.AsText().find("rank    5"), std::string::npos);
    return 0;
  });
  EXPECT_EQ(code, 0);
}

TEST(StragglersTest, ARankAgainstItsOwnPast) {
  const int code = InChild([] {
    const auto rows = RunJob({{{9, 0.06}}, {}, 3}, 11);
    uint64_t first = UINT64_MAX;
    for (const KernelInterval& row : rows) first = std::min(first, row.from_ns);
    const auto report = FindStragglers(rows, first + 3 * kIntervalMs * 1000000);
    EXPECT_GE(report.past_intervals, 3u);
    for (const RankScore& rank : report.ranks)
      EXPECT_EQ(rank.is_slower_than_before, rank.rank == 9) << rank.rank;
    return 0;
  });
  EXPECT_EQ(code, 0);
}

TEST(StragglersTest, OtherWorkIsNotSlower) {
  std::vector<KernelInterval> rows;
  for (int64_t rank = 0; rank < 8; ++rank)
    for (uint64_t interval = 0; interval < 5; ++interval) {
      // Rank 3 has twice the work, and takes twice the time.
      const uint64_t times = rank == 3 ? 2 : 1;
      Histogram ns, usual;
      ns.Add(1000 * times, 100);
      usual.Add(1000, 100);
      rows.push_back({rank, "h", "k", "", interval, 1000, ns, 6400 * times});
      rows.push_back({rank, "h", "same", "", interval, 1000, usual, 6400});
    }
  for (const RankScore& rank : FindStragglers(rows).ranks) EXPECT_FALSE(rank.accused());
}

// A job without noise: one kernel, which takes a millisecond times the rank's factor.
struct QuietJob {
  std::vector<double> factors;  // by rank
  uint64_t launches = 100;      // of the last rank in an interval; of the others 100
  double work_of_last = 1;      // times that of the others
  double in_collectives = 0.2;  // part of the time
  double last_comes_late = 0;   // part of the time that the last one spends less in them
  static constexpr int64_t kSpanNs = 1'000'000'000;

  StragglerReport Judge() const {
    std::vector<KernelInterval> rows;
    for (size_t rank = 0; rank < factors.size(); ++rank) {
      const bool last = rank + 1 == factors.size();
      const uint64_t times = last ? launches : 100;
      Histogram kernel, collective;
      kernel.Add(static_cast<uint64_t>(1e6 * factors[rank]), times);
      const double part = in_collectives - (last ? last_comes_late : 0);
      collective.Add(static_cast<uint64_t>(part * kSpanNs));
      const auto work =
          static_cast<uint64_t>(64000 * static_cast<double>(times) * (last ? work_of_last : 1));
      const auto number = static_cast<int64_t>(rank);
      rows.push_back({number, "h", "k", "", 0, kSpanNs, kernel, work});
      rows.push_back({number, "h", "ncclDevKernel_Generic_1", "", 0, kSpanNs, collective, 64});
    }
    return FindStragglers(rows);
  }
  bool LastIsAccused() const {
    const auto report = Judge();
    EXPECT_EQ(report.why_not, "");
    for (const RankScore& rank : report.ranks) {
      if (rank.rank + 1 == static_cast<int64_t>(factors.size())) return rank.accused();
      EXPECT_FALSE(rank.accused()) << rank.rank;
    }
    return false;
  }
};

TEST(StragglersTest, AFewPercentAreNoCause) {
  std::vector<double> factors(16, 1);
  factors.back() = 1.03;
  EXPECT_FALSE(QuietJob{factors}.LastIsAccused());
  factors.back() = 1.045;
  EXPECT_TRUE(QuietJob{factors}.LastIsAccused());
  EXPECT_FALSE(
      (QuietJob{.factors = std::vector<double>(16, 1), .last_comes_late = 0.03}).LastIsAccused());
  EXPECT_TRUE(
      (QuietJob{.factors = std::vector<double>(16, 1), .last_comes_late = 0.045}).LastIsAccused());
}

// Ranks that differ by 1% from their median on either side have a spread of 1.5%.
TEST(StragglersTest, WhereAllDifferOneHasToDifferMore) {
  std::vector<double> factors;
  for (int rank = 0; rank < 15; ++rank) factors.push_back(1 + 0.01 * (rank % 3 - 1));
  for (int rank = 0; rank < 15; ++rank) factors.push_back(1 + 0.01 * (rank % 2 == 0 ? 1 : -1));
  factors.push_back(1.06);
  EXPECT_FALSE(QuietJob{factors}.LastIsAccused());
  factors.back() = 1.1;
  EXPECT_TRUE(QuietJob{factors}.LastIsAccused());
}

TEST(StragglersTest, FewLaunchesOrOtherWorkSayNothing) {
  std::vector<double> factors(8, 1);
  factors.back() = 1.2;
  EXPECT_FALSE((QuietJob{.factors = factors, .launches = 10}).LastIsAccused());
  EXPECT_TRUE((QuietJob{.factors = factors, .launches = 40}).LastIsAccused());
  EXPECT_FALSE((QuietJob{.factors = factors, .work_of_last = 1.03}).LastIsAccused());
  EXPECT_TRUE((QuietJob{.factors = factors, .work_of_last = 1.005}).LastIsAccused());
}

TEST(StragglersTest, ThreeRanksSayNothingAndFourDo) {
  EXPECT_NE((QuietJob{{1, 1, 1.2}}.Judge().why_not), "");
  EXPECT_TRUE((QuietJob{{1, 1, 1, 1.2}}.LastIsAccused()));
}

}  // namespace
}  // namespace rochound::fleet
