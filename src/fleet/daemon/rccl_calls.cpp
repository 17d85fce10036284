// SPDX-License-Identifier: MIT
#include "fleet/daemon/rccl_calls.h"

#include <algorithm>

#include "base/files.h"
#include "base/hash.h"
#include "base/parse.h"

namespace rochound::fleet {
namespace {

using nlohmann::json;
using trace::Kind;

constexpr size_t kRecent = 8;           // operations of a line
constexpr size_t kMostPending = 64;     // calls of a thread that have not returned
constexpr size_t kMostDispatches = 64;  // of a thread that are looked through for RCCL's
constexpr size_t kMostThreads = 1024;
constexpr size_t kMostCommunicators = 256;
constexpr size_t kMostLines = 1024;  // of a communicator
constexpr size_t kMostWords = 256;
constexpr size_t kMostGrouped = 4096;
constexpr size_t kLongestId = 256;                       // of a communicator
constexpr uint64_t kMostFunctions = uint64_t{16} << 20;  // bytes of the file

constexpr std::string_view kRccl = "rccl";  // domain

// A call's words by the names of its arguments.
class Arguments {
 public:
  Arguments(const trace::Function& function, const std::vector<uint64_t>& words)
      : function_(function), words_(words) {}

  std::optional<uint64_t> Get(std::string_view name, size_t offset = 0) const {
    const trace::Argument* const argument = Find(name);
    if (argument == nullptr || argument->word + offset >= words_.size()) return std::nullopt;
    return words_[argument->word + offset];
  }
  int64_t Number(std::string_view name) const {
    const auto word = Get(name);
    return word ? static_cast<int64_t>(static_cast<int32_t>(*word)) : -1;
  }
  // A unique id is 128 random bytes; its hash is a name that can be read.
  std::string UniqueId() const {
    const trace::Argument* const id = Find("commId");
    if (id == nullptr || size_t{id->word} + id->words > words_.size()) return {};
    uint64_t hash = base::kFnvOffset;
    for (size_t i = 0; i < id->words; ++i) {
      const uint64_t word = words_[id->word + i];
      hash = base::Fnv1a64({reinterpret_cast<const char*>(&word), sizeof word}, hash);
    }
    return base::Hex64(hash);
  }

 private:
  const trace::Argument* Find(std::string_view name) const {
    const int found = function_.Find(name);
    return found < 0 ? nullptr : &function_.arguments[static_cast<size_t>(found)];
  }

  const trace::Function& function_;
  const std::vector<uint64_t>& words_;
};

bool IsCollective(std::string_view name) {
  for (const char* start :
       {"ncclAll", "ncclReduce", "ncclBroadcast", "ncclBcast", "ncclGather", "ncclScatter"})
    if (name.starts_with(start)) return true;
  return false;
}

std::optional<RcclLine> LineOf(std::string_view name, const Arguments& arguments) {
  if (IsCollective(name)) return RcclLine{};
  if (name == "ncclSend") return RcclLine{RcclLine::Kind::kSend, arguments.Number("peer")};
  if (name == "ncclRecv") return RcclLine{RcclLine::Kind::kReceive, arguments.Number("peer")};
  return std::nullopt;
}

RcclOperation OperationOf(const std::string& name, const Arguments& arguments) {
  RcclOperation operation;
  operation.function = name;
  for (const char* count : {"count", "sendcount", "recvcount"})
    if (const auto word = arguments.Get(count)) {
      operation.count = *word;
      break;
    }
  operation.datatype = arguments.Number("datatype");
  operation.operation = arguments.Number("op");
  operation.root = arguments.Number("root");
  return operation;
}

// The handle that a call gave back.
uint64_t MadeHandle(const Arguments& arguments) {
  for (const char* name : {"newcomm", "comm"})
    if (const auto handle = arguments.Get(name, 1)) return *handle;
  return 0;
}

bool MakesOfId(std::string_view name) {
  return name == "ncclCommInitRank" || name == "ncclCommInitRankConfig";
}

}  // namespace

const trace::Function* RcclCalls::FindFunction(uint16_t id) {
  struct stat status{};
  if (!read_functions_ && version_.Changed(log_ / "functions", &status))
    if (const auto text = trace::ReadFileBy(open_, log_ / "functions", kMostFunctions); text.ok()) {
      std::string_view lines = text.value();
      while (!lines.empty())
        if (auto function = trace::ParseFunction(base::TakeUntil(&lines, '\n')))
          functions_[function->first] = std::move(function->second);
      read_functions_ = true;
    }
  const auto found = functions_.find(id);
  return found == functions_.end() ? nullptr : &found->second;
}

std::string RcclCalls::FunctionName(uint16_t id) {
  const trace::Function* function = FindFunction(id);
  if (function == nullptr) {
    // The recorder adds functions that are newer than itself when they are called.
    read_functions_ = false;
    function = FindFunction(id);
  }
  return function == nullptr ? "" : function->name;
}

void RcclCalls::OnRecord(const trace::Head& head, const char* record) {
  switch (head.kind) {
    case Kind::kApiArguments:
      OnArguments(head, *reinterpret_cast<const trace::ApiArguments*>(record));
      break;
    case Kind::kApiCall:
      OnCall(*reinterpret_cast<const trace::ApiCall*>(record));
      break;
    case Kind::kKernelDispatch: {
      const auto& dispatch = *reinterpret_cast<const trace::KernelDispatch*>(record);
      if (dispatch.correlation == 0) break;
      auto& last = ThreadOf(dispatch.correlation).dispatches;
      last.emplace_back(dispatch.dispatch, dispatch.submit_tsc);
      if (last.size() > kMostDispatches) last.pop_front();
      break;
    }
    default:
      break;
  }
}

RcclCalls::Thread& RcclCalls::ThreadOf(uint64_t correlation) {
  const uint64_t index = correlation >> 40;
  if (index != last_index_) {
    if (threads_.size() >= kMostThreads && !threads_.contains(index)) BoundThreads();
    last_index_ = index;
    last_ = &threads_[index];
  }
  return *last_;
}

// Those that are in no call and no group have nothing that is needed; else the oldest goes.
void RcclCalls::BoundThreads() {
  std::erase_if(threads_, [](const auto& entry) {
    return entry.second.pending.empty() && entry.second.group == 0;
  });
  if (threads_.size() < kMostThreads) return;
  threads_.erase(threads_.begin());
  ++given_up_;
  gave_up_ = true;
}

void RcclCalls::OnArguments(const trace::Head& head, const trace::ApiArguments& arguments) {
  auto& pending = ThreadOf(arguments.correlation).pending;
  auto one = std::find_if(pending.rbegin(), pending.rend(), [&](const Words& words) {
    return words.correlation == arguments.correlation;
  });
  if (one == pending.rend()) {
    if (pending.size() >= kMostPending) pending.erase(pending.begin());
    if (spare_.empty()) spare_.emplace_back();
    pending.push_back({arguments.correlation, std::move(spare_.back())});
    spare_.pop_back();
    one = pending.rbegin();
    one->words.clear();
  }
  const size_t count = std::min<size_t>(head.small, std::size(arguments.words));
  if (head.wide + count > kMostWords) return;
  if (one->words.size() < head.wide + count) one->words.resize(head.wide + count);
  std::copy_n(arguments.words, count, one->words.begin() + static_cast<ptrdiff_t>(head.wide));
}

void RcclCalls::OnCall(const trace::ApiCall& call) {
  Thread& thread = ThreadOf(call.correlation);
  words_.clear();
  // Calls count upwards: what came after this one was inside of it and never got its own record.
  while (!thread.pending.empty() && thread.pending.back().correlation >= call.correlation) {
    if (thread.pending.back().correlation == call.correlation)
      std::swap(words_, thread.pending.back().words);
    spare_.push_back(std::move(thread.pending.back().words));
    thread.pending.pop_back();
  }
  const trace::Function* const function = FindFunction(call.head.small);
  if (function == nullptr || function->domain != kRccl) return;
  // Of what RCCL calls by itself, inside of a call of the program, only that one counts.
  if (thread.pending.empty()) Called(*function, words_, call, thread);
}

void RcclCalls::Called(const trace::Function& function, const std::vector<uint64_t>& words,
                       const trace::ApiCall& call, Thread& thread) {
  const Arguments arguments(function, words);
  if (function.name == "ncclGroupStart") {
    ++thread.group;
  } else if (function.name == "ncclGroupEnd") {
    if (thread.group != 0) --thread.group;
    if (thread.group != 0) return;
    Launched(call, thread, thread.grouped);
    thread.grouped.clear();
  } else if (const auto line = LineOf(function.name, arguments)) {
    const uint64_t handle = arguments.Get("comm").value_or(0);
    RcclCommunicator& communicator = Communicator(handle);
    if (communicator.lines.size() >= kMostLines && !communicator.lines.contains(*line)) return;
    RcclLineState& state = communicator.lines[*line];
    RcclOperation operation = OperationOf(function.name, arguments);
    operation.number = ++state.calls;
    operation.begin_tsc = call.begin_tsc;
    const Place place{handle, *line, operation.number};
    state.recent.push_back(std::move(operation));
    if (state.recent.size() > kRecent) state.recent.pop_front();
    if (thread.group == 0)
      Launched(call, thread, {place});
    else if (thread.grouped.size() < kMostGrouped)
      thread.grouped.push_back(place);
  } else if (MakesOfId(function.name) || function.name == "ncclCommSplit") {
    MakeCommunicator(function, words);
  } else if (function.name == "ncclCommDestroy" || function.name == "ncclCommAbort") {
    communicators_.erase(arguments.Get("comm").value_or(0));
  }
}

// Kernels that were dispatched during this call, on its thread.
void RcclCalls::Launched(const trace::ApiCall& call, const Thread& thread,
                         const std::vector<Place>& places) {
  for (const auto& [dispatch, submitted] : thread.dispatches)
    if (submitted >= call.begin_tsc && submitted <= call.end_tsc)
      for (const Place& place : places)
        if (RcclOperation* const operation = Find(place)) operation->kernels.push_back(dispatch);
}

void RcclCalls::MakeCommunicator(const trace::Function& function,
                                 const std::vector<uint64_t>& words) {
  const Arguments arguments(function, words);
  const uint64_t handle = MadeHandle(arguments);
  RcclCommunicator made;
  if (function.name == "ncclCommSplit") {
    // Every rank of the parent calls it, also those that get nothing.
    RcclCommunicator& parent = Communicator(arguments.Get("comm").value_or(0));
    made.parent = parent.id;
    made.key = arguments.Number("key");
    if (!parent.id.empty())
      made.id = parent.id + "/" + std::to_string(++parent.splits) + "." +
                std::to_string(arguments.Number("color"));
    // Parts of parts of parts have longer and longer ones. All ranks make the same of it.
    if (made.id.size() > kLongestId) made.id = base::Hex64(base::Fnv1a64(made.id));
  } else {
    made.id = arguments.UniqueId();
    made.ranks = arguments.Number("nranks");
    made.rank = arguments.Number("myrank");
  }
  if (handle == 0) return;
  if (communicators_.size() >= kMostCommunicators && !communicators_.contains(handle)) return;
  communicators_[handle] = std::move(made);
}

RcclCommunicator& RcclCalls::Communicator(uint64_t handle) {
  // Beyond the most, they are one that is not known.
  if (communicators_.size() >= kMostCommunicators && !communicators_.contains(handle)) handle = 0;
  return communicators_[handle];
}

RcclOperation* RcclCalls::Find(const Place& place) {
  const auto communicator = communicators_.find(place.communicator);
  if (communicator == communicators_.end()) return nullptr;
  const auto line = communicator->second.lines.find(place.line);
  if (line == communicator->second.lines.end()) return nullptr;
  for (RcclOperation& operation : line->second.recent)
    if (operation.number == place.number) return &operation;
  return nullptr;
}

std::optional<RcclCalls::Waiting> RcclCalls::Open(uint16_t id, uint64_t correlation) {
  const trace::Function* const function = FindFunction(id);
  if (function == nullptr || function->domain != kRccl) return std::nullopt;
  Waiting waiting;
  waiting.function = function->name;
  const auto thread = threads_.find(correlation >> 40);
  if (thread == threads_.end()) return waiting;
  for (const Words& pending : thread->second.pending) {
    if (pending.correlation != correlation) continue;
    const Arguments arguments(*function, pending.words);
    if (MakesOfId(function->name)) {
      waiting.id = arguments.UniqueId();
      waiting.ranks = arguments.Number("nranks");
      waiting.rank = arguments.Number("myrank");
    } else {
      waiting.communicator = arguments.Get("comm").value_or(0);
    }
    waiting.line = LineOf(function->name, arguments);
    waiting.operation = OperationOf(function->name, arguments);
    if (waiting.line)
      if (const auto known = communicators_.find(waiting.communicator);
          known != communicators_.end())
        if (const auto line = known->second.lines.find(*waiting.line);
            line != known->second.lines.end())
          waiting.operation.number = line->second.calls;
    ++waiting.operation.number;
  }
  return waiting;
}

json RcclCalls::Save() const {
  json communicators = json::array(), threads = json::array();
  for (const auto& [handle, one] : communicators_) {
    json lines = json::array();
    for (const auto& [line, state] : one.lines) {
      json recent = json::array();
      for (const RcclOperation& operation : state.recent)
        recent.push_back({operation.number, operation.function, operation.count, operation.datatype,
                          operation.operation, operation.root, operation.begin_tsc,
                          operation.kernels});
      lines.push_back({static_cast<int>(line.kind), line.peer, state.calls, recent});
    }
    communicators.push_back(
        {handle, one.id, one.ranks, one.rank, one.parent, one.key, one.splits, lines});
  }
  for (const auto& [index, thread] : threads_) {
    json pending = json::array(), grouped = json::array();
    for (const Words& words : thread.pending) pending.push_back({words.correlation, words.words});
    for (const Place& place : thread.grouped)
      grouped.push_back(
          {place.communicator, static_cast<int>(place.line.kind), place.line.peer, place.number});
    // Later calls launch kernels of their own.
    if (pending.empty() && thread.group == 0) continue;
    threads.push_back({index, pending, thread.dispatches, thread.group, grouped});
  }
  return {{"communicators", communicators}, {"threads", threads}};
}

bool RcclCalls::Restore(const json& saved) try {
  const auto line_of = [](const json& kind, const json& peer) {
    return RcclLine{static_cast<RcclLine::Kind>(kind.get<int>()), peer};
  };
  for (const json& one : saved.at("communicators")) {
    RcclCommunicator& communicator = communicators_[one.at(0)];
    communicator.id = one.at(1);
    communicator.ranks = one.at(2);
    communicator.rank = one.at(3);
    communicator.parent = one.at(4);
    communicator.key = one.at(5);
    communicator.splits = one.at(6);
    for (const json& line : one.at(7)) {
      RcclLineState& state = communicator.lines[line_of(line.at(0), line.at(1))];
      state.calls = line.at(2);
      for (const json& two : line.at(3))
        state.recent.push_back({two.at(0), two.at(1), two.at(2), two.at(3), two.at(4), two.at(5),
                                two.at(6), two.at(7).get<std::vector<uint64_t>>()});
    }
  }
  for (const json& one : saved.at("threads")) {
    Thread& thread = threads_[one.at(0)];
    for (const json& two : one.at(1))
      thread.pending.push_back({two.at(0), two.at(1).get<std::vector<uint64_t>>()});
    for (const json& two : one.at(2)) thread.dispatches.emplace_back(two.at(0), two.at(1));
    thread.group = one.at(3);
    for (const json& two : one.at(4))
      thread.grouped.push_back({two.at(0), line_of(two.at(1), two.at(2)), two.at(3)});
  }
  return true;
} catch (const json::exception&) {
  return false;
}

}  // namespace rochound::fleet
