// SPDX-License-Identifier: MIT
#include "cli/replay_export.h"

#include <fmt/format.h>

#include "base/log.h"
#include "capture/bundle.h"
#include "capture/export.h"
#include "cli/exit_codes.h"
#include "cli/progress_bar.h"

namespace rochound::cli {

namespace fs = std::filesystem;

int RunReplayExport(const fs::path& path, fs::path folder) {
  const auto bundle = capture::Bundle::Open(path);
  if (!bundle.ok()) {
    base::LogError(bundle.error().message);
    return kExitFailure;
  }
  if (folder.empty()) {
    const fs::path plain = path.has_filename() ? path.filename() : path.parent_path().filename();
    folder = plain.stem().string() + ".replay";
  }
  ProgressBar bar("exporting");
  const auto done = capture::Export(bundle.value(), folder, [&](uint64_t written, uint64_t all) {
    bar.Show(static_cast<double>(written) / static_cast<double>(all));
  });
  if (!done.ok()) {
    base::LogError(done.error().message);
    return kExitFailure;
  }
  base::LogInfo(
      fmt::format("exported to '{}'; it holds the captured program's data", folder.string()));
  base::LogInfo(fmt::format(
      "next: cd '{}' && hipcc -std=c++17 main.cpp -o replay -lhsa-runtime64 && ./replay",
      folder.string()));
  return kExitSuccess;
}

}  // namespace rochound::cli
