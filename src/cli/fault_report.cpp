// SPDX-License-Identifier: MIT
#include "cli/fault_report.h"

#include <fmt/format.h>

#include <string>
#include <system_error>

#include "base/log.h"
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
    if (Keep(record, folder))
      base::LogInfo(fmt::format("The evidence is in '{}': rochound doctor --fault '{}'",
                                folder.string(), folder.string()));
  }
}

}  // namespace rochound::cli
