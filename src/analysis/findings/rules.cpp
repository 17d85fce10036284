// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "analysis/findings/rule.h"
#include "analysis/table_builder.h"
#include "store/rpd/gpu_usage.h"
#include "store/rpd/lost_kinds.h"

namespace rochound::analysis {
namespace {

// Below the first a finding is a note, below the second it is not told.
constexpr double kLeastPercent = 5;
constexpr double kLeastNotePercent = 1;

using enum Confidence;

constexpr Rule kRules[] = {
    {"ended", "what ended the run, if it did not end well, or that no kernel ran", "health", kSure,
     true, "Look at the program's own output.", "", FindEnding},
    {"lost-records", "records that the trace is missing", "health", kSure, true,
     "Look at what is missing before relying on the figures.", "", FindLostRecords},
    {"unfinished-kernel", "a kernel that never finished", "health", kSure, true,
     "Look for what it waits for, or for a loop that does not end: rochound doctor --ran.",
     "let it run longer, and look at the kernel meanwhile: rochound doctor --hang",
     FindUnfinishedKernel},
    {"failed-calls", "HIP calls that failed while the program went on", "apis", kSure, true,
     "Check what every HIP call returns, and stop at the first failure.", "", FindFailedCalls},
    {"recording", "recording the program costs most of its time", "apis", kLikely, false,
     "Record fewer calls: rochound run --api.", "time the program without rochound run",
     FindRecording},
    {"synchronization", "the GPU runs dry because the host waits for it", "idle", kSure, false,
     "Launch the next work before waiting, or wait only where the result is used.", "",
     FindSynchronization},
    {"hidden-synchronization", "the host waits for a few bytes of results, and the GPU runs dry",
     "idle", kSure, false,
     "Keep the value on the GPU, or look at it some steps later; where it decides what comes next, "
     "decide on the GPU.",
     "", FindHiddenSynchronization},
    {"edges", "time before the GPU's first operation and after its last", "idle", kLikely, false,
     "If this part comes again, do it while the GPU works.",
     "record several steps: what is paid once is not worth much", FindEdges},
    {"not-recorded", "the GPU was kept by work that is not in the trace", "idle", kLikely, false,
     "Record from the program's start, and all processes of this GPU.",
     "record from the program's start, and all processes of this GPU", FindNotRecorded},
    {"host-work", "the GPU waits for the host, outside HIP", "idle", kSure, false,
     "Do it on another thread, or launch the next work before it.", "", FindHostWork},
    {"cpu-work", "most of the time the CPU computes and the GPU does nothing", "idle", kLikely,
     false, "Look for work that stayed on the CPU: rochound doctor --ran.",
     "record with --stacks to see which functions compute", FindCpuWork},
    {"launch-rate", "launches come more slowly than the GPU finishes them", "launch", kSure, false,
     "Give each launch more work, or do less on the host between launches.",
     "mark what the host does between launches with roctx ranges: it may sleep or compute as well",
     FindLaunchRate},
    {"starved-host", "the thread that launches is ready to run and has no CPU", "idle", kLikely,
     false, "Start fewer threads, or give the program more CPUs.",
     "run it alone on the machine, or with more CPUs", FindStarvedHost},
    {"compilation", "code is compiled and loaded while the program runs", "idle", kLikely, false,
     "Compile before the work begins, and keep what was compiled (Triton's and MIOpen's caches).",
     "record with --stacks to see what the host does before it loads code", FindCompilation},
    {"library-search", "a library tries variants of a kernel before it uses one", "top", kLikely,
     false, "Let the library keep what it found, or choose the kernel beforehand.",
     "record a second run, which finds what the first one kept", FindLibrarySearch},
    {"checkpoint", "much is copied to the host now and then, and the GPU waits", "copies", kLikely,
     false, "Copy into pinned memory beside the next step, and write it from another thread.",
     "mark what the program does after the copy with roctx ranges", FindCheckpoint},
    {"code-loading", "code objects are loaded while the GPU waits", "idle", kSure, false,
     "Load modules before the work begins, and build for this GPU's architecture only.",
     "record with rochound run, which sees code being loaded", FindCodeLoading},
    {"initialisation", "the runtime's own set-up", "idle", kNote, false,
     "Record a longer run: this is paid once.", "", FindInitialisation},
    {"host-function", "streams wait for functions of the program", "idle", kSure, false,
     "Keep host functions on streams short, or use an event and another thread.", "",
     FindHostFunction},
    {"other-call", "the GPU waits while the host is in another HIP call", "idle", kSure, false,
     "Call it once before the work begins.", "", FindOtherCall},
    {"allocation", "memory is allocated and freed while the GPU waits", "idle", kSure, false,
     "Allocate once and reuse, or use hipMallocAsync with a memory pool.", "", FindAllocation},
    {"pageable-copies", "copies between the GPU and memory that is not pinned", "copies", kSure,
     false, "Allocate the host's side with hipHostMalloc, or pin it with hipHostRegister.", "",
     FindPageableCopies},
    {"small-copies", "many small copies", "copies", kSure, false,
     "Gather the pieces in one buffer and copy it once.", "", FindSmallCopies},
    {"copy-overlap", "asynchronous copies that no kernel runs beside", "overlap", kLikely, false,
     "Put copies on a stream of their own and copy the next part while this one is computed.",
     "try it: whether the kernels need these very bytes is not in a trace", FindCopyOverlap},
    {"copies-on-path", "copies that everything waits for", "critical-path", kSure, false,
     "Use hipMemcpyAsync on a stream of its own, or keep the data on the GPU.", "",
     FindCopiesOnPath},
    {"device-copies", "copies within GPU memory that everything waits for", "critical-path",
     kLikely, false, "Let the kernels write where the data are needed, or exchange pointers.",
     "look at what needs the copies: rochound explain callstack shows who makes them",
     FindDeviceCopies},
    {"exposed-communication", "communication that no computing runs beside", "overlap", kSure,
     false, "Start the collectives earlier, and compute something else meanwhile.", "",
     FindExposedCommunication},
    {"host-memory", "host memory that kernels can reach", "health", kNote, false,
     "Copy what kernels use often into the GPU's own memory.",
     "capture the slowest kernel (rochound capture --kernel NAME) and look at its arguments",
     FindHostMemory},
    {"default-stream", "the default stream keeps other streams from running beside it",
     "critical-path", kLikely, false,
     "Create the streams with hipStreamNonBlocking, or use no default stream.",
     "try it: whether the kernels need each other's results is not in a trace", FindDefaultStream},
    {"tiny-kernels", "a great many very short kernels", "top", kLikely, false,
     "Fuse them, or let one launch do the work of many.",
     "try it with a few of them: how long one kernel in their place would take is not in a trace",
     FindTinyKernels},
    {"few-workgroups", "kernels with fewer workgroups than the GPU has compute units", "top",
     kLikely, false, "Give the kernel more and smaller workgroups.",
     "compare with a launch that has more workgroups", FindFewWorkgroups},
    {"tail", "kernels whose last round of workgroups fills a small part of the GPU", "top", kLikely,
     false, "Choose a grid that fills the last round, or smaller workgroups.",
     "compare with a grid of a whole number of rounds", FindTail},
    {"low-occupancy", "kernels of which few waves fit on a compute unit", "top", kNote, false,
     "Use less of the limiting resource.", "compare a build that uses less of it: rochound replay",
     FindLowOccupancy},
    {"dominating-kernel", "one kernel is most of the time", "critical-path", kNote, false,
     "Make this kernel faster before anything else.", "", FindDominatingKernel},
    {"pipeline-bubbles", "GPUs that wait for each other's results", "busy", kLikely, false,
     "Give each GPU work while the others have theirs, by smaller parts (micro-batches).",
     "try it: whether the work can be divided further is not in a trace", FindPipelineBubbles},
    {"gpu-imbalance", "one GPU works longer than the others", "busy", kLikely, false,
     "Divide the work so that all GPUs end together.",
     "record a run in which all GPUs get the same work", FindGpuImbalance},
    {"straggler", "one rank that the others wait for", "stragglers", kLikely, false,
     "Look at what this rank does before it arrives.", "record all ranks with their host ranges",
     FindStraggler},
    {"warm-up", "the first steps are much longer than the others", "variability", kLikely, false,
     "Judge the program by its steady state.",
     "record more steps: what is paid once is not worth much", FindWarmUp},
    {"growing-steps", "steps take longer and longer", "variability", kSure, false,
     "Compare an early step with a late one.", "", FindGrowingSteps},
    {"clock-drop", "the GPU's clock fell", "health", kLikely, false,
     "Look at temperature and power limits: rochound doctor.",
     "record clocks and temperatures beside the trace", FindClockDrop},
};

std::string TraceArguments(const store::TraceDatabase& trace) {
  std::string text;
  constexpr size_t kMost = 3;
  for (size_t i = 0; i < std::min(kMost, trace.sources().size()); ++i)
    text += " " + trace.sources()[i].string();
  if (trace.sources().size() > kMost) text += " ...";
  return text;
}

// Kernels or calls were left out, as asked, or it is not known when many of the operations ran: who
// waited for whom cannot be told from the rest. What to do about it; empty: nothing was left out.
std::string_view PartsLeftOut(const Picture& picture) {
  constexpr int64_t kMostUntimedPercent = 1;
  bool found = false;
  int64_t untimed = 0;
  picture.ForEach("health", "lost", [&](const RowView& row) {
    const std::string what = row.Text("what");
    found |= what == store::lost_kinds::kKernelsLeftOut || what == store::lost_kinds::kCallsLeftOut;
    if (store::lost_kinds::IsTime(what)) untimed += row.Int("count");
  });
  if (found) return "record without --kernel and --api";
  if (100 * untimed > kMostUntimedPercent * picture.facts().operations)
    return "record again: when many of the operations ran is not known";
  return "";
}

bool NeedsAllParts(const Rule& rule) {
  constexpr std::string_view kQuestions[] = {"busy", "critical-path", "idle", "launch", "overlap"};
  return std::find(std::begin(kQuestions), std::end(kQuestions), rule.question) !=
         std::end(kQuestions);
}

// Is my GPU used?
std::string Usage(const Picture& picture) {
  return store::UsageSentence(picture.gpu(), picture.facts().gpus, picture.busy_ns(),
                              picture.wall());
}

// Takes from each finding what another one tells in its own way. Where little is left of it, it is
// not told at all.
void ShareTimes(const Picture& picture, std::map<std::string, Match>& matches) {
  std::map<std::string, int64_t> taken;
  for (const auto& [rule, match] : matches) {
    if (Percent(match.gain_ns, picture.wall()) < kLeastPercent) continue;
    for (const auto& [other, ns] : match.takes) taken[other] += ns;
  }
  for (const auto& [rule, ns] : taken) {
    const auto found = matches.find(rule);
    if (found == matches.end()) continue;
    Match& match = found->second;
    match.gain_ns -= std::min(ns, match.gain_ns);
    if (Percent(match.gain_ns, picture.wall()) < kLeastPercent)
      matches.erase(found);
    else
      match.sentence += fmt::format(" Of that, {} are another finding's.", Duration(ns));
  }
}

std::string Verdict(const Picture& picture) {
  if (picture.gpu() < 0) {
    const Facts& facts = picture.facts();
    if (facts.operations == 0) return "nothing stands out: no GPU did any work in this trace";
    if (facts.operation_ns == 0)
      return "nothing can be said: the times of the GPU's work are not in this trace";
    return fmt::format(
        "nothing can be said: the GPU's work, {} of it, was launched in the times that were "
        "recorded and ran outside of them; wait for it there, or record more",
        Duration(facts.operation_ns));
  }
  int64_t kernels = 0;
  for (const auto& [part, ns] : picture.path_parts())
    if (part.starts_with("kernel")) kernels += ns;
  return fmt::format("nothing stands out: GPU busy {:.0f}%, on the path {:.0f}% kernels",
                     picture.busy_percent(), Percent(kernels, picture.wall()));
}

}  // namespace

std::span<const Rule> Rules() { return kRules; }

const char* ConfidenceName(Confidence confidence) {
  switch (confidence) {
    case kSure:
      return "sure";
    case kLikely:
      return "likely";
    case kNote:
      break;
  }
  return "note";
}

base::Result<Findings> FindFindings(store::TraceDatabase& trace, const AskOptions& options,
                                    std::span<const Answer> answered) {
  ROCHOUND_TRY(const Picture picture, Picture::Make(trace, options, answered));
  const std::string arguments = TraceArguments(trace);
  const std::string_view parts_left_out = PartsLeftOut(picture);
  std::map<std::string, Match> matches;
  for (const Rule& rule : kRules)
    if (std::optional<Match> match = rule.find(picture))
      matches.emplace(rule.name, std::move(*match));
  ShareTimes(picture, matches);
  struct Ranked {
    bool first, before_all;
    Finding finding;
  };
  std::vector<Ranked> ranked;
  for (const Rule& rule : kRules) {
    const auto found = matches.find(rule.name);
    if (found == matches.end()) continue;
    Match* const match = &found->second;
    Finding finding;
    finding.rule = rule.name;
    finding.gain_ns = std::min(match->gain_ns, picture.wall());
    finding.gain_percent = Percent(finding.gain_ns, picture.wall());
    if (!rule.first && finding.gain_percent < kLeastNotePercent) continue;
    finding.confidence = std::max(rule.confidence, match->confidence);
    if (!rule.first && finding.gain_percent < kLeastPercent) finding.confidence = kNote;
    const bool guessed = !parts_left_out.empty() && NeedsAllParts(rule);
    if (guessed) finding.confidence = kNote;
    finding.sentence = std::move(match->sentence);
    finding.evidence = std::move(match->evidence);
    finding.question = rule.question;
    finding.command = fmt::format("rochound explain {}{}", rule.question, arguments);
    finding.advice = match->advice.empty() ? rule.advice : std::move(match->advice);
    if (finding.confidence != kSure) finding.to_be_sure = rule.to_be_sure;
    if (guessed) finding.to_be_sure = parts_left_out;
    ranked.push_back({rule.first, match->before_all, std::move(finding)});
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    const auto place = [](const Ranked& one) {
      if (one.finding.confidence == kNote) return 2;
      return one.first ? 0 : 1;
    };
    if (place(a) != place(b)) return place(a) < place(b);
    if (a.before_all != b.before_all) return a.before_all;
    return a.finding.gain_ns > b.finding.gain_ns;
  });
  // What is promised by one is not promised again by those after it.
  int64_t left = picture.wall();
  for (Ranked& one : ranked) {
    if (one.finding.confidence == kNote) continue;
    one.finding.gain_ns = std::min(one.finding.gain_ns, left);
    one.finding.gain_percent = Percent(one.finding.gain_ns, picture.wall());
    left -= one.finding.gain_ns;
  }
  Findings findings;
  findings.usage = Usage(picture);
  if (ranked.empty() || ranked.front().finding.confidence == kNote)
    findings.verdict = Verdict(picture);
  if (ranked.size() > kMostFindings) ranked.resize(kMostFindings);
  for (Ranked& one : ranked) findings.findings.push_back(std::move(one.finding));
  return findings;
}

Answer FindingsAnswer(const Findings& findings) {
  Answer answer;
  answer.question = "findings";
  if (!findings.usage.empty()) answer.notes.push_back(findings.usage);
  if (!findings.verdict.empty()) answer.notes.push_back(findings.verdict);
  TableBuilder table("findings", "What to do first",
                     {"finding", "#gain_ns", "#gain_percent", "confidence", "evidence", "advice",
                      "to_be_sure", "command", "question", "rule"},
                     0);
  for (const Finding& one : findings.findings) {
    table.Row({one.sentence, one.gain_ns, one.gain_percent,
               std::string(ConfidenceName(one.confidence)), one.evidence, one.advice,
               one.to_be_sure, one.command, one.question, one.rule});
  }
  answer.tables.push_back(table.Take());
  return answer;
}

base::Result<Answer> AskFindings(store::TraceDatabase& trace, const AskOptions& options) {
  ROCHOUND_TRY(const Findings findings, FindFindings(trace, options));
  return FindingsAnswer(findings);
}

}  // namespace rochound::analysis
