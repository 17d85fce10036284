// SPDX-License-Identifier: MIT
#include "cli/fault_report.h"

#include <fmt/format.h>

#include <string>
#include <system_error>

#include "base/log.h"
#include "capture/pack.h"
#include "doctor/fault/explain.h"

namespace rochound::cli {
namespace {

namespace fs = std::filesystem;

// The record and the code objects that it names; an earlier run's evidence is replaced.
bool Keep(const fs::path& record, const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  fs::create_directories(folder, error);
  for (const fs::directory_entry& file : fs::directory_iterator(record.parent_path(), error)) {
    if (error) break;
    if (file.path().filename().string().starts_with("fault"))
      fs::copy_file(file.path(), folder / file.path().filename(), error);
  }
  return !error;
}

// The launch that failed, if it was asked for and could be had.
void KeepBundle(const fs::path& raw, const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(raw, error)) return;
  const fs::path bundle = folder / "launch.bundle";
  const auto packed = capture::Pack(raw, bundle);
  if (packed.ok())
    base::LogInfo(fmt::format("The launch itself: rochound replay run '{}'", bundle.string()));
  else
    base::LogWarning(packed.error().message);
}

}  // namespace

void ReportFaults(const fs::path& log, const fs::path& output) {
  int number = 0;
  for (const fs::path& record : doctor::FindFaults(log)) {
    ++number;
    const auto explained = doctor::ExplainFault(record);
    if (!explained.ok()) {
      base::LogWarning(explained.error().message);
      continue;
    }
    fmt::print(stderr, "rochound: a GPU failed. {}", doctor::FaultText(explained.value()));
    const fs::path folder =
        output.string() + (number == 1 ? ".fault" : fmt::format(".fault-{}", number));
    const bool kept = Keep(record, folder);
    if (number == 1) KeepBundle(log / "fault.bundle", folder);
    if (kept)
      base::LogInfo(fmt::format("The evidence is in '{}': rochound doctor --fault '{}'",
                                folder.string(), folder.string()));
  }
}

}  // namespace rochound::cli
