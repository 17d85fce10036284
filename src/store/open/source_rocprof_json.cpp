// SPDX-License-Identifier: MIT
#include "store/open/source_rocprof_json.h"

#include <simdjson.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "store/open/inflating_file.h"
#include "store/open/source_rocpd.h"

namespace rochound::store {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr std::string_view kTool = "rocprofiler-sdk-tool";
constexpr size_t kMostBytes = size_t{3} << 30;  // the parser's numbers have 32 bits

int64_t Int(const element& from, const char* member) {
  int64_t number = 0;
  if (from[member].get(number) == simdjson::SUCCESS) return number;
  uint64_t large = 0;
  return from[member].get(large) == simdjson::SUCCESS ? static_cast<int64_t>(large) : 0;
}

int64_t Handle(const element& from, const char* member) {
  element inner;
  return from[member].get(inner) == simdjson::SUCCESS ? Int(inner, "handle") : 0;
}

std::string_view Text(const element& from, const char* member) {
  std::string_view text;
  return from[member].get(text) == simdjson::SUCCESS ? text : std::string_view();
}

element Member(const element& from, const char* member) {
  element found;
  if (from[member].get(found) != simdjson::SUCCESS) return {};
  return found;
}

template <typename Visit>
void Each(const element& from, const char* member, Visit visit) {
  array items;
  if (from[member].get(items) != simdjson::SUCCESS) return;
  for (const element item : items) visit(item);
}

// One process of the file: an element of the outermost list.
class Process {
 public:
  Process(duck::Connection& connection, std::string raw, int64_t part, element tool)
      : connection_(connection), raw_(std::move(raw)), part_(part), tool_(tool) {}

  base::Result<void> Load() {
    ROCHOUND_CHECK(AddProcess());
    ROCHOUND_CHECK(AddAgents());
    ROCHOUND_CHECK(AddKernels());
    ROCHOUND_CHECK(AddDispatches());
    ROCHOUND_CHECK(AddCopies());
    ROCHOUND_CHECK(AddCalls());
    ROCHOUND_CHECK(AddEvents());
    return AddStrings();
  }

 private:
  base::Result<duck::Appender> Append(const char* table) { return connection_.Append(raw_, table); }

  int64_t String(std::string_view text) {
    return strings_.try_emplace(std::string(text), static_cast<int64_t>(strings_.size()) + 1)
        .first->second;
  }

  // What a record's kind and operation are called.
  std::pair<std::string_view, std::string_view> Names(const element& record) {
    if (kinds_.empty())
      Each(Member(tool_, "strings"), "buffer_records",
           [&](const element& kind) { kinds_.push_back(kind); });
    const auto kind = static_cast<size_t>(Int(record, "kind"));
    if (kind >= kinds_.size()) return {};
    std::string_view name;
    array operations;
    const auto operation = static_cast<size_t>(Int(record, "operation"));
    if (kinds_[kind]["operations"].get(operations) == simdjson::SUCCESS &&
        operations.at(operation).get(name) != simdjson::SUCCESS)
      name = {};
    return {Text(kinds_[kind], "kind"), name};
  }

  // An event of rocpd: the category, and the stack id by which work finds its call.
  int64_t Event(std::string_view category, const element& record) {
    events_.push_back({String(category), Int(Member(record, "correlation_id"), "internal")});
    return static_cast<int64_t>(events_.size());
  }

  base::Result<void> AddProcess() {
    const element metadata = Member(tool_, "metadata");
    pid_ = Int(metadata, "pid");
    std::string command;
    Each(metadata, "command", [&](const element& word) {
      std::string_view text;
      if (word.get(text) == simdjson::SUCCESS)
        command += (command.empty() ? "" : " ") + std::string(text);
    });
    {
      ROCHOUND_TRY(duck::Appender rows, Append("info_node"));
      rows.Int(part_).Int(1).Text(Text(Member(metadata, "node"), "hostname"));
      rows.EndRow();
      ROCHOUND_CHECK(rows.Finish());
    }
    ROCHOUND_TRY(duck::Appender rows, Append("info_process"));
    rows.Int(part_).Int(pid_).Int(1).Int(pid_).Null();
    rows.Int(Int(metadata, "init_time")).Int(Int(metadata, "fini_time")).Text(command);
    rows.EndRow();
    return rows.Finish();
  }

  base::Result<void> AddAgents() {
    ROCHOUND_TRY(duck::Appender rows, Append("info_agent"));
    Each(tool_, "agents", [&](const element& agent) {
      constexpr int64_t kGpu = 2;
      rows.Int(part_).Int(Handle(agent, "id")).Int(1).Int(pid_);
      rows.Text(Int(agent, "type") == kGpu ? "GPU" : "CPU").Int(Int(agent, "node_id"));
      rows.Text("").Text(Text(agent, "name")).Text(Text(agent, "product_name"));
      rows.Text("{\"cu_count\": " + std::to_string(Int(agent, "cu_count")) + "}");
      rows.EndRow();
    });
    return rows.Finish();
  }

  base::Result<void> AddKernels() {
    ROCHOUND_TRY(duck::Appender rows, Append("info_kernel_symbol"));
    Each(tool_, "kernel_symbols", [&](const element& kernel) {
      if (Int(kernel, "kernel_id") == 0) return;
      rows.Int(part_).Int(Int(kernel, "kernel_id")).Int(Int(kernel, "code_object_id"));
      rows.Text(Text(kernel, "kernel_name")).Text(Text(kernel, "formatted_kernel_name"));
      rows.Int(Int(kernel, "kernel_object")).Int(Int(kernel, "kernarg_segment_size"));
      rows.Int(Int(kernel, "sgpr_count")).Int(Int(kernel, "arch_vgpr_count"));
      rows.Int(Int(kernel, "accum_vgpr_count"));
      rows.EndRow();
    });
    return rows.Finish();
  }

  base::Result<void> AddDispatches() {
    ROCHOUND_TRY(duck::Appender rows, Append("kernel_dispatch"));
    int64_t id = 0;
    Each(Member(tool_, "buffer_records"), "kernel_dispatch", [&](const element& record) {
      const element info = Member(record, "dispatch_info");
      const element workgroup = Member(info, "workgroup_size"), grid = Member(info, "grid_size");
      rows.Int(part_).Int(++id).Int(pid_).Int(Handle(info, "agent_id"));
      rows.Int(Int(info, "kernel_id")).Int(Int(info, "dispatch_id")).Int(Handle(info, "queue_id"));
      rows.Int(Handle(record, "stream_id"));
      rows.Int(Int(record, "start_timestamp")).Int(Int(record, "end_timestamp"));
      rows.Int(Int(info, "private_segment_size")).Int(Int(info, "group_segment_size"));
      for (const element& size : {workgroup, grid})
        for (const char* axis : {"x", "y", "z"}) rows.Int(Int(size, axis));
      rows.Int(Event("KERNEL_DISPATCH", record));
      rows.EndRow();
    });
    return rows.Finish();
  }

  base::Result<void> AddCopies() {
    ROCHOUND_TRY(duck::Appender rows, Append("memory_copy"));
    int64_t id = 0;
    Each(Member(tool_, "buffer_records"), "memory_copy", [&](const element& record) {
      rows.Int(part_).Int(++id).Int(pid_);
      rows.Int(Int(record, "start_timestamp")).Int(Int(record, "end_timestamp"));
      rows.Int(String(Names(record).second));
      rows.Int(Handle(record, "dst_agent_id")).Null().Int(Handle(record, "src_agent_id")).Null();
      rows.Int(Int(record, "bytes")).Int(Handle(record, "stream_id"));
      rows.Int(Event("MEMORY_COPY", record));
      rows.EndRow();
    });
    return rows.Finish();
  }

  base::Result<void> AddCalls() {
    ROCHOUND_TRY(duck::Appender rows, Append("region"));
    int64_t id = 0;
    for (const char* list : {"hip_api", "hsa_api", "marker_api", "rccl_api"}) {
      Each(Member(tool_, "buffer_records"), list, [&](const element& record) {
        const auto [kind, name] = Names(record);
        rows.Int(part_).Int(++id).Int(pid_).Int(Int(record, "thread_id"));
        rows.Int(Int(record, "start_timestamp")).Int(Int(record, "end_timestamp"));
        rows.Int(String(name)).Int(Event(kind, record));
        rows.EndRow();
      });
    }
    return rows.Finish();
  }

  base::Result<void> AddEvents() {
    ROCHOUND_TRY(duck::Appender rows, Append("event"));
    int64_t id = 0;
    for (const auto& [category, stack] : events_) {
      rows.Int(part_).Int(++id).Int(category).Int(stack).Null().Null();
      rows.EndRow();
    }
    return rows.Finish();
  }

  base::Result<void> AddStrings() {
    ROCHOUND_TRY(duck::Appender rows, Append("string"));
    for (const auto& [text, id] : strings_) {
      rows.Int(part_).Int(id).Text(text);
      rows.EndRow();
    }
    return rows.Finish();
  }

  duck::Connection& connection_;
  const std::string raw_;
  const int64_t part_;
  const element tool_;
  int64_t pid_ = 0;
  std::vector<element> kinds_;
  std::map<std::string, int64_t> strings_;
  std::vector<std::pair<int64_t, int64_t>> events_;
};

base::Result<void> Load(duck::Connection& connection, const std::string& schema,
                        std::string_view text) {
  simdjson::dom::parser parser;
  element file;
  array tools;
  if (const auto error = parser.parse(text.data(), text.size()).get(file);
      error != simdjson::SUCCESS)
    return base::Error{std::string("no valid JSON: ") + simdjson::error_message(error)};
  if (file[kTool].get(tools) != simdjson::SUCCESS)
    return base::Error{"it has no " + std::string(kTool)};
  ROCHOUND_CHECK(CreateRocpdTables(connection, schema));
  int64_t part = 0;
  for (const element tool : tools)
    ROCHOUND_CHECK(Process(connection, schema + "_raw", part++, tool).Load());
  return {};
}

}  // namespace

bool LooksLikeRocprofJson(std::string_view text) {
  return text.substr(0, 4096).find(kTool) != std::string_view::npos;
}

base::Result<SourceFacts> AttachRocprofJson(duck::Connection& connection,
                                            const std::filesystem::path& path,
                                            const std::string& schema,
                                            const SourceProgress& progress) {
  ROCHOUND_TRY(InflatingFile file, InflatingFile::Open(path));
  std::string text;
  while (true) {
    const auto piece = file.Next();
    if (!piece.ok()) return piece.error().In("'" + path.string() + "'");
    if (piece.value().empty()) break;
    if (text.size() + piece.value().size() > kMostBytes)
      return base::Error{"'" + path.string() + "' is too large: let rocprofv3 write rocpd instead"};
    text += piece.value();
    if (progress && !progress(file.file_bytes() == 0 ? 0
                                                     : static_cast<double>(file.bytes_read()) /
                                                           static_cast<double>(file.file_bytes())))
      return base::Error{"interrupted while reading '" + path.string() + "'"};
  }
  text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  if (auto loaded = Load(connection, schema, text); !loaded.ok())
    return loaded.error().In("'" + path.string() + "'");
  auto facts = ReadRocpdTables(connection, schema);
  if (!facts.ok()) return facts.error().In("'" + path.string() + "'");
  return facts;
}

}  // namespace rochound::store
