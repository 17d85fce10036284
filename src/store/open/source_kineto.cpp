// SPDX-License-Identifier: MIT
#include "store/open/source_kineto.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "codeobj/demangle.h"
#include "store/convert/names.h"
#include "store/open/foreign_names.h"
#include "store/open/inflating_file.h"
#include "store/open/json_splitter.h"
#include "store/open/kineto_event.h"
#include "store/open/trace_tables.h"
#include "store/open/unrecorded_copies.h"

namespace rochound::store {
namespace {

constexpr size_t kMaxText = 4096;     // of RPD's strings
constexpr size_t kMaxMonitor = 255;   // of RPD's monitor values
constexpr size_t kMaxOpen = 1 << 16;  // begun and not ended, per thread

constexpr std::string_view kPythonFunction = "python_function";

enum class OpKind { kKernel, kCopy, kFill };

// What was seen and is not in the tables, or not for sure.
struct Losses {
  uint64_t malformed = 0;  // the splitter's are added at the end
  uint64_t without_time = 0;
  uint64_t begin_without_end = 0;
  uint64_t end_without_begin = 0;
  uint64_t bad_length = 0;
  std::map<std::string, uint64_t> unknown;  // by phase
  std::string damage;
};

// Cut where a character ends.
std::string_view Cut(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

class Loader {
 public:
  Loader(duck::Connection& connection, std::string schema)
      : connection_(connection), schema_(std::move(schema)), raw_(schema_ + "_raw") {}

  base::Result<void> Create();
  void Event(std::string_view object);
  void Member(std::string_view name, std::string_view value);
  // After the last event: `splitter` and `damage` tell how the file ended.
  base::Result<void> Finish(const JsonSplitter& splitter, const std::string& damage);

  uint64_t events() const { return events_; }

 private:
  struct Open {
    std::string category, name, args;
    int64_t start;
  };
  struct Process {
    int64_t session;
    bool only_python = true;  // nothing else was seen of it
  };
  // As the file describes it, by HIP's number.
  struct Device {
    int64_t id;
    std::string name;
    int64_t units;  // compute units or pairs of them; 0: not known
    int64_t major;  // 9: gfx9
  };

  int64_t String(std::string_view text);
  int64_t Session(int64_t pid);
  int64_t AddApi(int64_t pid, int64_t tid, int64_t start, int64_t end, std::string_view name,
                 std::string_view domain, std::string_view category, std::string_view args);
  void AddMonitor(std::string_view type, int64_t device, std::string_view what, int64_t start,
                  int64_t end, std::string_view value);
  void Complete(int64_t start, int64_t end);
  void Operation(OpKind kind, int64_t start, int64_t end);
  void AddCollective(int64_t device, int64_t start, int64_t end);
  void RuntimeCall(int64_t pid, int64_t start, int64_t end);
  void AddSizes(duck::Appender* to) const;
  void Instant(int64_t time);
  void Counter(int64_t time);
  void Metadata();
  std::string ArgumentText() const;
  std::string OperatorText() const;

  base::Result<void> Flush();
  base::Result<void> NumberGpus();
  base::Result<void> MergeNoProcess();
  base::Result<void> Link();
  base::Result<void> Describe();
  base::Result<void> TellLosses();

  duck::Connection& connection_;
  std::string schema_, raw_;
  KinetoParser parser_;
  KinetoEvent event_;
  std::unique_ptr<duck::Appender> string_, ustring_, api_, monitor_, call_, op_;
  std::unordered_map<std::string, int64_t> strings_;
  std::map<int64_t, Process> processes_;  // by pid
  std::map<int64_t, std::string> process_names_;
  std::map<std::pair<int64_t, int64_t>, std::vector<Open>> open_;
  std::vector<std::pair<std::string, std::string>> members_;
  std::vector<Device> devices_;
  std::set<int64_t> op_devices_;      // as operations number them
  std::set<int64_t> memory_devices_;  // as PyTorch's allocator does: HIP's numbers
  bool amd_ = false;
  std::optional<int64_t> base_time_;
  Losses losses_;
  uint64_t events_ = 0;
  int64_t apis_ = 0, ops_ = 0, monitors_ = 0;
  int64_t first_ = INT64_MAX;
};

base::Result<void> Loader::Create() {
  const std::string raw = duck::Identifier(raw_);
  ROCHOUND_CHECK(connection_.Run(
      "CREATE SCHEMA IF NOT EXISTS " + duck::Identifier(schema_) + "; CREATE SCHEMA " + raw + ";" +
      CreateTables(schema_) + "CREATE TABLE " + raw +
      ".call (api_id BIGINT, correlation BIGINT, start BIGINT, \"end\" BIGINT, stream BIGINT, "
      "dst VARCHAR, src VARCHAR, size BIGINT, sync BIGINT, gridX BIGINT, gridY BIGINT, gridZ "
      "BIGINT, "
      "blockX BIGINT, blockY BIGINT, blockZ BIGINT, shared BIGINT);"
      "CREATE TABLE " +
      raw +
      ".op (seq BIGINT, kind BIGINT, device BIGINT, stream BIGINT, start BIGINT, \"end\" BIGINT, "
      "name_id BIGINT, type_id BIGINT, correlation BIGINT, gridX BIGINT, gridY BIGINT, gridZ "
      "BIGINT, "
      "blockX BIGINT, blockY BIGINT, blockZ BIGINT, shared BIGINT, size BIGINT, direction BIGINT, "
      "pinned BIGINT);"));
  const auto appender = [&](const std::string& schema, const char* table,
                            std::unique_ptr<duck::Appender>* out) -> base::Result<void> {
    ROCHOUND_TRY(duck::Appender made, connection_.Append(schema, table));
    *out = std::make_unique<duck::Appender>(std::move(made));
    return {};
  };
  ROCHOUND_CHECK(appender(schema_, "rocpd_string", &string_));
  ROCHOUND_CHECK(appender(schema_, "rocpd_ustring", &ustring_));
  ROCHOUND_CHECK(appender(schema_, "rocpd_api", &api_));
  ROCHOUND_CHECK(appender(schema_, "rocpd_monitor", &monitor_));
  ROCHOUND_CHECK(appender(raw_, "call", &call_));
  ROCHOUND_CHECK(appender(raw_, "op", &op_));
  String("");
  return {};
}

int64_t Loader::String(std::string_view text) {
  const auto [found, added] = strings_.try_emplace(std::string(text), strings_.size() + 1);
  if (added) {
    string_->Int(found->second).Text(text);
    string_->EndRow();
  }
  return found->second;
}

int64_t Loader::Session(int64_t pid) {
  const auto [found, added] =
      processes_.try_emplace(pid, Process{static_cast<int64_t>(processes_.size())});
  return found->second.session;
}

int64_t Loader::AddApi(int64_t pid, int64_t tid, int64_t start, int64_t end, std::string_view name,
                       std::string_view domain, std::string_view category, std::string_view args) {
  const int64_t id = (Session(pid) << 32) + ++apis_;
  if (category != kPythonFunction) processes_[pid].only_python = false;
  ustring_->Int(id).Text(Cut(args, kMaxText));
  ustring_->EndRow();
  const int64_t name_id = String(Cut(name, kMaxText)), category_id = String(category),
                domain_id = String(domain);
  api_->Int(id).Int(pid).Int(tid).Int(start).Int(end);
  api_->Int(name_id).Int(category_id).Int(domain_id).Int(id);
  api_->EndRow();
  first_ = std::min(first_, start);
  return id;
}

void Loader::AddMonitor(std::string_view type, int64_t device, std::string_view what, int64_t start,
                        int64_t end, std::string_view value) {
  monitor_->Int(++monitors_).Text(Cut(type, 16)).Int(device).Text(Cut(what, 16));
  monitor_->Int(start).Int(end).Text(Cut(value, kMaxMonitor));
  monitor_->EndRow();
}

// RPD's form: name=value|name=value.
std::string Loader::ArgumentText() const {
  std::string text;
  for (size_t i = 0; i < event_.argument_count; ++i) {
    if (i > 0) text.push_back('|');
    text += event_.arguments[i].name + "=" + event_.arguments[i].value;
  }
  return text;
}

// As torch.autograd.profiler.emit_nvtx names its ranges, so that what knows those knows these.
std::string Loader::OperatorText() const {
  std::string text = event_.name;
  if (const auto sequence = event_.Number("Sequence number"); sequence && *sequence >= 0)
    text += fmt::format(", seq = {}", *sequence);
  if (const auto id = event_.Number("External id")) {
    text += fmt::format(", op_id = {}", *id);
    const std::string* sizes = event_.Find("Input Dims");
    if (sizes == nullptr) sizes = event_.Find("Input dims");
    if (sizes != nullptr) text += ", sizes = " + *sizes + ", input_op_ids = []";
  }
  return text;
}

void Loader::Event(std::string_view object) {
  ++events_;
  if (!parser_.Parse(object, &event_)) {
    ++losses_.malformed;
    return;
  }
  if (event_.phase == 'M') return Metadata();
  // Both ends of these are known by their ids already: correlations and sequence numbers.
  if (event_.phase == 's' || event_.phase == 't' || event_.phase == 'f') {
    if (event_.category != "ac2g" && event_.category != "fwdbwd" &&
        event_.category != "async_cpu_to_gpu" && event_.category != "forward_backward")
      ++losses_.unknown["flow '" + event_.category + "'"];
    return;
  }
  if (!event_.start) {
    ++losses_.without_time;
    return;
  }
  const int64_t start = *event_.start;
  switch (event_.phase) {
    case 'X': {
      int64_t length = event_.duration.value_or(0);
      if (length < 0) {
        ++losses_.bad_length;
        length = 0;
      }
      return Complete(start, start + length);
    }
    case 'B': {
      auto& stack = open_[{event_.pid.value_or(0), event_.tid.value_or(0)}];
      if (stack.size() >= kMaxOpen) {
        ++losses_.begin_without_end;
        return;
      }
      stack.push_back({event_.category, event_.name, ArgumentText(), start});
      return;
    }
    case 'E': {
      auto& stack = open_[{event_.pid.value_or(0), event_.tid.value_or(0)}];
      if (stack.empty()) {
        ++losses_.end_without_begin;
        return;
      }
      const Open begun = std::move(stack.back());
      stack.pop_back();
      event_.category = begun.category;
      event_.name = begun.name;
      if (event_.pid) {
        const std::string args = begun.args.empty() ? begun.name : begun.name + "|" + begun.args;
        AddApi(*event_.pid, event_.tid.value_or(0), begun.start, std::max(begun.start, start),
               "UserMarker", "torch", begun.category, args);
      } else {
        AddMonitor("trace", 0, "span", begun.start, std::max(begun.start, start), begun.name);
      }
      return;
    }
    case 'i':
    case 'I':
    case 'R':
      return Instant(start);
    case 'C':
      return Counter(start);
    default:
      ++losses_.unknown[fmt::format("phase '{}'", event_.phase)];
  }
}

void Loader::Complete(int64_t start, int64_t end) {
  const std::string& category = event_.category;
  if (category == "kernel" || category == "Kernel") return Operation(OpKind::kKernel, start, end);
  if (category == "gpu_memcpy" || category == "Memcpy") return Operation(OpKind::kCopy, start, end);
  if (category == "gpu_memset" || category == "Memset") return Operation(OpKind::kFill, start, end);
  // Not the host's and no work of a GPU's: what is beside its work.
  if (category == "gpu_user_annotation")
    return AddMonitor("GPU", event_.Number("device").value_or(event_.pid.value_or(0)), "annotation",
                      start, end, event_.name);
  if (category == "cuda_sync" || category == "xpu_sync" || category == "cuda_event")
    return AddMonitor("GPU", event_.Number("device").value_or(event_.pid.value_or(0)), "sync",
                      start, end, event_.name);
  if (!event_.pid) return AddMonitor("trace", 0, "span", start, end, event_.name);
  if (category == "overhead") {
    // Kineto files these under a process -1 of their own.
    const int64_t pid =
        processes_.empty() || *event_.pid >= 0 ? *event_.pid : processes_.begin()->first;
    AddApi(std::max<int64_t>(pid, 0), event_.tid.value_or(0), start, end, event_.name, "rochound",
           "overhead", ArgumentText());
    return;
  }
  if (category.ends_with("_runtime") || category.ends_with("_driver") || category == "Runtime")
    return RuntimeCall(*event_.pid, start, end);
  const bool is_operator = category == "cpu_op" || category == "Operator";
  AddApi(*event_.pid, event_.tid.value_or(0), start, end, "UserMarker", "torch",
         is_operator ? "cpu_op" : category, is_operator ? OperatorText() : event_.name);
}

void Loader::RuntimeCall(int64_t pid, int64_t start, int64_t end) {
  if (event_.name.starts_with("hip")) amd_ = true;
  CallKind kind = KindOfCall(event_.name);
  if (kind.domain.empty()) kind.domain = event_.category.starts_with("cuda") ? "cuda" : "hip";
  const int64_t id = AddApi(pid, event_.tid.value_or(0), start, end, event_.name, kind.domain,
                            kind.category, ArgumentText());
  const auto correlation = event_.Number("correlation");
  if (!correlation || *correlation == 0) return;
  const auto address = [&](const char* name) {
    const std::string* text = event_.Find(name);
    return std::string(text == nullptr ? "" : Cut(*text, 18));
  };
  call_->Int(id).Int(*correlation).Int(start).Int(end);
  call_->Int(event_.Number("stream").value_or(-1));
  call_->Text(address("dst")).Text(address("src"));
  call_->Int(event_.Number("bytes").value_or(event_.Number("size").value_or(-1)));
  call_->Int(event_.name.find("Async") == std::string::npos ? 1 : 0);
  AddSizes(call_.get());
  call_->EndRow();
}

// Of a kernel, which its launch or its own event may tell. Their grid counts workgroups, ours work
// items.
void Loader::AddSizes(duck::Appender* to) const {
  int64_t grid[3] = {0, 0, 0};
  int64_t block[3] = {0, 0, 0};
  if (event_.Dimensions("grid", grid) && event_.Dimensions("block", block)) {
    for (int i = 0; i < 3; ++i) to->Int(grid[i] * block[i]);
    for (const int64_t size : block) to->Int(size);
  } else {
    for (int i = 0; i < 6; ++i) to->Null();
  }
  if (const auto bytes = event_.Number("shared memory")) {
    to->Int(*bytes);
  } else {
    to->Null();
  }
}

void Loader::Operation(OpKind kind, int64_t start, int64_t end) {
  CopyDirection direction = CopyDirection::kUnknown;
  std::string_view type = kKernelExecution;
  if (kind == OpKind::kFill) type = "FillBuffer";
  if (kind == OpKind::kCopy) {
    direction = DirectionOf(event_.name);
    if (const std::string* text = event_.Find("kind");
        direction == CopyDirection::kUnknown && text != nullptr)
      direction = DirectionOf(*text);
    type = OperationOfCopy(direction);
  }
  const int64_t name_id = String(Cut(codeobj::Demangle(event_.name), kMaxText));
  const int64_t type_id = String(type);
  op_->Int(++ops_).Int(static_cast<int64_t>(kind));
  const int64_t device = event_.Number("device").value_or(event_.pid.value_or(0));
  op_devices_.insert(device);
  // "Dispatch Kernel": only AMD's tracer says so.
  if (kind == OpKind::kKernel && event_.Find("kind") != nullptr) amd_ = true;
  op_->Int(device);
  op_->Int(event_.Number("stream").value_or(event_.tid.value_or(0)));
  op_->Int(start).Int(end).Int(name_id).Int(type_id);
  const auto correlation = event_.Number("correlation");
  if (correlation && *correlation != 0) {
    op_->Int(*correlation);
  } else {
    op_->Null();
  }
  if (kind == OpKind::kKernel) AddCollective(device, start, end);
  AddSizes(op_.get());
  op_->Int(event_.Number("bytes").value_or(-1));
  op_->Int(static_cast<int64_t>(direction));
  op_->Int(event_.name.find("Pinned") == std::string::npos ? 0 : 1);
  op_->EndRow();
  first_ = std::min(first_, start);
}

// What PyTorch tells of a collective beside its kernel, in the form of a call's arguments.
void Loader::AddCollective(int64_t device, int64_t start, int64_t end) {
  const std::string* const name = event_.Find("Collective name");
  if (name == nullptr || name->empty()) return;
  const auto text = [&](const char* argument) {
    const std::string* const found = event_.Find(argument);
    return found == nullptr ? std::string() : *found;
  };
  const std::string type = text("dtype");
  struct Size {
    const char* type;
    int64_t bytes;
  };
  static constexpr Size kSizes[] = {{"Double", 8}, {"Long", 8},     {"Float", 4}, {"Int", 4},
                                    {"Half", 2},   {"BFloat16", 2}, {"Short", 2}};
  int64_t bytes = 1;
  for (const Size& size : kSizes)
    if (type == size.type) bytes = size.bytes;
  AddMonitor("GPU", device, "collective", start, end,
             fmt::format("name={}|bytes={}|ranks={}|group={} {}", *name,
                         bytes * event_.Number("In msg nelems").value_or(0),
                         event_.Number("Group size").value_or(0), text("Process Group Name"),
                         text("Process Group Ranks")));
}

void Loader::Instant(int64_t time) {
  if (event_.name == "[memory]") {
    const auto device = event_.Number("Device Id");
    const bool on_gpu = device && *device >= 0;
    if (on_gpu) memory_devices_.insert(*device);
    AddMonitor(on_gpu ? "GPU" : "CPU", on_gpu ? *device : 0, "memory", time, time, ArgumentText());
  } else if (!event_.pid) {
    AddMonitor("trace", 0, "mark", time, time, event_.name);
  } else {
    AddApi(*event_.pid, event_.tid.value_or(0), time, time, "UserMarker", "torch", event_.category,
           event_.name);
  }
}

void Loader::Counter(int64_t time) {
  for (size_t i = 0; i < event_.argument_count; ++i) {
    const KinetoEvent::Argument& argument = event_.arguments[i];
    AddMonitor(event_.pid ? "counter" : event_.pid_text, event_.pid.value_or(0),
               argument.name.empty() ? event_.name : argument.name, time, time, argument.value);
  }
}

void Loader::Metadata() {
  const std::string* name = event_.Find("name");
  if (name == nullptr || !event_.pid) return;  // labels and the order of rows: for viewers
  if (event_.name == "process_name") process_names_[*event_.pid] = *name;
  if (event_.name == "thread_name" && members_.size() < 100000)
    members_.emplace_back(fmt::format("thread::{}::{}", *event_.pid, event_.tid.value_or(0)),
                          *name);
}

void Loader::Member(std::string_view name, std::string_view value) {
  if (name == "baseTimeNanoseconds") {
    int64_t base = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), base);
    if (error == std::errc()) base_time_ = base;
  }
  if (name == "deviceProperties") {
    simdjson::dom::parser parser;
    simdjson::dom::array devices;
    if (parser.parse(simdjson::padded_string(value)).get(devices) != simdjson::SUCCESS) return;
    for (const simdjson::dom::element device : devices) {
      int64_t id = 0, units = 0, major = 0;
      std::string_view text;
      if (device["id"].get(id) != simdjson::SUCCESS ||
          device["name"].get(text) != simdjson::SUCCESS)
        continue;
      if (device["numSms"].get(units) != simdjson::SUCCESS) units = 0;
      if (device["computeMajor"].get(major) != simdjson::SUCCESS) major = 0;
      devices_.push_back({id, std::string(text), units, major});
    }
    return;
  }
  if (name == "hip_runtime_version") amd_ = true;
  if (members_.size() < 100000 && base::IsUtf8(name) && base::IsUtf8(value))
    members_.emplace_back(name, Cut(value, kMaxText));
}

base::Result<void> Loader::Flush() {
  for (std::unique_ptr<duck::Appender>* appender :
       {&string_, &ustring_, &api_, &monitor_, &call_, &op_}) {
    ROCHOUND_CHECK((*appender)->Finish());
    appender->reset();
  }
  return {};
}

base::Result<void> Loader::Finish(const JsonSplitter& splitter, const std::string& damage) {
  for (const auto& [thread, stack] : open_) losses_.begin_without_end += stack.size();
  losses_.malformed += splitter.malformed();
  losses_.damage = damage;
  if (losses_.damage.empty() && splitter.cut_off())
    losses_.damage = "the file ends in the middle of its events";
  if (processes_.empty()) Session(0);
  ROCHOUND_CHECK(Flush());
  ROCHOUND_CHECK(MergeNoProcess());
  ROCHOUND_CHECK(NumberGpus());
  ROCHOUND_CHECK(Link());
  ROCHOUND_CHECK(Describe());
  return TellLosses();
}

// Kineto files the functions of Python threads that it knows no process of under process 0. They
// are those of the process that was traced.
base::Result<void> Loader::MergeNoProcess() {
  const auto none = processes_.find(0);
  if (none == processes_.end() || !none->second.only_python || processes_.size() < 2) return {};
  int64_t pid = 0, session = INT64_MAX;
  for (const auto& [other, process] : processes_) {
    if (other == 0 || process.session >= session) continue;
    pid = other;
    session = process.session;
  }
  const std::string schema = duck::Identifier(schema_);
  const int64_t from = none->second.session, distance = (session - from) * (int64_t{1} << 32);
  ROCHOUND_CHECK(connection_.Run(fmt::format(
      "UPDATE {0}.rocpd_api SET pid = {1}, id = id + ({2}), args_id = args_id + ({2}) "
      "WHERE id >> 32 = {3}; UPDATE {0}.rocpd_ustring SET id = id + ({2}) WHERE id >> 32 = {3};",
      schema, pid, distance, from)));
  processes_.erase(none);
  return {};
}

// AMD's tracer counts the nodes of the kernel driver, CPUs first, where HIP counts GPUs. Which node
// HIP's first GPU is, the file does not say: the nodes in their order are the devices that PyTorch
// allocated on, or the first ones. Node 0 is a CPU; where it did work, HIP's numbers were written.
base::Result<void> Loader::NumberGpus() {
  const std::string raw = duck::Identifier(raw_);
  std::string sql = "CREATE TABLE " + raw + ".gpu (node BIGINT, number BIGINT);";
  const bool nodes = amd_ && !op_devices_.empty() && *op_devices_.begin() > 0;
  auto allocated = memory_devices_.begin();
  int64_t number = 0;
  for (const int64_t node : op_devices_) {
    const int64_t in_order = memory_devices_.size() == op_devices_.size() ? *allocated++ : number++;
    sql += fmt::format("INSERT INTO {}.gpu VALUES ({}, {});", raw, node, nodes ? in_order : node);
  }
  sql += fmt::format(
      "UPDATE {0}.op SET device = g.number FROM {0}.gpu g WHERE op.device = g.node;"
      "UPDATE {1}.rocpd_monitor SET \"deviceId\" = g.number FROM {0}.gpu g WHERE \"deviceId\" = "
      "g.node AND \"deviceType\" = 'GPU' AND \"monitorType\" IN ('annotation', 'collective', 'sync');",
      raw, duck::Identifier(schema_));
  return connection_.Run(sql);
}

// Which call each operation comes from: they carry the same correlation. Where several calls do, it
// is the last that began before the operation.
base::Result<void> Loader::Link() {
  const std::string raw = duck::Identifier(raw_);
  const std::string to = "INSERT INTO " + duck::Identifier(schema_) + ".";
  int64_t first_session = INT64_MAX;
  for (const auto& [pid, process] : processes_)
    first_session = std::min(first_session, process.session);
  ROCHOUND_CHECK(connection_.Run(
      "CREATE TABLE " + raw +
      ".link AS SELECT o.seq, "
      "arg_max(c.api_id, ROW(c.start <= o.start, c.start, c.api_id)) AS api_id FROM " +
      raw + ".op o JOIN " + raw +
      ".call c USING (correlation) GROUP BY o.seq;"
      "CREATE TABLE " +
      raw + ".linked AS SELECT (coalesce(l.api_id >> 32, " + std::to_string(first_session) +
      ") << 32) | o.seq AS op_id, "
      // Work may start before its call returns, the kernels of a graph above all.
      "l.api_id, if(l.api_id IS NULL, NULL, greatest(c.start, least(c.\"end\", o.start))) AS submit, c.dst, c.src, c.size AS call_size, c.sync, "
      "o.* REPLACE (coalesce(o.gridX, c.gridX, 0) AS gridX, coalesce(o.gridY, c.gridY, 0) AS "
      "gridY, "
      "coalesce(o.gridZ, c.gridZ, 0) AS gridZ, coalesce(o.blockX, c.blockX, 0) AS blockX, "
      "coalesce(o.blockY, c.blockY, 0) AS blockY, coalesce(o.blockZ, c.blockZ, 0) AS blockZ, "
      "coalesce(o.shared, c.shared, 0) AS shared) FROM " +
      raw + ".op o LEFT JOIN " + raw + ".link l USING (seq) LEFT JOIN " + raw +
      ".call c ON c.api_id = l.api_id;"
      "DROP TABLE " +
      raw + ".link; DROP TABLE " + raw + ".op; DROP TABLE " + raw + ".call;"));
  const std::string linked = " FROM " + raw + ".linked ";
  return connection_.Run(
      to + "rocpd_op SELECT op_id, device, stream, 0, start, \"end\", name_id, type_id" + linked +
      "ORDER BY op_id;" + to +
      "rocpd_api_ops SELECT ((api_id >> 32) << 32) | row_number() OVER (ORDER BY op_id), api_id, "
      "op_id" +
      linked + "WHERE api_id IS NOT NULL;" + to +
      "rochound_kernel SELECT row_number() OVER (ORDER BY name_id), name_id, name_id, 0, 0, 0, "
      "min(device)" +
      linked + "WHERE kind = 0 GROUP BY name_id;" + to +
      "rochound_dispatch SELECT op_id, api_id, k.id, gridX, gridY, gridZ, blockX, blockY, blockZ, "
      "shared, 0, stream, device, submit, 1" +
      linked + "JOIN " + duck::Identifier(schema_) +
      ".rochound_kernel k USING (name_id) WHERE kind = 0 ORDER BY op_id;" + to +
      "rocpd_kernelapi SELECT api_id, printf('%d', first(stream)), first(gridX), first(gridY), "
      "first(gridZ), first(blockX), first(blockY), first(blockZ), first(shared), 0, first(name_id) "
      "FROM (SELECT *" +
      linked +
      "WHERE kind = 0 AND api_id IS NOT NULL ORDER BY start, op_id) "
      "GROUP BY api_id ORDER BY api_id;" +
      // The direction's host side is no agent, -1.
      to +
      "rochound_copy SELECT op_id, api_id, greatest(size, call_size, 0), "
      "CASE WHEN direction IN (0, 1) THEN -1 ELSE device END, "
      "CASE WHEN direction IN (0, 2) THEN -1 ELSE device END, 0, 0, 0, 0, submit, 1" +
      linked + "WHERE kind <> 0 ORDER BY op_id;" + to +
      "rocpd_copyapi SELECT api_id, printf('%d', first(stream)), "
      "greatest(first(size), first(call_size), 0), 0, 0, first(direction), "
      "coalesce(first(dst), ''), coalesce(first(src), ''), "
      "CASE WHEN first(direction) IN (0, 2) THEN -1 ELSE first(device) END, "
      "CASE WHEN first(direction) IN (0, 1) THEN -1 ELSE first(device) END, "
      "coalesce(first(sync), 0), first(pinned) FROM (SELECT *" +
      linked +
      "WHERE kind = 1 AND api_id IS NOT NULL ORDER BY start, op_id) GROUP BY api_id ORDER BY "
      "api_id;");
}

base::Result<void> Loader::Describe() {
  const std::string schema = duck::Identifier(schema_);
  ROCHOUND_TRY(duck::Appender appender, connection_.Append(schema_, "rocpd_metadata"));
  int64_t id = 0;
  const auto metadata = [&](std::string_view tag, std::string_view value) {
    appender.Int(++id).Text(tag).Text(value);
    appender.EndRow();
  };
  metadata("gpu_stride", std::to_string(kGpuStride));
  metadata("pid_stride", std::to_string(kPidStride));
  metadata("schema_version", "3");
  metadata("session_count", std::to_string(processes_.size()));
  // Without a base, times are microseconds since 1970, if they can be.
  constexpr int64_t kSince2001 = 1'000'000'000'000'000'000;
  if (base_time_) {
    metadata("rochound_realtime_offset_ns", std::to_string(*base_time_));
  } else if (first_ != INT64_MAX && first_ > kSince2001) {
    metadata("rochound_realtime_offset_ns", "0");
  }
  for (const auto& [name, value] : members_) metadata("kineto::" + name, value);
  ROCHOUND_CHECK(appender.Finish());
  std::string sql;
  for (const auto& [pid, process] : processes_) {
    const auto named = process_names_.find(pid);
    sql += fmt::format(
        "INSERT INTO {0}.rochound_process SELECT {1}, {2}, 0, {3}, '', '', t.start, t.\"end\", "
        "t.calls, "
        "(SELECT count(*) FROM {0}.rochound_dispatch WHERE op_id >> 32 = {1}), "
        "(SELECT count(*) FROM {0}.rochound_copy WHERE op_id >> 32 = {1}), '' FROM (SELECT "
        "coalesce(min(start), 0) AS start, coalesce(max(\"end\"), 0) AS \"end\", count(*) AS calls "
        "FROM {0}.rocpd_api WHERE id >> 32 = {1}) t;",
        schema, process.session, pid,
        duck::Literal(named == process_names_.end() ? "" : named->second));
  }
  // Devices that are described, and those that something ran on.
  sql += fmt::format("CREATE TABLE {}.device (id BIGINT, name VARCHAR);", duck::Identifier(raw_));
  for (const Device& device : devices_) {
    sql += fmt::format("INSERT INTO {}.device VALUES ({}, {});", duck::Identifier(raw_), device.id,
                       duck::Literal(device.name));
    // HIP counts pairs of compute units from gfx10 on.
    constexpr int64_t kFirstWithPairs = 10;
    if (amd_ && device.units > 0)
      sql += fmt::format(
          "INSERT INTO {0}.rochound_fact SELECT session, 'compute_units', '{1},{2}' FROM "
          "{0}.rochound_process;",
          schema, device.id, device.units * (device.major >= kFirstWithPairs ? 2 : 1));
  }
  sql += fmt::format(
      "INSERT INTO {0}.rochound_agent SELECT p.session, d.id, coalesce(any_value(g.node), d.id), "
      "'gpu', "
      "coalesce(any_value(n.name), "
      "''), coalesce(any_value(n.name), ''), '', d.id FROM {0}.rochound_process p, (SELECT id FROM "
      "{1}.device UNION SELECT device FROM {1}.linked) d LEFT JOIN {1}.device n ON n.id = d.id "
      "LEFT JOIN {1}.gpu g ON g.number = d.id "
      "GROUP "
      "BY p.session, d.id ORDER BY p.session, d.id;"
      "INSERT INTO {0}.rochound_queue SELECT op_id >> 32, stream, min(device), stream, 0, "
      "min(start) "
      "FROM {1}.linked GROUP BY 1, 2 ORDER BY 1, 2;"
      "DROP SCHEMA {1} CASCADE;",
      schema, duck::Identifier(raw_));
  return connection_.Run(sql);
}

base::Result<void> Loader::TellLosses() {
  std::string sql;
  int64_t id = 0;
  const auto lost = [&](const char* what, uint64_t count, const std::string& note) {
    if (count == 0) return;
    sql += fmt::format("INSERT INTO {}.rochound_lost VALUES ({}, {}, {}, {}, {});",
                       duck::Identifier(schema_), ++id, processes_.begin()->first,
                       duck::Literal(what), count, duck::Literal(note));
  };
  if (!losses_.damage.empty()) lost("end of the file", 1, losses_.damage);
  lost("events", losses_.malformed, "no valid JSON, or no event");
  lost("events", losses_.without_time, "without a time, or with one that cannot be");
  lost("ranges", losses_.begin_without_end, "begun and never ended");
  lost("ranges", losses_.end_without_begin, "ended and never begun");
  lost("true times", losses_.bad_length, "a negative duration was taken as none");
  for (const auto& [kind, count] : losses_.unknown)
    lost("events", count, "of a kind that is not read: " + kind);
  ROCHOUND_CHECK(connection_.Run(sql));
  return TellUnrecordedCopies(connection_, schema_);
}

}  // namespace

base::Result<SourceFacts> AttachKineto(duck::Connection& connection,
                                       const std::filesystem::path& path, const std::string& schema,
                                       const SourceProgress& progress) {
  ROCHOUND_TRY(InflatingFile file, InflatingFile::Open(path));
  Loader loader(connection, schema);
  ROCHOUND_CHECK(loader.Create());
  JsonSplitter splitter(
      [&](std::string_view object) { loader.Event(object); },
      [&](std::string_view name, std::string_view value) { loader.Member(name, value); });
  std::string damage;
  while (true) {
    const auto piece = file.Next();
    if (!piece.ok()) {
      damage = piece.error().message;
      break;
    }
    if (piece.value().empty()) break;
    splitter.Feed(piece.value());
    if (progress && !progress(file.file_bytes() == 0 ? 0
                                                     : static_cast<double>(file.bytes_read()) /
                                                           static_cast<double>(file.file_bytes())))
      return base::Error{"interrupted while reading '" + path.string() + "'"};
  }
  splitter.End();
  if (!splitter.found_events()) {
    return base::Error{"'" + path.string() + "' is not a Chrome trace: it has no traceEvents" +
                       (damage.empty() ? "" : " (" + damage + ")")};
  }
  if (auto done = loader.Finish(splitter, damage); !done.ok())
    return done.error().In("'" + path.string() + "'");
  return FactsOf(connection, schema);
}

}  // namespace rochound::store
