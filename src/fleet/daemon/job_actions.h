// SPDX-License-Identifier: MIT
//
// Starts and stops recorders at a time that was agreed on: a request says when, the daemon answers
// at once, and this thread does it when its clock says so. What became of it is asked for
// afterwards. Bounded: few requests wait at a time, none for more than an hour, and those that are
// too late are refused. Any thread may call; one thread of its own, which ends with the object.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace rochound::fleet {

// The kernel's bound of how wrong this host's clock may be, in nanoseconds; -1: it is not kept in
// step with others.
int64_t ClockErrorNs();

class JobActions {
 public:
  struct Process {
    int64_t rank = -1;
    pid_t process = 0;
  };
  struct Action {
    std::string id;         // who asks chooses it
    std::string request;    // start or stop, as recorders know them
    uint64_t at_ns = 0;     // CLOCK_REALTIME
    uint64_t until_ns = 0;  // of a start: when those stop again that it has started; 0: never
    std::vector<Process> processes;
  };
  struct Done {
    Process process;
    uint64_t at_ns = 0;       // when it had answered
    uint64_t stopped_ns = 0;  // and been stopped again
    bool was_recording = false;
    std::string error;
  };

  JobActions();
  ~JobActions();
  JobActions(const JobActions&) = delete;
  JobActions& operator=(const JobActions&) = delete;

  // Why not; empty: it will be done.
  std::string Add(Action action);
  // Nothing: it is not done yet, or not known.
  std::optional<std::vector<Done>> Outcome(const std::string& id);

 private:
  struct Entry {
    Action action;
    std::vector<Done> done;
    bool asked = false, begun = false, over = false;
    uint64_t due() const {
      if (!asked) return action.at_ns - kAskBeforeNs;
      return begun ? action.until_ns : action.at_ns;
    }
  };
  // Recorders may take a second to answer.
  static constexpr uint64_t kAskBeforeNs = 1'500'000'000;

  void Run();
  static void Ask(Entry* entry);
  static void Begin(Entry* entry);
  static void End(Entry* entry);

  base::Mutex mutex_;
  base::Condition changed_;
  std::list<Entry> entries_ ROCHOUND_GUARDED_BY(mutex_);
  bool stop_ ROCHOUND_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace rochound::fleet
