// SPDX-License-Identifier: MIT
//
// fleet_synthetic FOLDER OPTIONS: writes a flight log as the agent does, of kernels that never ran,
// at a steady rate, and says what it wrote: for tests of the fleet that need more launches, ranks or
// hosts than software GPUs can give, or durations that are known.
//
//   --kernel NAME:NANOSECONDS[:CODE]  a kernel, its median time, and the file of its code object
//   --kernels N                       N kernels with names of usual length, from 2 us on
//   --rate N                          launches per second; 0: as fast as possible
//   --launches N                      how many
//   --speed F                         all times are multiplied by it: this host's, this run's
//   --noise F                         standard deviation of the logarithm of a launch's time
//   --ring BYTES                      keep the last records alone; 0: keep all
//   --seed N
//   --report FILE                     JSON: how often each kernel took which time
//   --hold SECONDS                    go on living afterwards
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "trace/reserve_waiting.h"
#include "trace/tsc.h"

namespace {

using namespace rochound;  // NOLINT: a small program

struct Kernel {
  std::string name;
  double ns = 0;
  std::string code;
  uint64_t work_items = 0;
  std::unordered_map<uint64_t, uint64_t> times;  // nanoseconds -> how often
};

std::atomic<bool> ended{false};

uint64_t Monotonic() { return base::ClockNs(CLOCK_MONOTONIC); }

[[noreturn]] void Fail(const std::string& message) {
  fprintf(stderr, "fleet_synthetic: %s\n", message.c_str());
  exit(2);
}

void Report(const std::string& path, const std::vector<Kernel>& kernels) {
  std::ofstream out(path);
  out << "{";
  for (size_t i = 0; i < kernels.size(); ++i) {
    out << (i == 0 ? "" : ",") << "\n\"" << kernels[i].name << "\": {";
    bool first = true;
    for (const auto& [ns, count] : kernels[i].times) {
      out << (first ? "" : ", ") << '"' << ns << "\": " << count;
      first = false;
    }
    out << "}";
  }
  out << "}\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) Fail("usage: see the head of its source");
  std::vector<Kernel> kernels;
  double speed = 1, noise = 0.05, hold = 0;
  uint64_t rate = 1000, launches = 1000, ring = 0, seed = 1;
  std::string report;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string option = argv[i], value = argv[i + 1];
    if (option == "--kernel") {
      const size_t first = value.find(':'), second = value.find(':', first + 1);
      if (first == std::string::npos) Fail("--kernel NAME:NANOSECONDS[:CODE]");
      Kernel one;
      one.name = value.substr(0, first);
      one.ns = std::stod(value.substr(first + 1));
      if (second != std::string::npos) one.code = value.substr(second + 1);
      kernels.push_back(std::move(one));
    } else if (option == "--kernels") {
      for (int k = 0; k < std::stoi(value); ++k) {
        char name[64];
        snprintf(name, sizeof name, "_ZN4some9namespace9kernel%03dEPKfPfi", k);
        Kernel one;
        one.name = name;
        one.ns = 2000.0 * (1 + k % 50);
        kernels.push_back(std::move(one));
      }
    } else if (option == "--rate") {
      rate = std::stoull(value);
    } else if (option == "--launches") {
      launches = std::stoull(value);
    } else if (option == "--speed") {
      speed = std::stod(value);
    } else if (option == "--noise") {
      noise = std::stod(value);
    } else if (option == "--ring") {
      ring = std::stoull(value);
    } else if (option == "--seed") {
      seed = std::stoull(value);
    } else if (option == "--report") {
      report = value;
    } else if (option == "--hold") {
      hold = std::stod(value);
    } else {
      Fail("no option '" + option + "'");
    }
  }
  if (kernels.empty()) Fail("no --kernel");
  signal(SIGTERM, [](int) { ended = true; });
  std::string error;
  trace::Writer* writer =
      trace::Writer::Open({.directory = argv[1], .max_bytes = ring, .recycle = ring != 0}, &error);
  if (writer == nullptr) Fail(error);
  writer->WriteText("info", "pid=" + std::to_string(getpid()) + "\n");
  writer->WriteText("functions", "1\thip\thipDeviceSynchronize\ti32\t\n");
  std::map<std::string, uint32_t> code;
  std::string list;
  for (const Kernel& kernel : kernels) {
    if (kernel.code.empty() || code.contains(kernel.code)) continue;
    const auto number = static_cast<uint32_t>(code.size()) + 1;
    code[kernel.code] = number;
    list += std::to_string(number) + "\tfile://" + kernel.code + "\n";
  }
  if (!list.empty()) writer->WriteText("code_objects", list);
  trace::ThreadLog* log = writer->Attach();
  auto* queue = trace::ReserveWaiting<trace::Queue>(writer, log);
  queue->hsa_id = 1;
  queue->packets = 64;
  queue->now_tsc = trace::ReadTsc();
  log->Commit(queue, 1, 1);
  for (uint32_t k = 0; k < kernels.size(); ++k) {
    const uint32_t name = writer->Intern(kernels[k].name);
    auto* symbol = trace::ReserveWaiting<trace::KernelSymbol>(writer, log);
    symbol->name = name;
    symbol->code_object = kernels[k].code.empty() ? 0 : code[kernels[k].code];
    log->Commit(symbol, 1, k);
  }
  // The GPU's counter runs at 100 MHz and starts with the host's clock.
  const auto anchor = [&] {
    auto* gpu = trace::ReserveWaiting<trace::GpuAnchor>(writer, log);
    gpu->now_tsc = trace::ReadTsc();
    gpu->system_ns = Monotonic();
    gpu->gpu_ticks = gpu->system_ns / 10;
    log->Commit(gpu, 1);
  };
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, 1);
  const uint64_t begin = Monotonic();
  uint64_t done = 0, last_anchor = 0;
  writer->Maintain();
  anchor();
  while (done < launches && !ended) {
    const uint64_t now = Monotonic();
    if (now - last_anchor > 200'000'000) {
      writer->Maintain();
      anchor();
      last_anchor = now;
    }
    const uint64_t due = rate == 0 ? done + 4096
                                   : static_cast<uint64_t>(static_cast<double>(now - begin) * 1e-9 *
                                                           static_cast<double>(rate));
    for (; done < due && done < launches; ++done) {
      Kernel& kernel = kernels[done % kernels.size()];
      const double ns = kernel.ns * speed * std::exp(noise * normal(random));
      const uint64_t ticks = std::max<uint64_t>(1, static_cast<uint64_t>(ns / 10));
      auto* dispatch = trace::ReserveWaiting<trace::KernelDispatch>(writer, log);
      dispatch->dispatch = trace::DispatchNumber(1, done);
      dispatch->submit_tsc = trace::ReadTsc();
      dispatch->kernel = static_cast<uint32_t>(done % kernels.size());
      dispatch->grid[0] = 1024;
      dispatch->grid[1] = dispatch->grid[2] = 1;
      dispatch->workgroup[0] = 64;
      dispatch->workgroup[1] = dispatch->workgroup[2] = 1;
      dispatch->dimensions = 1;
      log->Commit(dispatch, 0, 1);
      auto* time = trace::ReserveWaiting<trace::KernelTime>(writer, log);
      time->dispatch = trace::DispatchNumber(1, done);
      time->begin_ticks = now / 10;
      time->end_ticks = time->begin_ticks + ticks;
      log->Commit(time, 1, 1);
      ++kernel.times[ticks * 10];
      if (writer->hurry()) writer->Maintain();
    }
    if (rate != 0) usleep(5000);
  }
  writer->Maintain();
  anchor();
  if (!report.empty()) Report(report, kernels);
  if (writer->dropped() != 0) Fail("records were dropped");
  const uint64_t until = Monotonic() + static_cast<uint64_t>(hold * 1e9);
  while (Monotonic() < until && !ended) {
    writer->Maintain();
    usleep(100000);
  }
  writer->Finish();
  return 0;
}
