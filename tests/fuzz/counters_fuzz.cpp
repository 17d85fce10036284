// SPDX-License-Identifier: MIT
//
// Feeds arbitrary bytes to the readers of what rocprofv3 and the software GPU write about kernels:
// counters (csv, json, rocpd, lines of JSON) and thread traces (code.json and its companions,
// stats csv), and of measured peaks. The first byte chooses. What is read is also printed.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "fuzz/folder.h"
#include "profile/counter_source.h"
#include "profile/measured_peaks.h"
#include "profile/profile_files.h"
#include "profile/rocpd_counters.h"
#include "profile/thread_trace.h"
#include "profile/thread_trace_writer.h"

namespace {

namespace fs = std::filesystem;
using namespace rochound;

void Show(const base::Result<profile::CounterSet>& set) {
  if (set.ok()) (void)profile::ProfileJson(set.value(), nullptr).ok();
}

void Show(const base::Result<profile::ThreadTraces>& traces) {
  if (!traces.ok()) return;
  (void)profile::ThreadTraceJson(traces.value());
  (void)profile::ThreadTracePage(traces.value());
}

// A whole trace, one of whose companions is the input.
void ReadCompanion(const char* name, std::string_view bytes) {
  constexpr std::string_view kCode =
      R"({"code":[["v_mov_b32_e32 v0, 0",0,1,"/a.hip:1",2,64,4,16,0,0]],"header":)"
      R"("ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle","version":"3.0.0"})";
  fuzz::Write("code.json", kCode);
  const fs::path file = fuzz::Write(name, bytes);
  Show(profile::ReadThreadTraces({fuzz::Folder() / "code.json"}));
  fs::remove(file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 9) {
    case 0:
      Show(profile::RocprofFiles({fuzz::Write("1_counter_collection.csv", bytes)})->Read());
      break;
    case 1:
      Show(profile::RocprofFiles({fuzz::Write("1_results.json", bytes)})->Read());
      break;
    case 2:
      Show(profile::ReadRocpdCounters(fuzz::Write("1_results.db", bytes)));
      break;
    case 3: {
      const fs::path file = fuzz::Write("counters.jsonl", bytes);
      Show(profile::SoftgpuCounters(file)->Read());
      const auto all = [](const std::string&) { return true; };
      const auto written = profile::WriteSoftgpuTraces(file, all, {}, fuzz::Folder() / "out");
      if (written.ok()) Show(profile::ReadThreadTraces(written.value().files));
      fs::remove_all(fuzz::Folder() / "out");
      break;
    }
    case 4:
      Show(profile::ReadThreadTraces({fuzz::Write("code.json", bytes)}));
      break;
    case 5:
      Show(profile::ReadThreadTraces(
          {fuzz::Write("stats_ui_output_agent_1_dispatch_2.csv", bytes)}));
      break;
    case 6:
      ReadCompanion("occupancy.json", bytes);
      break;
    case 7: {
      const auto peaks = profile::LoadMeasuredPeaks(fuzz::Write("peaks.json", bytes));
      if (!peaks.ok()) break;
      (void)profile::MeasuredPeaksJson(peaks.value());
      (void)profile::MeasuredPeaksPage(peaks.value(), {});
      break;
    }
    default:
      ReadCompanion(size % 2 == 0 ? "snapshots.json" : "se0_sm0_sl0_wv0.json", bytes);
  }
  return 0;
}
