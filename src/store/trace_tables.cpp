// SPDX-License-Identifier: MIT
#include "store/trace_tables.h"

#include "store/duck.h"

namespace rochound::store {
namespace {

constexpr const char* kInt = "BIGINT";
constexpr const char* kText = "VARCHAR";
constexpr const char* kReal = "DOUBLE";

constexpr TraceColumn kMetadata[] = {{"id", kInt}, {"tag", kText}, {"value", kText}};
constexpr TraceColumn kString[] = {{"id", kInt, Role::kId}, {"string", kText}};
constexpr TraceColumn kApi[] = {{"id", kInt, Role::kId},          {"pid", kInt, Role::kPid},
                                {"tid", kInt, Role::kPid},        {"start", kInt, Role::kTime},
                                {"end", kInt, Role::kTime},       {"apiName_id", kInt, Role::kId},
                                {"category_id", kInt, Role::kId}, {"domain_id", kInt, Role::kId},
                                {"args_id", kInt, Role::kId}};
constexpr TraceColumn kCopyApi[] = {{"api_ptr_id", kInt, Role::kId},
                                    {"stream", kText},
                                    {"size", kInt},
                                    {"width", kInt},
                                    {"height", kInt},
                                    {"kind", kInt},
                                    {"dst", kText},
                                    {"src", kText},
                                    {"dstDevice", kInt},
                                    {"srcDevice", kInt},
                                    {"sync", kInt},
                                    {"pinned", kInt}};
constexpr TraceColumn kKernelApi[] = {{"api_ptr_id", kInt, Role::kId},
                                      {"stream", kText},
                                      {"gridX", kInt},
                                      {"gridY", kInt},
                                      {"gridZ", kInt},
                                      {"workgroupX", kInt},
                                      {"workgroupY", kInt},
                                      {"workgroupZ", kInt},
                                      {"groupSegmentSize", kInt},
                                      {"privateSegmentSize", kInt},
                                      {"kernelName_id", kInt, Role::kId}};
constexpr TraceColumn kOp[] = {{"id", kInt, Role::kId},
                               {"gpuId", kInt, Role::kGpu},
                               {"queueId", kInt},
                               {"sequenceId", kInt},
                               {"start", kInt, Role::kTime},
                               {"end", kInt, Role::kTime},
                               {"description_id", kInt, Role::kId},
                               {"opType_id", kInt, Role::kId}};
constexpr TraceColumn kApiOps[] = {
    {"id", kInt, Role::kId}, {"api_id", kInt, Role::kId}, {"op_id", kInt, Role::kId}};
constexpr TraceColumn kMonitor[] = {
    {"id", kInt, Role::kId}, {"deviceType", kText},        {"deviceId", kInt},
    {"monitorType", kText},  {"start", kInt, Role::kTime}, {"end", kInt, Role::kTime},
    {"value", kText}};
constexpr TraceColumn kCounter[] = {{"id", kInt, Role::kId},
                                    {"value", kReal},
                                    {"op_id", kInt, Role::kId},
                                    {"name_id", kInt, Role::kId}};
constexpr TraceColumn kStackFrame[] = {{"id", kInt, Role::kId},
                                       {"api_ptr_id", kInt, Role::kId},
                                       {"depth", kInt},
                                       {"name_id", kInt, Role::kId}};
constexpr TraceColumn kProcess[] = {{"session", kInt, Role::kSession},
                                    {"pid", kInt, Role::kPid},
                                    {"ppid", kInt, Role::kPid},
                                    {"executable", kText},
                                    {"command", kText},
                                    {"host", kText},
                                    {"start", kInt, Role::kTime},
                                    {"end", kInt, Role::kTime},
                                    {"calls", kInt},
                                    {"dispatches", kInt},
                                    {"copies", kInt},
                                    {"note", kText}};
constexpr TraceColumn kAgent[] = {{"session", kInt, Role::kSession},
                                  {"agent", kInt},
                                  {"node", kInt},
                                  {"type", kText},
                                  {"name", kText},
                                  {"product", kText},
                                  {"uuid", kText},
                                  {"gpuId", kInt, Role::kGpu}};
constexpr TraceColumn kQueue[] = {{"session", kInt, Role::kSession},
                                  {"queueId", kInt},
                                  {"agent", kInt},
                                  {"hsaId", kInt},
                                  {"packets", kInt},
                                  {"created", kInt, Role::kTime}};
constexpr TraceColumn kKernel[] = {
    {"id", kInt, Role::kId}, {"name_id", kInt, Role::kId}, {"mangledName_id", kInt, Role::kId},
    {"kernelObject", kInt},  {"codeObject", kInt},         {"kernargBytes", kInt},
    {"agent", kInt}};
constexpr TraceColumn kDispatch[] = {{"op_id", kInt, Role::kId},
                                     {"api_id", kInt, Role::kId},
                                     {"kernel_id", kInt, Role::kId},
                                     {"gridX", kInt},
                                     {"gridY", kInt},
                                     {"gridZ", kInt},
                                     {"workgroupX", kInt},
                                     {"workgroupY", kInt},
                                     {"workgroupZ", kInt},
                                     {"groupSegmentSize", kInt},
                                     {"privateSegmentSize", kInt},
                                     {"queueId", kInt},
                                     {"agent", kInt},
                                     {"submit", kInt, Role::kTime},
                                     {"timed", kInt}};
constexpr TraceColumn kCopy[] = {{"op_id", kInt, Role::kId},
                                 {"api_id", kInt, Role::kId},
                                 {"size", kInt},
                                 {"sourceAgent", kInt},
                                 {"destinationAgent", kInt},
                                 {"source", kInt},
                                 {"destination", kInt},
                                 {"width", kInt},
                                 {"height", kInt},
                                 {"submit", kInt, Role::kTime},
                                 {"timed", kInt}};
constexpr TraceColumn kAllocation[] = {{"id", kInt, Role::kId},
                                       {"pid", kInt, Role::kPid},
                                       {"agent", kInt},
                                       {"address", kInt},
                                       {"size", kInt},
                                       {"flags", kInt},
                                       {"start", kInt, Role::kTime},
                                       {"end", kInt, Role::kTime}};
constexpr TraceColumn kFailure[] = {{"api_id", kInt, Role::kId}, {"result", kInt}};
constexpr TraceColumn kFact[] = {
    {"session", kInt, Role::kSession}, {"name", kText}, {"value", kText}};
constexpr TraceColumn kLost[] = {{"id", kInt, Role::kId},
                                 {"pid", kInt, Role::kPid},
                                 {"what", kText},
                                 {"count", kInt},
                                 {"note", kText}};
constexpr TraceColumn kUnrecorded[] = {{"id", kInt, Role::kId},
                                       {"pid", kInt, Role::kPid},
                                       {"start", kInt, Role::kTime},
                                       {"end", kInt, Role::kTime},
                                       {"why", kText}};
constexpr TraceColumn kUnfinished[] = {{"what", kText}, {"id", kInt, Role::kId}};

constexpr TraceColumn kSwap[] = {{"id", kInt, Role::kId},
                                 {"kernel_id", kInt, Role::kId},
                                 {"candidate_id", kInt, Role::kId},
                                 {"start", kInt, Role::kTime},
                                 {"decision", kText},
                                 {"file", kText},
                                 {"reason", kText}};

constexpr TraceTable kTables[] = {
    {"rocpd_metadata", kMetadata, "id", nullptr},
    {"rocpd_string", kString, "id", nullptr},
    {"rocpd_ustring", kString, "id", "id"},
    {"rocpd_api", kApi, "id", "id"},
    {"rocpd_copyapi", kCopyApi, "api_ptr_id", "api_ptr_id"},
    {"rocpd_kernelapi", kKernelApi, "api_ptr_id", "api_ptr_id"},
    {"rocpd_op", kOp, "id", "id"},
    {"rocpd_api_ops", kApiOps, "id", "id"},
    {"rocpd_monitor", kMonitor, "id", nullptr},
    {"rocpd_counter", kCounter, "id", nullptr},
    {"rocpd_stackframe", kStackFrame, "id", "id"},
    {"rochound_process", kProcess, "session", nullptr},
    {"rochound_agent", kAgent, "session, agent", nullptr},
    {"rochound_queue", kQueue, "session, \"queueId\"", nullptr},
    {"rochound_kernel", kKernel, "id", nullptr},
    {"rochound_dispatch", kDispatch, "op_id", "op_id"},
    {"rochound_copy", kCopy, "op_id", "op_id"},
    {"rochound_allocation", kAllocation, "id", "id"},
    {"rochound_failure", kFailure, "api_id", "api_id"},
    {"rochound_fact", kFact, "session, name, value", nullptr},
    {"rochound_lost", kLost, "id", nullptr},
    {"rochound_unrecorded", kUnrecorded, "id", nullptr},
    {"rochound_swap", kSwap, "id", nullptr},
    {"rochound_unfinished", kUnfinished, "what, id", nullptr},
};

}  // namespace

std::span<const TraceTable> TraceTables() { return kTables; }

const TraceTable* FindTraceTable(std::string_view name) {
  for (const TraceTable& table : kTables)
    if (name == table.name) return &table;
  return nullptr;
}

std::string ColumnDefinitions(const TraceTable& table) {
  std::string text;
  for (const TraceColumn& column : table.columns)
    text += (text.empty() ? "" : ", ") + duck::Identifier(column.name) + " " + column.type;
  return text;
}

std::string ColumnNames(const TraceTable& table) {
  std::string text;
  for (const TraceColumn& column : table.columns)
    text += (text.empty() ? "" : ", ") + duck::Identifier(column.name);
  return text;
}

std::string CreateTable(const std::string& schema, const TraceTable& table) {
  return "CREATE TABLE " + duck::Identifier(schema) + "." + duck::Identifier(table.name) + " (" +
         ColumnDefinitions(table) + ");\n";
}

std::string CreateTables(const std::string& schema) {
  std::string text;
  for (const TraceTable& table : kTables) text += CreateTable(schema, table);
  return text;
}

}  // namespace rochound::store
