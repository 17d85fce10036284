// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/files.h"
#include "profile/csv.h"
#include "profile/find_files.h"
#include "profile/thread_trace.h"

namespace rochound::profile {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;
using nlohmann::json;

constexpr std::string_view kHeader =
    "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle";
constexpr uint32_t kMostLine = 100'000'000;
constexpr size_t kMostDepth = 64;   // of folders above a source file
constexpr size_t kMostSteps = 400;  // of occupancy; more cannot be seen

Error NotAsWritten(const fs::path& file, const std::string& what) {
  return Error{fmt::format("{} is not as rocprofv3 --att writes it: {}", file.string(), what)};
}

// Numbers that are what they have to be; anything else throws, as json does.
uint64_t Count(const json& value) { return value.get_ref<const json::number_unsigned_t&>(); }
int64_t Time(const json& value) {
  constexpr uint64_t kLatest = uint64_t{1} << 62;
  if (value.is_number_unsigned() && Count(value) < kLatest) return value.get<int64_t>();
  return value.get_ref<const json::number_integer_t&>();
}

// "a.h:12 -> b.hip:30": where an instruction comes from, and where that was inlined.
std::vector<SourceLine> ParseSource(std::string_view text) {
  constexpr std::string_view kBetween = " -> ";
  std::vector<SourceLine> lines;
  while (!text.empty()) {
    const size_t end = text.find(kBetween);
    const std::string_view one = text.substr(0, end);
    const size_t colon = one.rfind(':');
    if (colon != std::string_view::npos && colon != 0) {
      const auto line = NumberIn<uint32_t>(one.substr(colon + 1));
      if (line && *line != 0 && *line <= kMostLine)
        lines.push_back({std::string(one.substr(0, colon)), *line});
    }
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + kBetween.size());
  }
  return lines;
}

// Rows of a file, one after the other: a kernel or function begins with its name as a comment.
class Rows {
 public:
  explicit Rows(ThreadTrace* trace) : trace_(trace) {}

  void Add(const std::string& text, const std::string& source, uint64_t address, uint64_t hits,
           uint64_t latency, uint64_t stall, uint64_t idle) {
    if (text.starts_with(";")) {
      const size_t begin = text.find_first_not_of("; ");
      const std::string symbol = begin == std::string::npos ? "" : text.substr(begin);
      trace_->functions.push_back({symbol, source.empty() ? symbol : source});
      return;
    }
    if (trace_->functions.empty()) trace_->functions.push_back({"", "(unknown)"});
    TracedInstruction instruction;
    instruction.function = trace_->functions.size() - 1;
    instruction.address = address;
    instruction.text = text;
    instruction.unit = UnitOf(text);
    instruction.hits = hits;
    instruction.latency = latency;
    instruction.stall = stall;
    instruction.idle = idle;
    instruction.source = ParseSource(source);
    trace_->instructions.push_back(std::move(instruction));
  }

 private:
  ThreadTrace* trace_;
};

Result<json> ReadJsonObject(const fs::path& file) {
  ROCHOUND_TRY(const std::string text, base::ReadFile(file, base::kMostText));
  json value = json::parse(text, nullptr, false);
  if (!value.is_object()) return NotAsWritten(file, "it is no JSON object");
  return value;
}

// Throws as json does.
void ReadModelledOccupancy(const json& occupancy, ThreadTrace* trace) {
  if (occupancy.is_null()) return;
  const uint64_t step = Count(occupancy.at("step"));
  const uint64_t cycles = Count(occupancy.at("cycles"));
  uint64_t begin = 0;
  for (const json& filled : occupancy.at("wave_cycles")) {
    const uint64_t part = begin < cycles ? std::min(step, cycles - begin) : 0;
    if (part == 0) break;
    trace->occupancy.emplace_back(begin,
                                  static_cast<double>(Count(filled)) / static_cast<double>(part));
    begin += part;
  }
}

Result<void> ReadCode(const fs::path& file, ThreadTrace* trace,
                      std::vector<std::string>* warnings) {
  ROCHOUND_TRY(const json object, ReadJsonObject(file));
  const auto code = object.find("code");
  if (code == object.end()) return NotAsWritten(file, "it has no code");
  if (object.value("header", json()) != kHeader)
    return NotAsWritten(file, "its rows are called otherwise than " + std::string(kHeader));
  if (code->is_null()) {
    warnings->push_back(
        fmt::format("{} holds no instruction: nothing was traced, or rocprofv3 had no decoder (see "
                    "its --att-library-path)",
                    file.string()));
    return {};
  }
  Rows rows(trace);
  try {
    for (const json& row : *code) {
      rows.Add(row.at(0).get<std::string>(), row.at(3).get<std::string>(), Count(row.at(5)),
               Count(row.at(6)), Count(row.at(7)), Count(row.at(8)), Count(row.at(9)));
    }
    if (const auto ours = object.find("rochound"); ours != object.end()) {
      trace->modelled = ours->at("modelled").get<bool>();
      trace->waves = Count(ours->at("waves"));
      trace->span = TracedSpan{Count(ours->at("cycles")), Count(ours->at("simds"))};
      ReadModelledOccupancy(ours->value("occupancy", json()), trace);
    }
  } catch (const json::exception& problem) {
    return NotAsWritten(file, problem.what());
  }
  return {};
}

Result<void> ReadStats(const fs::path& file, ThreadTrace* trace) {
  ROCHOUND_TRY(const std::string text, base::ReadFile(file, base::kMostText));
  const auto records = ParseCsv(text);
  const std::vector<std::string> head = {"CodeObj", "Vaddr", "Instruction", "Hitcount",
                                         "Latency", "Stall", "Idle",        "Source"};
  if (records.empty() || records[0] != head) return NotAsWritten(file, "its columns are others");
  Rows rows(trace);
  for (size_t i = 1; i < records.size(); ++i) {
    const std::vector<std::string>& record = records[i];
    if (record.size() != head.size())
      return NotAsWritten(file, fmt::format("record {} has {} fields", i + 1, record.size()));
    std::vector<uint64_t> numbers;
    for (const size_t column : {1, 3, 4, 5, 6}) {
      const auto number = NumberIn<uint64_t>(record[column]);
      if (!number) {
        return NotAsWritten(file, fmt::format("{} of record {} is no number", head[column], i + 1));
      }
      numbers.push_back(*number);
    }
    rows.Add(record[2], record[7], numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]);
  }
  return {};
}

// se0_sm1_sl2_wv3.json
bool IsWaveFile(const std::string& name) {
  return name.starts_with("se") && name.ends_with(".json") &&
         name.find("_sm") != std::string::npos && name.find("_wv") != std::string::npos;
}

// When the traced waves ran, and on how many SIMDs.
Result<void> ReadWaves(const fs::path& folder, ThreadTrace* trace,
                       std::vector<std::string>* warnings) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (IsWaveFile(entry->path().filename().string())) files.push_back(entry->path());
  if (files.empty()) return {};
  std::sort(files.begin(), files.end());
  std::set<std::tuple<std::string, int64_t, int64_t>> simds;
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;
  uint64_t instructions = 0;
  for (const fs::path& file : files) {
    ROCHOUND_TRY(const json object, ReadJsonObject(file));
    try {
      const json& wave = object.at("wave");
      const auto begin = Time(wave.at("begin"));
      const auto end = Time(wave.at("end"));
      if (end < begin) return NotAsWritten(file, "the wave ends before it begins");
      first = std::min(first, begin);
      last = std::max(last, end);
      simds.insert(
          {object.at("name").get<std::string>(), Time(wave.at("cu")), Time(wave.at("simd"))});
      if (!wave.at("instructions").is_null()) instructions += wave.at("instructions").size();
    } catch (const json::exception& problem) {
      return NotAsWritten(file, problem.what());
    }
  }
  trace->waves = files.size();
  trace->span =
      TracedSpan{static_cast<uint64_t>(last) - static_cast<uint64_t>(first), simds.size()};
  uint64_t hits = 0;
  for (const TracedInstruction& instruction : trace->instructions) hits += instruction.hits;
  if (hits != instructions) {
    warnings->push_back(
        fmt::format("{}: the waves' files hold {} instructions, code.json {}: files of another run "
                    "may be among them, or some are missing",
                    folder.string(), instructions, hits));
  }
  return {};
}

Result<void> ReadOccupancy(const fs::path& file, ThreadTrace* trace) {
  ROCHOUND_TRY(const json object, ReadJsonObject(file));
  std::vector<std::pair<int64_t, int>> events;  // a wave comes or goes
  try {
    for (const auto& [engine, list] : object.items()) {
      if (!NumberIn<uint64_t>(engine) || !list.is_array()) continue;  // dispatches, version
      for (const json& event : list) {
        const bool starts =
            event.at(4).is_boolean() ? event.at(4).get<bool>() : Count(event.at(4)) != 0;
        events.emplace_back(Time(event.at(0)), starts ? 1 : -1);
      }
    }
  } catch (const json::exception& problem) {
    return NotAsWritten(file, problem.what());
  }
  if (events.empty()) return {};
  // A slot that is freed and taken in one cycle holds one wave.
  std::sort(events.begin(), events.end());
  if (events.front().first < 0) return NotAsWritten(file, "an event has a negative time");
  const auto begin = static_cast<uint64_t>(events.front().first);
  const uint64_t length = static_cast<uint64_t>(events.back().first) - begin;
  const uint64_t width = length / kMostSteps + 1;
  std::vector<double> filled(length / width + 1, 0.0);  // waves times cycles
  int64_t waves = 0;
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    waves = std::max<int64_t>(0, waves + events[i].second);  // its start may not have been traced
    const uint64_t end = static_cast<uint64_t>(events[i + 1].first) - begin;
    for (uint64_t at = static_cast<uint64_t>(events[i].first) - begin; at < end;) {
      const uint64_t until = std::min(end, (at / width + 1) * width);
      filled[at / width] += static_cast<double>(waves) * static_cast<double>(until - at);
      at = until;
    }
  }
  for (size_t step = 0; step * width < length; ++step) {
    const uint64_t part = std::min(width, length - step * width);
    trace->occupancy.emplace_back(begin + step * width, filled[step] / static_cast<double>(part));
  }
  return {};
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// The tree of paths whose leaves are copies of source files in the folder.
void ReadSnapshots(const fs::path& folder, const json& tree, const fs::path& path, size_t depth,
                   ThreadTraces* traces) {
  if (depth > kMostDepth) return;
  for (const auto& [name, value] : tree.items()) {
    const fs::path here = path / name;
    if (value.is_object()) {
      ReadSnapshots(folder, value, here, depth + 1, traces);
    } else if (value.is_string() && !traces->sources.contains(here.string())) {
      const auto copy = value.get<std::string>();
      // Only what lies beside it: the name may come from anybody.
      if (!copy.starts_with("source_") || copy.find('/') != std::string::npos) continue;
      const auto text = base::ReadFile(folder / copy, base::kMostText);
      if (text.ok()) traces->sources[here.string()] = LinesOf(text.value());
    }
  }
}

// ui_output_agent_1234_dispatch_7, also within stats_..._7.csv
void ReadName(std::string name, ThreadTrace* trace) {
  constexpr std::string_view kAgent = "ui_output_agent_";
  constexpr std::string_view kDispatch = "_dispatch_";
  if (name.ends_with(".csv")) name.resize(name.size() - 4);
  const size_t agent = name.find(kAgent);
  const size_t dispatch = name.find(kDispatch);
  if (agent == std::string::npos || dispatch == std::string::npos || dispatch < agent) return;
  const size_t begin = agent + kAgent.size();
  if (dispatch < begin) return;
  trace->agent = name.substr(begin, dispatch - begin);
  trace->dispatch = NumberIn<uint64_t>(std::string_view(name).substr(dispatch + kDispatch.size()));
}

Result<void> ReadOne(const fs::path& file, ThreadTraces* traces) {
  ThreadTrace trace;
  const bool is_table = file.extension() == ".csv";
  const fs::path folder = file.parent_path();
  trace.folder = is_table ? file.string() : folder.string();
  ReadName(is_table ? file.filename().string()
                    : fs::absolute(folder).lexically_normal().filename().string(),
           &trace);
  if (is_table) {
    ROCHOUND_CHECK(ReadStats(file, &trace));
  } else {
    ROCHOUND_CHECK(ReadCode(file, &trace, &traces->warnings));
    ROCHOUND_CHECK(ReadWaves(folder, &trace, &traces->warnings));
    std::error_code error;
    if (fs::exists(folder / "occupancy.json", error)) {
      ROCHOUND_CHECK(ReadOccupancy(folder / "occupancy.json", &trace));
    }
    if (fs::exists(folder / "snapshots.json", error)) {
      ROCHOUND_TRY(const json tree, ReadJsonObject(folder / "snapshots.json"));
      ReadSnapshots(folder, tree, {}, 0, traces);
    }
  }
  const auto impossible =
      std::count_if(trace.instructions.begin(), trace.instructions.end(),
                    [](const TracedInstruction& one) { return one.stall > one.latency; });
  if (impossible != 0) {
    traces->warnings.push_back(
        fmt::format("{}: {} instructions stall longer than they take", file.string(), impossible));
  }
  if (!trace.instructions.empty()) traces->traces.push_back(std::move(trace));
  return {};
}

// Both say the same; json has the companions.
Result<std::vector<fs::path>> FindTraceFiles(const fs::path& path) {
  return FindFiles(path,
                   {[](std::string_view name) { return name == "code.json"; },
                    [](std::string_view name) {
                      return name.starts_with("stats_ui_output_agent_") && name.ends_with(".csv");
                    }},
                   "decoded thread trace (code.json, or stats_ui_output_agent_*.csv); rocprofv3 "
                   "--att writes them where rocprof-trace-decoder is installed");
}

}  // namespace

Result<ThreadTraces> ReadThreadTraces(const std::vector<fs::path>& paths) {
  ThreadTraces traces;
  for (const fs::path& path : paths) {
    ROCHOUND_TRY(const std::vector<fs::path> files, FindTraceFiles(path));
    for (const fs::path& file : files) ROCHOUND_CHECK(ReadOne(file, &traces));
  }
  // Launches of one folder in the order of their dispatch, not of their name.
  std::stable_sort(traces.traces.begin(), traces.traces.end(),
                   [](const ThreadTrace& a, const ThreadTrace& b) {
                     return a.dispatch.value_or(UINT64_MAX) < b.dispatch.value_or(UINT64_MAX);
                   });
  return traces;
}

}  // namespace rochound::profile
