// SPDX-License-Identifier: MIT
//
// Reads a run's flight log, whatever became of the run: ended, killed at any instant, or still
// going on. Used by offline code, one thread per object. Opening looks at every record once
// (counts, clocks, kernels, queues); Visit then streams them as events, each thread's in the order
// they were written, with times converted to nanoseconds of CLOCK_MONOTONIC. Memory does not grow
// with the number of records.
//
// Failure: a folder that is no log is an Error. What is damaged inside a log is left out and told
// by `problems`; damaged or hostile files never crash the reader.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/chunk_reader.h"
#include "trace/clock_line.h"
#include "trace/functions.h"
#include "trace/open_file.h"
#include "trace/records.h"
#include "trace/strings_file.h"

namespace rochound::trace {

struct Thread {
  uint32_t index;  // in the log, as in correlations
  uint32_t tid;    // the system's; 0: the recorder's own log
};

// A record with its times. A record with one time has it in both.
template <typename T>
struct Event {
  Thread thread;
  const T& record;
  uint64_t begin_ns;
  uint64_t end_ns;
};

struct TextArgument {
  uint32_t argument;
  uint64_t total;         // length of the whole string
  std::string_view text;  // what was recorded of it
};

// A call with everything that was written about it.
struct CallEvent {
  Thread thread;
  uint16_t function;
  uint32_t result;
  uint64_t begin_ns;
  uint64_t end_ns;
  uint64_t correlation;
  std::span<const uint64_t> words;
  std::span<const TextArgument> texts;
  std::span<const uint64_t> frames;
};

// Overridden by whoever wants the events. What an event points to is gone after the call.
class Visitor {
 public:
  virtual ~Visitor() = default;

  virtual void OnCall(const CallEvent&) {}
  virtual void OnDispatch(const Event<KernelDispatch>&) {}
  virtual void OnKernelTime(const Event<KernelTime>&) {}  // both times zero: lost
  virtual void OnCopy(const Event<Copy>&) {}
  virtual void OnCopyTime(const Event<CopyTime>&) {}  // both times zero: lost
  virtual void OnAllocation(const Event<Allocation>&) {}
  virtual void OnRelease(const Event<Release>&) {}
  virtual void OnRange(const Event<Range>&) {}
  virtual void OnQueue(const Event<Queue>&) {}
  virtual void OnDropped(const Event<Dropped>&) {}
  virtual void OnStateChange(const Event<StateChange>&) {}
  virtual void OnOverhead(const Event<Overhead>&) {}
  virtual void OnThreadEnd(const Event<ThreadEnd>&) {}
  virtual void OnSwap(const Event<Swap>&) {}

  // After each chunk. False: enough.
  virtual bool OnProgress(uint64_t /*records_done*/, uint64_t /*records*/) { return true; }
};

// From the text files that the agent wrote.
struct Agent {
  uint16_t index = 0;
  uint32_t node = 0;
  bool gpu = false;
  std::string name;     // gfx942
  std::string product;  // AMD Instinct MI300X
  std::string uuid;
};

struct OpenCall {
  uint32_t thread;
  uint32_t tid;
  uint16_t function;
  uint64_t begin_ns;
  uint64_t correlation;
};

// A part of the process's life that the log does not hold.
struct Unrecorded {
  uint64_t begin_ns;
  uint64_t end_ns;
  std::string why;
};

class ProcessLog {
 public:
  static base::Result<std::unique_ptr<ProcessLog>> Open(const std::filesystem::path& folder,
                                                        OpenFile open = base::OpenRegularFile);

  // All events, in the order of the chunks they are in.
  base::Result<void> Visit(Visitor& visitor) const;

  // All records as they are, in that order: visit(const Thread&, const Head&, const char* record).
  // False from `visit`: enough.
  template <typename Callback>
  void ForEachRecord(Callback visit) const;

  const std::filesystem::path& folder() const { return folder_; }
  uint32_t pid() const { return pid_; }
  // A line of the info file; empty: not there.
  std::string_view Info(std::string_view key) const;
  const std::vector<Agent>& agents() const { return agents_; }
  const Function* FindFunction(uint16_t id) const;
  const std::map<uint16_t, Function>& functions() const { return functions_; }
  std::optional<std::string_view> String(uint32_t id) const;
  // By kernel symbol id and by queue index.
  const std::map<uint32_t, KernelSymbol>& kernels() const { return kernels_; }
  const std::map<uint32_t, Queue>& queues() const { return queues_; }

  const ClockLine& host_clock() const { return host_clock_; }
  // Of an agent index, or kNoAgent or kSystemClock, as in CopyTime.
  const ClockLine& ClockOf(uint16_t agent) const;
  // CLOCK_REALTIME minus CLOCK_MONOTONIC, at the first anchor.
  int64_t realtime_offset_ns() const { return realtime_offset_ns_; }

  // What there is. By kind; kinds that this reader does not know are counted as kind 0.
  const std::array<uint64_t, kKinds>& counts() const { return counts_; }
  uint64_t records() const { return records_; }
  uint64_t record_bytes() const { return record_bytes_; }
  uint64_t file_bytes() const { return file_bytes_; }  // as allocated on disk
  uint64_t first_ns() const { return host_clock_.At(first_tsc_); }
  uint64_t last_ns() const { return host_clock_.At(last_tsc_); }
  // The recorder's life in the process: from when the log was made to when it was last seen alive,
  // so not before the first record and not after the last one.
  uint64_t begin_ns() const { return host_clock_.At(begin_tsc_); }
  uint64_t end_ns() const { return host_clock_.At(end_tsc_); }
  const std::map<uint32_t, uint32_t>& threads() const { return threads_; }  // index -> tid
  // Calls that had not returned when the log was last written, outermost first.
  const std::vector<OpenCall>& open_calls() const { return open_calls_; }

  // What there is not.
  // In order, without overlaps: paused, not yet started, or dropped because only the last part was
  // to be kept. All records of a thread that fall into the latter may be there or not.
  const std::vector<Unrecorded>& unrecorded() const { return unrecorded_; }
  // Times before this one may have lost records because only the last part was to be kept; 0: none.
  uint64_t recycled_ns() const { return recycled_tsc_ == 0 ? 0 : host_clock_.At(recycled_tsc_); }
  uint64_t Dropped(DropReason reason) const;
  uint64_t unknown_reasons_dropped() const;
  // The recorder ended in order. Otherwise the process was killed, or runs on.
  bool finished() const { return finished_; }
  bool running() const { return running_; }
  // The process became another program, which has a log of its own.
  bool replaced() const { return replaced_; }
  // Doubtful or damaged data, in words.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  ProcessLog(std::filesystem::path folder, OpenFile open)
      : folder_(std::move(folder)), open_(std::move(open)) {}

  base::Result<void> FindSegments();
  void Scan();
  void CountRecord(const Head& head, const char* record);
  void LoadStrings();
  void LoadInfo();
  void LoadFunctions();
  void MakeClocks();
  void FindUnrecorded();
  void Problem(std::string text);

  std::filesystem::path folder_;
  OpenFile open_;
  std::vector<SegmentFile> segments_;
  std::vector<ChunkPlace> chunks_;  // in order
  uint32_t pid_ = 0;

  std::map<std::string, std::string, std::less<>> info_;
  std::vector<Agent> agents_;
  std::map<uint16_t, Function> functions_;
  StringsFile strings_;
  std::map<uint32_t, KernelSymbol> kernels_;
  std::map<uint32_t, Queue> queues_;

  std::vector<HostAnchor> host_anchors_;
  std::map<uint16_t, std::vector<GpuAnchor>> gpu_anchors_;
  ClockLine host_clock_;
  ClockLine system_clock_;
  std::map<uint16_t, ClockLine> gpu_clocks_;
  ClockLine no_clock_;
  std::vector<bool> timed_agents_ = std::vector<bool>(1 << 16);  // that kernel times are of
  int64_t realtime_offset_ns_ = 0;

  std::array<uint64_t, kKinds> counts_{};
  uint64_t records_ = 0;
  uint64_t record_bytes_ = 0;
  uint64_t file_bytes_ = 0;
  uint64_t first_tsc_ = UINT64_MAX;
  uint64_t last_tsc_ = 0;
  uint64_t begin_tsc_ = 0, end_tsc_ = 0, recycled_tsc_ = 0;
  std::vector<StateChange> states_;
  std::vector<Unrecorded> unrecorded_;
  std::map<uint32_t, uint32_t> threads_;
  std::vector<OpenCall> open_calls_;
  std::array<uint64_t, kDropReasons> dropped_{};
  bool finished_ = false;
  bool running_ = false;
  bool replaced_ = false;
  std::vector<std::string> problems_;
};

// Whether this is a run's folder with the log of some process in it, or one process's. A folder
// that cannot be read is none.
bool IsLogFolder(const std::filesystem::path& folder);

// A run: one folder with a folder for each process.
class RunLog {
 public:
  // Also takes a single process's folder.
  static base::Result<RunLog> Open(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return folder_; }
  // By start. A process whose log cannot be read at all is in `problems`.
  const std::vector<std::unique_ptr<ProcessLog>>& processes() const { return processes_; }
  const std::vector<std::string>& problems() const { return problems_; }

  // Forgets all other processes.
  void Keep(const std::vector<uint32_t>& pids);

 private:
  std::filesystem::path folder_;
  std::vector<std::unique_ptr<ProcessLog>> processes_;
  std::vector<std::string> problems_;
};

template <typename Callback>
void ProcessLog::ForEachRecord(Callback visit) const {
  ChunkReader reader(&segments_, open_);
  Thread thread{};
  bool go_on = true;
  for (const ChunkPlace& place : chunks_) {
    if (!go_on) return;
    if (!reader.Read(place)) continue;
    reader.ForEach([&](const Head& head, const char* record) {
      if (head.kind == Kind::kThreadHere) {
        const auto& here = *reinterpret_cast<const ThreadHere*>(record);
        thread = {here.head.wide, here.tid};
      }
      go_on = go_on && visit(thread, head, record);
    });
  }
}

}  // namespace rochound::trace
