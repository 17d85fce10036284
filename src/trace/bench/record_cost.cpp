// SPDX-License-Identifier: MIT
#include "trace/bench/record_cost.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "trace/mapped_file.h"
#include "trace/reader.h"
#include "trace/tsc.h"
#include "trace/writer.h"

namespace rochound::trace {
namespace {

constexpr uint64_t kCallsPerTurn = 4000;
constexpr size_t kBareBytes = 16 << 20;

// Never inlined, and not known to the compiler: the call that is recorded.
[[gnu::noinline]] void Nothing(uint64_t argument) { asm volatile("" ::"r"(argument) : "memory"); }

struct alignas(32) Bare {
  uint64_t words[4];
};

uint64_t BareTurn(Bare** place, const Bare* end, Bare* start) {
  const uint64_t began = base::MonotonicRawNs();
  Bare* at = *place;
  for (uint64_t i = 0; i < kCallsPerTurn; ++i) {
    const uint64_t begin = ReadTsc();
    Nothing(i);
    const uint64_t finish = ReadTsc();
    at->words[1] = begin;
    at->words[2] = finish;
    at->words[3] = i;
    std::atomic_ref<uint64_t>(at->words[0]).store(1, std::memory_order_release);
    if (++at == end) at = start;
  }
  *place = at;
  return base::MonotonicRawNs() - began;
}

uint64_t RecordedTurn(ThreadLog* log) {
  const uint64_t began = base::MonotonicRawNs();
  for (uint64_t i = 0; i < kCallsPerTurn; ++i) {
    const uint64_t correlation = log->NextCorrelation();
    const uint64_t begin = ReadTsc();
    log->OpenCall(7, begin, correlation);
    Nothing(i);
    const uint64_t finish = ReadTsc();
    if (ApiCall* call = log->Reserve<ApiCall>()) {
      call->begin_tsc = begin;
      call->end_tsc = finish;
      call->correlation = correlation;
      log->Commit(call, 7, 0);
    }
    log->CloseCall();
  }
  return base::MonotonicRawNs() - began;
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

double CpuSeconds() { return static_cast<double>(base::ClockNs(CLOCK_PROCESS_CPUTIME_ID)) / 1e9; }

}  // namespace

base::Result<RecordCost> MeasureRecordCost(const std::filesystem::path& parent, int turns) {
  ROCHOUND_TRY(const base::TempDir dir, base::TempDir::Create(parent, "rochound-bench-"));
  const std::string bare_path = (dir.path() / "bare").string();
  const std::string run = (dir.path() / "run").string();
  char* memory = ExtendAndMap(bare_path.c_str(), 0, kBareBytes);
  if (memory == nullptr) return base::ErrnoError("cannot map", bare_path, errno);
  Prefault(memory, kBareBytes);
  auto* start = reinterpret_cast<Bare*>(memory);
  auto* end = reinterpret_cast<Bare*>(memory + kBareBytes);
  Bare* place = start;
  std::string error;
  // As a flight recorder: the same memory is written again and again, as in the bare loop.
  Writer* writer =
      Writer::Open({.directory = run, .max_bytes = kBareBytes, .recycle = true}, &error);
  if (writer == nullptr) return base::Error{error};
  ThreadLog* log = writer->Attach();
  std::vector<double> bare;
  std::vector<double> recorded;
  std::vector<double> ratios;
  for (int i = 0; i < turns + 20; ++i) {
    const auto bare_ns = static_cast<double>(BareTurn(&place, end, start));
    writer->Maintain();
    const auto recorded_ns = static_cast<double>(RecordedTurn(log));
    writer->Maintain();
    if (i < 20) continue;  // caches and pages
    bare.push_back(bare_ns / kCallsPerTurn);
    recorded.push_back(recorded_ns / kCallsPerTurn);
    ratios.push_back(recorded_ns / bare_ns);
  }
  munmap(memory, kBareBytes);
  writer->Finish();
  return RecordCost{Median(bare), Median(recorded), Median(ratios), writer->dropped()};
}

base::Result<ReadRate> MeasureReadRate(const std::filesystem::path& parent, uint64_t records) {
  ROCHOUND_TRY(const base::TempDir dir, base::TempDir::Create(parent, "rochound-bench-"));
  const std::string run = (dir.path() / "run").string();
  std::string error;
  Writer* writer = Writer::Open({.directory = run}, &error);
  if (writer == nullptr) return base::Error{error};
  ThreadLog* log = writer->Attach();
  for (uint64_t done = 0; done < records;) {
    const uint64_t correlation = log->NextCorrelation();
    const uint64_t begin = ReadTsc();
    if (correlation % 3 == 0) {
      if (auto* arguments = log->Reserve<ApiArguments>()) {
        memset(static_cast<void*>(arguments->words), 1, sizeof arguments->words);
        arguments->correlation = correlation;
        log->Commit(arguments, 4, 0);
        ++done;
      }
    }
    if (auto* call = log->Reserve<ApiCall>()) {
      call->begin_tsc = begin;
      call->end_tsc = ReadTsc();
      call->correlation = correlation;
      log->Commit(call, 7, 0);
      ++done;
    }
    if (writer->hurry()) writer->Maintain();
  }
  writer->Finish();

  struct Sum : Visitor {
    void OnCall(const CallEvent& call) override { sum += call.end_ns + call.words.size(); }
    uint64_t sum = 0;
  } sum;
  const double start = CpuSeconds();
  ROCHOUND_TRY(const std::unique_ptr<ProcessLog> read,
               ProcessLog::Open(writer->process_directory()));
  const double opened = CpuSeconds();
  ROCHOUND_CHECK(read->Visit(sum));
  const double visited = CpuSeconds();
  const auto count = static_cast<double>(read->records());
  return ReadRate{read->records(), count / (opened - start), count / (visited - opened),
                  static_cast<double>(read->record_bytes()) / 1e6};
}

}  // namespace rochound::trace
