// SPDX-License-Identifier: MIT
#include "cli/open_trace.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "base/exit_codes.h"
#include "base/log.h"
#include "cli/trace_output.h"
#include "launch/child_process.h"

namespace rochound::cli {
namespace {

// DuckDB goes above its limit by what its readers hold.
constexpr uint64_t kMostMemory = uint64_t{5} << 30;

constexpr uint64_t kMostLoaded = uint64_t{2} << 30;

uint64_t DefaultMemory() {
  const auto pages = static_cast<uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES)));
  const uint64_t machine = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return std::min(kMostMemory, machine / 2);
}

base::Result<uint64_t> ParseMemory(const std::string& text) {
  if (text.empty()) return DefaultMemory();
  char* end = nullptr;
  const double number = strtod(text.c_str(), &end);
  const std::string unit = end;
  const int shift = unit == "GiB" || unit == "G" ? 30 : unit == "MiB" || unit == "M" ? 20 : -1;
  if (end == text.c_str() || number <= 0 || shift < 0)
    return base::Error{fmt::format("--memory {}: say it as in --memory 4GiB", text)};
  return static_cast<uint64_t>(number * static_cast<double>(uint64_t{1} << shift));
}

}  // namespace

void TraceOptions::AddTo(CLI::App& subcommand, const std::string& help) {
  subcommand.add_option("trace", traces_, help)->type_name("TRACE...");
  subcommand
      .add_option("--memory", memory_,
                  "Use at most this much, e.g. 4GiB (half the machine, at most 5GiB)")
      ->type_name("SIZE");
}

base::Result<store::TraceDatabase> TraceOptions::Open() { return Open(traces_, {.views = false}); }

base::Result<store::TraceDatabase> TraceOptions::OpenForExport() {
  return Open(traces_, {.views = false, .exports = true});
}

base::Result<store::TraceDatabase> TraceOptions::OpenWith(const std::vector<std::string>& more) {
  std::vector<std::string> all = traces_;
  all.insert(all.end(), more.begin(), more.end());
  return Open(all, {.views = false});
}

base::Result<store::TraceDatabase> TraceOptions::OpenForMany() {
  // SQLite files are slow to read; a loaded table takes a fraction of its room there.
  uint64_t bytes = 0;
  std::error_code error;
  for (const std::string& trace : traces_) {
    const uint64_t size = std::filesystem::file_size(trace, error);
    if (!error) bytes += size;
  }
  return Open(traces_, {.views = false, .load = bytes < kMostLoaded});
}

base::Result<store::TraceDatabase> TraceOptions::OpenWithViews(
    const std::vector<std::string>& traces) {
  return Open(traces, {});
}

base::Result<store::TraceDatabase> TraceOptions::Open(const std::vector<std::string>& traces,
                                                      store::OpenOptions options) {
  std::set<std::pair<dev_t, ino_t>> files;
  for (const std::string& trace : traces_) {
    struct stat status{};
    if (stat(trace.c_str(), &status) == 0 && !files.emplace(status.st_dev, status.st_ino).second)
      return base::Error{"'" + trace + "' is there twice; name each trace once"};
  }
  ROCHOUND_TRY(options.limits.memory_bytes, ParseMemory(memory_));
  // A new folder that only this user may enter: somebody else could have made one whose name can be
  // guessed, with links in it.
  const char* temporary = getenv("TMPDIR");
  if (!spill_) {
    auto spill =
        base::TempDir::Create(temporary != nullptr ? temporary : "/tmp", "rochound-spill-");
    if (spill.ok()) spill_.emplace(std::move(spill).value());
  }
  if (spill_) options.limits.spill_directory = spill_->path();
  bar_ = std::make_shared<base::ProgressBar>("reading");
  options.progress = [bar = bar_](const std::string& what, double part) {
    bar->set_what(what);
    bar->Show(part);
    return !launch::ChildProcess::Interrupted();
  };
  launch::ChildProcess::HoldInterrupts();
  std::vector<std::filesystem::path> found;
  for (const std::string& trace : traces) found.emplace_back(FindTrace(trace));
  return store::TraceDatabase::Open(found, options);
}

report::TextStyle TerminalStyle() {
  constexpr size_t kPipeWidth = 140;  // for eyes; programs ask for --json or --csv
  report::TextStyle style;
  if (isatty(STDOUT_FILENO) != 1) {
    style.width = kPipeWidth;
    return style;
  }
  style.colour = getenv("NO_COLOR") == nullptr;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) style.width = size.ws_col;
  return style;
}

int Failed(const base::Error& error) {
  base::LogError(error.message);
  return base::kExitSetup;
}

}  // namespace rochound::cli
