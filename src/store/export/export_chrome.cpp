// SPDX-License-Identifier: MIT
#include "store/export/export_chrome.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "store/convert/functions.h"
#include "store/export/output_file.h"
#include "store/export/timeline.h"

namespace rochound::store {
namespace {

// GPUs are among the processes, where no process is; viewers keep 32 bits.
constexpr int64_t kGpuPid = 2'000'000'000;
// Lanes are beside their thread or queue; no thread of one machine has a number so large.
constexpr int64_t kLaneStep = 5'000'000;

// Microseconds with all nanoseconds; a double holds no more than 2^53 of them, so it is written by
// hand.
std::string Time(int64_t ns) {
  const bool negative = ns < 0;
  const uint64_t size = negative ? 0 - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  return fmt::format("{}{}.{:03}", negative ? "-" : "", size / 1000, size % 1000);
}

class ChromeExporter final : public TimelineVisitor {
 public:
  ChromeExporter(OutputFile output, const std::string& base) : output_(std::move(output)) {
    *output_.buffer() += "{\"schemaVersion\":1,\"displayTimeUnit\":\"ns\",";
    if (!base.empty()) *output_.buffer() += "\"baseTimeNanoseconds\":" + base + ",";
    *output_.buffer() += "\"traceEvents\":[";
  }

  void OnProcess(int64_t pid, const std::string& name) override {
    Name("process_name", pid, 0, name.empty() ? fmt::format("process {}", pid) : name);
  }
  void OnThread(int64_t pid, int64_t tid) override {
    Name("thread_name", pid, tid, fmt::format("thread {}", tid));
  }
  void OnGpu(int64_t gpu, const std::string& name) override {
    Name("process_name", kGpuPid + gpu, 0,
         name.empty() ? fmt::format("GPU {}", gpu) : fmt::format("GPU {}: {}", gpu, name));
  }
  void OnQueue(int64_t gpu, int64_t queue) override {
    Name("thread_name", kGpuPid + gpu, queue, fmt::format("queue {}", queue));
  }

  void OnCall(const TimelineCall& call) override {
    const bool range = call.name == "UserMarker" || call.name == "UserRange";
    const std::string_view name = range && !call.args.empty() ? call.args : call.name;
    const size_t lane = call.nests ? 2 * call.lane : 2 * call.lane + 1;
    const int64_t tid = call.tid + static_cast<int64_t>(lane) * kLaneStep;
    std::string category(range ? "user_annotation" : call.domain);
    if (call.domain == "torch" && !call.category.empty()) category = call.category;
    if (!range && call.domain != "torch" && call.category != "overhead") category += "_runtime";
    if (call.category == "overhead") category = "overhead";
    Begin(call.start == call.end && range ? 'i' : 'X', category, name, call.pid, tid, call.start);
    std::string& out = *output_.buffer();
    if (call.start == call.end && range) {
      out += ",\"s\":\"t\"}";
    } else {
      out += ",\"dur\":" + Time(call.end - call.start) + ",\"args\":{";
      fmt::format_to(std::back_inserter(out), "\"correlation\":{}", call.id);
      if (!range && !call.args.empty()) {
        out += ",\"arguments\":";
        AppendJsonText(&out, call.args);
      }
      out += "}}";
    }
    for (const int64_t operation : call.operations) {
      Begin('s', "ac2g", "ac2g", call.pid, tid, call.start);
      fmt::format_to(std::back_inserter(out), ",\"id\":{}}}", operation);
    }
    output_.Written();
  }

  void OnOperation(const TimelineOperation& operation) override {
    const char* category = operation.is_kernel              ? "kernel"
                           : operation.type == "FillBuffer" ? "gpu_memset"
                                                            : "gpu_memcpy";
    const int64_t pid = kGpuPid + operation.gpu;
    const int64_t tid = operation.queue + static_cast<int64_t>(operation.lane) * kLaneStep;
    Begin('X', category, operation.name, pid, tid, operation.start);
    std::string& out = *output_.buffer();
    out += ",\"dur\":" + Time(operation.end - operation.start) + ",\"args\":{";
    fmt::format_to(std::back_inserter(out), "\"device\":{},\"stream\":{},\"sequence\":{}",
                   operation.gpu, operation.queue, operation.sequence);
    if (operation.call != 0)
      fmt::format_to(std::back_inserter(out), ",\"correlation\":{}", operation.call);
    if (operation.is_kernel) {
      // Theirs counts workgroups, ours work items.
      const auto groups = [&](int i) {
        const int64_t size = std::max<int64_t>(operation.workgroup[i], 1);
        return (operation.grid[i] + size - 1) / size;
      };
      fmt::format_to(std::back_inserter(out),
                     ",\"grid\":[{},{},{}],\"block\":[{},{},{}],\"shared memory\":{}", groups(0),
                     groups(1), groups(2), operation.workgroup[0], operation.workgroup[1],
                     operation.workgroup[2], operation.group_bytes);
    }
    if (operation.is_copy) fmt::format_to(std::back_inserter(out), ",\"bytes\":{}", operation.size);
    out += ",\"kind\":";
    AppendJsonText(&out, operation.type);
    out += "}}";
    if (operation.call != 0) {
      Begin('f', "ac2g", "ac2g", pid, tid, operation.start);
      fmt::format_to(std::back_inserter(out), ",\"id\":{},\"bp\":\"e\"}}", operation.id);
    }
    output_.Written();
  }

  void OnQueueDepth(int64_t gpu, int64_t queue, int64_t time, int64_t depth) override {
    Count(gpu, fmt::format("queue {} depth", queue), time, depth);
  }
  void OnRunning(int64_t gpu, int64_t time, int64_t count) override {
    Count(gpu, "operations running", time, count);
  }

  bool Enough() override { return output_.broken(); }

  base::Result<void> Finish() {
    *output_.buffer() += "\n],\"traceName\":\"rochound\"}\n";
    return output_.Finish();
  }

 private:
  // Everything but the closing brace.
  void Begin(char phase, std::string_view category, std::string_view name, int64_t pid, int64_t tid,
             int64_t time) {
    std::string& out = *output_.buffer();
    out += first_ ? "\n" : ",\n";
    first_ = false;
    fmt::format_to(std::back_inserter(out), "{{\"ph\":\"{}\",\"cat\":", phase);
    AppendJsonText(&out, category);
    out += ",\"name\":";
    AppendJsonText(&out, name);
    fmt::format_to(std::back_inserter(out), ",\"pid\":{},\"tid\":{},\"ts\":{}", pid, tid,
                   Time(time));
  }

  void Name(const char* what, int64_t pid, int64_t tid, const std::string& name) {
    Begin('M', "__metadata", what, pid, tid, 0);
    *output_.buffer() += ",\"args\":{\"name\":";
    AppendJsonText(output_.buffer(), name);
    *output_.buffer() += "}}";
    output_.Written();
  }

  void Count(int64_t gpu, const std::string& name, int64_t time, int64_t value) {
    Begin('C', "counter", name, kGpuPid + gpu, 0, time);
    fmt::format_to(std::back_inserter(*output_.buffer()), ",\"args\":{{\"operations\":{}}}}}",
                   value);
    output_.Written();
  }

  OutputFile output_;
  bool first_ = true;
};

}  // namespace

base::Result<void> ExportChrome(TraceDatabase& trace, const std::filesystem::path& path) {
  ROCHOUND_TRY(
      const std::string base,
      trace.connection().Text("SELECT TRY_CAST(value AS BIGINT)::VARCHAR FROM rocpd_metadata "
                              "WHERE tag = 'rochound_realtime_offset_ns'"));
  ROCHOUND_TRY(OutputFile output, OutputFile::Create(path));
  ChromeExporter exporter(std::move(output), base);
  ROCHOUND_CHECK(WalkTimeline(trace, exporter));
  return exporter.Finish();
}

}  // namespace rochound::store
