// SPDX-License-Identifier: MIT
#include "store/conversion.h"

#include <map>
#include <tuple>
#include <vector>

#include "store/lines.h"
#include "store/process_converter.h"
#include "store/rpd.h"

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
void Lost(const std::string& what, const std::string& note, RpdWriter* rpd, Summary* summary,
          int64_t pid = 0) {
  summary->lost.push_back({pid, what, 1, note});
  if (rpd != nullptr) rpd->AddLost({.pid = pid, .what = what, .count = 1, .note = note});
}

void LostProcesses(const ConversionOptions& options, RpdWriter* rpd, Summary* summary) {
  for (const MissingProcess& process : options.unrecorded)
    Lost("unrecorded process", process.note, rpd, summary, process.pid);
}

base::Result<void> FinishOutputs(const ConversionOptions& options, RpdWriter* rpd) {
  if (rpd != nullptr) {
    rpd->AddMetadata("rochound_command", options.command);
    if (!options.status.empty()) rpd->AddMetadata("rochound_status", options.status);
    if (options.cpu_ns >= 0) rpd->AddMetadata("rochound_cpu_ns", std::to_string(options.cpu_ns));
    ROCHOUND_CHECK(rpd->Finish());
  }
  if (options.jsonl != nullptr) ROCHOUND_CHECK(options.jsonl->Finish());
  if (options.durations != nullptr) ROCHOUND_CHECK(options.durations->Finish());
  return {};
}

}  // namespace

base::Result<Summary> ConvertNothing(const std::string& why, const ConversionOptions& options) {
  std::unique_ptr<RpdWriter> rpd;
  if (!options.rpd.empty()) {
    ROCHOUND_TRY(rpd, RpdWriter::Create(options.rpd));
  }
  Summary summary;
  if (options.durations != nullptr) options.durations->buffer()->append(kDurationsHeader);
  Lost("everything", why, rpd.get(), &summary);
  LostProcesses(options, rpd.get(), &summary);
  ROCHOUND_CHECK(FinishOutputs(options, rpd.get()));
  return summary;
}

base::Result<Summary> ConvertRun(const trace::RunLog& run, const ConversionOptions& options) {
  std::unique_ptr<RpdWriter> rpd;
  if (!options.rpd.empty()) {
    ROCHOUND_TRY(rpd, RpdWriter::Create(options.rpd));
  }
  Summary summary;
  const Outputs outputs{rpd.get(), options.jsonl, options.durations, options.filter,
                        &options.swap_comparisons};
  if (options.durations != nullptr) options.durations->buffer()->append(kDurationsHeader);
  for (const std::string& problem : run.problems())
    Lost("damaged data", problem, rpd.get(), &summary);
  LostProcesses(options, rpd.get(), &summary);

  uint64_t records = 0, done_before = 0;
  for (const auto& process : run.processes()) records += process->records();
  const GpuNumbers numbers(run);
  // A queue is a queue of one process: each process counts on from the one before.
  int64_t first_queue = 0;
  for (const auto& process : run.processes()) {
    ProcessConverter converter(*process, numbers.Of(*process), first_queue, outputs, &summary);
    const uint32_t last_queue = process->queues().empty() ? 0 : process->queues().rbegin()->first;
    first_queue += int64_t{last_queue} + 1;
    if (options.progress) {
      converter.set_progress(
          [&](uint64_t done) { return options.progress(done_before + done, records); });
    }
    ROCHOUND_CHECK(converter.Run());
    done_before += process->records();
  }
  // start and end are of CLOCK_MONOTONIC, as in RPD; this makes them points in time.
  if (rpd && !run.processes().empty()) {
    rpd->AddMetadata("rochound_realtime_offset_ns",
                     std::to_string(run.processes().front()->realtime_offset_ns()));
  }
  ROCHOUND_CHECK(FinishOutputs(options, rpd.get()));
  return summary;
}

}  // namespace rochound::store
