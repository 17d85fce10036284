// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "analysis/findings/rule.h"

namespace rochound::analysis {

// How much CPU time a thread used is known for its whole life, and not when it used it. All the
// time in which it was not outside HIP beside an idle GPU it may have computed as well, so only
// what it used beyond that is known to be used there. On a machine that others use as well a thread
// gets a part of the time only, so a third is enough; it is likely, never sure.
std::optional<Match> FindCpuWork(const Picture& picture) {
  const Picture::Sum outside = picture.Idle(Picture::Owner::kHost);
  if (outside.ns * 3 < picture.wall()) return std::nullopt;
  const std::optional<Picture::Thread>& thread = picture.launching_thread();
  if (!thread.has_value()) return std::nullopt;
  const int64_t used = thread->cpu_ns - (thread->life_ns - outside.ns);
  if (used * 10 < outside.ns * 3) return std::nullopt;
  Match match;
  match.gain_ns = outside.ns;
  match.sentence =
      fmt::format("The CPU computes {} ({}) while the GPU does nothing{}.", Duration(outside.ns),
                  Share(outside.ns, picture.wall()),
                  outside.most.empty() ? "" : fmt::format(", most in range '{}'", outside.most));
  match.evidence = fmt::format(
      "the thread used {} of CPU in {}, at least {} of it there; the GPU is busy {:.1f}%",
      Duration(thread->cpu_ns), Duration(thread->life_ns), Duration(used), picture.busy_percent());
  return match;
}

}  // namespace rochound::analysis
