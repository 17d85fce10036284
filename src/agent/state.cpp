// SPDX-License-Identifier: MIT
#include "agent/state.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "agent/session.h"
#include "agent/thread_state.h"
#include "base/check.h"
#include "base/units.h"
#include "contract/variables.h"

namespace rochound::agent {

namespace internal {
constinit std::atomic<State> state{State::kOff};
}

namespace {

constinit std::atomic<int32_t> wanted_by_program{0};
constinit std::atomic<bool> wanted_outside{false};
constinit std::atomic<bool> range_allows{true};
constinit std::atomic<bool> program_paused{false};
constinit std::atomic<const char*> why_stopped{kWhyStopped};
constinit std::atomic<const char*> disabled_reason{""};

Settings& MutableSettings() {
  static Settings* const kept = new Settings;  // outlives static destructors
  return *kept;
}

// Why nothing is recorded now; empty: something is.
std::string_view WhyNot() {
  if (program_paused.load()) return "the program paused it (roctxProfilerPause)";
  if (!range_allows.load()) return "outside of the ranges that were asked for";
  if (!wanted_outside.load() && wanted_by_program.load() == 0) return why_stopped.load();
  return {};
}

void RecordState(State now) {
  const uint64_t now_tsc = trace::ReadTsc();
  ThreadState* thread = CurrentThread();
  if (thread == nullptr) return;
  const std::string_view why = now == State::kArmed ? WhyNot() : std::string_view();
  const uint32_t reason = why.empty() ? 0 : Intern(why);
  if (auto* record = thread->log->Reserve<trace::StateChange>()) {
    record->now_tsc = now_tsc;
    record->reason = reason;
    record->reserved = 0;
    thread->log->Commit(record, static_cast<uint16_t>(now));
  }
}

bool Wanted() {
  ROCHOUND_DCHECK(wanted_by_program.load() >= 0);
  return (wanted_outside.load() || wanted_by_program.load() > 0) && range_allows.load() &&
         !program_paused.load();
}

// Armed <-> Recording, as the wishes say. Two threads that change their wishes at once both end
// here; whichever changes the state last looks at the wishes once more.
void UpdateState(bool note = true) {
  bool wanted = Wanted();
  for (;;) {
    State from = wanted ? State::kArmed : State::kRecording;
    const State to = wanted ? State::kRecording : State::kArmed;
    if (internal::state.compare_exchange_strong(from, to) && note) RecordState(to);
    const bool settled = wanted;
    wanted = Wanted();
    if (wanted == settled) return;
  }
}

bool Is(const char* value, const char* const* words) {
  for (; *words != nullptr; ++words)
    if (strcasecmp(value, *words) == 0) return true;
  return false;
}

// An unset variable is `otherwise`; "0", "off", "no" and "false" are no.
bool Flag(const char* name, bool otherwise) {
  static const char* const kNo[] = {"0", "off", "no", "false", nullptr};
  const char* value = getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : !Is(value, kNo);
}

// An unset or empty variable is zero.
uint64_t Duration(const char* name, const char* complaint) {
  const char* value = getenv(name);
  if (value == nullptr || *value == '\0') return 0;
  const auto parsed = base::ParseTime(value);
  if (!parsed.has_value()) Disable(complaint);
  return parsed.value_or(0);
}

// "30s", "500ms" is a time, "64MiB", "1GiB" a size.
void ReadKeep(Settings* settings) {
  const char* value = getenv(contract::variables::kKeep);
  if (value == nullptr || *value == '\0') return;
  settings->keep_bytes = base::ParseSize(value).value_or(0);
  if (settings->keep_bytes != 0) return;
  settings->keep_ns = Duration(contract::variables::kKeep,
                               "ROCHOUND_KEEP is neither a time (30s) nor a size (64MiB)");
}

}  // namespace

void StartByProgram() {
  wanted_by_program.fetch_add(1);
  UpdateState();
}

void StopByProgram() {
  why_stopped.store(kWhyStopped);
  int32_t count = wanted_by_program.load();
  while (count > 0 && !wanted_by_program.compare_exchange_weak(count, count - 1)) {
  }
  UpdateState();
}

void SwitchFromOutside(bool on, const char* why_off) {
  why_stopped.store(why_off);
  wanted_outside.store(on);
  UpdateState();
}

void PauseByProgram(bool pause) {
  program_paused.store(pause);
  UpdateState();
}

void AllowByRange(bool inside, bool forked) {
  range_allows.store(inside);
  UpdateState(!forked);
}

Wishes CurrentWishes() {
  return {wanted_outside.load(), wanted_by_program.load(), range_allows.load()};
}

void Arm() {
  State from = State::kOff;
  if (!internal::state.compare_exchange_strong(from, State::kArmed)) return;
  if (!Wanted()) RecordState(State::kArmed);
  UpdateState();
}

void Disable(const char* reason) {
  if (internal::state.exchange(State::kDisabled) == State::kDisabled) return;
  disabled_reason.store(reason);
  char line[512];
  const int length = snprintf(
      line, sizeof line, "rochound: recording is off in process %d: %s. The program goes on.\n",
      static_cast<int>(getpid()), reason);
  if (length > 0) WriteToStderr({line, std::min(static_cast<size_t>(length), sizeof line - 1)});
}

void DisableByFailedCheck(const char* what) { Disable(what); }

void WriteToStderr(std::string_view text) {
  sigset_t pipe;
  sigset_t before;
  sigset_t pending;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  sigpending(&pending);
  if (pthread_sigmask(SIG_BLOCK, &pipe, &before) != 0) return;
  const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  // The signal that this write caused is ours; one that was pending before is the program's.
  const timespec at_once{};
  if (written < 0 && errno == EPIPE && sigismember(&pending, SIGPIPE) == 0)
    sigtimedwait(&pipe, nullptr, &at_once);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

const char* DisabledReason() { return disabled_reason.load(); }

Settings ReadSettings() {
  Settings settings;
  if (const char* directory = getenv(contract::variables::kLogDir))
    settings.log_directory = directory;
  if (const char* name = getenv(contract::variables::kRange)) settings.range = name;
  if (const char* list = getenv(contract::variables::kRecord)) {
    settings.kernels = settings.copies = settings.hip = settings.roctx = false;
    const std::string words = std::string(",") + list + ",";
    const auto has = [&](const char* word) {
      return words.find(std::string(",") + word + ",") != std::string::npos;
    };
    settings.kernels = has("kernels");
    settings.copies = has("copies");
    settings.hip = has("hip");
    settings.hsa = has("hsa");
    settings.roctx = has("roctx");
    settings.stacks = has("stacks");
  }
  if (Flag("RPDT_STACKFRAMES", false)) settings.stacks = true;
  settings.start_on = Flag(contract::variables::kStart, Flag("RPDT_AUTOSTART", true));
  ReadKeep(&settings);
  settings.delay_ns =
      Duration(contract::variables::kDelay, "ROCHOUND_DELAY is not a time, such as 5s or 500ms");
  settings.duration_ns = Duration(contract::variables::kDuration,
                                  "ROCHOUND_DURATION is not a time, such as 5s or 500ms");
  // 0 is a time here: never.
  if (const char* hang = getenv(contract::variables::kHang); hang != nullptr) {
    settings.hang_ns = strcmp(hang, "0") == 0
                           ? 0
                           : Duration(contract::variables::kHang,
                                      "ROCHOUND_HANG is not a time, such as 30s, or 0");
  }
  return settings;
}

const Settings& settings() { return MutableSettings(); }

void SetSettings(Settings settings) { MutableSettings() = std::move(settings); }

}  // namespace rochound::agent
