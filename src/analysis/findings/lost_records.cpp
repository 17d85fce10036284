// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "analysis/findings/rule.h"
#include "store/rpd/lost_kinds.h"

namespace rochound::analysis {
namespace {

namespace lost = store::lost_kinds;

struct Kind {
  std::string_view what;  // empty: any other
  const char* one;
  const char* many;
  const char* advice;  // empty: the rule's
};

// The gravest first: one sentence is told of all.
constexpr Kind kKinds[] = {
    {lost::kEverything, "Nothing was recorded.", "Nothing was recorded.",
     "Find out whether the program used a GPU at all: rochound doctor --ran."},
    {lost::kProcess, "A process that used a GPU is not in the trace: the figures are of the rest.",
     "{} processes that used a GPU are not in the trace: the figures are of the rest.",
     "Put rochound run inside of what starts that process: sudo, ssh, a container, a batch system."},
    {lost::kEndedEarly,
     "Recording ended before the program did: the figures are of the time before.",
     "Recording ended before {} processes did: the figures are of the time before.",
     "Mend what ended it, and record again."},
    {lost::kDropped, "{} record is missing from the trace: the figures are of the rest.",
     "{} records are missing from the trace: the figures are of the rest.",
     "Record again for a shorter time (--duration), or with the log where there is room "
     "(--log-dir), before relying on the figures."},
    {lost::kDamaged, "{} part of the log is damaged: the figures are of the rest.",
     "{} parts of the log are damaged: the figures are of the rest.",
     "Record again before relying on the figures."},
    {lost::kClock, "No clock is known that the traces share: times of one do not fit the other's.",
     "No clock is known that the traces share: times of one do not fit the others'.",
     "Compare only times of the same host."},
    {"", "{} record is missing from the trace: the figures are of the rest.",
     "{} records are missing from the trace: the figures are of the rest.", ""},
    {lost::kCopiesOfCalls, "{} copy call has no copy in the trace: when it copied is not known.",
     "{} copy calls have no copy in the trace: when they copied is not known.",
     "Record the GPU's copies as well (rocprofv3: --memory-copy-trace)."},
    {lost::kKernelsLeftOut,
     "{} kernel was left out, as asked: what looks idle here may have been busy.",
     "{} kernels were left out, as asked: what looks idle here may have been busy.",
     "Record without --kernel to learn what the GPU waits for."},
    {lost::kCallsLeftOut, "{} call was left out, as asked: what the host did then is not known.",
     "{} calls were left out, as asked: what the host did then is not known.",
     "Record without --api to learn what the GPU waits for."},
};

const Kind* KindOf(std::string_view what) {
  const auto found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                  [&](const Kind& kind) { return kind.what == what; });
  return found != std::end(kKinds) ? found : KindOf("");
}

}  // namespace

std::optional<Match> FindLostRecords(const Picture& picture) {
  const Kind* gravest = nullptr;
  int64_t count = 0, untimed = 0;
  std::string evidence;
  picture.ForEach("health", "lost", [&](const RowView& row) {
    const std::string what = row.Text("what");
    if (lost::IsNoLoss(what)) return;
    if (lost::IsTime(what)) {
      untimed += row.Int("count");
      return;
    }
    const Kind* const kind = KindOf(what);
    if (gravest != nullptr && kind > gravest) return;
    if (kind != gravest) {
      gravest = kind;
      count = 0;
      evidence = what + ": " + row.Text("note");  // rows with the highest count come first
    }
    count += row.Int("count");
  });
  Match match;
  if (gravest != nullptr) {
    match.sentence = fmt::format(fmt::runtime(count == 1 ? gravest->one : gravest->many), count);
    match.evidence = evidence;
    match.advice = gravest->advice;
    return match;
  }
  if (untimed == 0) return std::nullopt;
  // An operation without its time is still in the trace.
  match.confidence = Confidence::kNote;
  match.sentence = fmt::format("The GPU's times of {} are missing.",
                               Counted(untimed, "operation", "operations"));
  match.evidence = "what they took is left out of all sums";
  return match;
}

}  // namespace rochound::analysis
