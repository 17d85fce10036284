// SPDX-License-Identifier: MIT
#include "profile/thread_trace_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/files.h"
#include "codeobj/code_object.h"
#include "codeobj/demangle.h"
#include "codeobj/disassembly.h"
#include "codeobj/fat_binary.h"

namespace rochound::profile {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr uint64_t kMostSource = 16 << 20;
// What a code object names as its source is copied only if it is called like one.
constexpr std::string_view kSourceEndings[] = {".hip", ".cpp", ".cc", ".cxx", ".cu",  ".c", ".h",
                                               ".hpp", ".cuh", ".cl", ".inc", ".hxx", ".py"};

struct Cost {
  std::string text;
  uint64_t hits = 0, latency = 0, stall = 0, idle = 0;
};

struct Record {
  uint64_t process = 0, order = 0, gpu_id = 0;
  std::string kernel, target;
  uint64_t waves = 0, cycles = 0, simds = 0;
  std::map<int64_t, Cost> code;  // by offset from the kernel's first instruction
  json occupancy;                // as the software GPU has it; null: it has none
};

// Without code: the dispatch was counted without it.
Result<Record> ParseRecord(const std::string& line) {
  const json object = json::parse(line, nullptr, false);
  if (!object.is_object()) return Error{"is no JSON object"};
  Record record;
  if (!object.contains("code")) return record;
  try {
    record.process = object.at("process").get<uint64_t>();
    record.order = object.at("order").get<uint64_t>();
    record.gpu_id = object.at("gpu_id").get<uint64_t>();
    record.kernel = object.at("kernel").get<std::string>();
    record.target = object.at("target").get<std::string>();
    record.waves = object.at("waves").get<uint64_t>();
    record.cycles = object.at("model").at("cycles").get<uint64_t>();
    record.simds = object.at("model").at("simds_used").get<uint64_t>();
    record.occupancy = object.value("occupancy", json());
    for (const json& row : object.at("code")) {
      record.code[row.at(0).get<int64_t>()] = {
          row.at(1).get<std::string>(), row.at(2).get<uint64_t>(), row.at(3).get<uint64_t>(),
          row.at(4).get<uint64_t>(), row.at(5).get<uint64_t>()};
    }
  } catch (const json::exception& problem) {
    return Error{problem.what()};
  }
  if (record.kernel.ends_with(".kd")) record.kernel.resize(record.kernel.size() - 3);
  return record;
}

std::string_view FirstWord(std::string_view text) { return text.substr(0, text.find(' ')); }

// A kernel as a code object has it.
struct Listing {
  uint64_t begin = 0;  // address of its first instruction
  std::vector<codeobj::Instruction> instructions;
};

// Whether what ran is this code: a program may hold another kernel of the same name.
bool IsCodeOf(const Record& record, const Listing& listing) {
  std::map<int64_t, std::string_view> words;
  int64_t end = 0;
  for (const codeobj::Instruction& instruction : listing.instructions) {
    const auto offset = static_cast<int64_t>(instruction.address - listing.begin);
    words.emplace(offset, FirstWord(instruction.text));
    end = std::max(end, offset + static_cast<int64_t>(instruction.size));
  }
  bool any = false;
  for (const auto& [offset, cost] : record.code) {
    if (offset < 0 || offset >= end) continue;  // of a function that it called
    const auto word = words.find(offset);
    if (word == words.end() || word->second != FirstWord(cost.text)) return false;
    any = true;
  }
  return any;
}

// Looks for kernels in files, each read once.
class CodeObjects {
 public:
  explicit CodeObjects(const std::vector<CodeFile>& files) {
    for (const CodeFile& file : files) {
      auto objects = codeobj::FindCodeObjects(file.bytes);
      if (!objects.ok()) continue;  // a script, or a program without kernels
      for (codeobj::EmbeddedObject& object : objects.value()) found_.push_back(std::move(object));
    }
  }

  // Nothing if no file has the code that ran.
  std::optional<Listing> Find(const Record& record) const {
    const auto gpu = codeobj::ParseTarget(record.target);
    if (!gpu.ok()) return std::nullopt;
    for (const codeobj::EmbeddedObject& object : found_) {
      if (!codeobj::RunsOn(object.target, gpu.value())) continue;
      const auto parsed = codeobj::CodeObject::Parse(object.bytes);
      if (!parsed.ok()) continue;
      const codeobj::Kernel* kernel = parsed.value().FindKernel(record.kernel);
      if (kernel == nullptr) continue;
      auto instructions = codeobj::Disassemble(object.bytes, parsed.value(), *kernel, true);
      if (!instructions.ok()) continue;
      Listing listing{kernel->code_address, std::move(instructions).value()};
      if (IsCodeOf(record, listing)) return listing;
    }
    return std::nullopt;
  }

 private:
  std::vector<codeobj::EmbeddedObject> found_;
};

// Rows of code.json, and the source files that they name.
class Rows {
 public:
  void AddFunction(const std::string& symbol, const std::string& name, uint64_t address) {
    rows_.push_back({"; " + symbol, 0, rows_.size(), name, 1, address, 0, 0, 0, 0});
  }
  void Add(const std::string& text, const std::vector<codeobj::SourceFrame>& frames,
           uint64_t address, const Cost& cost) {
    std::string source;
    for (const codeobj::SourceFrame& frame : frames) {
      if (frame.line == 0 || frame.file.empty()) continue;
      source += fmt::format("{}{}:{}", source.empty() ? "" : " -> ", frame.file, frame.line);
      sources_.try_emplace(frame.file, "");
    }
    rows_.push_back({text, 0, rows_.size(), source, 1, address, cost.hits, cost.latency, cost.stall,
                     cost.idle});
  }
  const ordered_json& rows() const { return rows_; }
  std::map<std::string, std::string>& sources() { return sources_; }

 private:
  ordered_json rows_ = ordered_json::array();
  std::map<std::string, std::string> sources_;  // path to the copy's name
};

Rows MakeRows(const Record& record, const std::optional<Listing>& listing) {
  Rows rows;
  const uint64_t begin = listing ? listing->begin : 0;
  rows.AddFunction(record.kernel, codeobj::Demangle(record.kernel), begin);
  std::map<int64_t, Cost> left = record.code;
  if (listing) {
    for (const codeobj::Instruction& instruction : listing->instructions) {
      const auto offset = static_cast<int64_t>(instruction.address - begin);
      const auto ran = left.find(offset);
      rows.Add(instruction.text, instruction.source, instruction.address,
               ran == left.end() ? Cost{} : ran->second);
      if (ran != left.end()) left.erase(ran);
    }
    if (!left.empty()) rows.AddFunction("", "functions that it called", 0);
  }
  for (const auto& [offset, cost] : left)
    rows.Add(cost.text, {}, begin + static_cast<uint64_t>(offset), cost);
  return rows;
}

// Copies of source files beside code.json, and the tree that names them.
Result<void> WriteSources(const fs::path& folder, std::map<std::string, std::string>* sources) {
  ordered_json tree = ordered_json::object();
  size_t number = 0;
  for (const auto& [name, unused] : *sources) {
    const fs::path path(name);
    const std::string ending = path.extension().string();
    if (std::find(std::begin(kSourceEndings), std::end(kSourceEndings), ending) ==
        std::end(kSourceEndings))
      continue;
    const auto text = base::ReadFile(path, kMostSource);
    if (!text.ok()) continue;
    const std::string copy = fmt::format("source_{}_{}", number++, path.filename().string());
    ROCHOUND_CHECK(base::WriteFile(folder / copy, text.value()));
    ordered_json* place = &tree;
    for (const fs::path& part : path) place = &(*place)[part.string()];
    *place = copy;
  }
  if (number == 0) return {};
  return base::WriteFileAtomically(
      folder / "snapshots.json", tree.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

Result<fs::path> WriteOne(const Record& record, const std::optional<Listing>& listing,
                          const fs::path& parent) {
  const fs::path folder =
      parent / std::to_string(record.process) /
      fmt::format("ui_output_agent_{}_dispatch_{}", record.gpu_id, record.order);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return base::ErrnoError("cannot create", folder, error.value());
  Rows rows = MakeRows(record, listing);
  ROCHOUND_CHECK(WriteSources(folder, &rows.sources()));
  const ordered_json file = {
      {"code", rows.rows()},
      {"header", "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"},
      {"version", "3.0.0"},
      {"rochound",
       {{"modelled", true},
        {"target", record.target},
        {"waves", record.waves},
        {"cycles", record.cycles},
        {"simds", record.simds},
        {"occupancy", record.occupancy}}}};
  const fs::path path = folder / "code.json";
  ROCHOUND_CHECK(base::WriteFileAtomically(
      path, file.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n"));
  return path;
}

}  // namespace

Result<WrittenTraces> WriteSoftgpuTraces(const fs::path& counters,
                                         const std::function<bool(const std::string&)>& wanted,
                                         const std::vector<CodeFile>& code,
                                         const fs::path& folder) {
  ROCHOUND_TRY(const std::string text, base::ReadFile(counters, base::kMostText));
  const CodeObjects objects(code);
  WrittenTraces written;
  std::vector<std::string> without_source;
  size_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    if (end == std::string::npos) break;  // cut off; whoever reads the counts tells it
    const auto record = ParseRecord(text.substr(at, end - at));
    ++number;
    at = end + 1;
    if (!record.ok())
      return record.error().In(fmt::format("{} line {}", counters.string(), number));
    const Record& launch = record.value();
    if (launch.code.empty() || !wanted(launch.kernel)) continue;
    const std::optional<Listing> listing = objects.Find(launch);
    const bool has_lines =
        listing && std::any_of(listing->instructions.begin(), listing->instructions.end(),
                               [](const codeobj::Instruction& one) { return !one.source.empty(); });
    if (!has_lines) without_source.push_back(codeobj::Demangle(launch.kernel));
    ROCHOUND_TRY(fs::path file, WriteOne(launch, listing, folder));
    written.files.push_back(std::move(file));
  }
  if (!without_source.empty()) {
    written.warnings.push_back(
        fmt::format("{} of {} traced launches have no source lines, such as {}: compile with -g or "
                    "-gline-tables-only, and name files with other code by --code",
                    without_source.size(), written.files.size(), without_source.front()));
  }
  return written;
}

}  // namespace rochound::profile
