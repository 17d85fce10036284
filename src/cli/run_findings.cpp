// SPDX-License-Identifier: MIT
#include "cli/run_findings.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>

#include "analysis/findings/finding.h"
#include "report/findings_text.h"
#include "store/open/trace_database.h"

namespace rochound::cli {
namespace {

// About 200,000 events: a second.
constexpr uintmax_t kLargest = uintmax_t{24} << 20;

}  // namespace

FindingsOfRun RunFindings(const std::filesystem::path& rpd) {
  const FindingsOfRun later = {
      fmt::format("rochound explain {} says what costs most time\n", rpd.string())};
  std::error_code error;
  if (std::filesystem::file_size(rpd, error) > kLargest || error)
    return error ? FindingsOfRun() : later;
  store::OpenOptions options;
  options.load = true;
  options.views = false;
  auto trace = store::TraceDatabase::Open({rpd}, options);
  if (!trace.ok()) return later;
  auto findings = analysis::FindFindings(trace.value(), {});
  if (!findings.ok()) return later;
  // Notes are for those who look closer.
  analysis::Findings& found = findings.value();
  std::erase_if(found.findings, [](const analysis::Finding& one) {
    return one.confidence == analysis::Confidence::kNote;
  });
  report::TextStyle style;
  winsize size{};
  style.colour = isatty(STDERR_FILENO) == 1 && getenv("NO_COLOR") == nullptr;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0) style.width = size.ws_col;
  return {report::FindingsText(found, style), true};
}

}  // namespace rochound::cli
