// SPDX-License-Identifier: MIT
//
// `./dev bench capture [--json]`: how fast a launch's memory is kept, beside plain memcpy in the
// same run, in memory (/dev/shm) and on the disk (TMPDIR), and how small it gets. Rates are per
// second of one core's time, since machines are busy.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "capture/bench/snapshot_bench.h"

namespace {

namespace fs = std::filesystem;
using namespace rochound;

constexpr uint64_t kBytes = 1ull << 30;
constexpr int kTurns = 6;

base::Result<nlohmann::ordered_json> Measure(const fs::path& parent) {
  ROCHOUND_TRY(const base::TempDir folder, base::TempDir::Create(parent, "rochound-bench-"));
  ROCHOUND_TRY(const capture::SnapshotRates rates,
               capture::MeasureSnapshot(folder.path(), kBytes, kTurns));
  const auto gigabytes = [](double rate) { return rate / 1e9; };
  return nlohmann::ordered_json{
      {"memcpy_fresh_gb_per_second", gigabytes(rates.memcpy_fresh)},
      {"memcpy_touched_gb_per_second", gigabytes(rates.memcpy_touched)},
      {"snapshot_gb_per_second", gigabytes(rates.before)},
      {"snapshot_over_memcpy_fresh", rates.before / rates.memcpy_fresh},
      {"snapshot_over_memcpy_fresh_goal", 0.8},
      {"snapshot_over_memcpy_touched", rates.before / rates.memcpy_touched},
      {"zeros_gb_per_second", gigabytes(rates.zeros)},
      {"after_unchanged_gb_per_second", gigabytes(rates.after_same)},
      {"after_changed_gb_per_second", gigabytes(rates.after_other)},
      {"until_on_disk_wall_gb_per_second", gigabytes(rates.kept_wall)}};
}

// The figures of bench_replay, which is beside this one where the software GPU is built.
nlohmann::ordered_json MeasureReplay() {
  const auto self = base::ExecutablePath();
  const fs::path bench = self.ok() ? self.value().parent_path() / "bench_replay" : fs::path();
  if (!fs::exists(bench)) return {};
  std::string text;
  FILE* const pipe = popen(("'" + bench.string() + "' --json").c_str(), "r");
  if (pipe == nullptr) return {};
  char buffer[4096];
  while (const size_t got = fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, got);
  pclose(pipe);
  auto figures = nlohmann::ordered_json::parse(text, nullptr, false);
  return figures.is_object() ? figures : nlohmann::ordered_json();
}

}  // namespace

int main(int argc, char** argv) {
  const bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
  nlohmann::ordered_json all;
  const auto fail = [](const base::Error& error) {
    fmt::print(stderr, "bench: {}\n", error.message);
    return 1;
  };
  const std::pair<const char*, fs::path> places[] = {{"memory", "/dev/shm"},
                                                     {"disk", fs::temp_directory_path()}};
  for (const auto& [name, parent] : places) {
    const auto measured = Measure(parent);
    if (!measured.ok()) return fail(measured.error());
    all[name] = measured.value();
  }
  const auto folder = base::TempDir::Create(places[0].second, "rochound-bench-");
  if (!folder.ok()) return fail(folder.error());
  const auto packed = capture::MeasurePacking(folder.value().path(), kBytes / 2);
  if (!packed.ok()) return fail(packed.error());
  all["bundle_over_taken_bytes"] = packed.value().ratio;
  all["packing_gb_per_second"] = packed.value().bytes_per_second / 1e9;
  all["replay"] = MeasureReplay();
  if (json) {
    fmt::print("{}\n", all.dump(2));
    return 0;
  }
  for (const auto& [name, parent] : places) {
    const auto& of = all[name];
    const auto get = [&](const char* field) { return of[field].get<double>(); };
    fmt::print(
        "{} ({}): {:.2f} GB/s kept; memcpy {:.2f} GB/s into fresh memory (ratio {:.2f}), {:.2f} "
        "into touched (ratio {:.2f})\n",
        name, parent.string(), get("snapshot_gb_per_second"), get("memcpy_fresh_gb_per_second"),
        get("snapshot_over_memcpy_fresh"), get("memcpy_touched_gb_per_second"),
        get("snapshot_over_memcpy_touched"));
    fmt::print(
        "  zeros {:.2f} GB/s; after the launch {:.2f} GB/s unchanged, {:.2f} changed; until it is "
        "on the disk, by the wall clock: {:.2f} GB/s\n",
        get("zeros_gb_per_second"), get("after_unchanged_gb_per_second"),
        get("after_changed_gb_per_second"), get("until_on_disk_wall_gb_per_second"));
  }
  fmt::print("packed: {:.3f} of the memory's size, {:.2f} GB/s\n",
             all["bundle_over_taken_bytes"].get<double>(),
             all["packing_gb_per_second"].get<double>());
  if (const auto& replay = all["replay"]; replay.is_object()) {
    fmt::print("replay: a launch takes {:.2f} times what it takes in a bare loop\n",
               replay.value("replay_over_bare", 0.0));
  } else {
    fmt::print("replay: not measured (build bench_replay)\n");
  }
  return 0;
}
