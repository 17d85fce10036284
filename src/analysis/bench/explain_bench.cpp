// SPDX-License-Identifier: MIT
//
// `./dev bench explain [--json] [--sizes 1M,10M,100M] [--questions top,...] [--folder DIR]`: traces
// of each size are generated, written as Parquet, and asked: by `rochound explain`, and in bare
// DuckDB over the same Parquet with the same SQL (for questions that walk rows in C++: with SQL
// that answers the same, in this folder). Every step is a process of its own, so that its memory is
// known; times are compared within the run.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/questions.h"
#include "base/files.h"
#include "store/bench/generate_trace.h"
#include "store/export/export_parquet.h"
#include "store/open/duck.h"
#include "store/open/trace_database.h"
#include "store/open/trace_tables.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using rochound::base::Result;

constexpr double kPatience = 4;  // bare DuckDB may take so many times as long as we do
constexpr uint64_t kMemory = uint64_t{5} << 30;  // as `rochound explain` allows itself

struct Cost {
  double wall_seconds = 0, cpu_seconds = 0;
  double peak_mib = 0;
};

// Runs it in a process of its own, at most so long (0: as long as it takes; a cost of no wall time
// is one that was given up).
Result<Cost> Measure(const std::function<int()>& work, unsigned most_seconds = 0) {
  fflush(stdout);
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child < 0) return rochound::base::Error{"cannot fork"};
  if (child == 0) {
    alarm(most_seconds);
    _exit(work());
  }
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, 0, &usage) != child) return rochound::base::Error{"cannot wait"};
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return Cost{};
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return rochound::base::Error{fmt::format("a step failed with status {}", status)};
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  Cost cost;
  cost.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  cost.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  cost.peak_mib = static_cast<double>(usage.ru_maxrss) / 1024;
  return cost;
}

int Report(const rochound::base::Error& error) {
  fmt::print(stderr, "bench: {}\n", error.message);
  return 1;
}

uint64_t Bytes(const fs::path& path) {
  if (fs::is_regular_file(path)) return fs::file_size(path);
  uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file()) bytes += entry.file_size();
  return bytes;
}

// The question's SQL over the Parquet files, and nothing of ours around it.
int AskBare(const std::string& question, const fs::path& parquet) {
  rochound::store::duck::Limits limits;
  limits.memory_bytes = kMemory;
  limits.spill_directory = parquet.parent_path() / "spill-bare";
  auto connection = rochound::store::duck::Connection::Open(limits);
  if (!connection.ok()) return Report(connection.error());
  for (const auto& table : rochound::store::TraceTables()) {
    const std::string files = (parquet / table.name / "**" / "*.parquet").string();
    const auto made = connection.value().Run(
        fmt::format("CREATE VIEW {} AS SELECT * FROM read_parquet('{}')", table.name, files));
    if (!made.ok()) return Report(made.error());
  }
  std::string sql(rochound::analysis::QuestionText(question));
  if (sql.empty()) {
    const auto text = rochound::base::ReadFile(fs::path(ROCHOUND_BENCH_SQL) / (question + ".sql"));
    if (!text.ok()) return Report(text.error());
    sql = text.value();
  }
  const auto done = connection.value().Run(sql);
  return done.ok() ? 0 : Report(done.error());
}

// Both are started anew, as a user does it.
int Start(bool ours, const std::string& question, const fs::path& parquet) {
  const auto self = rochound::base::ExecutablePath();
  if (!self.ok()) return Report(self.error());
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nowhere, STDOUT_FILENO);
  const fs::path rochound = self.value().parent_path() / "rochound";
  if (ours) {
    execl(rochound.c_str(), "rochound", "explain", question.c_str(), parquet.c_str(),
          static_cast<char*>(nullptr));
  } else {
    execl(self.value().c_str(), "bench_explain", "--bare", question.c_str(), parquet.c_str(),
          static_cast<char*>(nullptr));
  }
  return 127;
}

Result<ordered_json> MeasureSize(uint64_t events, const std::vector<std::string>& questions,
                                 const fs::path& folder) {
  const fs::path rpd = folder / "trace.rpd", parquet = folder / "trace.parquet";
  fs::remove_all(parquet);
  rochound::store::GeneratorOptions generator;
  generator.events = events;
  ROCHOUND_TRY(const Cost generated, Measure([&] {
                 const auto made = rochound::store::GenerateRpd(rpd, generator);
                 return made.ok() ? 0 : Report(made.error());
               }));
  ROCHOUND_TRY(const Cost imported, Measure([&] {
                 rochound::store::OpenOptions options;
                 options.limits.memory_bytes = kMemory;
                 options.limits.spill_directory = folder / "spill";
                 options.exports = true;
                 auto trace = rochound::store::TraceDatabase::Open({rpd}, options);
                 if (!trace.ok()) return Report(trace.error());
                 const auto done = rochound::store::ExportParquet(trace.value(), parquet);
                 return done.ok() ? 0 : Report(done.error());
               }));
  const auto count = static_cast<double>(events);
  ordered_json result = {
      {"events", events},
      {"rpd_write_events_per_second", count / generated.wall_seconds},
      {"import_events_per_second", count / imported.wall_seconds},
      {"import_events_per_cpu_second", count / imported.cpu_seconds},
      {"import_peak_mib", imported.peak_mib},
      {"rpd_bytes_per_event", static_cast<double>(Bytes(rpd)) / count},
      {"parquet_bytes_per_event", static_cast<double>(Bytes(parquet)) / count},
  };
  fmt::print(stderr, "{} events written and imported: {}\n", events, result.dump());
  fs::remove(rpd);  // the largest ones do not fit a disk twice
  const int rounds = events <= 2'000'000 ? 5 : events <= 20'000'000 ? 3 : 1;
  for (const std::string& question : questions) {
    Cost ours{1e300, 1e300, 0}, bare{1e300, 1e300, 0};
    const auto least = [](Cost& best, const Cost& cost) {
      best.wall_seconds = std::min(best.wall_seconds, cost.wall_seconds);
      best.cpu_seconds = std::min(best.cpu_seconds, cost.cpu_seconds);
      best.peak_mib = std::max(best.peak_mib, cost.peak_mib);
    };
    for (int round = 0; round < rounds; ++round) {
      ROCHOUND_TRY(const Cost one, Measure([&] { return Start(true, question, parquet); }));
      least(ours, one);
      const auto patience = static_cast<unsigned>(kPatience * ours.wall_seconds) + 10;
      ROCHOUND_TRY(const Cost other,
                   Measure([&] { return Start(false, question, parquet); }, patience));
      least(bare, other);
    }
    ordered_json& figures = result[question];
    figures = {{"cpu_ns_per_event", 1e9 * ours.cpu_seconds / count},
               {"wall_seconds", ours.wall_seconds},
               {"peak_mib", ours.peak_mib}};
    if (bare.wall_seconds > 0) {
      figures["wall_ratio_to_bare"] = ours.wall_seconds / bare.wall_seconds;
      figures["cpu_ratio_to_bare"] = ours.cpu_seconds / bare.cpu_seconds;
      figures["bare_peak_mib"] = bare.peak_mib;
    } else {
      figures["bare"] = fmt::format("given up after {} times as long", kPatience);
    }
    fmt::print(stderr, "{} events, {}: {}\n", events, question, figures.dump());
  }
  fs::remove_all(parquet);
  return result;
}

uint64_t ParseSize(const std::string& text) {
  char* end = nullptr;
  const double number = strtod(text.c_str(), &end);
  return static_cast<uint64_t>(number * (*end == 'M' ? 1e6 : *end == 'k' ? 1e3 : 1));
}

std::vector<std::string> Split(const std::string& list) {
  std::vector<std::string> parts(1);
  for (const char c : list) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--bare") == 0) return AskBare(argv[2], argv[3]);
  std::vector<uint64_t> sizes = {1'000'000, 10'000'000, 100'000'000};
  std::vector<std::string> questions = {"top", "idle", "callstack"};
  bool json = false;
  fs::path folder = fs::temp_directory_path();
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--json") {
      json = true;
    } else if (argument == "--sizes" && i + 1 < argc) {
      sizes.clear();
      for (const std::string& size : Split(argv[++i])) sizes.push_back(ParseSize(size));
    } else if (argument == "--questions" && i + 1 < argc) {
      questions = Split(argv[++i]);
    } else if (argument == "--folder" && i + 1 < argc) {
      folder = argv[++i];
    } else {
      fmt::print(
          stderr,
          "usage: bench explain [--json] [--sizes 1M,10M,100M] [--questions top,idle,callstack] "
          "[--folder DIR]\n");
      return 2;
    }
  }
  auto scratch = rochound::base::TempDir::Create(folder, "rochound-bench-");
  if (!scratch.ok()) return Report(scratch.error());
  ordered_json all = ordered_json::array();
  for (const uint64_t size : sizes) {
    if (!json) fmt::print("{} events\n", size);
    const auto result = MeasureSize(size, questions, scratch.value().path());
    if (!result.ok()) return Report(result.error());
    if (!json) fmt::print("{}\n", result.value().dump(2));
    fflush(stdout);
    all.push_back(result.value());
  }
  ordered_json growth;
  for (const std::string& question : questions) {
    growth[question] = all.back()[question]["cpu_ns_per_event"].get<double>() /
                       all.front()[question]["cpu_ns_per_event"].get<double>();
  }
  const ordered_json summary = {{"sizes", all}, {"cost_per_event_largest_over_smallest", growth}};
  if (json) {
    fmt::print("{}\n", summary.dump(2));
  } else {
    fmt::print("cost per event, largest over smallest: {}\n", growth.dump());
  }
  return 0;
}
