// SPDX-License-Identifier: MIT
//
// What can come out of a replay, its name in JSON and its exit code: for the replay program, which
// says it, and for the CLI, which passes it on. Plain values, any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace rochound::capture::replay {

enum class Verdict : uint8_t {
  kEqual,             // memory is what it was after the captured launch
  kDifferent,         // it is not
  kNotDeterministic,  // it is not, and two replays from the same memory differ, too
  kFault,             // the kernel touched what is not there, or trapped
  kTimeout,           // it did not end
  kCannotMap,         // the addresses cannot be had
  kBadBundle,         // the bundle is damaged, or does not fit together
  kRefused,           // another GPU, or another kernel's arguments
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
    {Verdict::kFailed, "failed", 125},
};

constexpr std::string_view NameOf(Verdict verdict) {
  return kVerdicts[static_cast<int>(verdict)].name;
}
constexpr int ExitCode(Verdict verdict) { return kVerdicts[static_cast<int>(verdict)].exit_code; }

}  // namespace rochound::capture::replay
