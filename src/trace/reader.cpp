// SPDX-License-Identifier: MIT
//
// Opening a log; the streaming of its events is visit.cpp.
#include "trace/reader.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <system_error>

#include "base/files.h"
#include "base/parse.h"
#include "trace/log_name.h"

namespace rochound::trace {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ParseNumber;
using base::Result;
using base::TakeUntil;

constexpr size_t kMaxProblems = 32;
constexpr uint64_t kMinHostSpan = 300000;  // ticks; closer anchors tell no speed
constexpr uint64_t kMinGpuSpan = 10000;
constexpr double kUsualHostSlope = 1.0 / 3;  // nanoseconds per tick
constexpr double kUsualGpuSlope = 10;

template <typename T>
const T& As(const char* record) {
  return *reinterpret_cast<const T*>(record);
}

constexpr const char* kFirstSegment = "segment-000000";

bool IsProcessFolder(const fs::path& path) {
  return path.filename().string().starts_with("process-");
}

}  // namespace

Result<std::unique_ptr<ProcessLog>> ProcessLog::Open(const fs::path& folder, OpenFile open) {
  std::unique_ptr<ProcessLog> log(new ProcessLog(folder, std::move(open)));
  if (const LogName name = ParseLogName(folder); name.process != 0) {
    const char state = ProcessState(name);
    log->running_ = state != 0 && state != 'Z' && state != 'X';
    std::error_code error;
    log->replaced_ = fs::exists(NextLog(folder, name), error);
  }
  ROCHOUND_CHECK(log->FindSegments());
  log->Scan();
  // A string is written before the records that name it, so it is there if they are.
  log->LoadStrings();
  log->LoadInfo();
  log->LoadFunctions();
  log->MakeClocks();
  log->FindUnrecorded();
  return log;
}

Result<void> ProcessLog::FindSegments() {
  std::error_code error;
  std::vector<fs::path> paths;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    struct stat status{};
    if (stat(it->path().c_str(), &status) != 0) continue;
    file_bytes_ += static_cast<uint64_t>(status.st_blocks) * 512;
    if (it->path().filename().string().starts_with("segment-")) paths.push_back(it->path());
  }
  if (error) return base::ErrnoError("cannot list", folder_, error.value());
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) {
    auto segment = ChunkReader::OpenSegment(path, open_);
    if (!segment.ok()) {
      Problem(segment.error().message);
    } else if (segment.value() != nullptr) {
      segments_.push_back(*segment.value());
    }
  }
  if (segments_.empty()) {
    if (!problems_.empty()) return Error{problems_.front()};
    return Error{"there is no log segment in '" + folder_.string() +
                 "': the process ended before it could record anything"};
  }
  const SegmentHeader& first = segments_.front().header;
  pid_ = first.pid;
  if (first.number != 0) {
    Problem("segment 0 is missing: how many records were dropped is not known");
    return {};
  }
  std::copy(std::begin(first.dropped), std::end(first.dropped), dropped_.begin());
  finished_ = first.finished_tsc != 0;
  begin_tsc_ = first.created_tsc;
  end_tsc_ = first.alive_tsc;
  recycled_tsc_ = first.recycled_tsc;
  if (finished_) running_ = false;
  return {};
}

void ProcessLog::Scan() {
  ChunkReader reader(&segments_, open_);
  for (uint32_t segment = 0; segment < segments_.size(); ++segment) {
    const SegmentFile& file = segments_[segment];
    uint64_t made =
        (file.bytes - kSegmentHeaderBytes + file.header.chunk_bytes - 1) / file.header.chunk_bytes;
    // A file can be called terabytes long and hold nothing: chunks that the recorder never made.
    if (made > kMaxSegmentChunks) {
      Problem(fmt::format("{} is longer than a segment can be; only its beginning was read",
                          file.path.filename().string()));
      made = kMaxSegmentChunks;
    }
    for (uint32_t number = 0; number < made; ++number) {
      ChunkPlace place;
      const bool found = reader.Find(segment, number, &place);
      if (!reader.damage().empty()) {
        Problem(fmt::format("{}, chunk {}: {}; what followed is lost",
                            file.path.filename().string(), number, reader.damage()));
      }
      if (!found) continue;
      chunks_.push_back(place);
      reader.ForEach([&](const Head& head, const char* record) { CountRecord(head, record); });
      if (reader.header().state != ChunkState::kWriting) continue;
      for (const CallInFlight& call : reader.CallsInFlight())
        open_calls_.push_back(
            {call.thread, call.tid, call.function, call.begin_tsc, call.correlation});
    }
  }
  std::sort(chunks_.begin(), chunks_.end(), [](const ChunkPlace& a, const ChunkPlace& b) {
    return a.order != b.order ? a.order < b.order
                              : std::pair(a.segment, a.number) < std::pair(b.segment, b.number);
  });
}

void ProcessLog::CountRecord(const Head& head, const char* record) {
  ++records_;
  record_bytes_ += head.units * 32u;
  const auto kind = static_cast<size_t>(head.kind);
  ++counts_[kind < kKinds ? kind : 0];
  const auto note_time = [&](uint64_t from, uint64_t to) {
    first_tsc_ = std::min(first_tsc_, from);
    last_tsc_ = std::max(last_tsc_, to);
  };
  switch (head.kind) {
    case Kind::kApiCall:
      note_time(As<ApiCall>(record).begin_tsc, As<ApiCall>(record).end_tsc);
      break;
    case Kind::kKernelDispatch:
      note_time(As<KernelDispatch>(record).submit_tsc, As<KernelDispatch>(record).submit_tsc);
      break;
    case Kind::kCopy:
      note_time(As<Copy>(record).submit_tsc, As<Copy>(record).submit_tsc);
      break;
    case Kind::kRange:
      note_time(As<Range>(record).now_tsc, As<Range>(record).now_tsc);
      break;
    case Kind::kStateChange:
      states_.push_back(As<StateChange>(record));
      break;
    case Kind::kThreadHere:
      threads_[head.wide] = As<ThreadHere>(record).tid;
      break;
    case Kind::kHostAnchor:
      host_anchors_.push_back(As<HostAnchor>(record));
      break;
    case Kind::kGpuAnchor:
      gpu_anchors_[head.small].push_back(As<GpuAnchor>(record));
      break;
    case Kind::kKernelTime:
      if (!timed_agents_[head.small] && As<KernelTime>(record).end_ticks != 0) {
        timed_agents_[head.small] = true;
      }
      break;
    case Kind::kQueue:
      queues_[head.wide] = As<Queue>(record);
      break;
    case Kind::kKernelSymbol:
      kernels_[head.wide] = As<KernelSymbol>(record);
      break;
    default:
      break;
  }
}

void ProcessLog::LoadStrings() {
  if (std::string problem = strings_.Load(folder_ / "strings", open_); !problem.empty())
    Problem(std::move(problem));
}

std::optional<std::string_view> ProcessLog::String(uint32_t id) const { return strings_.Find(id); }

void ProcessLog::LoadInfo() {
  const auto content = ReadFileBy(open_, folder_ / "info", base::kMostText);
  if (!content.ok()) {
    Problem("the info file is missing: what process this was is not known");
    return;
  }
  std::string_view text = content.value();
  while (!text.empty()) {
    std::string_view line = TakeUntil(&text, '\n');
    const std::string_view key = TakeUntil(&line, '=');
    if (key != "agent") {
      info_[std::string(key)] = line;
      continue;
    }
    Agent agent;
    const bool good = ParseNumber(TakeUntil(&line, ','), &agent.index) &&
                      ParseNumber(TakeUntil(&line, ','), &agent.node);
    agent.gpu = TakeUntil(&line, ',') == "gpu";
    agent.name = TakeUntil(&line, ',');
    // A product's name may have commas in it.
    const size_t last = line.rfind(',');
    agent.product = line.substr(0, last);
    if (last != std::string_view::npos) agent.uuid = line.substr(last + 1);
    if (good) {
      agents_.push_back(std::move(agent));
    } else {
      Problem("an agent's line in the info file is damaged");
    }
  }
}

void ProcessLog::LoadFunctions() {
  const auto content = ReadFileBy(open_, folder_ / "functions", base::kMostText);
  if (!content.ok()) {
    if (counts_[static_cast<size_t>(Kind::kApiCall)] != 0) {
      Problem("the functions file is missing: calls have numbers instead of names");
    }
    return;
  }
  std::string_view text = content.value();
  while (!text.empty()) {
    const std::string_view line = TakeUntil(&text, '\n');
    if (line.empty()) continue;
    auto function = ParseFunction(line);
    if (!function) {
      Problem("a line of the functions file is damaged");
      continue;
    }
    functions_[function->first] = std::move(function->second);
  }
}

void ProcessLog::MakeClocks() {
  uint64_t tsc_hz = 0;
  ParseNumber(Info("tsc_hz"), &tsc_hz);
  std::vector<ClockLine::Instant> instants;
  for (const HostAnchor& anchor : host_anchors_) {
    instants.push_back({anchor.now_tsc, anchor.monotonic_ns});
  }
  const double slope = tsc_hz != 0 ? 1e9 / static_cast<double>(tsc_hz) : kUsualHostSlope;
  host_clock_ = ClockLine(instants, slope, kMinHostSpan);
  // A process that was killed at once has anchors or nothing to convert.
  const uint64_t others =
      records_ - host_anchors_.size() - counts_[static_cast<size_t>(Kind::kThreadHere)];
  if (!host_clock_.slope_known() && tsc_hz == 0 && others != 0) {
    Problem("the log has too few clock anchors: durations are guessed");
  }
  if (!host_anchors_.empty()) {
    const HostAnchor& first = host_anchors_.front();
    // A damaged log may say anything: unsigned, so that it cannot overflow.
    realtime_offset_ns_ = static_cast<int64_t>(first.realtime_ns - first.monotonic_ns);
  }

  std::vector<ClockLine::Instant> system;
  double gpu_slope = kUsualGpuSlope;
  for (const auto& [agent, anchors] : gpu_anchors_) {
    instants.clear();
    for (const GpuAnchor& anchor : anchors) {
      const uint64_t ns = host_clock_.At(anchor.now_tsc);
      instants.push_back({anchor.gpu_ticks, ns});
      system.push_back({anchor.system_ns, ns});
    }
    gpu_clocks_[agent] = ClockLine(instants, gpu_slope, kMinGpuSpan);
    if (gpu_clocks_[agent].slope_known()) gpu_slope = gpu_clocks_[agent].slope();
  }
  system_clock_ = ClockLine(std::move(system), 1, kMinHostSpan);
  for (uint32_t agent = 0; agent < timed_agents_.size(); ++agent) {
    if (!timed_agents_[agent]) continue;
    const auto clock = gpu_clocks_.find(static_cast<uint16_t>(agent));
    if (clock == gpu_clocks_.end()) {
      Problem(fmt::format("agent {} has no clock anchor: its times are raw ticks", agent));
    } else if (!clock->second.slope_known()) {
      Problem(fmt::format("agent {} has too few clock anchors: its durations are guessed", agent));
    }
  }
  for (OpenCall& call : open_calls_) call.begin_ns = host_clock_.At(call.begin_ns);
  if (first_tsc_ > last_tsc_)
    first_tsc_ = last_tsc_ = host_anchors_.empty() ? 0 : host_anchors_[0].now_tsc;
  begin_tsc_ = begin_tsc_ == 0 ? first_tsc_ : std::min(begin_tsc_, first_tsc_);
  end_tsc_ = std::max(end_tsc_, last_tsc_);
}

// States say when the recorder paused. Of a log that keeps only its last part the early ones may be
// gone; what the recorder did then is not known, nor needed.
void ProcessLog::FindUnrecorded() {
  std::stable_sort(states_.begin(), states_.end(), [](const StateChange& a, const StateChange& b) {
    return a.now_tsc < b.now_tsc;
  });
  const auto add = [&](uint64_t begin_tsc, uint64_t end_tsc, std::string why) {
    begin_tsc = std::max(begin_tsc, recycled_tsc_);
    end_tsc = std::min(end_tsc, end_tsc_);
    if (begin_tsc < end_tsc)
      unrecorded_.push_back({host_clock_.At(begin_tsc), host_clock_.At(end_tsc), std::move(why)});
  };
  if (recycled_tsc_ > begin_tsc_) {
    unrecorded_.push_back({host_clock_.At(begin_tsc_), host_clock_.At(recycled_tsc_),
                           "older data was not kept, as asked (--last)"});
  }
  bool paused = false;
  uint64_t since = begin_tsc_;
  std::string why;
  for (const StateChange& state : states_) {
    const bool pauses = static_cast<RecorderState>(state.head.small) == RecorderState::kArmed;
    if (pauses && !paused) {
      // Before its first state the recorder did nothing.
      since = first_tsc_ < state.now_tsc ? state.now_tsc : begin_tsc_;
      why = String(static_cast<uint32_t>(state.reason)).value_or("it was stopped");
    } else if (!pauses && paused) {
      add(since, state.now_tsc, why);
    }
    paused = pauses;
  }
  if (paused) add(since, end_tsc_, why);
  states_ = {};
}

void ProcessLog::Problem(std::string text) {
  if (problems_.size() < kMaxProblems) problems_.push_back(std::move(text));
  if (problems_.size() == kMaxProblems) problems_.back() = "and more of the kind";
}

std::string_view ProcessLog::Info(std::string_view key) const {
  const auto line = info_.find(key);
  return line == info_.end() ? std::string_view() : line->second;
}

const Function* ProcessLog::FindFunction(uint16_t id) const {
  const auto found = functions_.find(id);
  return found == functions_.end() ? nullptr : &found->second;
}

const ClockLine& ProcessLog::ClockOf(uint16_t agent) const {
  if (agent == kNoAgent) return host_clock_;
  if (agent == kSystemClock) return system_clock_;
  const auto clock = gpu_clocks_.find(agent);
  return clock == gpu_clocks_.end() ? no_clock_ : clock->second;
}

uint64_t ProcessLog::Dropped(DropReason reason) const {
  const auto index = static_cast<size_t>(reason);
  return index < dropped_.size() ? dropped_[index] : 0;
}

uint64_t ProcessLog::unknown_reasons_dropped() const {
  uint64_t sum = dropped_[0];
  for (size_t i = static_cast<size_t>(DropReason::kNotSeen) + 1; i < dropped_.size(); ++i) {
    sum += dropped_[i];
  }
  return sum;
}

bool IsLogFolder(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (IsProcessFolder(it->path()) || it->path().filename() == kFirstSegment) return true;
  return false;
}

Result<RunLog> RunLog::Open(const fs::path& folder) {
  RunLog run;
  run.folder_ = folder;
  std::error_code error;
  std::vector<fs::path> folders;
  bool is_process = false;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (IsProcessFolder(it->path())) folders.push_back(it->path());
    is_process |= it->path().filename() == kFirstSegment;
  }
  if (error) return base::ErrnoError("cannot open the log", folder, error.value());
  if (is_process && folders.empty()) folders.push_back(fs::absolute(folder).lexically_normal());
  if (folders.empty()) {
    return Error{"there is no process's log in '" + folder.string() +
                 "': is it the folder of a run, and did a process of it use a GPU?"};
  }
  for (const fs::path& path : folders) {
    auto process = ProcessLog::Open(path);
    if (process.ok()) {
      run.processes_.push_back(std::move(process).value());
    } else {
      run.problems_.push_back(process.error().message);
    }
  }
  if (run.processes_.empty()) return Error{run.problems_.front()};
  std::sort(run.processes_.begin(), run.processes_.end(), [](const auto& a, const auto& b) {
    return std::pair(a->first_ns(), a->folder()) < std::pair(b->first_ns(), b->folder());
  });
  return run;
}

void RunLog::Keep(const std::vector<uint32_t>& pids) {
  std::erase_if(processes_, [&](const std::unique_ptr<ProcessLog>& log) {
    return std::find(pids.begin(), pids.end(), log->pid()) == pids.end();
  });
}

}  // namespace rochound::trace
