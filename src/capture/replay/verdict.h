// SPDX-License-Identifier: MIT
//
// What can come out of a replay, its name in JSON and its exit code: for the replay program, which
// says it, and for the CLI, which passes it on. Plain values, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace rochound::capture::replay {

enum class Verdict : uint8_t {
  kEqual,             // memory is what it was after the captured launch
  kDifferent,         // it is not
  kNotDeterministic,  // the same code does not give the same result each time
  kFault,             // the kernel touched what is not there, or trapped
  kTimeout,           // it did not end
  kCannotMap,         // the addresses cannot be had
  kBadBundle,         // the bundle is damaged, or does not fit together
  kRefused,           // another GPU, or another kernel's arguments
  kNotVerified,       // nothing differs, but a kernel that does nothing would not differ either
  kNotPossible,       // this release of ROCm lacks what a replay needs
  kFailed,            // we could not do our part: no GPU, no memory, ...
};

struct VerdictFacts {
  Verdict verdict;
  std::string_view name;
  int exit_code;
};

inline constexpr VerdictFacts kVerdicts[] = {
    {Verdict::kEqual, "equal", 0},
    {Verdict::kDifferent, "different", 1},
    {Verdict::kNotDeterministic, "not deterministic", 3},
    {Verdict::kFault, "fault", 4},
    {Verdict::kTimeout, "timeout", 5},
    {Verdict::kCannotMap, "cannot map", 6},
    {Verdict::kBadBundle, "bad bundle", 7},
    {Verdict::kRefused, "refused", 8},
    {Verdict::kNotVerified, "not verified", 9},
    {Verdict::kNotPossible, "not possible", 10},
    {Verdict::kFailed, "failed", 125},
};

constexpr std::string_view NameOf(Verdict verdict) {
  return kVerdicts[static_cast<int>(verdict)].name;
}
constexpr int ExitCode(Verdict verdict) { return kVerdicts[static_cast<int>(verdict)].exit_code; }

// Of several builds, the captured one first: what is wrong goes before what cannot be judged.
constexpr Verdict Overall(std::span<const Verdict> verdicts) {
  const auto unjudged = [](Verdict verdict) {
    return verdict == Verdict::kNotDeterministic || verdict == Verdict::kNotVerified;
  };
  Verdict overall = Verdict::kEqual;
  for (const Verdict verdict : verdicts) {
    if (overall == Verdict::kEqual ||
        (unjudged(overall) && verdict != Verdict::kEqual && !unjudged(verdict)))
      overall = verdict;
  }
  return overall;
}

}  // namespace rochound::capture::replay
