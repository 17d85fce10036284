// SPDX-License-Identifier: MIT
#include "fleet/daemon/job_actions.h"

#include <fmt/format.h>
#include <sys/timex.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/mutex.h"
#include "launch/control_client.h"

namespace rochound::fleet {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kFurthest = 3600 * kSecond;
constexpr size_t kMostWaiting = 16;
constexpr size_t kMostKept = 64;

// Asks all processes at the same time; one that is stopped answers nothing.
std::vector<launch::ControlAnswer> AskProcesses(const std::vector<JobActions::Process>& processes,
                                                const std::string& request) {
  std::vector<launch::ControlSocket> sockets;
  for (const auto& one : processes) {
    launch::ControlSocket socket = launch::FindControlSocket(one.process);
    socket.process = one.process;
    sockets.push_back(std::move(socket));
  }
  return launch::AskAll(sockets, request);
}

}  // namespace

int64_t ClockErrorNs() {
  timex now{};
  const int state = adjtimex(&now);
  return state < 0 || state == TIME_ERROR ? -1 : now.maxerror * 1000;
}

JobActions::JobActions() : thread_([this] { Run(); }) {}

JobActions::~JobActions() {
  {
    const base::Lock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::string JobActions::Add(Action action) {
  const uint64_t now = base::ClockNs(CLOCK_REALTIME);
  if (action.at_ns + kSecond / 10 < now)
    return fmt::format("too late: it was to be {:.3f} s ago, by this host's clock",
                       static_cast<double>(now - action.at_ns) * 1e-9);
  if (action.at_ns > now + kFurthest || action.until_ns > now + kFurthest)
    return "more than an hour ahead";
  if (action.until_ns != 0 && action.until_ns <= action.at_ns)
    return "it would end before it begins";
  const base::Lock lock(mutex_);
  if (static_cast<size_t>(std::count_if(entries_.begin(), entries_.end(), [](const Entry& one) {
        return !one.over;
      })) >= kMostWaiting)
    return "too many requests wait already";
  if (entries_.size() >= kMostKept)
    entries_.erase(
        std::find_if(entries_.begin(), entries_.end(), [](const Entry& one) { return one.over; }));
  entries_.push_back({std::move(action), {}, false, false, false});
  changed_.notify_all();
  return "";
}

std::optional<std::vector<JobActions::Done>> JobActions::Outcome(const std::string& id) {
  const base::Lock lock(mutex_);
  for (const Entry& one : entries_)
    if (one.action.id == id && one.over) return one.done;
  return std::nullopt;
}

// Who records already, before T0.
void JobActions::Ask(Entry* entry) {
  const auto answers = AskProcesses(entry->action.processes, "status");
  for (size_t i = 0; i < answers.size(); ++i) {
    Done done;
    done.process = entry->action.processes[i];
    done.was_recording = answers[i].Text("state") == "recording";
    entry->done.push_back(std::move(done));
  }
}

void JobActions::Begin(Entry* entry) {
  const auto answers = AskProcesses(entry->action.processes, entry->action.request);
  const uint64_t now = base::ClockNs(CLOCK_REALTIME);
  for (size_t i = 0; i < answers.size(); ++i) {
    Done& done = entry->done[i];
    done.at_ns = now;
    if (answers[i].outcome != launch::ControlAnswer::kDone)
      done.error = answers[i].error.empty() ? "it did not answer" : answers[i].error;
  }
}

// Who recorded before goes on.
void JobActions::End(Entry* entry) {
  std::vector<Process> started;
  for (const Done& done : entry->done)
    if (!done.was_recording && done.error.empty()) started.push_back(done.process);
  const auto answers = AskProcesses(started, "stop");
  const uint64_t now = base::ClockNs(CLOCK_REALTIME);
  size_t next = 0;
  for (Done& done : entry->done) {
    if (done.was_recording || !done.error.empty()) continue;
    done.stopped_ns = now;
    if (answers[next].outcome != launch::ControlAnswer::kDone)
      done.error = "started, but not stopped again: " + answers[next].error;
    ++next;
  }
}

void JobActions::Run() {
  base::UniqueLock lock(mutex_);
  while (!stop_) {
    const uint64_t now = base::ClockNs(CLOCK_REALTIME);
    Entry* due = nullptr;
    uint64_t next = now + kSecond;
    for (Entry& one : entries_) {
      if (one.over) continue;
      next = std::min(next, one.due());
      if (one.due() <= now && due == nullptr) due = &one;
    }
    if (due == nullptr) {
      changed_.WaitFor(mutex_, std::chrono::nanoseconds(next - now));
      continue;
    }
    // Recorders may take seconds to answer. Entries stay where they are while they are not over.
    lock.unlock();
    const bool asked = due->asked, begun = due->begun;
    if (!asked)
      Ask(due);
    else if (!begun)
      Begin(due);
    else
      End(due);
    lock.lock();
    due->over = begun || (asked && due->action.until_ns == 0);
    due->begun = asked;
    due->asked = true;
  }
}

}  // namespace rochound::fleet
