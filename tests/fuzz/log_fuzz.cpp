// SPDX-License-Identifier: MIT
//
// Feeds arbitrary bytes to the reader as the files of a process's log (log_input.h): opening and
// streaming must end, with an error, problems told or events, never in a crash.
#include <cstddef>
#include <cstdint>

#include "fuzz/log_input.h"
#include "trace/reader.h"

namespace {

using namespace rochound::trace;

struct EndsSomewhere : Visitor {
  void OnCall(const CallEvent& call) override {
    for (const uint64_t word : call.words) sum += word;
    for (const uint64_t frame : call.frames) sum += frame;
    for (const TextArgument& text : call.texts) sum += text.text.size();
    sum += call.begin_ns + call.end_ns;
  }
  void OnKernelTime(const Event<KernelTime>& event) override { sum += event.end_ns; }
  void OnRange(const Event<Range>& event) override { sum += event.record.head.wide; }
  uint64_t sum = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (!rochound::fuzz::WriteLog(data, size)) return 0;
  const auto log = ProcessLog::Open(rochound::fuzz::Folder());
  if (!log.ok()) return 0;
  EndsSomewhere visitor;
  (void)log.value()->Visit(visitor).ok();
  for (uint32_t id = 0; id < 200; ++id) (void)log.value()->String(id);
  return 0;
}
