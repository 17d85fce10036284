// SPDX-License-Identifier: MIT
//
// The tables of a trace: RPD's version 3 and ours beside it, whose names start with rochound_. Each
// table is described once, here, by the structure of its rows and the list of its columns. From
// this description come the rows' way into an .rpd and into DuckDB (trace_writer.h), the SQL of our
// tables (rpd_schema.h), and what readers, exports and merges know of every table (trace_tables.h).
// RPD's own tables are created with RPD's own words (rpd_schema.h); a test keeps the two equal.
// Plain constant data. docs/formats/trace.md explains the columns to people.
//
// Times are nanoseconds of CLOCK_MONOTONIC. Ids are of rows in the same trace. A value that can be
// NULL is an std::optional.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace rochound::store {

// How a column changes when its trace becomes part of a bigger one.
enum class Role {
  kId,       // of this or of another table's row: session << 32 and a count
  kSession,  // upper half of ids
  kTime,     // ns of the host's clock
  kPid,      // or tid: node * pid_stride and the system's number
  kGpu,      // node * gpu_stride and the GPU's number
  kValue,    // anything else
};

template <typename Row, typename Value>
struct Column {
  const char* name;
  Value Row::* member;
  Role role = Role::kValue;
};
template <typename Row, typename Value>
Column(const char*, Value Row::*) -> Column<Row, Value>;
template <typename Row, typename Value>
Column(const char*, Value Row::*, Role) -> Column<Row, Value>;

// What a table is besides its columns.
struct TableHead {
  const char* name;
  // The first column: a number that is given beside the row. Null: there is none.
  const char* key = "id";
  Role key_role = Role::kId;
  // What a row is ordered by in an .rpd and found by.
  const char* order = "id";
  // The key's upper half is the session, the process that the row belongs to.
  bool of_process = false;
};

inline constexpr Role kId = Role::kId, kTime = Role::kTime, kPid = Role::kPid, kGpu = Role::kGpu;

// --- RPD's tables

struct MetadataRow {
  std::string tag, value;

  static constexpr TableHead kTable{.name = "rocpd_metadata", .key_role = Role::kValue};
  static constexpr auto kColumns =
      std::tuple{Column{"tag", &MetadataRow::tag}, Column{"value", &MetadataRow::value}};
};

struct StringRow {
  std::string_view text;

  static constexpr TableHead kTable{.name = "rocpd_string"};
  static constexpr auto kColumns = std::tuple{Column{"string", &StringRow::text}};
};

// A string that is not shared: the arguments of a call.
struct UstringRow {
  std::string_view text;

  static constexpr TableHead kTable{.name = "rocpd_ustring", .of_process = true};
  static constexpr auto kColumns = std::tuple{Column{"string", &UstringRow::text}};
};

struct ApiRow {
  int64_t pid, tid, start, end;
  int64_t name, category, domain;  // strings
  int64_t args = 0;                // ustring; set by the writer

  static constexpr TableHead kTable{.name = "rocpd_api", .of_process = true};
  static constexpr auto kColumns = std::tuple{
      Column{"pid", &ApiRow::pid, kPid},         Column{"tid", &ApiRow::tid, kPid},
      Column{"start", &ApiRow::start, kTime},    Column{"end", &ApiRow::end, kTime},
      Column{"apiName_id", &ApiRow::name, kId},  Column{"category_id", &ApiRow::category, kId},
      Column{"domain_id", &ApiRow::domain, kId}, Column{"args_id", &ApiRow::args, kId}};
};

struct CopyApiRow {
  std::string_view stream;
  int64_t size, width, height, kind;
  std::string_view destination, source;
  int64_t destination_device, source_device;
  bool sync, pinned;

  static constexpr TableHead kTable{
      .name = "rocpd_copyapi", .key = "api_ptr_id", .order = "api_ptr_id", .of_process = true};
  static constexpr auto kColumns = std::tuple{Column{"stream", &CopyApiRow::stream},
                                              Column{"size", &CopyApiRow::size},
                                              Column{"width", &CopyApiRow::width},
                                              Column{"height", &CopyApiRow::height},
                                              Column{"kind", &CopyApiRow::kind},
                                              Column{"dst", &CopyApiRow::destination},
                                              Column{"src", &CopyApiRow::source},
                                              Column{"dstDevice", &CopyApiRow::destination_device},
                                              Column{"srcDevice", &CopyApiRow::source_device},
                                              Column{"sync", &CopyApiRow::sync},
                                              Column{"pinned", &CopyApiRow::pinned}};
};

struct KernelApiRow {
  std::string_view stream;
  uint32_t grid_x, grid_y, grid_z, workgroup_x, workgroup_y, workgroup_z;
  int64_t group_bytes, private_bytes;
  int64_t kernel_name;  // string

  static constexpr TableHead kTable{
      .name = "rocpd_kernelapi", .key = "api_ptr_id", .order = "api_ptr_id", .of_process = true};
  static constexpr auto kColumns =
      std::tuple{Column{"stream", &KernelApiRow::stream},
                 Column{"gridX", &KernelApiRow::grid_x},
                 Column{"gridY", &KernelApiRow::grid_y},
                 Column{"gridZ", &KernelApiRow::grid_z},
                 Column{"workgroupX", &KernelApiRow::workgroup_x},
                 Column{"workgroupY", &KernelApiRow::workgroup_y},
                 Column{"workgroupZ", &KernelApiRow::workgroup_z},
                 Column{"groupSegmentSize", &KernelApiRow::group_bytes},
                 Column{"privateSegmentSize", &KernelApiRow::private_bytes},
                 Column{"kernelName_id", &KernelApiRow::kernel_name, kId}};
};

struct OpRow {
  int64_t gpu, queue, sequence, start, end;
  int64_t description, type;  // strings

  static constexpr TableHead kTable{.name = "rocpd_op", .of_process = true};
  static constexpr auto kColumns = std::tuple{
      Column{"gpuId", &OpRow::gpu, kGpu},     Column{"queueId", &OpRow::queue},
      Column{"sequenceId", &OpRow::sequence}, Column{"start", &OpRow::start, kTime},
      Column{"end", &OpRow::end, kTime},      Column{"description_id", &OpRow::description, kId},
      Column{"opType_id", &OpRow::type, kId}};
};

struct ApiOpRow {
  int64_t api, op;

  static constexpr TableHead kTable{.name = "rocpd_api_ops", .of_process = true};
  static constexpr auto kColumns =
      std::tuple{Column{"api_id", &ApiOpRow::api, kId}, Column{"op_id", &ApiOpRow::op, kId}};
};

struct MonitorRow {
  std::string device_type;
  int64_t device;
  std::string monitor_type;
  int64_t start, end;
  std::string value;

  static constexpr TableHead kTable{.name = "rocpd_monitor"};
  static constexpr auto kColumns = std::tuple{
      Column{"deviceType", &MonitorRow::device_type},   Column{"deviceId", &MonitorRow::device},
      Column{"monitorType", &MonitorRow::monitor_type}, Column{"start", &MonitorRow::start, kTime},
      Column{"end", &MonitorRow::end, kTime},           Column{"value", &MonitorRow::value}};
};

struct CounterRow {
  double value;
  int64_t op;
  int64_t name;  // string

  static constexpr TableHead kTable{.name = "rocpd_counter"};
  static constexpr auto kColumns =
      std::tuple{Column{"value", &CounterRow::value}, Column{"op_id", &CounterRow::op, kId},
                 Column{"name_id", &CounterRow::name, kId}};
};

struct StackFrameRow {
  int64_t api, depth;
  int64_t name;  // string

  static constexpr TableHead kTable{.name = "rocpd_stackframe", .of_process = true};
  static constexpr auto kColumns = std::tuple{Column{"api_ptr_id", &StackFrameRow::api, kId},
                                              Column{"depth", &StackFrameRow::depth},
                                              Column{"name_id", &StackFrameRow::name, kId}};
};

// --- ours

// A process of the run; the ids of its rows are `session` * 2^32 and what follows.
struct ProcessRow {
  int64_t pid, ppid;
  std::string executable, command, host;
  int64_t start, end, calls, dispatches, copies;
  std::string note;

  static constexpr TableHead kTable{
      .name = "rochound_process", .key = "session", .key_role = Role::kSession, .order = "session"};
  static constexpr auto kColumns = std::tuple{Column{"pid", &ProcessRow::pid, kPid},
                                              Column{"ppid", &ProcessRow::ppid, kPid},
                                              Column{"executable", &ProcessRow::executable},
                                              Column{"command", &ProcessRow::command},
                                              Column{"host", &ProcessRow::host},
                                              Column{"start", &ProcessRow::start, kTime},
                                              Column{"end", &ProcessRow::end, kTime},
                                              Column{"calls", &ProcessRow::calls},
                                              Column{"dispatches", &ProcessRow::dispatches},
                                              Column{"copies", &ProcessRow::copies},
                                              Column{"note", &ProcessRow::note}};
};

struct AgentRow {
  int64_t agent, node;
  std::string type, name, product, uuid;
  std::optional<int64_t> gpu;  // none: not a GPU

  static constexpr TableHead kTable{.name = "rochound_agent",
                                    .key = "session",
                                    .key_role = Role::kSession,
                                    .order = "session, agent"};
  static constexpr auto kColumns =
      std::tuple{Column{"agent", &AgentRow::agent},     Column{"node", &AgentRow::node},
                 Column{"type", &AgentRow::type},       Column{"name", &AgentRow::name},
                 Column{"product", &AgentRow::product}, Column{"uuid", &AgentRow::uuid},
                 Column{"gpuId", &AgentRow::gpu, kGpu}};
};

struct QueueRow {
  int64_t queue, agent, hsa_id, packets, created;

  static constexpr TableHead kTable{.name = "rochound_queue",
                                    .key = "session",
                                    .key_role = Role::kSession,
                                    .order = "session, \"queueId\""};
  static constexpr auto kColumns =
      std::tuple{Column{"queueId", &QueueRow::queue}, Column{"agent", &QueueRow::agent},
                 Column{"hsaId", &QueueRow::hsa_id}, Column{"packets", &QueueRow::packets},
                 Column{"created", &QueueRow::created, kTime}};
};

struct KernelRow {
  int64_t name, mangled_name;  // strings
  int64_t kernel_object, code_object, kernarg_bytes, agent;

  static constexpr TableHead kTable{.name = "rochound_kernel"};
  static constexpr auto kColumns =
      std::tuple{Column{"name_id", &KernelRow::name, kId},
                 Column{"mangledName_id", &KernelRow::mangled_name, kId},
                 Column{"kernelObject", &KernelRow::kernel_object},
                 Column{"codeObject", &KernelRow::code_object},
                 Column{"kernargBytes", &KernelRow::kernarg_bytes},
                 Column{"agent", &KernelRow::agent}};
};

// Every dispatch, those of graphs and of the runtime itself included. The key is its row in
// rocpd_op. timed = 0: the GPU's times are not known, and rocpd_op has the time it was submitted
// at.
struct DispatchRow {
  std::optional<int64_t> api;
  int64_t kernel;
  uint32_t grid_x, grid_y, grid_z, workgroup_x, workgroup_y, workgroup_z;
  int64_t group_bytes, private_bytes, queue, agent, submit;
  bool timed;

  static constexpr TableHead kTable{
      .name = "rochound_dispatch", .key = "op_id", .order = "op_id", .of_process = true};
  static constexpr auto kColumns =
      std::tuple{Column{"api_id", &DispatchRow::api, kId},
                 Column{"kernel_id", &DispatchRow::kernel, kId},
                 Column{"gridX", &DispatchRow::grid_x},
                 Column{"gridY", &DispatchRow::grid_y},
                 Column{"gridZ", &DispatchRow::grid_z},
                 Column{"workgroupX", &DispatchRow::workgroup_x},
                 Column{"workgroupY", &DispatchRow::workgroup_y},
                 Column{"workgroupZ", &DispatchRow::workgroup_z},
                 Column{"groupSegmentSize", &DispatchRow::group_bytes},
                 Column{"privateSegmentSize", &DispatchRow::private_bytes},
                 Column{"queueId", &DispatchRow::queue},
                 Column{"agent", &DispatchRow::agent},
                 Column{"submit", &DispatchRow::submit, kTime},
                 Column{"timed", &DispatchRow::timed}};
};

struct CopyRow {
  std::optional<int64_t> api;
  int64_t size, source_agent, destination_agent, source, destination, width, height, submit;
  bool timed;

  static constexpr TableHead kTable{
      .name = "rochound_copy", .key = "op_id", .order = "op_id", .of_process = true};
  static constexpr auto kColumns =
      std::tuple{Column{"api_id", &CopyRow::api, kId},
                 Column{"size", &CopyRow::size},
                 Column{"sourceAgent", &CopyRow::source_agent},
                 Column{"destinationAgent", &CopyRow::destination_agent},
                 Column{"source", &CopyRow::source},
                 Column{"destination", &CopyRow::destination},
                 Column{"width", &CopyRow::width},
                 Column{"height", &CopyRow::height},
                 Column{"submit", &CopyRow::submit, kTime},
                 Column{"timed", &CopyRow::timed}};
};

struct AllocationRow {
  int64_t pid, agent, address, size, flags, start;
  std::optional<int64_t> end;  // none: never given back

  static constexpr TableHead kTable{.name = "rochound_allocation", .of_process = true};
  static constexpr auto kColumns = std::tuple{
      Column{"pid", &AllocationRow::pid, kPid},   Column{"agent", &AllocationRow::agent},
      Column{"address", &AllocationRow::address}, Column{"size", &AllocationRow::size},
      Column{"flags", &AllocationRow::flags},     Column{"start", &AllocationRow::start, kTime},
      Column{"end", &AllocationRow::end, kTime}};
};

// A call of HIP or HSA that gave an error back; the key is its row in rocpd_api. None: what a call
// of HIP gave is not known.
struct FailureRow {
  std::optional<int64_t> result;

  static constexpr TableHead kTable{
      .name = "rochound_failure", .key = "api_id", .order = "api_id", .of_process = true};
  static constexpr auto kColumns = std::tuple{Column{"result", &FailureRow::result}};
};

// What a process said of itself at its end: the libraries it had loaded, its CPU time.
struct FactRow {
  std::string name, value;

  static constexpr TableHead kTable{.name = "rochound_fact",
                                    .key = "session",
                                    .key_role = Role::kSession,
                                    .order = "session, name, value"};
  static constexpr auto kColumns =
      std::tuple{Column{"name", &FactRow::name}, Column{"value", &FactRow::value}};
};

// What is not in this trace although it happened. An empty table means that nothing is missing.
struct LostRow {
  int64_t pid;
  std::string what;
  int64_t count;
  std::string note;

  static constexpr TableHead kTable{.name = "rochound_lost"};
  static constexpr auto kColumns =
      std::tuple{Column{"pid", &LostRow::pid, kPid}, Column{"what", &LostRow::what},
                 Column{"count", &LostRow::count}, Column{"note", &LostRow::note}};
};

// A time of a process's life in which nothing of it was recorded.
struct UnrecordedRow {
  int64_t pid, start, end;
  std::string why;

  static constexpr TableHead kTable{.name = "rochound_unrecorded"};
  static constexpr auto kColumns = std::tuple{
      Column{"pid", &UnrecordedRow::pid, kPid}, Column{"start", &UnrecordedRow::start, kTime},
      Column{"end", &UnrecordedRow::end, kTime}, Column{"why", &UnrecordedRow::why}};
};

// What became of a candidate of the kernel cache. No candidate: it was not loaded.
struct SwapRow {
  int64_t kernel;
  std::optional<int64_t> candidate;
  int64_t start;
  std::string decision, file, reason;

  static constexpr TableHead kTable{.name = "rochound_swap"};
  static constexpr auto kColumns = std::tuple{Column{"kernel_id", &SwapRow::kernel, kId},
                                              Column{"candidate_id", &SwapRow::candidate, kId},
                                              Column{"start", &SwapRow::start, kTime},
                                              Column{"decision", &SwapRow::decision},
                                              Column{"file", &SwapRow::file},
                                              Column{"reason", &SwapRow::reason}};
};

// What had not ended when its process did, or when the recording paused: it is shown up to there.
// The row is in rocpd_api (call, range) or rocpd_op (kernel, copy).
struct UnfinishedRow {
  std::string what;
  int64_t row;

  static constexpr TableHead kTable{
      .name = "rochound_unfinished", .key = nullptr, .order = "what, id"};
  static constexpr auto kColumns =
      std::tuple{Column{"what", &UnfinishedRow::what}, Column{"id", &UnfinishedRow::row, kId}};
};

// All tables in the order of the schema: RPD's, then ours.
// clang-format off
#define ROCHOUND_RPD_ROWS(X) \
  X(MetadataRow) X(StringRow) X(UstringRow) X(ApiRow) X(CopyApiRow) X(KernelApiRow) X(OpRow) \
  X(ApiOpRow) X(MonitorRow) X(CounterRow) X(StackFrameRow)
#define ROCHOUND_OWN_ROWS(X) \
  X(ProcessRow) X(AgentRow) X(QueueRow) X(KernelRow) X(DispatchRow) X(CopyRow) X(AllocationRow) \
  X(FailureRow) X(FactRow) X(LostRow) X(UnrecordedRow) X(SwapRow) X(UnfinishedRow)
// clang-format on
#define ROCHOUND_TRACE_ROWS(X) ROCHOUND_RPD_ROWS(X) ROCHOUND_OWN_ROWS(X)

// A tuple of Template<Row> for each table.
#define ROCHOUND_ONE(Row) std::declval<std::tuple<Template<Row>>>(),
template <template <typename> typename Template>
using ForEachRow = decltype(std::tuple_cat(ROCHOUND_TRACE_ROWS(ROCHOUND_ONE) std::tuple<>()));
#undef ROCHOUND_ONE

// Calls visit(value) for each column of the row in its order.
template <typename Row, typename Visit>
void VisitValues(const Row& row, Visit&& visit) {
  std::apply([&](const auto&... column) { (visit(row.*column.member), ...); }, Row::kColumns);
}

}  // namespace rochound::store
