// SPDX-License-Identifier: MIT
#include "fleet/daemon/host_watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <system_error>

#include "base/clock.h"
#include "base/files.h"
#include "base/hash.h"
#include "fleet/bus/names.h"

namespace rochound::fleet {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kStateVersion = 2;
constexpr int kMessageVersion = 1;
constexpr uint64_t kRememberNs = 3600'000'000'000;
constexpr uint64_t kFirstPauseNs = 100'000'000, kLongestPauseNs = 10'000'000'000;
// A clock that was set back leaves intervals in the future: they are not waited for.
constexpr uint64_t kFutureNs = 60'000'000'000;
constexpr size_t kMostEnded = 4096;
constexpr size_t kMostInFlight = 4;
constexpr size_t kLongestName = 4096;

// Kernels of RCCL, whose names NCCL gave.
bool IsCollective(std::string_view kernel) {
  return kernel.find("ncclDevKernel") != std::string_view::npos ||
         kernel.find("ncclKernel") != std::string_view::npos;
}

std::string NewEpoch() {
  std::random_device random;
  return base::Hex64(uint64_t{random()} << 32 | random());
}

json SavePosition(const trace::FollowerPosition& position) {
  json cursors = json::array();
  for (const trace::ChunkCursor& one : position.cursors)
    cursors.push_back({one.segment, one.chunk, one.order, one.used, one.closed});
  return {{"cursors", cursors}, {"seen", position.seen}, {"missing", position.missing}};
}

trace::FollowerPosition RestorePosition(const json& saved) {
  trace::FollowerPosition position;
  for (const json& one : saved.at("cursors"))
    position.cursors.push_back({one.at(0), one.at(1), one.at(2), one.at(3), one.at(4)});
  position.seen = saved.at("seen");
  position.missing = saved.at("missing").get<std::vector<uint32_t>>();
  return position;
}

std::string StateInWords(char state) {
  switch (state) {
    case 0:
    case 'Z':
    case 'X':
      return "ended";
    case 'T':
    case 't':
      return "stopped";
    case 'D':
      return "uninterruptible";
    default:
      return "running";
  }
}

const char* LineKindInWords(RcclLine::Kind kind) {
  switch (kind) {
    case RcclLine::Kind::kSend:
      return "send";
    case RcclLine::Kind::kReceive:
      return "receive";
    default:
      return "collective";
  }
}

}  // namespace

HostWatch::~HostWatch() {
  if (lock_ >= 0) close(lock_);
}

base::Result<void> HostWatch::Open() {
  std::error_code error;
  fs::create_directories(options_.state, error);
  if (error) return base::ErrnoError("cannot make", options_.state, error.value());
  const fs::path lock = options_.state / "lock";
  lock_ = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_ < 0) return base::ErrnoError("cannot open", lock, errno);
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0)
    return base::Error{fmt::format("another daemon uses '{}': give this one a --state of its own",
                                   options_.state.string())};
  if (fs::exists(options_.state / "state", error)) {
    ROCHOUND_TRY(const std::string content, base::ReadFile(options_.state / "state"));
    const json saved = json::from_cbor(content, true, false);
    if (saved.is_discarded() || !Restore(saved))
      return base::Error{fmt::format(
          "'{}' is damaged or of another release; without it launches would be counted twice. To "
          "start afresh, move the folder away",
          (options_.state / "state").string())};
  } else {
    epoch_ = NewEpoch();
  }
  return spool_.Open(options_.state / "spool", last_number_);
}

void HostWatch::Follow(const fs::path& folder) {
  if (processes_.contains(folder) || done_.contains(folder)) return;
  auto process = std::make_unique<Process>(folder, options_.interval_ns);
  // The environment is there only while the process is.
  process->place = FindJobPlace(process->name.process);
  if (trace::ProcessState(process->name) == 0) process->place = {"none", -1, -1};
  process->code.set_store(options_.code_store);
  processes_.emplace(folder, std::move(process));
  changed_ = true;
}

void HostWatch::Discover() {
  if (options_.find_recorders)
    for (const fs::path& folder : FindRecordedLogs()) Follow(folder);
  for (const fs::path& place : options_.logs)
    for (const fs::path& folder : ListLogs(place)) Follow(folder);
  std::error_code error;
  std::erase_if(done_, [&](const fs::path& folder) { return !fs::exists(folder, error); });
}

void HostWatch::Lose(const Process& process, const std::string& what, uint64_t count) {
  if (count == 0) return;
  losses_[{process.place.job, what, process.place.rank, process.name.process}] += count;
}

void HostWatch::Poll(Process& process) {
  // Looked at before the log: what a process wrote before it ended is in it now.
  process.state = trace::ProcessState(process.name);
  process.ended = StateInWords(process.state) == "ended";
  if (process.rocm.empty() && !process.ended) process.rocm = FindRocmRelease(process.name.process);
  const auto read = [&] {
    return process.follower.Poll([&](const trace::Head& head, const char* record) {
      process.counter.OnRecord(head, record);
      process.rccl.OnRecord(head, record);
    });
  };
  auto progress = read();
  // What a log lacks is known when it is looked at once more.
  if (process.ended && progress.ok()) {
    const uint64_t lost = progress.value().lost_chunks, records = progress.value().records;
    progress = read();
    if (progress.ok()) {
      progress.value().lost_chunks += lost;
      progress.value().records += records;
    }
  }
  if (!progress.ok()) {
    // A log that is not there yet is one that has just been made.
    std::error_code error;
    if (!process.ended && fs::exists(process.follower.folder(), error)) return;
    Lose(process, "logs removed before they were read to their end", 1);
    process.ended = true;
  } else {
    records_ += progress.value().records;
    Lose(process, "chunks recycled before they were read", progress.value().lost_chunks);
    process.lost_chunks += progress.value().lost_chunks;
    const uint64_t damaged = std::max(process.damaged_chunks, progress.value().damaged_chunks);
    Lose(process, "chunks damaged, or more than are followed", damaged - process.damaged_chunks);
    process.damaged_chunks = damaged;
    // The log was too much for one look: the process has not ended for us.
    if (progress.value().more) process.ended = false;
  }
  if (process.ended) {
    process.last = BeatOf(process);
    process.counter.Finish();
  }
  const LaunchCounter::Totals& now = process.counter.totals();
  LaunchCounter::Totals& told = process.reported;
  Lose(process, "records dropped by the recorder", now.dropped - told.dropped);
  Lose(process, "times of launches that were not seen", now.evicted_times - told.evicted_times);
  Lose(process, "launches that had not ended with their process", now.unfinished - told.unfinished);
  told = now;
  Lose(process, "threads whose calls of RCCL were given up", process.rccl.TakeGivenUp());
}

base::Result<void> HostWatch::Step(bool seal) {
  const uint64_t now = base::ClockNs(CLOCK_MONOTONIC);
  if (now < retry_ns_ && !seal) return {};
  auto done = TryStep(seal);
  if (done.ok()) {
    pause_ns_ = 0;
    return done;
  }
  pause_ns_ = std::clamp(2 * pause_ns_, kFirstPauseNs, kLongestPauseNs);
  retry_ns_ = now + pause_ns_;
  // What was taken out of the counters for messages that are not on disk is in the logs still.
  ROCHOUND_CHECK(GoBack());
  return done;
}

base::Result<void> HostWatch::GoBack() {
  processes_.clear();
  done_.clear();
  losses_.clear();
  shard_counts_.clear();
  last_number_ = 0;
  changed_ = true;
  std::error_code error;
  if (fs::exists(options_.state / "state", error)) {
    ROCHOUND_TRY(const std::string content, base::ReadFile(options_.state / "state"));
    const json saved = json::from_cbor(content, true, false);
    if (saved.is_discarded() || !Restore(saved)) return base::Error{"the state became unreadable"};
  }
  return spool_.Open(options_.state / "spool", last_number_);
}

base::Result<void> HostWatch::TryStep(bool seal) {
  Discover();
  for (auto& [folder, process] : processes_) Poll(*process);
  const uint64_t now = base::ClockNs(CLOCK_REALTIME);
  const uint64_t over = (now - std::min(now, options_.grace_ns)) / options_.interval_ns;
  ROCHOUND_CHECK(Seal(seal ? UINT64_MAX : over));
  std::erase_if(ended_, [&](const Ended& one) { return now - one.at_ns > kRememberNs; });
  std::erase_if(processes_, [&](const auto& entry) {
    if (!entry.second->ended) return false;
    changed_ = true;
    done_.insert(entry.first);
    if (ended_.size() < kMostEnded) {
      ended_.push_back({*entry.second->last, now});
      ended_.back().beat.log.clear();
    }
    return true;
  });
  std::vector<uint64_t> dropped;
  BoundSpool(&dropped);
  const uint64_t monotonic = base::ClockNs(CLOCK_MONOTONIC);
  if (!changed_ && dropped.empty() && monotonic - saved_ns_ < options_.save_ns) return {};
  ROCHOUND_CHECK(Save());
  changed_ = false;
  saved_ns_ = monotonic;
  spool_.Commit(last_number_);
  for (const uint64_t number : dropped) spool_.Remove(number);
  return {};
}

std::string HostWatch::NameOf(Process& process, uint32_t kernel) {
  if (kernel == LaunchCounter::kOthers) return "(others)";
  const auto& kernels = process.counter.kernels();
  const auto known = kernels.find(kernel);
  const auto name =
      known == kernels.end() ? std::nullopt : process.follower.String(known->second.name);
  if (!name) return fmt::format("(kernel {})", kernel);
  if (name->size() <= kLongestName) return std::string(*name);
  // Still another name than that of a kernel that begins like it.
  return fmt::format("{}... {}", name->substr(0, kLongestName), base::Hex64(base::Fnv1a64(*name)));
}

json HostWatch::Rows(Process& process, const LaunchCounter::Sketches& sketches) {
  // A kernel that was loaded twice has two ids.
  struct Key {
    std::string kernel, code_object;
    uint16_t agent;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, LaunchSketch> merged;
  for (const auto& [key, sketch] : sketches) {
    Key named{"", "", key.agent};
    named.kernel = NameOf(process, key.kernel);
    if (const auto kernel = process.counter.kernels().find(key.kernel);
        kernel != process.counter.kernels().end())
      named.code_object = process.code.Hash(kernel->second.code_object);
    merged[named].Merge(sketch);
  }
  json rows = json::array();
  for (const auto& [key, sketch] : merged) {
    const Histogram& ns = sketch.nanoseconds;
    rows.push_back({{"rank", process.place.rank},
                    {"pid", process.name.process},
                    {"start", process.name.start},
                    {"gpu", key.agent},
                    {"kernel", key.kernel},
                    {"code_object", key.code_object},
                    {"rocm", process.rocm},
                    {"launches", sketch.launches()},
                    {"untimed", sketch.untimed},
                    {"work_items", sketch.work_items},
                    {"lds", sketch.group_bytes},
                    {"sum", ns.sum()},
                    {"min", ns.min()},
                    {"max", ns.max()},
                    {"scale", ns.scale()},
                    {"zeros", ns.zeros()},
                    {"first", ns.offset()},
                    {"buckets", ns.buckets()}});
  }
  return rows;
}

base::Result<void> HostWatch::Seal(uint64_t before) {
  const uint64_t future = (base::ClockNs(CLOCK_REALTIME) + kFutureNs) / options_.interval_ns + 2;
  std::map<Batch, json> batches;
  for (auto& [folder, process] : processes_)
    for (const auto& [interval, sketches] :
         process->counter.TakeOutside(process->ended ? UINT64_MAX : before, future)) {
      json rows = Rows(*process, sketches);
      auto& batch =
          batches.try_emplace({process->place.job, interval}, json::array()).first->second;
      batch.insert(batch.end(), rows.begin(), rows.end());
    }
  for (auto& [batch, rows] : batches)
    ROCHOUND_CHECK(AddMessage(batch.first, batch.second, std::move(rows)));
  // Losses of jobs that have nothing else to say.
  while (!losses_.empty()) {
    const std::string job = losses_.begin()->first.job;
    ROCHOUND_CHECK(
        AddMessage(job, base::ClockNs(CLOCK_REALTIME) / options_.interval_ns, json::array()));
  }
  return {};
}

base::Result<void> HostWatch::AddMessage(const std::string& job, uint64_t interval, json rows) {
  json losses = json::array();
  for (auto loss = losses_.begin(); loss != losses_.end();) {
    if (loss->first.job != job) {
      ++loss;
      continue;
    }
    losses.push_back({{"rank", loss->first.rank},
                      {"pid", loss->first.process},
                      {"what", loss->first.what},
                      {"count", loss->second}});
    loss = losses_.erase(loss);
  }
  changed_ = true;
  const uint64_t number = ++last_number_;
  const uint32_t shard = ShardOf(job, options_.shards);
  const json message = {{"version", kMessageVersion},
                        {"tenant", options_.tenant},
                        {"host", options_.host},
                        {"epoch", epoch_},
                        {"number", number},
                        {"shard", shard},
                        {"nth", ++shard_counts_[shard]},
                        {"job", job},
                        {"from_ns", interval * options_.interval_ns},
                        {"interval_ns", options_.interval_ns},
                        {"rows", std::move(rows)},
                        {"losses", std::move(losses)}};
  return spool_.Add(number, message.dump(-1, ' ', false, json::error_handler_t::replace));
}

// The oldest messages go first; what was in them becomes a loss of the next message.
void HostWatch::BoundSpool(std::vector<uint64_t>* dropped) {
  uint64_t bytes = spool_.bytes();
  if (bytes <= options_.spool_bytes) return;
  spool_.ForEach([&](const Spool::Message& message) {
    if (bytes <= options_.spool_bytes) return false;
    bytes -= std::min<uint64_t>(bytes, message.text.size());
    dropped->push_back(message.number);
    std::string job = "none";
    try {
      const json content = json::parse(message.text);
      job = content.at("job");
      uint64_t launches = 0;
      for (const json& row : content.at("rows")) launches += row.at("launches").get<uint64_t>();
      std::map<Loss, uint64_t> losses;
      for (const json& loss : content.at("losses"))
        losses[{job, loss.at("what"), loss.at("rank"), loss.at("pid")}] +=
            loss.at("count").get<uint64_t>();
      for (const auto& [loss, count] : losses) losses_[loss] += count;
      losses_[{job, "launches in messages dropped since the spool was full", -1, 0}] += launches;
    } catch (const json::exception&) {
      // Damaged on disk: what it said is not known.
    }
    losses_[{job, "messages dropped since the spool was full", -1, 0}] += 1;
    return true;
  });
}

ProcessBeat HostWatch::BeatOf(Process& process) {
  const uint64_t now = base::ClockNs(CLOCK_REALTIME);
  const LaunchCounter& counter = process.counter;
  ProcessBeat beat;
  beat.place = process.place;
  beat.process = process.name.process;
  beat.log = process.follower.folder();
  beat.state = StateInWords(process.state);
  beat.dispatches = counter.totals().dispatches;
  beat.launches = counter.totals().launches;
  beat.open = counter.open().size();
  beat.last_end_ns = counter.totals().last_end_ns;
  const auto since = [&](uint64_t tsc) {
    const uint64_t at = counter.RealtimeOf(tsc);
    return at == 0 || at > now ? 0 : now - at;
  };
  beat.recorder_silent_ns = since(process.follower.header().alive_tsc);
  std::vector<const OpenLaunch*> open;
  for (const auto& [number, launch] : counter.open()) open.push_back(&launch);
  const size_t shown = std::min(open.size(), kMostInFlight);
  std::partial_sort(
      open.begin(), open.begin() + static_cast<ptrdiff_t>(shown), open.end(),
      [](const OpenLaunch* a, const OpenLaunch* b) { return a->submit_tsc < b->submit_tsc; });
  for (size_t i = 0; i < shown; ++i)
    beat.oldest.push_back(
        {NameOf(process, open[i]->kernel), open[i]->queue, since(open[i]->submit_tsc)});
  for (const auto& [id, kernel] : counter.kernels())
    if (kernel.dispatches != 0 && IsCollective(NameOf(process, id)))
      beat.collectives += kernel.dispatches;
  beat.exact = process.lost_chunks == 0 && process.damaged_chunks == 0 &&
               counter.totals().dropped == 0 && !process.rccl.gave_up();
  AddRccl(process, &beat);
  return beat;
}

// What the process has asked of RCCL, and how far it is with it.
void HostWatch::AddRccl(Process& process, ProcessBeat* beat) {
  const LaunchCounter& counter = process.counter;
  const uint64_t now = base::ClockNs(CLOCK_REALTIME);
  const auto since = [&](uint64_t tsc) {
    const uint64_t at = counter.RealtimeOf(tsc);
    return at == 0 || at > now ? 0 : now - at;
  };
  // The first launch of each queue that has not ended.
  std::map<uint32_t, std::pair<uint64_t, const OpenLaunch*>> first;
  for (const auto& [number, launch] : counter.open()) {
    auto& oldest = first.try_emplace(launch.queue, number, &launch).first->second;
    if (number < oldest.first) oldest = {number, &launch};
  }
  const auto describe = [&](const RcclOperation& operation, const char* state) {
    json described = {{"number", operation.number},
                      {"function", operation.function},
                      {"count", operation.count},
                      {"datatype", operation.datatype},
                      {"operation", operation.operation},
                      {"root", operation.root},
                      {"state", state}};
    return described;
  };
  beat->communicators = json::array();
  std::map<uint64_t, size_t> places;  // of communicators, by handle
  for (const auto& [handle, communicator] : process.rccl.communicators()) {
    json lines = json::array();
    for (const auto& [line, state] : communicator.lines) {
      json recent = json::array();
      for (const RcclOperation& operation : state.recent) {
        json described = describe(operation, operation.kernels.empty() ? "called" : "complete");
        described["since_ns"] = since(operation.begin_tsc);
        for (const uint64_t kernel : operation.kernels) {
          const auto open = counter.open().find(kernel);
          if (open == counter.open().end()) continue;
          described["state"] = "in flight";
          const auto& before = first.at(open->second.queue);
          if (open->second.in_order && before.first < kernel)
            described["waits_for"] = NameOf(process, before.second->kernel);
        }
        recent.push_back(std::move(described));
      }
      lines.push_back({{"kind", LineKindInWords(line.kind)},
                       {"peer", line.peer},
                       {"calls", state.calls},
                       {"recent", recent}});
    }
    places[handle] = beat->communicators.size();
    beat->communicators.push_back({{"id", communicator.id},
                                   {"ranks", communicator.ranks},
                                   {"rank", communicator.rank},
                                   {"parent", communicator.parent},
                                   {"key", communicator.key},
                                   {"lines", lines}});
  }
  beat->open_calls = json::array();
  for (const trace::CallInFlight& call : process.follower.calls_in_flight()) {
    json described = {{"function", process.rccl.FunctionName(call.function)},
                      {"thread", call.tid},
                      {"since_ns", since(call.begin_tsc)}};
    if (const auto waiting = process.rccl.Open(call.function, call.correlation)) {
      json rccl = {{"id", waiting->id}, {"ranks", waiting->ranks}, {"rank", waiting->rank}};
      if (const auto place = places.find(waiting->communicator); place != places.end()) {
        const json& communicator = beat->communicators[place->second];
        rccl["id"] = communicator.at("id");
        rccl["ranks"] = communicator.at("ranks");
        rccl["rank"] = communicator.at("rank");
      }
      if (waiting->line) {
        rccl["kind"] = LineKindInWords(waiting->line->kind);
        rccl["peer"] = waiting->line->peer;
        rccl["operation"] = describe(waiting->operation, "calling");
      }
      described["rccl"] = rccl;
    }
    beat->open_calls.push_back(std::move(described));
  }
}

std::vector<ProcessBeat> HostWatch::Beats() {
  std::vector<ProcessBeat> beats;
  for (auto& [folder, process] : processes_) beats.push_back(BeatOf(*process));
  for (const Ended& one : ended_) beats.push_back(one.beat);
  return beats;
}

base::Result<void> HostWatch::Save() const {
  json processes = json::array(), done = json::array(), losses = json::array();
  for (const auto& [folder, process] : processes_) {
    const LaunchCounter::Totals& told = process->reported;
    processes.push_back({{"folder", folder.string()},
                         {"job", process->place.job},
                         {"rank", process->place.rank},
                         {"ranks", process->place.ranks},
                         {"rocm", process->rocm},
                         {"position", SavePosition(process->follower.Position())},
                         {"counter", process->counter.Save()},
                         {"rccl", process->rccl.Save()},
                         {"lost_chunks", process->lost_chunks},
                         {"damaged_chunks", process->damaged_chunks},
                         {"told", {told.dropped, told.evicted_times, told.unfinished}}});
  }
  for (const fs::path& folder : done_) done.push_back(folder.string());
  for (const auto& [loss, count] : losses_)
    losses.push_back({loss.job, loss.what, loss.rank, loss.process, count});
  const json state = {
      {"version", kStateVersion}, {"epoch", epoch_},        {"interval_ns", options_.interval_ns},
      {"last", last_number_},     {"processes", processes}, {"done", done},
      {"losses", losses},         {"shards", shard_counts_}};
  std::string content;
  json::to_cbor(state, content);
  return base::WriteFileAtomically(options_.state / "state", content);
}

bool HostWatch::Restore(const json& saved) try {
  if (saved.at("version") != kStateVersion) return false;
  // Intervals that are begun keep their length; the wish counts from the next state on.
  options_.interval_ns = saved.at("interval_ns");
  if (options_.interval_ns == 0) return false;
  epoch_ = saved.at("epoch");
  last_number_ = saved.at("last");
  shard_counts_ = saved.at("shards").get<std::map<uint32_t, uint64_t>>();
  for (const json& one : saved.at("processes")) {
    const fs::path folder = one.at("folder").get<std::string>();
    auto process = std::make_unique<Process>(folder, options_.interval_ns);
    process->place = {one.at("job"), one.at("rank"), one.at("ranks")};
    process->rocm = one.at("rocm");
    process->code.set_store(options_.code_store);
    process->follower.Resume(RestorePosition(one.at("position")));
    if (!process->counter.Restore(one.at("counter"))) return false;
    if (!process->rccl.Restore(one.at("rccl"))) return false;
    process->lost_chunks = one.at("lost_chunks");
    process->damaged_chunks = one.value("damaged_chunks", uint64_t{0});
    process->reported.dropped = one.at("told").at(0);
    process->reported.evicted_times = one.at("told").at(1);
    process->reported.unfinished = one.at("told").at(2);
    processes_.emplace(folder, std::move(process));
  }
  for (const json& one : saved.at("done")) done_.insert(one.get<std::string>());
  for (const json& one : saved.at("losses"))
    losses_[{one.at(0), one.at(1), one.at(2), one.at(3)}] = one.at(4);
  return true;
} catch (const json::exception&) {
  return false;
}

}  // namespace rochound::fleet
