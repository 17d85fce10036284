// SPDX-License-Identifier: MIT
//
// `./dev bench recorder_log [--json]`: the cost of one recorded call beside that of a bare loop,
// and the speed of reading. Rates are per second of one core's time, since machines are busy.
#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "trace/bench/record_cost.h"

int main(int argc, char** argv) {
  const bool json = argc > 1 && std::strcmp(argv[1], "--json") == 0;
  const auto parent = std::filesystem::temp_directory_path();
  const auto cost = rochound::trace::MeasureRecordCost(parent);
  const auto rate = rochound::trace::MeasureReadRate(parent, 4'000'000);
  if (!cost.ok() || !rate.ok()) {
    fmt::print(stderr, "bench: {}\n", (cost.ok() ? rate.error() : cost.error()).message);
    return 1;
  }
  const rochound::trace::RecordCost& call = cost.value();
  const rochound::trace::ReadRate& read = rate.value();
  if (json) {
    const nlohmann::ordered_json all = {{"bare_ns", call.bare_ns},
                                        {"recorded_call_ns", call.recorded_ns},
                                        {"recorded_over_bare", call.ratio},
                                        {"dropped", call.dropped},
                                        {"read_records", read.records},
                                        {"open_records_per_cpu_second", read.open_per_second},
                                        {"visit_records_per_cpu_second", read.visit_per_second}};
    fmt::print("{}\n", all.dump(2));
    return 0;
  }
  fmt::print("a recorded call: {:.1f} ns; two time stamps and a store: {:.1f} ns; ratio {:.2f}\n",
             call.recorded_ns, call.bare_ns, call.ratio);
  if (call.dropped != 0) fmt::print("{} records were dropped: no good measurement\n", call.dropped);
  fmt::print("reading {} records ({:.0f} MB): open {:.1f} M/s, visit {:.1f} M/s of one core\n",
             read.records, read.megabytes, read.open_per_second / 1e6, read.visit_per_second / 1e6);
  return 0;
}
