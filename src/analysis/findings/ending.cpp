// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "analysis/findings/rule.h"
#include "store/rpd/lost_kinds.h"
#include "store/rpd/run_ending.h"

namespace rochound::analysis {
namespace {

namespace fs = std::filesystem;

// Where the agent wrote down that a GPU failed: beside a trace, or in the log of a killed run.
fs::path FaultRecord(const fs::path& trace) {
  std::error_code error;
  for (const fs::path& folder : {fs::path(trace.string() + ".fault"), trace}) {
    if (!fs::is_directory(folder, error)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(folder, error))
      if (entry.path().filename() == "fault.json") return entry.path().parent_path();
  }
  return {};
}

bool IsComplete(const Picture& picture) {
  bool complete = true;
  picture.ForEach("health", "lost", [&](const RowView& row) {
    complete &= store::lost_kinds::IsEnd(row.Text("what"));
  });
  return complete;
}

bool GaveUpOnAHang(const Picture& picture, const std::string& status) {
  if (!status.starts_with("exit ")) return false;
  const auto hang = FindUnfinishedKernel(picture);
  return hang.has_value() && hang->confidence != Confidence::kNote;
}

}  // namespace

// What ended the run comes before what it cost.
std::optional<Match> FindEnding(const Picture& picture) {
  const auto& sources = picture.trace().sources();
  if (sources.size() > 1) return std::nullopt;  // each of several runs has its own
  const fs::path trace = sources.empty() ? fs::path() : sources[0];
  store::RunEnding run;
  run.status = picture.Metadata("rochound_status");
  run.fault = picture.Metadata("rochound_fault");
  run.unfit_code = picture.Metadata("rochound_unfit_code");
  if (run.status != "exit 0") {
    const fs::path record = FaultRecord(trace);
    run.evidence = record.string();
    if (run.fault.empty() && !record.empty()) run.fault = "what was in flight is written down.";
  }
  const Table& call = picture.Rows(R"(
      SELECT n.string AS call FROM rochound_unfinished u JOIN rocpd_api a ON a.id = u.id
      JOIN rocpd_string n ON n.id = a."apiName_id"
      JOIN rocpd_string d ON d.id = a.domain_id AND d.string = 'hip'
      WHERE u.what = 'call' ORDER BY a.start DESC, a.id DESC LIMIT 1)");
  if (!call.rows.empty()) run.open_call = RowView(call, 0).Text("call");
  const Table& counts = picture.Rows(R"(
      SELECT count(*) FILTER (t.string = 'KernelExecution') AS kernels,
        count(*) FILTER (t.string <> 'KernelExecution') AS copies
      FROM rocpd_op o JOIN rocpd_string t ON t.id = o."opType_id")");
  if (!counts.rows.empty()) {
    const RowView row(counts, 0);
    run.kernels = row.Int("kernels");
    run.copies = row.Int("copies");
  }
  run.calls = picture.facts().calls;
  run.complete = IsComplete(picture);
  const auto text = store::TellEnding(run, trace.string());
  if (!text.has_value()) return std::nullopt;
  Match match;
  match.sentence = text->sentence;
  match.advice = text->advice;
  // Somebody stopped it, or it gave up: a kernel that hangs is why.
  match.before_all = !text->stopped && !(run.fault.empty() && GaveUpOnAHang(picture, run.status));
  match.evidence = run.status.empty() ? "no status was written down" : "status: " + run.status;
  return match;
}

}  // namespace rochound::analysis
