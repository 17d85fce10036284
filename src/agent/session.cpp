// SPDX-License-Identifier: MIT
#include "agent/session.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <new>
#include <string>

#include "agent/allocations.h"
#include "agent/anchors.h"
#include "agent/calls.h"
#include "agent/capture.h"
#include "agent/code_objects.h"
#include "agent/control.h"
#include "agent/copies.h"
#include "agent/faults.h"
#include "agent/launch_alone.h"
#include "agent/override.h"
#include "agent/probe.h"
#include "agent/process_facts.h"
#include "agent/queues.h"
#include "agent/range_switch.h"
#include "agent/runtime.h"
#include "agent/signal_pool.h"
#include "agent/state.h"
#include "agent/swap.h"
#include "agent/symbols.h"
#include "agent/thread_state.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/mutex.h"

namespace rochound::agent {
namespace {

constinit std::atomic<trace::Writer*> the_log{nullptr};
constinit std::atomic<pid_t> set_up_in{0};  // the process that the log belongs to
constinit base::Mutex setting_up;
constinit base::Mutex info_lock;
constinit std::atomic<uint32_t> wake_count{0};
constinit std::atomic<bool> drain_running{false};
uint64_t set_up_ns = 0;

std::string& Info() ROCHOUND_REQUIRES(info_lock) {
  static auto* const text = new std::string;
  return *text;
}

// How often the drain thread looks: soon again while GPU work is in flight, seldom otherwise.
constexpr uint64_t kBusyNs = 500'000;
constexpr uint64_t kIdleNs = 20'000'000;
constexpr uint64_t kWatchEveryNs = 10'000'000;
// Clock anchors are dense at first, so that a short program has enough of them however it ends.
constexpr uint64_t kFirstAnchorNs = 10'000'000;
constexpr uint64_t kAnchorEveryNs = 500'000'000;

// Held by the drain thread while it does anything but sleep. Whoever forks, or takes the runtime
// away, waits for it: in the child it would hold locks for ever, after the runtime it would use
// what is gone. A wait is short: this thread may be waiting for one of theirs.
constinit pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
// Of the fork on this thread: others may fork at the same time.
__thread bool turn_held_for_fork __attribute__((tls_model("initial-exec"))) = false;
__thread bool control_held_for_fork __attribute__((tls_model("initial-exec"))) = false;

timespec After(uint64_t nanoseconds) {
  timespec deadline{};
  clock_gettime(CLOCK_REALTIME, &deadline);
  nanoseconds += static_cast<uint64_t>(deadline.tv_nsec);
  deadline.tv_sec += static_cast<time_t>(nanoseconds / 1'000'000'000);
  deadline.tv_nsec = static_cast<long>(nanoseconds % 1'000'000'000);
  return deadline;
}

bool TakeTurn(const timespec& deadline) { return pthread_mutex_timedlock(&turn, &deadline) == 0; }

class Turn {
 public:
  Turn() { pthread_mutex_lock(&turn); }
  ~Turn() { pthread_mutex_unlock(&turn); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
};

void DrainOnce(size_t* under_way) {
  *under_way = 0;
  if (!RuntimeAlive()) return;
  AnswerCallForSignals();
  *under_way = HarvestDispatches() + HarvestCopies();
  if (ServeLateDoorbells()) ++*under_way;
  if (ServeLateLaunches()) ++*under_way;
  LookForCandidates();
  if (DrainProbe()) ++*under_way;
}

// --delay and --duration: each switch happens once.
void FollowTimetable(uint64_t now_ns) {
  static bool started = false;
  static bool stopped = false;
  const Settings& wishes = settings();
  if (wishes.delay_ns != 0 && !started && now_ns - set_up_ns >= wishes.delay_ns) {
    started = true;
    SwitchFromOutside(true);
  }
  if (wishes.duration_ns != 0 && !stopped &&
      now_ns - set_up_ns >= wishes.delay_ns + wishes.duration_ns) {
    stopped = true;
    SwitchFromOutside(false, "the time that --duration asks for was over");
  }
}

uint64_t NextSwitchNs(uint64_t now_ns) {
  const Settings& wishes = settings();
  const uint64_t passed = now_ns - set_up_ns;
  if (wishes.delay_ns > passed) return wishes.delay_ns - passed;
  if (wishes.duration_ns != 0 && wishes.delay_ns + wishes.duration_ns > passed)
    return wishes.delay_ns + wishes.duration_ns - passed;
  return ~0ull;
}

// A log that drops its old chunks loses what describes the rest; so that is said again now and
// then.
void RepeatDescriptions(uint64_t now_ns) {
  static uint64_t said_ns = 0;
  const Settings& wishes = settings();
  if (wishes.keep_ns == 0 && wishes.keep_bytes == 0) return;
  const uint64_t every = wishes.keep_ns != 0 ? wishes.keep_ns / 2 : 1'000'000'000;
  if (now_ns - said_ns < every) return;
  said_ns = now_ns;
  RecordQueues();
  RecordSymbols();
  RecordSwaps();
}

// What the drain thread remembers from one turn to the next.
struct Drain {
  bool libraries_found = false;
  uint64_t watched_ns = 0;
  uint64_t anchored_ns = 0;
  uint64_t anchor_every_ns = kFirstAnchorNs;
};

// Does everything once; returns how long to sleep.
uint64_t DrainTurn(Drain* drain) {
  const Turn mine;
  const uint64_t now_ns = base::ClockNs(CLOCK_MONOTONIC);
  if (trace::Writer* log = Log()) log->WatchRoom();
  size_t under_way = 0;
  DrainOnce(&under_way);
  if (now_ns - drain->watched_ns >= kWatchEveryNs) {
    drain->watched_ns = now_ns;
    WatchProgress(now_ns);
  }
  WriteCodeObjects();
  FollowTimetable(now_ns);
  if (!drain->libraries_found) drain->libraries_found = HookLoadedLibraries();
  if (now_ns - drain->anchored_ns >= drain->anchor_every_ns &&
      (Recording() || drain->anchored_ns == 0)) {
    drain->anchored_ns = now_ns;
    if (RuntimeAlive())
      drain->anchor_every_ns = std::min(2 * drain->anchor_every_ns, kAnchorEveryNs);
    RecordAnchors();
  }
  RepeatDescriptions(now_ns);
  WriteProcessFacts(now_ns);
  if (trace::Writer* log = Log()) log->Maintain();
  const uint64_t pause_ns = under_way != 0 ? kBusyNs : Recording() ? kIdleNs / 4 : kIdleNs;
  return std::min(pause_ns, NextSwitchNs(now_ns));
}

// Nobody serves what we hold after this: doorbells, and captured launches whose signals are ours.
// True: not all could be let go yet.
bool LetGo() {
  const Turn mine;
  if (!RuntimeAlive()) return false;
  const bool doorbells = RingHeldDoorbells();
  bool launches = false;
  Guarded("no memory in the drain thread", [&] { launches = ServeLateLaunches(); });
  return doorbells || launches;
}

void DrainLoop() {
  ThreadState* thread = CurrentThread();
  const Inside inside(thread);
  Drain drain;
  uint32_t seen = wake_count.load();
  while (CurrentState() != State::kDisabled) {
    const uint64_t pause_ns = DrainTurn(&drain);
    const timespec timeout{static_cast<time_t>(pause_ns / 1'000'000'000),
                           static_cast<long>(pause_ns % 1'000'000'000)};
    syscall(SYS_futex, &wake_count, FUTEX_WAIT_PRIVATE, seen, &timeout, nullptr, 0);
    seen = wake_count.load();
  }
}

void* DrainThread(void*) {
  pthread_setname_np(pthread_self(), "rochound-drain");
  Guarded("no memory in the drain thread", DrainLoop);
  // Nobody empties the ring after this.
  Guarded("no memory in the drain thread", [] { EndProbe(ProbeEnd::kDisabled); });
  while (LetGo()) usleep(1000);
  drain_running.store(false);
  return nullptr;
}

constexpr uint64_t kForkPatienceNs = 200'000'000;

void BeforeFork() {
  const timespec deadline = After(kForkPatienceNs);
  turn_held_for_fork = TakeTurn(deadline);
  control_held_for_fork = HoldControlForFork(deadline);
}

void AfterForkInParent() {
  if (control_held_for_fork) ReleaseControlAfterFork();
  if (turn_held_for_fork) pthread_mutex_unlock(&turn);
}

// In a forked child only this thread is left. The log, the runtime, its queues and signals are the
// parent's: forget them without a look. A child that records opens its own log.
void InForkedChild() {
  new (&turn) pthread_mutex_t(PTHREAD_MUTEX_INITIALIZER);
  the_log.store(nullptr);
  set_up_in.store(0);
  drain_running.store(false);
  internal::thread_slot = {nullptr, false, 0};
  new (&setting_up) base::Mutex;
  new (&info_lock) base::Mutex;
  ForgetRuntimeAfterFork();
  ForgetQueuesAfterFork();
  ForgetCopiesAfterFork();
  ForgetLateLaunchesAfterFork();
  ForgetAllocationsAfterFork();
  ForgetCodeObjectsAfterFork();
  ForgetSymbolsAfterFork();
  ForgetCaptureAfterFork();
  ForgetProbeAfterFork();
  ForgetSwapsAfterFork();
  ForgetProcessFactsAfterFork();
  ForgetRangesAfterFork();
  ForgetControlAfterFork();
}

void AtExit() {
  if (getpid() != set_up_in.load()) return;
  LeaveControl();
  // In a handler that interrupted us. What was committed is in the log.
  if (IsBusy()) return;
  Flush();
  Guarded("no memory at exit", StopWatchingProgress);
  Guarded("no memory at exit", ExplainMissingCapture);
  Guarded("no memory at exit", ExplainMissingSamples);
  Guarded("no memory at exit", [] { EndProbe(ProbeEnd::kExit); });
  if (RuntimeAlive()) Guarded("no memory at exit", GiveBackSignals);
}

// The last of us to run: after the program's own exit handlers, and ours.
__attribute__((destructor)) void AtUnload() {
  if (getpid() != set_up_in.load()) return;
  if (trace::Writer* log = the_log.load()) log->Finish();
}

}  // namespace

std::string CommandLine() {
  auto text = base::ReadFile("/proc/self/cmdline");
  if (!text.ok()) return {};
  for (char& c : text.value())
    if (c == '\0' || c == '\n') c = ' ';
  return text.value();
}

namespace {

void DescribeProcess() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const auto exe = base::ExecutablePath();
  AddInfo("pid", std::to_string(getpid()));
  AddInfo("ppid", std::to_string(getppid()));
  AddInfo("exe", exe.ok() ? exe.value().string() : std::string());
  AddInfo("command", CommandLine());
  AddInfo("host", host);
}

bool Open() {
  if (settings().log_directory.empty()) {
    Disable("ROCHOUND_LOG_DIR is not set; start the program with `rochound run`");
    return false;
  }
  trace::Writer::Options options;
  options.directory = settings().log_directory;
  options.keep_ns = settings().keep_ns;
  options.max_bytes = settings().keep_bytes;
  options.recycle = settings().keep_bytes != 0;
  options.wake = WakeDrainThread;
  std::string error;
  trace::Writer* log = trace::Writer::Open(options, &error);
  if (log == nullptr) {
    // Kept for ever: the message is said once, and says the reason of the system.
    static auto* const reason = new std::string("cannot write the log: " + error);
    Disable(reason->c_str());
    return false;
  }
  the_log.store(log);
  set_up_in.store(getpid());
  set_up_ns = base::ClockNs(CLOCK_MONOTONIC);
  ProcessFactsBegin();
  DescribeProcess();
  WriteInfo();
  log->WriteText("functions", FunctionsText());
  RecordAnchors();
  // Before the drain thread runs, which does the same now and then: a call may be in flight that
  // only this very moment can still catch.
  HookLoadedLibraries();
  if (!StartThread(DrainThread)) {
    Disable("no thread for the log");
    return false;
  }
  drain_running.store(true);
  return true;
}

void SetUpLocked() {
  static bool once = false;
  if (!once) {
    once = true;
    SetSettings(ReadSettings());
    PrepareOverrides();
    pthread_atfork(BeforeFork, AfterForkInParent, InForkedChild);
    atexit(AtExit);
    SwitchFromOutside(settings().start_on && settings().delay_ns == 0,
                      settings().delay_ns != 0 ? "the time that --delay asks for was not over"
                                               : "it had not been started");
    RecordOnlyInRange(settings().range);
  }
  if (!Open()) return;
  PrepareCapture();
  PrepareSwap();
  PrepareProbe();
  ServeControl();
  Arm();
}

}  // namespace

bool SetUp() {
  if (CurrentState() == State::kDisabled) return false;
  if (set_up_in.load() == getpid()) return true;
  const base::Lock lock(setting_up);
  if (set_up_in.load() == getpid()) return CurrentState() != State::kDisabled;
  Guarded("no memory at set-up", SetUpLocked);
  return CurrentState() != State::kDisabled;
}

void WithoutDrainThread(const std::function<void()>& function) {
  constexpr uint64_t kPatienceNs = 1'000'000'000;
  const bool held = TakeTurn(After(kPatienceNs));
  function();
  if (held) pthread_mutex_unlock(&turn);
}

trace::Writer* Log() {
  trace::Writer* log = the_log.load(std::memory_order_acquire);
  if (log != nullptr || CurrentState() == State::kOff || CurrentState() == State::kDisabled)
    return log;
  // A forked child that has something to record.
  if (!setting_up.try_lock()) return nullptr;
  setting_up.unlock();
  return SetUp() ? the_log.load(std::memory_order_acquire) : nullptr;
}

void Flush() {
  // Long enough for kernels that are about to finish, short enough for a program that must go.
  constexpr uint64_t kPatienceNs = 200'000'000;
  Guarded("no memory while flushing", [] {
    ThreadState* thread = CurrentThread();
    if (thread == nullptr) return;
    const Inside inside(thread);
    const uint64_t start = base::ClockNs(CLOCK_MONOTONIC);
    size_t under_way = 0;
    for (DrainOnce(&under_way);
         under_way != 0 && base::ClockNs(CLOCK_MONOTONIC) - start < kPatienceNs;
         DrainOnce(&under_way))
      usleep(200);
    // The drain thread may not have looked since the last kernel ended.
    WatchProgress(base::ClockNs(CLOCK_MONOTONIC));
    RecordAnchors();
    WriteNewFunctions();
    WriteCodeObjects();
    WriteLastProcessFacts();
    if (const auto maps = base::ReadFile("/proc/self/maps"); maps.ok() && settings().stacks)
      Log()->WriteText("maps", maps.value());
  });
}

void WakeDrainThread() {
  wake_count.fetch_add(1);
  syscall(SYS_futex, &wake_count, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

bool StartThread(void* (*function)(void*)) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const int error = pthread_create(&thread, &attributes, function, nullptr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return error == 0;
}

uint32_t Intern(std::string_view text) {
  const Busy busy;
  trace::Writer* log = Log();
  return log != nullptr ? log->Intern(text) : 0;
}

void AddInfo(std::string_view key, std::string_view value) {
  const base::Lock lock(info_lock);
  Info().append(key).append("=").append(value).append("\n");
}

void DropInfo(std::string_view key) {
  const base::Lock lock(info_lock);
  const std::string start = std::string(key) + "=";
  std::string kept;
  for (size_t at = 0; at < Info().size();) {
    const size_t end = Info().find('\n', at) + 1;
    if (Info().compare(at, start.size(), start) != 0) kept.append(Info(), at, end - at);
    at = end;
  }
  Info() = kept;
}

void WriteInfo() {
  const base::Lock lock(info_lock);
  if (trace::Writer* log = the_log.load()) log->WriteText("info", Info());
}

}  // namespace rochound::agent
