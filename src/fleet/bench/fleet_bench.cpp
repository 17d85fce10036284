// SPDX-License-Identifier: MIT
//
// ./dev bench fleet: what the daemon costs its host, from logs that are written as an agent writes
// them. Processor time of the daemon's part alone; writing the log is not counted. And what asking
// the lake costs over asking DuckDB; --lake ROWS does that alone, with so many rows.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "fleet/bench/lake_bench.h"
#include "fleet/bus/packed.h"
#include "fleet/daemon/host_watch.h"
#include "trace/reserve_waiting.h"
#include "trace/tsc.h"

namespace {

using namespace rochound;  // NOLINT: a small program

constexpr uint64_t kSecondsShown = 20;
constexpr uint64_t kRate = 50000;  // dispatches per second
constexpr uint32_t kKernels = 100;

}  // namespace

int main(int argc, char** argv) {
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--json") == 0) json = true;
    if (strcmp(argv[i], "--lake") == 0 && i + 1 < argc) {
      const uint64_t rows = strtoull(argv[i + 1], nullptr, 10);
      const auto lake = fleet::BenchLake(rows, std::clamp<uint64_t>(rows / 5000, 1, 1000));
      fmt::print("{}\n", lake.dump(1));
      return lake.is_null() ? 1 : 0;
    }
  }
  auto dir = base::TempDir::Create(std::filesystem::temp_directory_path(), "rochound-bench-");
  if (!dir.ok()) return 1;
  const std::string run = (dir.value().path() / "run").string();
  std::string error;
  trace::Writer* writer =
      trace::Writer::Open({.directory = run, .max_bytes = 64u << 20, .recycle = true}, &error);
  if (writer == nullptr) {
    fmt::print(stderr, "{}\n", error);
    return 1;
  }
  trace::ThreadLog* log = writer->Attach();
  trace::HostAnchor start{};
  trace::ReadHostClocks(&start);
  const auto anchors = [&](uint64_t ms) {
    auto* host = trace::ReserveWaiting<trace::HostAnchor>(writer, log);
    host->now_tsc = start.now_tsc + ms * 3000000;
    host->monotonic_ns = start.monotonic_ns + ms * 1000000;
    host->realtime_ns = start.realtime_ns + ms * 1000000;
    log->Commit(host);
    auto* gpu = trace::ReserveWaiting<trace::GpuAnchor>(writer, log);
    gpu->gpu_ticks = 1000000 + ms * 100000;
    gpu->system_ns = start.monotonic_ns + ms * 1000000;
    gpu->now_tsc = start.now_tsc + ms * 3000000;
    log->Commit(gpu, 1);
  };
  for (uint32_t kernel = 0; kernel < kKernels; ++kernel) {
    const uint32_t name =
        writer->Intern(fmt::format("_ZN4some9namespace7kernel{:02}EPKfPfi", kernel));
    auto* symbol = trace::ReserveWaiting<trace::KernelSymbol>(writer, log);
    symbol->name = name;
    log->Commit(symbol, 1, kernel);
  }
  anchors(0);
  fleet::WatchOptions options;
  options.state = dir.value().path() / "state";
  options.host = "bench";
  options.interval_ns = 60'000'000'000;
  options.save_ns = 2'000'000'000;
  options.logs = {run};
  options.find_recorders = false;
  fleet::HostWatch watch(options);
  if (!watch.Open().ok()) return 1;
  uint64_t packet = 0, cpu_ns = 0;
  for (uint64_t half = 0; half < 2 * kSecondsShown; ++half) {
    for (uint64_t i = 0; i < kRate / 2; ++i, ++packet) {
      auto* dispatch = trace::ReserveWaiting<trace::KernelDispatch>(writer, log);
      dispatch->dispatch = trace::DispatchNumber(1, packet);
      dispatch->submit_tsc = start.now_tsc + half * 1500000000;
      dispatch->kernel = static_cast<uint32_t>(packet % kKernels);
      dispatch->grid[0] = 1024;
      log->Commit(dispatch, 0, 1);
      auto* time = trace::ReserveWaiting<trace::KernelTime>(writer, log);
      time->dispatch = trace::DispatchNumber(1, packet);
      time->begin_ticks = 1000000 + half * 50000000;
      // Durations of a kernel vary by some percent.
      time->end_ticks = time->begin_ticks + 100 * (1 + packet % kKernels) + packet * 7919 % 50;
      log->Commit(time, 1, 1);
      if (i % 256 == 0) writer->Maintain();
    }
    anchors(500 * (half + 1));
    const uint64_t before = base::ClockNs(CLOCK_PROCESS_CPUTIME_ID);
    if (!watch.Step().ok()) return 1;
    cpu_ns += base::ClockNs(CLOCK_PROCESS_CPUTIME_ID) - before;
  }
  const uint64_t before = base::ClockNs(CLOCK_PROCESS_CPUTIME_ID);
  if (!watch.Step(true).ok()) return 1;
  cpu_ns += base::ClockNs(CLOCK_PROCESS_CPUTIME_ID) - before;
  uint64_t launches = 0, lost = 0;
  watch.spool().ForEach([&](const fleet::Spool::Message& message) {
    const auto content = nlohmann::json::parse(message.text);
    for (const auto& row : content.at("rows")) launches += row.at("launches").get<uint64_t>();
    lost += content.at("losses").size();
    return true;
  });
  const double per_dispatch = static_cast<double>(cpu_ns) / static_cast<double>(packet);
  const double percent = per_dispatch * kRate * 1e-9 * 100;
  // One minute's sketches of one GPU, as they travel.
  uint64_t packed = 0;
  watch.spool().ForEach([&](const fleet::Spool::Message& message) {
    packed += fleet::Pack(message.text).size();
    return true;
  });
  const double messages = static_cast<double>(watch.spool().size()) * 60;
  const double bytes = static_cast<double>(packed) / messages;
  const double plain_bytes = static_cast<double>(watch.spool().bytes()) / messages;
  const auto lake = fleet::BenchLake(200000, 40);
  if (json) {
    fmt::print("{}\n", nlohmann::json{{"dispatches", packet},
                                      {"launches_in_messages", launches},
                                      {"losses", lost},
                                      {"daemon_ns_per_dispatch", per_dispatch},
                                      {"percent_of_a_core_at_50000_per_second", percent},
                                      {"percent_of_a_core_at_1000000_per_second", percent * 20},
                                      {"bytes_per_gpu_and_second_100_kernels", bytes},
                                      {"bytes_on_disk_per_gpu_and_second", plain_bytes},
                                      {"lake", lake}}
                           .dump(1));
  } else {
    fmt::print("{} dispatches, {} in messages, {} losses\n", packet, launches, lost);
    fmt::print("daemon: {:.0f} ns of processor time per dispatch, {:.2f}% of a core at {}/s\n",
               per_dispatch, percent, kRate);
    fmt::print("messages: {:.0f} bytes per GPU and second with {} kernels, {:.0f} in the spool\n",
               bytes, kKernels, plain_bytes);
    fmt::print("lake: {}\n", lake.dump(1));
  }
  return launches == packet && lost == 0 && !lake.is_null() ? 0 : 1;
}
