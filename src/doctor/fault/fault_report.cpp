// SPDX-License-Identifier: MIT
#include "doctor/fault/fault_report.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <system_error>

#include "base/log.h"
#include "capture/pack.h"
#include "doctor/fault/explain.h"

namespace rochound::doctor {
namespace {

namespace fs = std::filesystem;

// The record and the files that it names.
bool Keep(const fs::path& record, const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  const std::string prefix = record.stem().string();  // fault or hang
  for (const fs::directory_entry& file : fs::directory_iterator(record.parent_path(), error)) {
    if (error) break;
    if (file.path().filename().string().starts_with(prefix) && !file.is_directory(error))
      fs::copy_file(file.path(), folder / file.path().filename(), error);
  }
  return !error;
}

// The suspects' launches, if they were asked for and could be had: the likeliest one first.
void KeepBundles(const fs::path& log, const doctor::FaultExplanation& explanation,
                 const fs::path& folder) {
  std::error_code error;
  int number = 0;
  for (const doctor::FaultSuspect& suspect : explanation.suspects) {
    const fs::path raw = log / fmt::format("fault.bundle-{}-{}", suspect.queue, suspect.packet);
    if (!fs::is_directory(raw, error)) continue;
    ++number;
    const fs::path bundle =
        folder / (number == 1 ? "launch.bundle" : fmt::format("launch-{}.bundle", number));
    const auto packed = capture::Pack(raw, bundle);
    if (!packed.ok())
      base::LogWarning(packed.error().message);
    else
      base::LogInfo(fmt::format("The launch of {}: rochound replay run '{}'", suspect.readable,
                                bundle.string()));
  }
}

// Where the evidence of a trace's faults is, from 1 on.
fs::path EvidenceOf(const fs::path& trace, int number) {
  return trace.string() + (number == 1 ? ".fault" : fmt::format(".fault-{}", number));
}

// What an earlier run left under this name is not this run's.
void RemoveOld(const fs::path& output) {
  std::error_code error;
  for (int number = 1; fs::exists(EvidenceOf(output, number), error); ++number)
    fs::remove_all(EvidenceOf(output, number), error);
}

}  // namespace

void MoveEvidence(const fs::path& from, const fs::path& to) {
  std::error_code error;
  for (int number = 1; fs::exists(EvidenceOf(from, number), error); ++number)
    fs::rename(EvidenceOf(from, number), EvidenceOf(to, number), error);
}

std::string ReportFaults(const fs::path& log, const fs::path& output) {
  RemoveOld(output);
  std::string failure;
  int number = 0;
  for (const fs::path& record : doctor::FindFaults(log)) {
    const auto explained = doctor::ExplainFault(record);
    if (!explained.ok()) {
      base::LogWarning(explained.error().message);
      continue;
    }
    const std::string& cause = explained.value().cause;
    if (cause == "none") continue;  // it went on while that was written down
    const bool hang = cause == "hang" || cause == "slow";
    const std::string text =
        fmt::format("rochound: {} {}", hang ? "GPU work did not end." : "a GPU failed.",
                    doctor::FaultText(explained.value()));
    std::fputs(text.c_str(), stderr);
    if (failure.empty() && !hang)
      failure = (explained.value().sure ? "" : "Probably: ") + explained.value().headline;
    ++number;
    const fs::path folder = EvidenceOf(output, number);
    const bool kept = Keep(record, folder);
    KeepBundles(log, explained.value(), folder);
    if (kept)
      base::LogInfo(fmt::format("The evidence is in '{}': rochound doctor --fault '{}'",
                                folder.string(), folder.string()));
  }
  return failure;
}

}  // namespace rochound::doctor
