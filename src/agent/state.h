// SPDX-License-Identifier: MIT
//
// Whether the agent records, and what it was asked to record. Read by every hook on every thread:
// one relaxed load when idle. Changed by set-up, the control socket and the program's own start and
// stop.
//
//   Off -> Armed <-> Recording, and from anywhere to Disabled, which is final: the agent said why,
//   once, on stderr, and from then on passes every call through.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "trace/records.h"

namespace rochound::agent {

using State = trace::RecorderState;

namespace internal {
extern std::atomic<State> state;
}

inline State CurrentState() { return internal::state.load(std::memory_order_relaxed); }
inline bool Recording() { return CurrentState() == State::kRecording; }

// Armed becomes Recording while anybody wants it to: the count of Start calls that no Stop has
// answered yet, or the switch that the outside holds (control socket, environment).
void StartByProgram();
void StopByProgram();
// `why_off`: said in the trace of the time that is not recorded; a constant text.
inline constexpr const char* kWhyStopped = "it was stopped";
void SwitchFromOutside(bool on, const char* why_off = kWhyStopped);
// roctxProfilerPause and Resume: nothing is recorded in between, whoever wants it.
void PauseByProgram(bool pause);
// Whether what is wanted is also allowed now: false outside the ranges that ROCHOUND_RANGE names.
// `forked`: in a child that has no log yet and is not to make one for this.
void AllowByRange(bool inside, bool forked = false);

// The current wishes, for status.
struct Wishes {
  bool outside;
  int32_t program;  // starts not answered by a stop
  bool range_allows;
};
Wishes CurrentWishes();

// Something of ours failed: step aside for good. `reason` is a constant text.
void Disable(const char* reason);
const char* DisabledReason();  // empty: not disabled
// The same for a check of ours that failed (base/check.h). The library sets it as the handler.
void DisableByFailedCheck(const char* what);

// A message to whoever runs the program. A closed pipe at the other end kills nobody.
void WriteToStderr(std::string_view text);

// Off -> Armed (and Recording, if somebody asked already). Called once the log is open.
void Arm();

// What the environment asks for; read once at set-up, constant afterwards.
struct Settings {
  std::string log_directory;
  std::string range;  // record only inside ranges of that name; a trailing * stands for any rest
  bool kernels = true;
  bool copies = true;
  bool hip = true;
  bool hsa = false;
  bool roctx = true;
  bool stacks = false;
  bool start_on = true;
  uint64_t keep_ns = 0;
  uint64_t keep_bytes = 0;
  uint64_t delay_ns = 0;              // start recording this long after set-up
  uint64_t duration_ns = 0;           // and stop this long after that
  uint64_t hang_ns = 30'000'000'000;  // work in flight and none finished for so long; 0: never
};
Settings ReadSettings();
const Settings& settings();
void SetSettings(Settings settings);

}  // namespace rochound::agent
