// SPDX-License-Identifier: MIT
#include "agent/state.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "agent/session.h"
#include "agent/thread_state.h"

namespace rochound::agent {

namespace internal {
constinit std::atomic<State> state{State::kOff};
}

namespace {

constinit std::atomic<int32_t> wanted_by_program{0};
constinit std::atomic<bool> wanted_outside{false};
constinit std::atomic<bool> range_allows{true};
constinit std::atomic<const char*> disabled_reason{""};

Settings& MutableSettings() {
  static Settings* const kept = new Settings;  // outlives static destructors
  return *kept;
}

void NoteState(State now) {
  ThreadState* thread = CurrentThread();
  if (thread == nullptr) return;
  if (auto* record = thread->log->Reserve<trace::StateChange>()) {
    record->now_tsc = Tsc();
    record->reason = 0;
    record->reserved = 0;
    thread->log->Commit(record, static_cast<uint16_t>(now));
  }
}

bool Wanted() {
  return (wanted_outside.load() || wanted_by_program.load() > 0) && range_allows.load();
}

// Armed <-> Recording, as the wishes stand. Two threads that change their wishes at once both end
// here; whichever changes the state last looks at the wishes once more.
void Settle(bool note = true) {
  bool wanted = Wanted();
  for (;;) {
    State from = wanted ? State::kArmed : State::kRecording;
    const State to = wanted ? State::kRecording : State::kArmed;
    if (internal::state.compare_exchange_strong(from, to) && note) NoteState(to);
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

uint64_t Nanoseconds(const char* text, const char** end) {
  char* after = nullptr;
  const double number = strtod(text, &after);
  double scale = 1e9;
  if (strncmp(after, "ms", 2) == 0) {
    scale = 1e6;
    after += 2;
  } else if (strncmp(after, "us", 2) == 0) {
    scale = 1e3;
    after += 2;
  } else if (*after == 's') {
    ++after;
  } else if (*after == 'm' && after[1] == '\0') {
    scale = 60e9;
    ++after;
  }
  *end = after;
  return number > 0 ? static_cast<uint64_t>(number * scale) : 0;
}

uint64_t Duration(const char* name) {
  const char* value = getenv(name);
  const char* end = nullptr;
  return value == nullptr ? 0 : Nanoseconds(value, &end);
}

// "30s", "500ms" is a time, "64MiB", "1GiB" a size.
void ReadKeep(Settings* settings) {
  const char* value = getenv("ROCHOUND_KEEP");
  if (value == nullptr || *value == '\0') return;
  char* unit = nullptr;
  const double number = strtod(value, &unit);
  double scale = 0;
  if (strcasecmp(unit, "kib") == 0) scale = 1024.0;
  if (strcasecmp(unit, "mib") == 0) scale = 1024.0 * 1024;
  if (strcasecmp(unit, "gib") == 0) scale = 1024.0 * 1024 * 1024;
  const char* end = nullptr;
  if (scale > 0)
    settings->keep_bytes = static_cast<uint64_t>(number * scale);
  else
    settings->keep_ns = Nanoseconds(value, &end);
}

}  // namespace

void StartByProgram() {
  wanted_by_program.fetch_add(1);
  Settle();
}

void StopByProgram() {
  int32_t count = wanted_by_program.load();
  while (count > 0 && !wanted_by_program.compare_exchange_weak(count, count - 1)) {
  }
  Settle();
}

void SwitchFromOutside(bool on) {
  wanted_outside.store(on);
  Settle();
}

void AllowByRange(bool inside, bool forked) {
  range_allows.store(inside);
  Settle(!forked);
}

Wishes CurrentWishes() {
  return {wanted_outside.load(), wanted_by_program.load(), range_allows.load()};
}

void Arm() {
  State from = State::kOff;
  if (internal::state.compare_exchange_strong(from, State::kArmed)) Settle();
}

void Disable(const char* reason) {
  if (internal::state.exchange(State::kDisabled) == State::kDisabled) return;
  disabled_reason.store(reason);
  char line[256];
  const int length = snprintf(
      line, sizeof line, "rochound: recording is off in process %d: %s. The program goes on.\n",
      static_cast<int>(getpid()), reason);
  if (length > 0) {
    const ssize_t written = write(STDERR_FILENO, line, static_cast<size_t>(length));
    static_cast<void>(written);  // nobody to tell
  }
}

const char* DisabledReason() { return disabled_reason.load(); }

Settings ReadSettings() {
  Settings settings;
  if (const char* directory = getenv("ROCHOUND_LOG_DIR")) settings.log_directory = directory;
  if (const char* name = getenv("ROCHOUND_RANGE")) settings.range = name;
  if (const char* list = getenv("ROCHOUND_RECORD")) {
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
  settings.start_on = Flag("ROCHOUND_START", Flag("RPDT_AUTOSTART", true));
  ReadKeep(&settings);
  settings.delay_ns = Duration("ROCHOUND_DELAY");
  settings.duration_ns = Duration("ROCHOUND_DURATION");
  if (getenv("ROCHOUND_HANG") != nullptr) settings.hang_ns = Duration("ROCHOUND_HANG");
  return settings;
}

const Settings& settings() { return MutableSettings(); }

void SetSettings(Settings settings) { MutableSettings() = std::move(settings); }

}  // namespace rochound::agent
