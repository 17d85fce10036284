// SPDX-License-Identifier: MIT
//
// What a process has asked of RCCL, from the recorded calls: its communicators, and for each the
// operations in the order in which they were called. The n-th collective of a communicator is one
// and the same on all its ranks; likewise the n-th message from one rank to another. So ranks can
// be compared without their help (fleet/hang). The daemon owns one per process, on its one thread.
// Memory is bounded: of each line of operations the last few are kept.
//
// Not seen: operations of HIP graphs that are launched again, and communicators that were made
// before the recording; calls on those are kept under an empty id.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fleet/daemon/file_version.h"
#include "fleet/daemon/owner_files.h"
#include "trace/functions.h"
#include "trace/open_file.h"
#include "trace/records.h"

namespace rochound::fleet {

struct RcclOperation {
  uint64_t number = 0;  // in its line, from 1
  std::string function;
  uint64_t count = 0;  // elements
  int64_t datatype = -1, operation = -1, root = -1;
  uint64_t begin_tsc = 0;
  std::vector<uint64_t> kernels;  // dispatches; none: not launched yet, as far as is known
};

// Operations that are counted together: a communicator's collectives, or its messages to or from
// one rank.
struct RcclLine {
  enum class Kind { kCollective, kSend, kReceive };
  Kind kind = Kind::kCollective;
  int64_t peer = -1;
  auto operator<=>(const RcclLine&) const = default;
};
struct RcclLineState {
  uint64_t calls = 0;
  std::deque<RcclOperation> recent;
};

struct RcclCommunicator {
  std::string id;  // the same on all ranks; empty: not known
  int64_t ranks = -1, rank = -1;
  // Made by ncclCommSplit: of which, and what decides the rank in it.
  std::string parent;
  int64_t key = 0;
  uint64_t splits = 0;  // that were made of it
  std::map<RcclLine, RcclLineState> lines;
};

class RcclCalls {
 public:
  explicit RcclCalls(std::filesystem::path log) : log_(std::move(log)), open_(OpenerOf(log_)) {}

  void OnRecord(const trace::Head& head, const char* record);

  const std::map<uint64_t, RcclCommunicator>& communicators() const { return communicators_; }

  // A call that has not returned. What it does, as far as its words are known.
  struct Waiting {
    std::string function;
    uint64_t communicator = 0;  // handle; 0: none, or not known
    std::string id;             // ncclCommInitRank: of the communicator that is being made
    int64_t ranks = -1, rank = -1;
    std::optional<RcclLine> line;
    RcclOperation operation;
  };
  // Nothing: it is no call of RCCL.
  std::optional<Waiting> Open(uint16_t function, uint64_t correlation);
  // Empty: not known.
  std::string FunctionName(uint16_t function);

  // Threads whose calls in flight were forgotten since too many had some, since the last time.
  uint64_t TakeGivenUp() { return std::exchange(given_up_, 0); }
  // Whether there ever were any.
  bool gave_up() const { return gave_up_; }

  nlohmann::json Save() const;
  bool Restore(const nlohmann::json& saved);

 private:
  struct Words {
    uint64_t correlation = 0;
    std::vector<uint64_t> words;
  };
  struct Place {  // of an operation
    uint64_t communicator;
    RcclLine line;
    uint64_t number;
  };
  struct Thread {
    std::vector<Words> pending;                            // of calls that have not returned
    std::deque<std::pair<uint64_t, uint64_t>> dispatches;  // number, time; the last few
    uint32_t group = 0;                                    // ncclGroupStart without its end
    std::vector<Place> grouped;
  };

  const trace::Function* FindFunction(uint16_t id);
  Thread& ThreadOf(uint64_t correlation);
  void BoundThreads();
  void OnArguments(const trace::Head& head, const trace::ApiArguments& arguments);
  void OnCall(const trace::ApiCall& call);
  void Called(const trace::Function& function, const std::vector<uint64_t>& words,
              const trace::ApiCall& call, Thread& thread);
  void MakeCommunicator(const trace::Function& function, const std::vector<uint64_t>& words);
  RcclCommunicator& Communicator(uint64_t handle);
  RcclOperation* Find(const Place& place);
  void Launched(const trace::ApiCall& call, const Thread& thread, const std::vector<Place>& places);

  std::filesystem::path log_;
  trace::OpenFile open_;
  FileVersion version_;  // of the functions file
  std::map<uint16_t, trace::Function> functions_;
  bool read_functions_ = false;
  std::map<uint64_t, RcclCommunicator> communicators_;  // by handle
  std::map<uint64_t, Thread> threads_;                  // by index in the log
  uint64_t given_up_ = 0;
  bool gave_up_ = false;
  // Most records are of the thread that the one before was of.
  uint64_t last_index_ = UINT64_MAX;
  Thread* last_ = nullptr;
  std::vector<uint64_t> words_;               // of the call that has just returned
  std::vector<std::vector<uint64_t>> spare_;  // memory for words
};

}  // namespace rochound::fleet
