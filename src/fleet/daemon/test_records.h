// SPDX-License-Identifier: MIT
//
// Writes records into a log as the agent does, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/files.h"
#include "trace/reserve_waiting.h"
#include "trace/tsc.h"

namespace rochound::fleet {

// A log with one GPU (agent 1, a counter of 100 MHz), one queue and a few kernels.
class TestLog {
 public:
  explicit TestLog(const std::filesystem::path& run, trace::Writer::Options options = {}) {
    const std::string directory = run.string();
    options.directory = directory;
    std::string error;
    writer = trace::Writer::Open(options, &error);
    EXPECT_NE(writer, nullptr) << error;
    writer->WriteText("info", "pid=1\n");
    writer->WriteText("functions", "1\thip\thipDeviceSynchronize\ti32\t\n");
    log = writer->Attach();
  }

  template <typename T>
  T* Room() {
    return trace::ReserveWaiting<T>(writer, log);
  }

  void Queue(uint32_t queue) {
    auto* record = Room<trace::Queue>();
    record->hsa_id = queue;
    record->packets = 64;
    record->now_tsc = trace::ReadTsc();
    log->Commit(record, 1, queue);
  }

  void Kernel(uint32_t id, const std::string& name) {
    const uint32_t text = writer->Intern(name);
    auto* record = Room<trace::KernelSymbol>();
    record->kernel_object = 0x1000 + id;
    record->name = text;
    record->code_object = 1;
    record->kernarg_bytes = 0;
    log->Commit(record, 1, id);
  }

  // Instants at which the GPU's counter and the host's clocks are known: `milliseconds` apart from
  // the log's beginning.
  void Anchors(uint64_t milliseconds) {
    writer->Maintain();  // before there is no room: that would be a record that was dropped
    trace::HostAnchor now{};
    trace::ReadHostClocks(&now);
    if (base_tsc == 0) {
      base_tsc = now.now_tsc;
      base_realtime = now.realtime_ns;
      base_monotonic = now.monotonic_ns;
    }
    auto* host = Room<trace::HostAnchor>();
    host->now_tsc = base_tsc + milliseconds * 3000000;
    host->monotonic_ns = base_monotonic + milliseconds * 1000000;
    host->realtime_ns = base_realtime + milliseconds * 1000000;
    log->Commit(host);
    auto* gpu = Room<trace::GpuAnchor>();
    gpu->gpu_ticks = kFirstTicks + milliseconds * 100000;
    gpu->system_ns = base_monotonic + milliseconds * 1000000;
    gpu->now_tsc = base_tsc + milliseconds * 3000000;
    log->Commit(gpu, 1);
  }

  void Dispatch(uint64_t packet, uint32_t kernel, uint64_t at_ms = 0) {
    auto* record = Room<trace::KernelDispatch>();
    record->correlation = 0;
    record->dispatch = trace::DispatchNumber(1, packet);
    record->submit_tsc = base_tsc + at_ms * 3000000;
    record->kernel = kernel;
    record->grid[0] = 256;
    record->grid[1] = record->grid[2] = 1;
    record->workgroup[0] = 64;
    record->workgroup[1] = record->workgroup[2] = 1;
    record->dimensions = 1;
    record->group_bytes = 1024;
    record->private_bytes = 0;
    log->Commit(record, 0, 1);
  }

  // From `at_ms` on, so many ticks of 10 ns.
  void Time(uint64_t packet, uint64_t ticks, uint64_t at_ms = 0) {
    auto* record = Room<trace::KernelTime>();
    record->dispatch = trace::DispatchNumber(1, packet);
    record->begin_ticks = kFirstTicks + at_ms * 100000;
    record->end_ticks = record->begin_ticks + ticks;
    log->Commit(record, 1, 1);
  }

  std::filesystem::path folder() const { return writer->process_directory(); }

  static constexpr uint64_t kFirstTicks = 1000000000;
  trace::Writer* writer = nullptr;  // never freed
  trace::ThreadLog* log = nullptr;
  uint64_t base_tsc = 0, base_realtime = 0, base_monotonic = 0;
};

}  // namespace rochound::fleet
