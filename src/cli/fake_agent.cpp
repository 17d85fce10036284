// SPDX-License-Identifier: MIT
//
// Stands in for the agent in the tests of `rochound run`: writes a small log with the real writer
// when it is loaded, as the real one would with a small program. FAKE_AGENT=killed leaves the log
// without an orderly end.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "trace/tsc.h"
#include "trace/writer.h"

namespace {

using namespace rochound::trace;

void WriteLog(const char* directory) {
  Writer* const writer = Writer::Open({.directory = directory}, nullptr);
  if (writer == nullptr) return;
  writer->Maintain();
  writer->WriteText("info",
                    "host=here\ncommand=fake\nagent=0,0,cpu,CPU,CPU,0\n"
                    "agent=1,1,gpu,gfx942,MI300X,GPU-1\n");
  writer->WriteText("functions",
                    "1\thip\thipLaunchKernel\tenum\tstream:ptr\n2\thip\thipGetDevice\tenum\t\n");
  ThreadLog* const log = writer->Attach();
  auto* kernel = log->Reserve<KernelSymbol>();
  kernel->name = writer->Intern("_Z4workPi");
  log->Commit(kernel, 1, 1);
  auto* queue = log->Reserve<Queue>();
  queue->now_tsc = ReadTsc();
  log->Commit(queue, 1, 1);
  const auto anchor = [&] {
    auto* record = log->Reserve<GpuAnchor>();
    record->gpu_ticks = record->system_ns = record->now_tsc = ReadTsc();
    log->Commit(record, 1);
  };
  anchor();
  for (uint64_t i = 0; i < 10; ++i) {
    const uint64_t correlation = log->NextCorrelation();
    const uint64_t now = ReadTsc();
    auto* dispatch = log->Reserve<KernelDispatch>();
    dispatch->correlation = correlation;
    dispatch->dispatch = DispatchNumber(1, i);
    dispatch->submit_tsc = now;
    dispatch->kernel = 1;
    dispatch->grid[0] = 64;
    log->Commit(dispatch, 0, 1);
    auto* arguments = log->Reserve<ApiArguments>();
    arguments->correlation = correlation;
    arguments->words[0] = 0x77;
    log->Commit(arguments, 1, 0);
    auto* call = log->Reserve<ApiCall>();
    call->begin_tsc = now;
    call->end_tsc = ReadTsc();
    call->correlation = correlation;
    log->Commit(call, 1, 0);
    auto* time = log->Reserve<KernelTime>();
    time->dispatch = DispatchNumber(1, i);
    time->begin_ticks = now + 100;
    time->end_ticks = now + 5000;
    log->Commit(time, 1, 1);
  }
  // Long enough for the clocks to have a slope.
  const uint64_t begin = ReadTsc();
  while (ReadTsc() - begin < 300'000'000) {
  }
  anchor();
  writer->Maintain();
  const char* const mode = getenv("FAKE_AGENT");
  if (mode == nullptr || strcmp(mode, "killed") != 0) writer->Finish();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) bool OnLoad(void*, uint64_t, uint64_t,
                                                              const char* const*) {
  if (const char* const directory = getenv("ROCHOUND_LOG_DIR")) WriteLog(directory);
  return true;
}
