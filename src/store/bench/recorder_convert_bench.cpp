// SPDX-License-Identifier: MIT
//
// `./dev bench recorder_convert [--json]`: flight log -> .rpd at one and at four million events.
// The rate is that of one core's time, since machines are busy; memory should be the same for both.
#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "store/bench/convert_bench.h"

int main(int argc, char** argv) {
  const bool json = argc > 1 && std::strcmp(argv[1], "--json") == 0;
  auto all = nlohmann::ordered_json::array();
  for (const uint64_t events : {1'000'000, 4'000'000}) {
    const auto measured = rochound::store::MeasureConversion(std::filesystem::temp_directory_path(),
                                                             events, /*rounds=*/3);
    if (!measured.ok()) {
      fmt::print(stderr, "bench: {}\n", measured.error().message);
      return 1;
    }
    const rochound::store::ConversionFigures& figures = measured.value();
    const auto count = static_cast<double>(figures.events);
    all.push_back({{"events", figures.events},
                   {"events_per_cpu_second", count / figures.cpu_seconds},
                   {"events_per_wall_second", count / figures.wall_seconds},
                   {"log_bytes_per_event", static_cast<double>(figures.log_bytes) / count},
                   {"rpd_bytes_per_event", static_cast<double>(figures.trace_bytes) / count},
                   {"peak_resident_mib", static_cast<double>(figures.peak_bytes) / (1 << 20)}});
    if (json) continue;
    fmt::print(
        "{:>8} events: {:.2f} M/s of one core, {:.2f} M/s by the clock, {:.0f} bytes/event in "
        "the log, {:.0f} in the .rpd, peak {:.0f} MiB\n",
        figures.events, count / figures.cpu_seconds / 1e6, count / figures.wall_seconds / 1e6,
        static_cast<double>(figures.log_bytes) / count,
        static_cast<double>(figures.trace_bytes) / count,
        static_cast<double>(figures.peak_bytes) / (1 << 20));
  }
  if (json) fmt::print("{}\n", nlohmann::ordered_json{{"flight_log_to_rpd", all}}.dump(2));
  return 0;
}
