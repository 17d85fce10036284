// SPDX-License-Identifier: MIT
#include "agent/process_facts.h"

#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>

#include "agent/runtime.h"
#include "agent/session.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/mutex.h"

namespace rochound::agent {
namespace {

constexpr uint64_t kFirstFactsNs = 500'000'000;
constexpr uint64_t kFactsEveryNs = 5'000'000'000;

constinit base::Mutex facts_lock;  // the file
uint64_t set_up_ns = 0;
uint64_t set_up_cpu_ns = 0;

// Threads that ended: written once each, without a lock, and read when `tid` is there.
struct EndedThread {
  std::atomic<uint32_t> tid;
  uint64_t cpu_ns, starved_ns;
  char name[16];
};
EndedThread ended_threads[1024];
std::atomic<uint32_t> ended_count;

// Called by the C library, which an exception of ours must not pass through.
int AppendLibrary(dl_phdr_info* info, size_t, void* data) {
  Guarded("no memory for the list of libraries", [&] {
    auto* const text = static_cast<std::string*>(data);
    if (info->dlpi_name != nullptr && info->dlpi_name[0] == '/')
      text->append("library=").append(info->dlpi_name).append("\n");
  });
  return 0;
}

// How long a thread of this process was ready to run and had no CPU, as Linux counts it; 0 where it
// does not. nullptr: the calling thread, which may be about to end, so nothing is allocated.
uint64_t StarvedNs(const char* tid) {
  char text[64] = "/proc/thread-self/schedstat";
  if (tid != nullptr) snprintf(text, sizeof text, "/proc/self/task/%s/schedstat", tid);
  const int file = open(text, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t bytes = read(file, text, sizeof text - 1);
  close(file);
  unsigned long long ran = 0, starved = 0;
  if (bytes <= 0) return 0;
  text[bytes] = 0;
  return sscanf(text, "%llu %llu", &ran, &starved) == 2 ? starved : 0;
}

void AppendStarved(std::string* text, const std::string& tid, uint64_t ns) {
  text->append("starved_thread=").append(tid).append(",").append(std::to_string(ns)).append("\n");
}

// CPU time of each thread that is there: user and system ticks are after the name.
void AppendThreads(std::string* text) {
  DIR* const tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return;
  const uint64_t tick_ns = 1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  while (const dirent* task = readdir(tasks)) {
    if (task->d_name[0] == '.') continue;
    const auto stat = base::ReadFile(std::string("/proc/self/task/") + task->d_name + "/stat");
    if (!stat.ok()) continue;
    const size_t open = stat.value().find('('), close = stat.value().rfind(')');
    if (open == std::string::npos || close == std::string::npos) continue;
    unsigned long long user = 0, system = 0;
    if (sscanf(stat.value().c_str() + close + 1,
               " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system) != 2)
      continue;
    text->append("thread=").append(task->d_name).append(",");
    text->append(std::to_string((user + system) * tick_ns)).append(",");
    text->append(stat.value(), open + 1, close - open - 1).append("\n");
    AppendStarved(text, task->d_name, StarvedNs(task->d_name));
  }
  closedir(tasks);
}

void AppendEndedThreads(std::string* text) {
  for (const EndedThread& thread : ended_threads) {
    const uint32_t tid = thread.tid.load(std::memory_order_acquire);
    if (tid == 0) continue;
    text->append("ended_thread=").append(std::to_string(tid)).append(",");
    text->append(std::to_string(thread.cpu_ns)).append(",").append(thread.name).append("\n");
    AppendStarved(text, std::to_string(tid), thread.starved_ns);
  }
}

// For those who ask afterwards whether this ran on a GPU at all, and through which layers.
void WriteFacts() {
  std::string text;
  dl_iterate_phdr(AppendLibrary, &text);
  text += "start_ns=" + std::to_string(set_up_ns) + "\n";
  text += "end_ns=" + std::to_string(base::ClockNs(CLOCK_MONOTONIC)) + "\n";
  text += "cpu_start_ns=" + std::to_string(set_up_cpu_ns) + "\n";
  text += "cpu_ns=" + std::to_string(base::ClockNs(CLOCK_PROCESS_CPUTIME_ID)) + "\n";
  for (uint16_t i = 0; i < AgentCount(); ++i) {
    if (IsGpu(i))
      text += "compute_units=" + std::to_string(i) + "," + std::to_string(ComputeUnits(i)) + "\n";
  }
  AppendThreads(&text);
  AppendEndedThreads(&text);
  if (trace::Writer* log = Log()) log->WriteText("facts", text);
}

}  // namespace

void ProcessFactsBegin() {
  set_up_ns = base::ClockNs(CLOCK_MONOTONIC);
  set_up_cpu_ns = base::ClockNs(CLOCK_PROCESS_CPUTIME_ID);
}

void WriteProcessFacts(uint64_t now_ns) {
  static uint64_t noted_ns = 0;
  if (noted_ns == 0) noted_ns = set_up_ns - kFactsEveryNs + kFirstFactsNs;
  if (now_ns < noted_ns + kFactsEveryNs || !facts_lock.try_lock()) return;
  noted_ns = now_ns;
  WriteFacts();
  facts_lock.unlock();
}

void RememberEndedThread() {
  const uint32_t place = ended_count.fetch_add(1, std::memory_order_relaxed);
  if (place >= std::size(ended_threads)) return;
  EndedThread& thread = ended_threads[place];
  thread.cpu_ns = base::ClockNs(CLOCK_THREAD_CPUTIME_ID);
  thread.starved_ns = StarvedNs(nullptr);
  prctl(PR_GET_NAME, thread.name);
  thread.name[sizeof thread.name - 1] = 0;
  thread.tid.store(static_cast<uint32_t>(syscall(SYS_gettid)), std::memory_order_release);
}

void WriteLastProcessFacts() {
  int patience = 100;
  while (!facts_lock.try_lock()) {
    if (--patience == 0) return;
    usleep(200);
  }
  WriteFacts();
  facts_lock.unlock();
}

void ForgetProcessFactsAfterFork() {
  new (&facts_lock) base::Mutex;
  for (EndedThread& thread : ended_threads) thread.tid.store(0, std::memory_order_relaxed);
  ended_count.store(0, std::memory_order_relaxed);
}

}  // namespace rochound::agent
