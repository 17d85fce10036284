// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/rule.h"

namespace rochound::analysis {

// The thread that launches was ready to run and no CPU was free for it, as Linux counted over its
// whole life, while the GPU waited for it outside HIP. When that was is not known: in all the other
// time it may have been starved as well (it may poll in a synchronization), so only what is beyond
// that counts, and it is never sure.
std::optional<Match> FindStarvedHost(const Picture& picture) {
  const std::optional<Picture::Thread>& thread = picture.launching_thread();
  if (!thread.has_value() || thread->starved_ns < 0) return std::nullopt;
  const Picture::Sum outside = picture.Idle(Picture::Owner::kHost);
  const int64_t starved = thread->starved_ns - (thread->life_ns - outside.ns);
  if (outside.ns * 3 < picture.wall() || starved * 10 < outside.ns * 3) return std::nullopt;
  Match match;
  match.gain_ns = std::min(thread->starved_ns, outside.ns);
  match.takes = {{"host-work", match.gain_ns}, {"cpu-work", match.gain_ns}};
  match.sentence =
      fmt::format("The GPU waits {} ({}) for a thread that is ready to run and has no CPU{}.",
                  Duration(match.gain_ns), Share(match.gain_ns, picture.wall()),
                  outside.most.empty() ? "" : fmt::format(", most in range '{}'", outside.most));
  match.evidence =
      fmt::format("the thread ran {} and was starved {} in {}, at least {} of it there",
                  Duration(thread->cpu_ns), Duration(thread->starved_ns), Duration(thread->life_ns),
                  Duration(starved));
  return match;
}

}  // namespace rochound::analysis
