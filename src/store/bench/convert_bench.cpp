// SPDX-License-Identifier: MIT
#include "store/bench/convert_bench.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "base/files.h"
#include "store/convert/conversion.h"
#include "trace/tsc.h"
#include "trace/writer.h"

namespace rochound::store {
namespace {

constexpr int kKernels = 40;
constexpr uint16_t kLaunch = 1, kCopyAsync = 2;
constexpr const char* kFunctions =
    "1\thip\thipLaunchKernel\tenum\tfunction_address:ptr,numBlocks:dim3,dimBlocks:dim3,args:ptr,"
    "sharedMemBytes:u64,stream:ptr\n"
    "2\thip\thipMemcpyAsync\tenum\tdst:ptr,src:ptr,sizeBytes:u64,kind:enum,stream:ptr\n";

// Writes records the way the agent does, without its hurry: room is made when there is none.
class LogMaker {
 public:
  explicit LogMaker(trace::Writer* writer)
      : writer_(writer), thread_(writer->Attach()), drain_(writer->Attach()) {}

  void Describe() {
    writer_->WriteText("functions", kFunctions);
    writer_->WriteText("info", "host=bench\nagent=0,0,cpu,CPU,CPU,0\nagent=1,1,gpu,gfx942,GPU,1\n");
    auto* queue = Reserve<trace::Queue>(drain_);
    queue->hsa_id = 1;
    queue->packets = 16384;
    queue->now_tsc = trace::ReadTsc();
    drain_->Commit(queue, 1, 1);
    for (uint32_t id = 1; id <= kKernels; ++id) {
      auto* kernel = Reserve<trace::KernelSymbol>(drain_);
      kernel->name = writer_->Intern("_Z6kernelILi" + std::to_string(id) + "EfEvPT0_S1_i");
      drain_->Commit(kernel, 1, id);
    }
    RecordGpuClock();
  }

  // One kernel launch, and a copy after every second one.
  uint64_t Step(uint64_t number) {
    const uint64_t now = trace::ReadTsc();
    const uint64_t launch = thread_->NextCorrelation();
    auto* dispatch = Reserve<trace::KernelDispatch>(thread_);
    *dispatch = {.head = {},
                 .correlation = launch,
                 .dispatch = trace::DispatchNumber(1, number),
                 .submit_tsc = now + 100,
                 .kernel = static_cast<uint32_t>(number % kKernels) + 1,
                 .grid = {65536, 1, 1},
                 .workgroup = {256, 1, 1},
                 .dimensions = 1,
                 .group_bytes = 4096,
                 .private_bytes = 0};
    dispatch->head = {};
    thread_->Commit(dispatch, 0, 1);
    const uint64_t words[] = {0x55550000 + number % kKernels * 16,
                              256ull | 1ull << 32,
                              1,
                              256ull | 1ull << 32,
                              1,
                              0x7ffd00001000 + number % 64 * 8,
                              4096,
                              0x5555deadbe00};
    Call(kLaunch, launch, now, words, 8);
    auto* time = Reserve<trace::KernelTime>(drain_);
    time->dispatch = trace::DispatchNumber(1, number);
    time->begin_ticks = now + 500;
    time->end_ticks = now + 2000;
    drain_->Commit(time, 1, 1);
    if (number % 2 != 0) return 2;

    const uint64_t correlation = thread_->NextCorrelation();
    auto* copy = Reserve<trace::Copy>(thread_);
    copy->correlation = correlation;
    copy->copy = number / 2 + 1;
    copy->submit_tsc = now + 300;
    copy->bytes = 1 << 20;
    copy->destination = 0x7f0000000000 + number * 4096;
    copy->source = 0x7e0000000000;
    copy->width = copy->height = 0;
    thread_->Commit(copy, static_cast<uint16_t>(trace::CopyKind::kCopy), 0u << 16 | 1u);
    const uint64_t arguments[] = {0x7f0000000000 + number * 4096, 0x7e0000000000, 1 << 20, 1,
                                  0x5555deadbe00};
    Call(kCopyAsync, correlation, now + 250, arguments, 5);
    auto* copied = Reserve<trace::CopyTime>(drain_);
    copied->copy = number / 2 + 1;
    copied->begin_ticks = now + 600;
    copied->end_ticks = now + 900;
    drain_->Commit(copied, 1);
    return 4;
  }

  void RecordGpuClock() {
    auto* anchor = Reserve<trace::GpuAnchor>(drain_);
    anchor->gpu_ticks = anchor->system_ns = anchor->now_tsc = trace::ReadTsc();
    drain_->Commit(anchor, 1);
  }

 private:
  template <typename T>
  T* Reserve(trace::ThreadLog* log) {
    T* record = log->Reserve<T>();
    while (record == nullptr) {
      writer_->Maintain();
      record = log->Reserve<T>();
    }
    return record;
  }

  void Call(uint16_t function, uint64_t correlation, uint64_t begin, const uint64_t* words,
            size_t count) {
    for (size_t first = 0; first < count; first += 6) {
      auto* record = Reserve<trace::ApiArguments>(thread_);
      record->correlation = correlation;
      const size_t here = std::min<size_t>(6, count - first);
      std::copy_n(words + first, here, record->words);
      thread_->Commit(record, static_cast<uint16_t>(here), static_cast<uint32_t>(first));
    }
    auto* call = Reserve<trace::ApiCall>(thread_);
    call->begin_tsc = begin;
    call->end_tsc = begin + 200;
    call->correlation = correlation;
    thread_->Commit(call, function, 0);
  }

  trace::Writer* writer_;
  trace::ThreadLog* thread_;
  trace::ThreadLog* drain_;
};

base::Result<uint64_t> WriteLog(const std::filesystem::path& run, uint64_t events) {
  const std::string directory = run.string();
  std::string error;
  trace::Writer* const writer = trace::Writer::Open({.directory = directory}, &error);
  if (writer == nullptr) return base::Error{"cannot write a log: " + error};
  writer->Maintain();
  LogMaker maker(writer);
  maker.Describe();
  uint64_t written = 0;
  for (uint64_t number = 1; written < events; ++number) {
    written += maker.Step(number);
    if (writer->hurry()) writer->Maintain();
  }
  maker.RecordGpuClock();
  writer->Finish();
  return written;
}

double WallSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double CpuSeconds(const struct rusage& usage) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int ConvertHere(const std::filesystem::path& run, const std::filesystem::path& trace,
                uint64_t events) {
  const auto log = trace::RunLog::Open(run);
  if (!log.ok()) return 1;
  ConversionOptions options;
  options.rpd = trace;
  const auto summary = ConvertRun(log.value(), options);
  if (!summary.ok()) return 2;
  const Summary& found = summary.value();
  return found.calls + found.kernels + found.copies == events && found.lost.empty() ? 0 : 3;
}

}  // namespace

base::Result<ConversionFigures> MeasureConversion(const std::filesystem::path& folder,
                                                  uint64_t events, int rounds) {
  ROCHOUND_TRY(const base::TempDir dir, base::TempDir::Create(folder, "rochound-bench-"));
  const std::filesystem::path run = dir.path() / "run", trace = dir.path() / "trace.rpd";
  ConversionFigures figures;
  // The log is written by a process of its own, too: its memory is none of the conversion's.
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return base::ErrnoError("cannot make a pipe for", folder, errno);
  const pid_t writer = fork();
  if (writer == 0) {
    const auto written = WriteLog(run, events);
    const uint64_t count = written.ok() ? written.value() : 0;
    _exit(write(pipe_ends[1], &count, sizeof count) == sizeof count ? 0 : 1);
  }
  close(pipe_ends[1]);
  const bool told = read(pipe_ends[0], &figures.events, sizeof figures.events) ==
                    static_cast<ssize_t>(sizeof figures.events);
  close(pipe_ends[0]);
  waitpid(writer, nullptr, 0);
  if (!told || figures.events == 0) return base::Error{"cannot write a log in " + run.string()};
  {
    ROCHOUND_TRY(const trace::RunLog log, trace::RunLog::Open(run));
    figures.log_bytes = log.processes().front()->record_bytes();
  }

  for (int round = 0; round < rounds; ++round) {
    const double begin = WallSeconds();
    const pid_t child = fork();
    if (child == 0) _exit(ConvertHere(run, trace, figures.events));
    int status = 0;
    struct rusage usage{};
    wait4(child, &status, 0, &usage);
    const double wall = WallSeconds() - begin;
    if (status != 0)
      return base::Error{"the conversion failed, or lost something: " + std::to_string(status)};
    const double cpu = CpuSeconds(usage);
    if (round == 0 || cpu < figures.cpu_seconds) {
      figures.cpu_seconds = cpu;
      figures.wall_seconds = wall;
    }
    figures.peak_bytes =
        std::max(figures.peak_bytes, static_cast<uint64_t>(usage.ru_maxrss) * 1024);
  }
  figures.trace_bytes = std::filesystem::file_size(trace);
  return figures;
}

}  // namespace rochound::store
