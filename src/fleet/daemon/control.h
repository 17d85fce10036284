// SPDX-License-Identifier: MIT
//
// What a daemon answers to requests of the fleet's commands: cards of its ranks, which say what
// they do or wait for, and windows of their logs. Requests come on the bus's threads while the
// daemon's own goes on; they see what Update left last. Answers are JSON (docs/formats/fleet.md).
// Programs are not asked, since they may be stuck; but for recorders that are to start or stop.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "fleet/bus/bus.h"
#include "fleet/daemon/host_watch.h"
#include "fleet/daemon/job_actions.h"

namespace rochound::fleet {

// One message per job, with a beat of each of its processes.
std::map<std::string, std::string> BeatMessages(const std::string& host, int64_t clock_error_ns,
                                                const std::vector<ProcessBeat>& beats);

class Control {
 public:
  // staging: a folder of the daemon's own, for windows on their way to a storage.
  Control(std::string host, std::filesystem::path staging)
      : host_(std::move(host)), staging_(std::move(staging)) {}

  base::Result<void> Serve(Bus& bus, const std::string& tenant);
  void Update(HostWatch& watch);

  // The answer; nothing: the request is not for us, or about a job of which nothing is here.
  std::optional<std::string> Answer(std::string_view request);

 private:
  const std::string host_;
  const std::filesystem::path staging_;
  base::Mutex mutex_;
  std::vector<ProcessBeat> beats_ ROCHOUND_GUARDED_BY(mutex_);
  uint64_t beats_ns_ ROCHOUND_GUARDED_BY(mutex_) = 0;  // when they were, CLOCK_REALTIME
  JobActions actions_;
};

}  // namespace rochound::fleet
