// SPDX-License-Identifier: MIT
#include "store/open/source_rocpd.h"

#include <fmt/format.h>

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "codeobj/demangle.h"
#include "store/convert/names.h"
#include "store/open/foreign_names.h"
#include "store/open/foreign_sqlite.h"
#include "store/open/trace_tables.h"
#include "store/open/unrecorded_copies.h"

namespace rochound::store {
namespace {

using Column = ForeignColumn;
constexpr Column::Type kText = Column::kText;
constexpr Column::Type kInt = Column::kInteger;

// What is read of each table. "NULL": later releases may leave it out.
constexpr Column kNode[] = {{"id"}, {"hostname", kText, "NULL"}};
constexpr Column kProcess[] = {{"id"},
                               {"nid"},
                               {"pid"},
                               {"ppid", kInt, "NULL"},
                               {"start", kInt, "NULL"},
                               {"end", kInt, "NULL"},
                               {"command", kText, "NULL"}};
constexpr Column kThread[] = {{"id"}, {"tid"}};
constexpr Column kAgent[] = {{"id"},
                             {"nid"},
                             {"pid"},
                             {"type", kText, "NULL"},
                             {"absolute_index", kInt, "NULL"},
                             {"uuid", kText, "NULL"},
                             {"name", kText, "NULL"},
                             {"product_name", kText, "NULL"},
                             {"extdata", kText, "NULL"}};  // all that the driver tells of it
constexpr Column kString[] = {{"id"}, {"string", kText}};
constexpr Column kPmc[] = {{"id"}, {"name", kText}};
constexpr Column kSymbol[] = {{"id"},
                              {"code_object_id", kInt, "NULL"},
                              {"kernel_name", kText, "NULL"},
                              {"display_name", kText, "NULL"},
                              {"kernel_object", kInt, "NULL"},
                              {"kernarg_segment_size", kInt, "NULL"},
                              {"sgpr_count", kInt, "NULL"},
                              {"arch_vgpr_count", kInt, "NULL"},
                              {"accum_vgpr_count", kInt, "NULL"}};
constexpr Column kEvent[] = {{"id"},
                             {"category_id"},
                             {"stack_id", kInt, "NULL"},
                             {"extdata", kText, "NULL"},
                             {"call_stack", kText, "NULL"}};
constexpr Column kArg[] = {{"event_id"}, {"position"}, {"name", kText}, {"value", kText}};
constexpr Column kTrack[] = {{"id"}, {"pid", kInt, "NULL"}, {"tid", kInt, "NULL"}};
constexpr Column kRegion[] = {{"id"},  {"pid"},     {"tid"},     {"start"},
                              {"end"}, {"name_id"}, {"event_id"}};
constexpr Column kSample[] = {{"id"}, {"track_id"}, {"timestamp"}, {"event_id"}};
constexpr Column kDispatch[] = {{"id"},
                                {"pid"},
                                {"agent_id"},
                                {"kernel_id"},
                                {"dispatch_id"},
                                {"queue_id"},
                                {"stream_id", kInt, "0"},
                                {"start"},
                                {"end"},
                                {"private_segment_size", kInt, "0"},
                                {"group_segment_size", kInt, "0"},
                                {"workgroup_size_x"},
                                {"workgroup_size_y"},
                                {"workgroup_size_z"},
                                {"grid_size_x"},
                                {"grid_size_y"},
                                {"grid_size_z"},
                                {"event_id"}};
constexpr Column kCopy[] = {{"id"},
                            {"pid"},
                            {"start"},
                            {"end"},
                            {"name_id"},
                            {"dst_agent_id", kInt, "NULL"},
                            {"dst_address", kInt, "NULL"},
                            {"src_agent_id", kInt, "NULL"},
                            {"src_address", kInt, "NULL"},
                            {"size"},
                            {"stream_id", kInt, "0"},
                            {"event_id"}};
constexpr Column kAllocate[] = {{"id"},
                                {"pid"},
                                {"agent_id", kInt, "NULL"},
                                {"type", kText, "NULL"},
                                {"level", kText, "NULL"},
                                {"start"},
                                {"end"},
                                {"address", kInt, "NULL"},
                                {"size"}};
// Since 3.0.3 with a sample: a value of a streaming counter (SPM) at a time, not of a dispatch.
constexpr Column kPmcEvent[] = {
    {"event_id"}, {"pmc_id"}, {"value", Column::kReal, "NULL"}, {"sample_id", kInt, "NULL"}};
constexpr Column kProgramCounter[] = {{"id"}};  // since 3.0.4

struct Raw {
  const char* name;  // without rocpd_
  std::span<const Column> columns;
};
constexpr Raw kSmall[] = {{"info_node", kNode},
                          {"info_process", kProcess},
                          {"info_thread", kThread},
                          {"info_agent", kAgent},
                          {"string", kString},
                          {"info_pmc", kPmc},
                          {"info_kernel_symbol", kSymbol},
                          {"track", kTrack}};
constexpr Raw kBig[] = {{"event", kEvent},
                        {"arg", kArg},
                        {"region", kRegion},
                        {"sample", kSample},
                        {"kernel_dispatch", kDispatch},
                        {"memory_copy", kCopy},
                        {"memory_allocate", kAllocate},
                        {"pmc_event", kPmcEvent},
                        {"gpu_pc_sample", kProgramCounter}};

// In SQL, {0} is the schema that is being filled and {1} the one with what was found in the file.
// There every table has a column `part`: which of the file's processes it is of.
constexpr const char* kNumberThings = R"(
  CREATE TABLE {1}.node_number AS
    SELECT nid, row_number() OVER (ORDER BY nid) - 1 AS number
    FROM (SELECT DISTINCT nid FROM {1}.info_process);
  CREATE TABLE {1}.process AS
    SELECT p.part, p.id, row_number() OVER (ORDER BY p.part, p.id) - 1 AS session,
           p.pid + n.number * {2} AS pid, p.ppid + n.number * {2} AS ppid, n.number AS node, p.nid,
           p.start, p."end", coalesce(p.command, '') AS command,
           coalesce((SELECT any_value(hostname) FROM {1}.info_node h
                     WHERE h.part = p.part AND h.id = p.nid), '') AS host
    FROM {1}.info_process p JOIN {1}.node_number n USING (nid);
  -- A GPU is the same for all processes of its node: its number among the node's.
  CREATE TABLE {1}.gpu AS
    SELECT nid, index, row_number() OVER (PARTITION BY nid ORDER BY index) - 1 AS number
    FROM (SELECT DISTINCT nid, coalesce(absolute_index, id) AS index FROM {1}.info_agent
          WHERE upper(type) = 'GPU');
  CREATE TABLE {1}.agent AS
    SELECT a.part, a.id, a.pid, coalesce(a.absolute_index, a.id) AS index,
           lower(coalesce(a.type, '')) AS type, coalesce(a.name, '') AS name,
           coalesce(a.product_name, '') AS product, coalesce(a.uuid, '') AS uuid,
           CASE WHEN json_valid(a.extdata) THEN json_extract_string(a.extdata, '$.cu_count') END AS units,
           g.number + n.number * {3} AS gpu
    FROM {1}.info_agent a JOIN {1}.node_number n USING (nid)
    LEFT JOIN {1}.gpu g ON g.nid = a.nid AND g.index = coalesce(a.absolute_index, a.id)
                       AND upper(a.type) = 'GPU';
  CREATE TABLE {1}.kernel AS
    SELECT part, id, row_number() OVER (ORDER BY part, id) AS number,
           coalesce(nullif(display_name, ''), kernel_name, '') AS name,
           coalesce(kernel_name, '') AS mangled, coalesce(kernel_object, 0) AS object,
           coalesce(code_object_id, 0) AS code_object, coalesce(kernarg_segment_size, 0) AS bytes,
           arch_vgpr_count AS vgprs, accum_vgpr_count AS agprs, sgpr_count AS sgprs
    FROM {1}.info_kernel_symbol;
)";

// Regions are calls; what took no time was written as a sample and is a call all the same.
constexpr const char* kCalls = R"(
  CREATE TABLE {1}.call AS
    SELECT r.part, (p.session << 32) + row_number() OVER () AS id, p.pid, coalesce(t.tid, r.tid) AS tid,
           r.start, r."end", r.name_id, e.category_id, e.stack_id, e.id AS event_id, e.extdata
    FROM {1}.region r
    JOIN {1}.process p ON p.part = r.part AND p.id = r.pid
    LEFT JOIN {1}.info_thread t ON t.part = r.part AND t.id = r.tid
    LEFT JOIN {1}.event e ON e.part = r.part AND e.id = r.event_id;
  INSERT INTO {1}.call
    SELECT s.part, (p.session << 32) + row_number() OVER () + (SELECT count(*) FROM {1}.region),
           p.pid, coalesce(h.tid, t.tid, 0), s.timestamp, s.timestamp, NULL, e.category_id, e.stack_id,
           e.id, e.extdata
    FROM {1}.sample s
    JOIN {1}.track t ON t.part = s.part AND t.id = s.track_id
    JOIN {1}.process p ON p.part = s.part AND p.id = t.pid
    LEFT JOIN {1}.info_thread h ON h.part = s.part AND h.id = t.tid
    LEFT JOIN {1}.event e ON e.part = s.part AND e.id = s.event_id
    ANTI JOIN {1}.pmc_event v ON v.part = s.part AND v.sample_id = s.id;
)";

constexpr const char* kFillCalls = R"(
  INSERT INTO {0}.rocpd_api
    SELECT c.id, c.pid, c.tid, c.start, c."end", k.api_name, k.category, k.domain, c.id
    FROM {1}.call c LEFT JOIN {1}.kind k ON k.part = c.part
     AND k.name_id IS NOT DISTINCT FROM c.name_id
     AND k.category_id IS NOT DISTINCT FROM c.category_id
    ORDER BY c.id;
  INSERT INTO {0}.rocpd_ustring
    SELECT c.id, left(CASE WHEN k.is_range THEN
      coalesce(CASE WHEN json_valid(c.extdata) THEN json_extract_string(c.extdata, '$.message') END,
               k.name)
      ELSE coalesce(a.text, '') END, 4096)
    FROM {1}.call c LEFT JOIN {1}.kind k ON k.part = c.part
     AND k.name_id IS NOT DISTINCT FROM c.name_id
     AND k.category_id IS NOT DISTINCT FROM c.category_id
    LEFT JOIN (SELECT part, event_id,
                 string_agg(name || '=' || coalesce(value, ''), '|' ORDER BY position) AS text
               FROM {1}.arg GROUP BY part, event_id) a
      ON a.part = c.part AND a.event_id = c.event_id
    ORDER BY c.id;
)";

// Work carries the stack id of the call that it comes from.
constexpr const char* kLink = R"(
  CREATE TABLE {1}.caller AS
    SELECT part, stack_id, min(id) AS api_id, arg_min(start, id) AS called,
           arg_min("end", id) AS returned
    FROM {1}.call WHERE stack_id IS NOT NULL AND stack_id <> 0 GROUP BY part, stack_id;
  CREATE TABLE {1}.dispatch AS
    SELECT d.*, (p.session << 32) + row_number() OVER () AS op_id, p.session, c.api_id,
           -- Work may start before its call returns, the kernels of a graph above all.
           if(c.api_id IS NULL, NULL, greatest(c.called, least(c.returned, d.start))) AS submit,
           k.number AS kernel, k.name AS kernel_name, a.index AS agent, coalesce(a.gpu, 0) AS gpu
    FROM {1}.kernel_dispatch d
    JOIN {1}.process p ON p.part = d.part AND p.id = d.pid
    LEFT JOIN {1}.event e ON e.part = d.part AND e.id = d.event_id
    LEFT JOIN {1}.caller c ON c.part = d.part AND c.stack_id = e.stack_id
    LEFT JOIN {1}.kernel k ON k.part = d.part AND k.id = d.kernel_id
    LEFT JOIN {1}.agent a ON a.part = d.part AND a.id = d.agent_id;
  CREATE TABLE {1}.copy AS
    SELECT m.*, (p.session << 32) + row_number() OVER () + (SELECT count(*) FROM {1}.dispatch) AS op_id,
           p.session, c.api_id, if(c.api_id IS NULL, NULL, greatest(c.called, least(c.returned, m.start))) AS submit,
           s.string AS name, x.index AS from_agent,
           y.index AS to_agent, x.gpu AS from_gpu, y.gpu AS to_gpu
    FROM {1}.memory_copy m
    JOIN {1}.process p ON p.part = m.part AND p.id = m.pid
    LEFT JOIN {1}.event e ON e.part = m.part AND e.id = m.event_id
    LEFT JOIN {1}.caller c ON c.part = m.part AND c.stack_id = e.stack_id
    LEFT JOIN {1}.string s ON s.part = m.part AND s.id = m.name_id
    LEFT JOIN {1}.agent x ON x.part = m.part AND x.id = m.src_agent_id
    LEFT JOIN {1}.agent y ON y.part = m.part AND y.id = m.dst_agent_id;
)";

constexpr const char* kFillOperations = R"(
  INSERT INTO {0}.rochound_kernel
    SELECT k.number, n.name_id, n.mangled_id, k.object, k.code_object, k.bytes,
           (SELECT min(agent) FROM {1}.dispatch d WHERE d.kernel = k.number)
    FROM {1}.kernel k JOIN {1}.kernel_string n USING (number) ORDER BY k.number;
  INSERT INTO {0}.rocpd_op
    SELECT d.op_id, d.gpu, d.queue_id, d.dispatch_id, d.start, d."end",
           coalesce(n.name_id, {2}), coalesce(n.type_id, {3})
    FROM {1}.dispatch d LEFT JOIN {1}.kernel_string n ON n.number = d.kernel ORDER BY d.op_id;
  INSERT INTO {0}.rocpd_op
    SELECT c.op_id, coalesce(c.to_gpu, c.from_gpu, 0), 0, 0, c.start, c."end", {2},
           coalesce(t.type_id, {4})
    FROM {1}.copy c LEFT JOIN {1}.copy_type t USING (name) ORDER BY c.op_id;
  INSERT INTO {0}.rocpd_api_ops
    SELECT ((op_id >> 32) << 32) + row_number() OVER (ORDER BY op_id), api_id, op_id
    FROM (SELECT op_id, api_id FROM {1}.dispatch UNION ALL SELECT op_id, api_id FROM {1}.copy)
    WHERE api_id IS NOT NULL;
  INSERT INTO {0}.rochound_dispatch
    SELECT op_id, api_id, kernel, grid_size_x, grid_size_y, grid_size_z, workgroup_size_x,
           workgroup_size_y, workgroup_size_z, coalesce(group_segment_size, 0),
           coalesce(private_segment_size, 0), queue_id, agent, submit, 1
    FROM {1}.dispatch ORDER BY op_id;
  INSERT INTO {0}.rocpd_kernelapi
    SELECT d.api_id, printf('%d', d.stream_id), d.grid_size_x, d.grid_size_y, d.grid_size_z,
           d.workgroup_size_x, d.workgroup_size_y, d.workgroup_size_z,
           coalesce(d.group_segment_size, 0), coalesce(d.private_segment_size, 0),
           coalesce(n.name_id, {2})
    FROM (SELECT api_id, arg_min(op_id, ROW(start, op_id)) AS op_id FROM {1}.dispatch
          WHERE api_id IS NOT NULL GROUP BY api_id) f
    JOIN {1}.dispatch d USING (op_id) LEFT JOIN {1}.kernel_string n ON n.number = d.kernel
    ORDER BY d.api_id;
  INSERT INTO {0}.rochound_copy
    SELECT op_id, api_id, size, coalesce(from_agent, -1), coalesce(to_agent, -1),
           coalesce(src_address, 0), coalesce(dst_address, 0), 0, 0, submit, 1
    FROM {1}.copy ORDER BY op_id;
  INSERT INTO {0}.rocpd_copyapi
    SELECT c.api_id, printf('%d', coalesce(c.stream_id, 0)), c.size, 0, 0, coalesce(t.kind, 4),
           printf('0x%x', coalesce(c.dst_address, 0)), printf('0x%x', coalesce(c.src_address, 0)),
           coalesce(c.to_gpu, -1), coalesce(c.from_gpu, -1),
           CASE WHEN coalesce(n.string, '') LIKE '%Async%' THEN 0 ELSE 1 END, 0
    FROM (SELECT api_id, arg_min(op_id, ROW(start, op_id)) AS op_id FROM {1}.copy
          WHERE api_id IS NOT NULL GROUP BY api_id) f
    JOIN {1}.copy c USING (op_id) LEFT JOIN {1}.copy_type t USING (name)
    LEFT JOIN {0}.rocpd_api a ON a.id = c.api_id
    LEFT JOIN {0}.rocpd_string n ON n.id = a."apiName_id"
    ORDER BY c.api_id;
  INSERT INTO {0}.rocpd_counter
    SELECT (d.session << 32) + row_number() OVER (), coalesce(v.value, 0), d.op_id, n.string_id
    FROM {1}.pmc_event v
    JOIN {1}.dispatch d ON d.part = v.part AND d.event_id = v.event_id
    JOIN {1}.pmc_string n ON n.part = v.part AND n.id = v.pmc_id
    WHERE v.sample_id IS NULL;
)";

// Memory is given back by the next release of its address.
constexpr const char* kFillRest = R"(
  INSERT INTO {0}.rochound_allocation
    SELECT (p.session << 32) + row_number() OVER (ORDER BY m.start), p.pid, coalesce(a.index, -1),
           m.address, m.size, 0, m."end",
           CASE WHEN m.next_type = 'FREE' THEN m.next_start END
    FROM (SELECT *, lead(type) OVER w AS next_type, lead(start) OVER w AS next_start
          FROM {1}.memory_allocate WHERE coalesce(level, '') <> 'SCRATCH' AND address <> 0
          WINDOW w AS (PARTITION BY part, pid, address ORDER BY start, id)) m
    JOIN {1}.process p ON p.part = m.part AND p.id = m.pid
    LEFT JOIN {1}.agent a ON a.part = m.part AND a.id = m.agent_id
    WHERE m.type IN ('ALLOC', 'REALLOC') ORDER BY 1;
  INSERT INTO {0}.rochound_process
    SELECT p.session, p.pid, coalesce(p.ppid, 0), split_part(p.command, ' ', 1), p.command, p.host,
           coalesce(nullif(p.start, 0), t.start, 0), coalesce(nullif(p."end", 0), t."end", 0),
           coalesce(t.calls, 0),
           (SELECT count(*) FROM {1}.dispatch d WHERE d.session = p.session),
           (SELECT count(*) FROM {1}.copy c WHERE c.session = p.session), ''
    FROM {1}.process p LEFT JOIN
      (SELECT id >> 32 AS session, min(start) AS start, max("end") AS "end", count(*) AS calls
       FROM {1}.call GROUP BY 1) t USING (session)
    ORDER BY p.session;
  INSERT INTO {0}.rochound_agent
    SELECT p.session, a.index, a.index, a.type, any_value(a.name), any_value(a.product),
           any_value(a.uuid), any_value(a.gpu)
    FROM {1}.agent a JOIN {1}.process p ON p.part = a.part AND p.id = a.pid
    GROUP BY p.session, a.index, a.type ORDER BY 1, 2;
  INSERT INTO {0}.rochound_fact
    SELECT p.session, 'compute_units', printf('%d,%s', a.index, any_value(a.units))
    FROM {1}.agent a JOIN {1}.process p ON p.part = a.part AND p.id = a.pid
    WHERE a.type = 'gpu' AND a.units IS NOT NULL GROUP BY p.session, a.index ORDER BY 1, 3;
  -- Of kernels that ran: vector, accumulation and scalar registers, and the kernel's symbol.
  INSERT INTO {0}.rochound_fact
    SELECT DISTINCT d.session, 'registers',
           printf('%d,%d,%d,%s', k.vgprs, coalesce(k.agprs, 0), coalesce(k.sgprs, 0), k.mangled)
    FROM {1}.dispatch d JOIN {1}.kernel k ON k.number = d.kernel
    WHERE k.vgprs IS NOT NULL AND k.vgprs > 0 ORDER BY 1, 3;
  INSERT INTO {0}.rochound_queue
    SELECT session, queue_id, min(agent), queue_id, count(*), min(start)
    FROM {1}.dispatch GROUP BY session, queue_id ORDER BY 1, 2;
)";

struct Loss {
  const char* what;
  const char* count;
  const char* note;
};
constexpr Loss kLosses[] = {
    {"calls",
     "SELECT count(*) FROM {1}.region r ANTI JOIN {1}.process p ON p.part = r.part AND p.id = "
     "r.pid",
     "of a process that the file does not describe"},
    {"calls",
     "SELECT (SELECT count(*) FROM {1}.sample s ANTI JOIN {1}.pmc_event v ON v.part = s.part AND "
     "v.sample_id = s.id) - "
     "(SELECT count(*) FROM {1}.call WHERE name_id IS NULL AND start = \"end\")",
     "samples on a track that the file does not describe"},
    {"kernels",
     "SELECT (SELECT count(*) FROM {1}.kernel_dispatch) - (SELECT count(*) FROM {1}.dispatch)",
     "of a process that the file does not describe"},
    {"kernel names", "SELECT count(*) FROM {1}.dispatch WHERE kernel IS NULL",
     "dispatches of kernels that the file does not describe"},
    {"copies", "SELECT (SELECT count(*) FROM {1}.memory_copy) - (SELECT count(*) FROM {1}.copy)",
     "of a process that the file does not describe"},
    {"memory events",
     "SELECT count(*) FROM {1}.memory_allocate WHERE level = 'SCRATCH' OR type = 'RECLAIM'",
     "scratch memory is not read"},
    {"counter values",
     "SELECT (SELECT count(*) FROM {1}.pmc_event WHERE sample_id IS NULL) - (SELECT count(*) FROM "
     "{0}.rocpd_counter)",
     "of events that are no dispatches"},
    {"counter values", "SELECT count(*) FROM {1}.pmc_event WHERE sample_id IS NOT NULL",
     "streaming counters (SPM) are not read"},
    {"program counter samples", "SELECT count(*) FROM {1}.gpu_pc_sample", "are not read"},
    {"call stacks",
     "SELECT count(*) FROM {1}.event WHERE coalesce(call_stack, '') NOT IN ('', '{{}}', '[]', "
     "'null')",
     "rocpd's stacks are not read"},
    {"true times",
     "SELECT count(*) FROM (SELECT start, \"end\" FROM {0}.rocpd_api UNION ALL SELECT start, "
     "\"end\" "
     "FROM {0}.rocpd_op) WHERE \"end\" < start",
     "ends before it starts"},
};

class Reader {
 public:
  // file: nothing, where the tables of what was found are filled already.
  Reader(duck::Connection& connection, ForeignSqlite* file, const std::string& schema,
         const SourceProgress& progress)
      : connection_(connection),
        file_(file),
        schema_name_(schema),
        raw_name_(schema + "_raw"),
        schema_(duck::Identifier(schema)),
        raw_(duck::Identifier(raw_name_)),
        progress_(progress) {}

  base::Result<void> Run();

 private:
  template <typename... Arguments>
  base::Result<void> Sql(const char* text, const Arguments&... arguments) {
    return connection_.Run(fmt::format(fmt::runtime(text), schema_, raw_, arguments...));
  }
  base::Result<void> Step(double part) {
    if (progress_ && !progress_(part)) return base::Error{"interrupted"};
    return {};
  }
  base::Result<void> CopyTables();
  base::Result<void> AddStrings();
  base::Result<void> AddKinds();
  base::Result<void> AddNames();
  base::Result<void> TellLosses();
  int64_t String(const std::string& text);

  duck::Connection& connection_;
  ForeignSqlite* file_;
  std::string schema_name_, raw_name_, schema_, raw_;
  const SourceProgress progress_;
  std::map<std::string, int64_t> strings_;
};

int64_t Reader::String(const std::string& text) {
  return strings_.try_emplace(text, static_cast<int64_t>(strings_.size()) + 1).first->second;
}

// What the file has, part by part, under names without UUIDs.
base::Result<void> Reader::CopyTables() {
  constexpr std::string_view kSign = "rocpd_info_process";
  std::vector<std::string> suffixes;
  for (const auto& [table, columns] : file_->tables())
    if (table.starts_with(kSign)) suffixes.push_back(table.substr(kSign.size()));
  if (suffixes.empty()) return base::Error{"there is no table rocpd_info_process"};
  size_t done = 0;
  const auto copy = [&](const Raw& raw) -> base::Result<void> {
    std::string all;
    for (size_t part = 0; part < suffixes.size(); ++part) {
      ROCHOUND_TRY(const std::string select,
                   file_->Select("rocpd_" + std::string(raw.name) + suffixes[part], raw.columns));
      all += fmt::format("{}SELECT CAST({} AS BIGINT) AS part, * FROM {}",
                         all.empty() ? "" : " UNION ALL ", part, select);
    }
    ROCHOUND_CHECK(connection_.Run("CREATE TABLE " + raw_ + "." + raw.name + " AS " + all));
    return Step(0.5 * static_cast<double>(++done) /
                static_cast<double>(std::size(kSmall) + std::size(kBig)));
  };
  for (const Raw& raw : kSmall) ROCHOUND_CHECK(copy(raw));
  for (const Raw& raw : kBig) ROCHOUND_CHECK(copy(raw));
  return {};
}

// What each pair of a call's name and category means. There are few.
base::Result<void> Reader::AddKinds() {
  struct Pair {
    int64_t part;
    bool has_name, has_category;
    int64_t name_id, category_id;
    std::string name, category;
  };
  std::vector<Pair> pairs;
  {
    ROCHOUND_TRY(duck::Rows rows,
                 connection_.Query(fmt::format(
                     "SELECT c.part, c.name_id, c.category_id, n.string, k.string FROM (SELECT "
                     "DISTINCT part, name_id, category_id FROM {0}.call) c "
                     "LEFT JOIN {0}.string n ON n.part = c.part AND n.id = c.name_id "
                     "LEFT JOIN {0}.string k ON k.part = c.part AND k.id = c.category_id",
                     raw_)));
    while (true) {
      ROCHOUND_TRY(const bool more, rows.Next());
      if (!more) break;
      pairs.push_back({rows.Int(0), !rows.IsNull(1), !rows.IsNull(2), rows.Int(1), rows.Int(2),
                       std::string(rows.Text(3)), std::string(rows.Text(4))});
    }
  }
  ROCHOUND_CHECK(connection_.Run("CREATE TABLE " + raw_ +
                                 ".kind (part BIGINT, name_id BIGINT, category_id BIGINT, name "
                                 "VARCHAR, api_name BIGINT, category "
                                 "BIGINT, domain BIGINT, is_range BOOLEAN)"));
  std::string sql;
  for (const Pair& pair : pairs) {
    CallKind kind = KindOfCall(pair.name);
    std::string name = pair.name.empty() ? pair.category : pair.name;
    const bool range = pair.category.starts_with("MARKER") || kind.domain == "roctx";
    if (range) {
      // roctxRangeStart and its kin may end on any thread; all others nest.
      const bool anywhere = pair.name.find("RangeStart") != std::string::npos ||
                            pair.name.find("ProcessRange") != std::string::npos;
      name = anywhere ? "UserRange" : "UserMarker";
      kind = {"roctx", ""};
    } else if (kind.domain.empty()) {
      // HIP_RUNTIME_API_EXT, RCCL_API, ...: what is before the first underscore.
      kind.domain = pair.category.substr(0, pair.category.find('_'));
      for (char& c : kind.domain) c = static_cast<char>(tolower(static_cast<unsigned char>(c)));
    }
    const auto optional = [](bool has, int64_t id) { return has ? std::to_string(id) : "NULL"; };
    sql += fmt::format("INSERT INTO {}.kind VALUES ({}, {}, {}, {}, {}, {}, {}, {});", raw_,
                       pair.part, optional(pair.has_name, pair.name_id),
                       optional(pair.has_category, pair.category_id), duck::Literal(pair.name),
                       String(name), String(kind.category), String(kind.domain), range);
  }
  return connection_.Run(sql);
}

// Strings of kernels, directions of copies and counters.
base::Result<void> Reader::AddNames() {
  struct Kernel {
    int64_t number;
    std::string name, mangled;
  };
  std::vector<Kernel> kernels;
  std::vector<std::string> copies;
  std::vector<std::tuple<int64_t, int64_t, std::string>> counters;
  {
    ROCHOUND_TRY(duck::Rows rows,
                 connection_.Query("SELECT number, name, mangled FROM " + raw_ + ".kernel"));
    while (true) {
      ROCHOUND_TRY(const bool more, rows.Next());
      if (!more) break;
      kernels.push_back({rows.Int(0), std::string(rows.Text(1)), std::string(rows.Text(2))});
    }
  }
  {
    ROCHOUND_TRY(duck::Rows rows, connection_.Query("SELECT DISTINCT name FROM " + raw_ +
                                                    ".copy WHERE name IS NOT NULL"));
    while (true) {
      ROCHOUND_TRY(const bool more, rows.Next());
      if (!more) break;
      copies.emplace_back(rows.Text(0));
    }
  }
  {
    ROCHOUND_TRY(duck::Rows rows,
                 connection_.Query("SELECT part, id, name FROM " + raw_ + ".info_pmc"));
    while (true) {
      ROCHOUND_TRY(const bool more, rows.Next());
      if (!more) break;
      counters.emplace_back(rows.Int(0), rows.Int(1), std::string(rows.Text(2)));
    }
  }
  ROCHOUND_CHECK(connection_.Run(
      fmt::format("CREATE TABLE {0}.kernel_string (number BIGINT, name_id BIGINT, mangled_id "
                  "BIGINT, type_id BIGINT);"
                  "CREATE TABLE {0}.copy_type (name VARCHAR, type_id BIGINT, kind BIGINT);"
                  "CREATE TABLE {0}.pmc_string (part BIGINT, id BIGINT, string_id BIGINT);",
                  raw_)));
  {
    ROCHOUND_TRY(duck::Appender appender, connection_.Append(raw_name_, "kernel_string"));
    for (const Kernel& kernel : kernels) {
      const std::string name = codeobj::Demangle(kernel.name);
      appender.Int(kernel.number).Int(String(name)).Int(String(kernel.mangled));
      appender.Int(String(std::string(OperationOfKernel(name))));
      appender.EndRow();
    }
    ROCHOUND_CHECK(appender.Finish());
  }
  {
    ROCHOUND_TRY(duck::Appender appender, connection_.Append(raw_name_, "copy_type"));
    for (const std::string& name : copies) {
      const CopyDirection direction = DirectionOf(name);
      appender.Text(name).Int(String(std::string(OperationOfCopy(direction))));
      appender.Int(static_cast<int64_t>(direction));
      appender.EndRow();
    }
    ROCHOUND_CHECK(appender.Finish());
  }
  ROCHOUND_TRY(duck::Appender appender, connection_.Append(raw_name_, "pmc_string"));
  for (const auto& [part, id, name] : counters) {
    appender.Int(part).Int(id).Int(String(name));
    appender.EndRow();
  }
  return appender.Finish();
}

base::Result<void> Reader::AddStrings() {
  ROCHOUND_TRY(duck::Appender appender, connection_.Append(schema_name_, "rocpd_string"));
  for (const auto& [text, id] : strings_) {
    appender.Int(id).Text(text);
    appender.EndRow();
  }
  return appender.Finish();
}

base::Result<void> Reader::TellLosses() {
  int64_t id = 0;
  const auto lost = [&](const char* what, int64_t count, const char* note) -> base::Result<void> {
    if (count <= 0) return {};
    return connection_.Run(fmt::format("INSERT INTO {}.rochound_lost VALUES ({}, 0, {}, {}, {})",
                                       schema_, ++id, duck::Literal(what), count,
                                       duck::Literal(note)));
  };
  for (const Loss& loss : kLosses) {
    ROCHOUND_TRY(const int64_t count,
                 connection_.Number(fmt::format(fmt::runtime(loss.count), schema_, raw_)));
    ROCHOUND_CHECK(lost(loss.what, count, loss.note));
  }
  if (file_ != nullptr) {
    ROCHOUND_CHECK(lost("texts", file_->mended_rows(), "bytes that are no UTF-8 were replaced"));
    ROCHOUND_CHECK(
        lost("values", file_->wrong_rows(), "rows with something else where a number belongs"));
  }
  return TellUnrecordedCopies(connection_, schema_name_);
}

base::Result<void> Reader::Run() {
  ROCHOUND_CHECK(Sql("CREATE SCHEMA IF NOT EXISTS {0};"));
  ROCHOUND_CHECK(connection_.Run(CreateTables(schema_name_)));
  if (file_ != nullptr) {
    ROCHOUND_CHECK(Sql("CREATE SCHEMA {1};"));
    ROCHOUND_CHECK(CopyTables());
  }
  ROCHOUND_CHECK(Sql(kNumberThings, kPidStride, kGpuStride));
  ROCHOUND_CHECK(Sql(kCalls));
  ROCHOUND_CHECK(AddKinds());
  ROCHOUND_CHECK(Sql(kFillCalls));
  ROCHOUND_CHECK(Step(0.7));
  ROCHOUND_CHECK(Sql(kLink));
  ROCHOUND_CHECK(AddNames());
  const int64_t none = String("");
  const int64_t kernel = String(std::string(kKernelExecution));
  const int64_t copy = String(std::string(OperationOfCopy(CopyDirection::kUnknown)));
  ROCHOUND_CHECK(AddStrings());
  ROCHOUND_CHECK(Sql(kFillOperations, none, kernel, copy));
  ROCHOUND_CHECK(Step(0.9));
  ROCHOUND_CHECK(Sql(kFillRest));
  ROCHOUND_CHECK(TellLosses());
  return Sql(
      "INSERT INTO {0}.rocpd_metadata SELECT 1, 'gpu_stride', '{2}' UNION ALL SELECT 2, "
      "'pid_stride', "
      "'{3}' UNION ALL SELECT 3, 'schema_version', '3' UNION ALL SELECT 4, 'session_count', "
      "(SELECT count(*) FROM {0}.rochound_process)::VARCHAR",
      kGpuStride, kPidStride);
}

}  // namespace

base::Result<void> CreateRocpdTables(duck::Connection& connection, const std::string& schema) {
  const std::string raw = duck::Identifier(schema + "_raw");
  std::string sql = "CREATE SCHEMA " + raw + ";";
  const auto create = [&](const Raw& table) {
    sql += "CREATE TABLE " + raw + "." + table.name + " (part BIGINT DEFAULT 0";
    for (const ForeignColumn& column : table.columns)
      sql += fmt::format(", {} {}", duck::Identifier(column.name),
                         column.type == ForeignColumn::kText   ? "VARCHAR"
                         : column.type == ForeignColumn::kReal ? "DOUBLE"
                                                               : "BIGINT");
    sql += ");";
  };
  for (const Raw& table : kSmall) create(table);
  for (const Raw& table : kBig) create(table);
  return connection.Run(sql);
}

base::Result<SourceFacts> ReadRocpdTables(duck::Connection& connection, const std::string& schema) {
  ROCHOUND_CHECK(Reader(connection, nullptr, schema, {}).Run());
  ROCHOUND_CHECK(connection.Run("DROP SCHEMA " + duck::Identifier(schema + "_raw") + " CASCADE"));
  return FactsOf(connection, schema);
}

base::Result<SourceFacts> AttachRocpd(duck::Connection& connection,
                                      const std::filesystem::path& path, const std::string& schema,
                                      const SourceProgress& progress) {
  ROCHOUND_TRY(ForeignSqlite file, ForeignSqlite::Attach(connection, path, schema + "_file"));
  // One transaction: for each, DuckDB opens the file and reads its schema anew.
  ROCHOUND_CHECK(connection.Run("BEGIN"));
  if (auto done = Reader(connection, &file, schema, progress).Run(); !done.ok()) {
    (void)connection.Run("ROLLBACK").ok();
    return done.error().In("'" + path.string() + "'");
  }
  ROCHOUND_CHECK(connection.Run("COMMIT"));
  ROCHOUND_CHECK(connection.Run("DROP SCHEMA " + duck::Identifier(schema + "_raw") +
                                " CASCADE; DROP SCHEMA IF EXISTS " +
                                duck::Identifier(schema + "_file_mended") + " CASCADE; DETACH " +
                                duck::Identifier(schema + "_file")));
  return FactsOf(connection, schema);
}

}  // namespace rochound::store
