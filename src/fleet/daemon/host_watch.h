// SPDX-License-Identifier: MIT
//
// What the daemon knows about its host: the recorded processes, how far their logs were read, the
// sketches of intervals that are not over, and messages that were not acknowledged. All of it is on
// disk after each Step, replaced at once, so that a daemon that was killed goes on without counting
// anything twice: it reads again what it had read since, and makes the same messages again.
// docs/formats/fleet.md says what a message is. One thread; the spool may be read on another.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "fleet/daemon/code_objects.h"
#include "fleet/daemon/launch_counter.h"
#include "fleet/daemon/owner_files.h"
#include "fleet/daemon/rccl_calls.h"
#include "fleet/daemon/recorders.h"
#include "fleet/daemon/spool.h"
#include "trace/follower.h"
#include "trace/log_name.h"

namespace rochound::fleet {

struct WatchOptions {
  std::filesystem::path state;  // a folder of the daemon's own
  std::string tenant = "default";
  std::string host;
  uint32_t shards = 1;  // streams that sketches are spread over, by job
  uint64_t interval_ns = 60'000'000'000;
  uint64_t grace_ns = 5'000'000'000;  // how long after its end an interval still takes launches
  uint64_t spool_bytes = uint64_t{256} << 20;
  // How long the state on disk may be behind. What was read since is read again after a kill.
  uint64_t save_ns = 0;
  std::vector<std::filesystem::path> logs;  // folders with logs beside those of running recorders
  CodeStore* code_store = nullptr;          // null: code objects are hashed and not kept
  bool find_recorders = true;
};

// A launch that has not ended.
struct InFlight {
  std::string kernel;
  uint32_t queue = 0;
  uint64_t since_ns = 0;  // how long ago it was submitted
};

// What a process does, as far as can be told from outside.
struct ProcessBeat {
  JobPlace place;
  pid_t process = 0;
  std::filesystem::path log;  // empty: of a process that has ended
  std::string state;          // running, stopped, uninterruptible, ended
  uint64_t dispatches = 0;
  uint64_t launches = 0;
  uint64_t open = 0;             // launches without a time
  std::vector<InFlight> oldest;  // the oldest of them, a few
  // Launches of kernels of the collectives' library, by which ranks can be compared.
  uint64_t collectives = 0;
  uint64_t last_end_ns = 0;         // CLOCK_REALTIME; 0: none yet
  uint64_t recorder_silent_ns = 0;  // since its recorder last looked after the log
  bool exact = true;                // every record was seen: operations of RCCL are all counted
  // As in a card (docs/formats/fleet.md).
  nlohmann::json open_calls, communicators;
};

class HostWatch {
 public:
  explicit HostWatch(WatchOptions options) : options_(std::move(options)) {}
  ~HostWatch();
  HostWatch(const HostWatch&) = delete;
  HostWatch& operator=(const HostWatch&) = delete;

  // Reads the state that an earlier daemon left, if any. Refused while another one has it.
  base::Result<void> Open();

  // Reads what is new in all logs, makes messages of intervals that are over, and saves if there
  // are any, or if it is time. `seal`: messages of intervals that are not over, too. Failure, on a
  // full disk for instance: goes back to what is on disk, as after a kill, and tries again after a
  // pause that grows; the logs keep what was not read meanwhile.
  base::Result<void> Step(bool seal = false);

  Spool& spool() { return spool_; }
  const std::string& epoch() const { return epoch_; }
  size_t processes() const { return processes_.size(); }
  uint64_t records() const { return records_; }  // read since Open
  // Of all processes that are followed, and of those that ended within the last hour.
  std::vector<ProcessBeat> Beats();

 private:
  struct Process {
    Process(const std::filesystem::path& folder, uint64_t interval_ns)
        : name(trace::ParseLogName(folder)),
          follower(folder, OpenerOf(folder)),
          code(folder),
          rccl(folder),
          counter(interval_ns) {}
    trace::LogName name;
    JobPlace place;
    std::string rocm;  // release of the runtime that it uses; empty: not known yet
    trace::Follower follower;
    CodeObjects code;
    RcclCalls rccl;
    LaunchCounter counter;
    uint64_t lost_chunks = 0;
    uint64_t damaged_chunks = 0;      // that a look has found; each finds the same ones
    std::optional<ProcessBeat> last;  // of a process that has ended: what it was in then
    LaunchCounter::Totals reported;   // losses that were put into messages
    char state = 0;
    bool ended = false;
  };
  struct Loss {
    std::string job, what;
    int64_t rank = -1;
    pid_t process = 0;
    auto operator<=>(const Loss&) const = default;
  };
  // Rows of one message.
  using Batch = std::pair<std::string, uint64_t>;  // job, interval

  base::Result<void> TryStep(bool seal);
  base::Result<void> GoBack();
  void Discover();
  void Follow(const std::filesystem::path& folder);
  void Poll(Process& process);
  void Lose(const Process& process, const std::string& what, uint64_t count);
  // Intervals before this one, and those that are in the future.
  base::Result<void> Seal(uint64_t before);
  ProcessBeat BeatOf(Process& process);
  void AddRccl(Process& process, ProcessBeat* beat);
  std::string NameOf(Process& process, uint32_t kernel);
  nlohmann::json Rows(Process& process, const LaunchCounter::Sketches& sketches);
  base::Result<void> AddMessage(const std::string& job, uint64_t interval, nlohmann::json rows);
  void BoundSpool(std::vector<uint64_t>* dropped);
  base::Result<void> Save() const;
  bool Restore(const nlohmann::json& saved);

  WatchOptions options_;
  int lock_ = -1;
  std::string epoch_;
  uint64_t last_number_ = 0;                   // of a message
  std::map<uint32_t, uint64_t> shard_counts_;  // messages for each shard so far
  std::map<std::filesystem::path, std::unique_ptr<Process>> processes_;
  std::set<std::filesystem::path> done_;  // logs that were read to their end and are still there
  std::map<Loss, uint64_t> losses_;       // not yet in a message
  struct Ended {
    ProcessBeat beat;
    uint64_t at_ns;
  };
  std::vector<Ended> ended_;
  Spool spool_;
  uint64_t records_ = 0;
  bool changed_ = true;                   // in a way that must be on disk at once
  uint64_t retry_ns_ = 0, pause_ns_ = 0;  // after a failure, CLOCK_MONOTONIC
  uint64_t saved_ns_ = 0;
};

}  // namespace rochound::fleet
