// SPDX-License-Identifier: MIT
#include "store/convert/conversion.h"

#include <map>
#include <tuple>
#include <vector>

#include "store/convert/joiner.h"
#include "store/convert/line_sinks.h"
#include "store/convert/lines.h"
#include "store/convert/summary_sink.h"
#include "store/convert/table_sink.h"
#include "store/rpd/lost_kinds.h"
#include "store/rpd/rpd.h"

namespace rochound::store {
namespace {

// Processes may see different parts of the machine's GPUs, each counting its own from zero. One
// number per GPU and host: in the order of the driver's nodes.
class GpuNumbers {
 public:
  explicit GpuNumbers(const trace::RunLog& run) {
    for (const auto& process : run.processes())
      for (const trace::Agent& agent : process->agents())
        if (agent.gpu) numbers_[Key(*process, agent)] = 0;
    int64_t number = 0;
    for (auto& [key, value] : numbers_) value = number++;
  }

  // By agent index.
  std::vector<int64_t> Of(const trace::ProcessLog& process) const {
    std::vector<int64_t> ids;
    for (const trace::Agent& agent : process.agents()) {
      if (agent.index >= ids.size()) ids.resize(agent.index + size_t{1}, -1);
      if (agent.gpu) ids[agent.index] = numbers_.at(Key(process, agent));
    }
    return ids;
  }

 private:
  using GpuKey = std::tuple<std::string, uint32_t, std::string>;
  static GpuKey Key(const trace::ProcessLog& process, const trace::Agent& agent) {
    return {std::string(process.Info("host")), agent.node, agent.uuid};
  }
  std::map<GpuKey, int64_t> numbers_;
};

// Lost by the whole run, or by a process that has no log.
void Lost(std::string_view kind, const std::string& note, TraceWriter* tables, Summary* summary,
          int64_t pid = 0) {
  const std::string what(kind);
  summary->lost.push_back({pid, what, 1, note});
  if (tables != nullptr) tables->AddLost({.pid = pid, .what = what, .count = 1, .note = note});
}

void LostProcesses(const ConversionOptions& options, TraceWriter* tables, Summary* summary) {
  for (const MissingProcess& process : options.unrecorded)
    Lost(lost_kinds::kProcess, process.note, tables, summary, process.pid);
}

// The tables that are written: those of an .rpd, or the caller's.
class Tables {
 public:
  static base::Result<Tables> Open(const ConversionOptions& options) {
    Tables tables;
    tables.writer_ = options.tables;
    if (options.rpd.empty()) return tables;
    ROCHOUND_TRY(tables.rpd_, RpdWriter::Create(options.rpd));
    tables.writer_ = tables.rpd_.get();
    return tables;
  }
  // Null: none.
  TraceWriter* writer() const { return writer_; }

 private:
  std::unique_ptr<RpdWriter> rpd_;
  TraceWriter* writer_ = nullptr;
};

base::Result<void> FinishOutputs(const ConversionOptions& options, TraceWriter* tables) {
  if (tables != nullptr) {
    tables->AddMetadata("rochound_command", options.command);
    if (!options.status.empty()) tables->AddMetadata("rochound_status", options.status);
    if (!options.unfit_code.empty()) tables->AddMetadata("rochound_unfit_code", options.unfit_code);
    if (!options.fault.empty()) tables->AddMetadata("rochound_fault", options.fault);
    if (options.cpu_ns >= 0) tables->AddMetadata("rochound_cpu_ns", std::to_string(options.cpu_ns));
    ROCHOUND_CHECK(tables->Finish());
  }
  if (options.jsonl != nullptr) ROCHOUND_CHECK(options.jsonl->Finish());
  if (options.durations != nullptr) ROCHOUND_CHECK(options.durations->Finish());
  return {};
}

// Reads one process's log. progress: with its records that are done.
base::Result<void> ConvertProcess(const ProcessContext& process, const ConversionOptions& options,
                                  TraceWriter* tables, Summary* summary,
                                  std::function<bool(uint64_t)> progress) {
  std::vector<std::unique_ptr<EventSink>> sinks;
  if (tables != nullptr) sinks.push_back(std::make_unique<TableSink>(process, tables));
  sinks.push_back(std::make_unique<SummarySink>(process, summary));
  if (options.jsonl != nullptr)
    sinks.push_back(std::make_unique<CallLineSink>(process, options.jsonl));
  if (options.durations != nullptr)
    sinks.push_back(std::make_unique<DurationLineSink>(options.durations));
  std::vector<EventSink*> all;
  for (const auto& sink : sinks) all.push_back(sink.get());
  Joiner joiner(process, std::move(all), options.filter, &options.swap_comparisons);
  joiner.set_progress(std::move(progress));
  return joiner.Run();
}

}  // namespace

base::Result<Summary> ConvertNothing(const std::string& why, const ConversionOptions& options) {
  ROCHOUND_TRY(const Tables tables, Tables::Open(options));
  Summary summary;
  if (options.durations != nullptr) options.durations->buffer()->append(kDurationsHeader);
  Lost(lost_kinds::kEverything, why, tables.writer(), &summary);
  LostProcesses(options, tables.writer(), &summary);
  ROCHOUND_CHECK(FinishOutputs(options, tables.writer()));
  return summary;
}

base::Result<Summary> ConvertRun(const trace::RunLog& run, const ConversionOptions& options) {
  ROCHOUND_TRY(const Tables tables, Tables::Open(options));
  Summary summary;
  if (options.durations != nullptr) options.durations->buffer()->append(kDurationsHeader);
  for (const std::string& problem : run.problems())
    Lost(lost_kinds::kDamaged, problem, tables.writer(), &summary);
  LostProcesses(options, tables.writer(), &summary);

  uint64_t records = 0, done_before = 0;
  for (const auto& process : run.processes()) records += process->records();
  const GpuNumbers numbers(run);
  // A queue is a queue of one process: each process counts on from the one before.
  int64_t first_queue = 0;
  for (const auto& process : run.processes()) {
    const ProcessContext context{*process, numbers.Of(*process), first_queue};
    const uint32_t last_queue = process->queues().empty() ? 0 : process->queues().rbegin()->first;
    first_queue += int64_t{last_queue} + 1;
    std::function<bool(uint64_t)> progress;
    if (options.progress)
      progress = [&](uint64_t done) { return options.progress(done_before + done, records); };
    ROCHOUND_CHECK(
        ConvertProcess(context, options, tables.writer(), &summary, std::move(progress)));
    done_before += process->records();
  }
  // start and end are of CLOCK_MONOTONIC, as in RPD; this makes them points in time.
  if (tables.writer() != nullptr && !run.processes().empty()) {
    tables.writer()->AddMetadata("rochound_realtime_offset_ns",
                                 std::to_string(run.processes().front()->realtime_offset_ns()));
  }
  ROCHOUND_CHECK(FinishOutputs(options, tables.writer()));
  return summary;
}

}  // namespace rochound::store
