// SPDX-License-Identifier: MIT
//
// A rule: what it says as data (rules.cpp), and the function in a file of its own that measures
// it. Functions are pure in what the picture shows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "analysis/findings/finding.h"
#include "analysis/findings/picture.h"

namespace rochound::analysis {

// What a rule found.
struct Match {
  int64_t gain_ns = 0;
  std::string sentence;
  std::string evidence;
  // At most this, whatever the rule's own is.
  Confidence confidence = Confidence::kSure;
  std::string advice{};     // instead of the rule's
  bool before_all = false;  // comes before those that are told first, too
  // Time of other rules that this finding tells of in its own way, so that it is told once.
  std::map<std::string, int64_t> takes{};
};

struct Rule {
  const char* name;
  const char* summary;   // what is looked for, for the guide
  const char* question;  // that shows the figures
  Confidence confidence;
  // The answer may be wrong or incomplete because of it: told first, however little time it costs.
  bool first;
  const char* advice;
  const char* to_be_sure;  // empty: nothing more is to be had
  std::optional<Match> (*find)(const Picture& picture);
};

std::span<const Rule> Rules();

// A kernel of RCCL.
inline bool IsCollectiveKernel(std::string_view name) {
  return name.find("nccl") != std::string_view::npos || name.find("rccl") != std::string_view::npos;
}

// One per file.
std::optional<Match> FindEnding(const Picture& picture);
std::optional<Match> FindLostRecords(const Picture& picture);
std::optional<Match> FindUnfinishedKernel(const Picture& picture);
std::optional<Match> FindFailedCalls(const Picture& picture);
std::optional<Match> FindSynchronization(const Picture& picture);
std::optional<Match> FindHiddenSynchronization(const Picture& picture);
std::optional<Match> FindEdges(const Picture& picture);
std::optional<Match> FindNotRecorded(const Picture& picture);
std::optional<Match> FindHostWork(const Picture& picture);
std::optional<Match> FindCpuWork(const Picture& picture);
std::optional<Match> FindLaunchRate(const Picture& picture);
std::optional<Match> FindStarvedHost(const Picture& picture);
std::optional<Match> FindCompilation(const Picture& picture);
std::optional<Match> FindLibrarySearch(const Picture& picture);
std::optional<Match> FindCheckpoint(const Picture& picture);
std::optional<Match> FindWarmUp(const Picture& picture);
std::optional<Match> FindCodeLoading(const Picture& picture);
std::optional<Match> FindInitialisation(const Picture& picture);
std::optional<Match> FindHostFunction(const Picture& picture);
std::optional<Match> FindOtherCall(const Picture& picture);
std::optional<Match> FindAllocation(const Picture& picture);
std::optional<Match> FindPageableCopies(const Picture& picture);
std::optional<Match> FindSmallCopies(const Picture& picture);
std::optional<Match> FindCopyOverlap(const Picture& picture);
std::optional<Match> FindCopiesOnPath(const Picture& picture);
std::optional<Match> FindDeviceCopies(const Picture& picture);
std::optional<Match> FindExposedCommunication(const Picture& picture);
std::optional<Match> FindRecording(const Picture& picture);
std::optional<Match> FindHostMemory(const Picture& picture);
std::optional<Match> FindDefaultStream(const Picture& picture);
std::optional<Match> FindTinyKernels(const Picture& picture);
std::optional<Match> FindFewWorkgroups(const Picture& picture);
std::optional<Match> FindTail(const Picture& picture);
std::optional<Match> FindLowOccupancy(const Picture& picture);
std::optional<Match> FindDominatingKernel(const Picture& picture);
std::optional<Match> FindPipelineBubbles(const Picture& picture);
std::optional<Match> FindGpuImbalance(const Picture& picture);
std::optional<Match> FindStraggler(const Picture& picture);
std::optional<Match> FindGrowingSteps(const Picture& picture);
std::optional<Match> FindClockDrop(const Picture& picture);

}  // namespace rochound::analysis
