// SPDX-License-Identifier: MIT
#include "store/export/export_csv.h"

#include <string>
#include <system_error>

#include "base/files.h"
#include "store/open/streams.h"
#include "store/open/trace_tables.h"

namespace rochound::store {

namespace fs = std::filesystem;

namespace {

// Tables with names instead of ids, for people and spreadsheets. Files, columns and their order are
// those of rocprofv3's CSV output, so that what reads the one reads the other; what it does not
// have comes after its columns.
struct FlatTable {
  const char* name;
  const char* sql;
};

constexpr FlatTable kFlatTables[] = {
    {"kernel_trace", R"(
      SELECT 'KERNEL_DISPATCH' AS "Kind", 'Agent ' || d.agent AS "Agent_Id", o."queueId" AS "Queue_Id",
             s.stream AS "Stream_Id", a.tid AS "Thread_Id",
             row_number() OVER (PARTITION BY o.id >> 32 ORDER BY o.id) AS "Dispatch_Id",
             d.kernel_id & 4294967295 AS "Kernel_Id",
             coalesce(n.string, t.string) AS "Kernel_Name", d.api_id AS "Correlation_Id",
             o.start AS "Start_Timestamp", o."end" AS "End_Timestamp",
             d."groupSegmentSize" AS "LDS_Block_Size", d."privateSegmentSize" AS "Scratch_Size",
             NULL AS "VGPR_Count", NULL AS "Accum_VGPR_Count", NULL AS "SGPR_Count",
             d."workgroupX" AS "Workgroup_Size_X", d."workgroupY" AS "Workgroup_Size_Y",
             d."workgroupZ" AS "Workgroup_Size_Z", d."gridX" AS "Grid_Size_X",
             d."gridY" AS "Grid_Size_Y", d."gridZ" AS "Grid_Size_Z", p.pid AS "Process_Id"
      FROM rochound_dispatch d JOIN rocpd_op o ON o.id = d.op_id
      LEFT JOIN rochound_kernel k ON k.id = d.kernel_id LEFT JOIN rocpd_string n ON n.id = k.name_id
      LEFT JOIN rocpd_string t ON t.id = o.description_id
      LEFT JOIN rocpd_api a ON a.id = d.api_id LEFT JOIN rochound_process p ON p.session = o.id >> 32
      LEFT JOIN operation_stream s ON s.op_id = o.id
      ORDER BY o.start, o.id)"},
    {"memory_copy_trace", R"(
      SELECT 'MEMORY_COPY' AS "Kind",
             'MEMORY_' || upper(regexp_replace(t.string, '([a-z])([A-Z])', '\1_\2', 'g')) AS "Direction",
             s.stream AS "Stream_Id",
             if(c."sourceAgent" < 0, NULL, 'Agent ' || c."sourceAgent") AS "Source_Agent_Id",
             if(c."destinationAgent" < 0, NULL, 'Agent ' || c."destinationAgent") AS "Destination_Agent_Id",
             c.api_id AS "Correlation_Id", o.start AS "Start_Timestamp", o."end" AS "End_Timestamp",
             c.size AS "Size", p.pid AS "Process_Id"
      FROM rochound_copy c JOIN rocpd_op o ON o.id = c.op_id
      JOIN rocpd_string t ON t.id = o."opType_id"
      LEFT JOIN rochound_process p ON p.session = o.id >> 32
      LEFT JOIN operation_stream s ON s.op_id = o.id
      WHERE t.string LIKE 'Copy%' ORDER BY o.start, o.id)"},
    {"hip_api_trace", R"(
      SELECT if(d.string = 'hip', 'HIP_RUNTIME_API', upper(d.string) || '_API') AS "Domain",
             n.string AS "Function", a.pid AS "Process_Id", a.tid AS "Thread_Id",
             a.id AS "Correlation_Id", a.start AS "Start_Timestamp", a."end" AS "End_Timestamp"
      FROM rocpd_api a JOIN rocpd_string n ON n.id = a."apiName_id"
      JOIN rocpd_string d ON d.id = a.domain_id
      WHERE d.string IN ('hip', 'cuda') ORDER BY a.start, a.id)"},
    {"hsa_api_trace", R"(
      SELECT if(n.string LIKE 'hsa_amd_%', 'HSA_AMD_EXT_API', 'HSA_CORE_API') AS "Domain",
             n.string AS "Function", a.pid AS "Process_Id", a.tid AS "Thread_Id",
             a.id AS "Correlation_Id", a.start AS "Start_Timestamp", a."end" AS "End_Timestamp"
      FROM rocpd_api a JOIN rocpd_string n ON n.id = a."apiName_id"
      JOIN rocpd_string d ON d.id = a.domain_id
      WHERE d.string = 'hsa' ORDER BY a.start, a.id)"},
    {"marker_api_trace", R"(
      SELECT if(n.string = 'UserRange', 'MARKER_RANGE_API', 'MARKER_CORE_API') AS "Domain",
             coalesce(nullif(u.string, ''), n.string) AS "Function", a.pid AS "Process_Id",
             a.tid AS "Thread_Id", a.id AS "Correlation_Id", a.start AS "Start_Timestamp",
             a."end" AS "End_Timestamp"
      FROM rocpd_api a JOIN rocpd_string n ON n.id = a."apiName_id"
      JOIN rocpd_string d ON d.id = a.domain_id LEFT JOIN rocpd_ustring u ON u.id = a.args_id
      WHERE d.string IN ('roctx', 'torch', 'python') ORDER BY a.start, a.id)"},
    {"memory_allocation_trace", R"(
      WITH told AS (
        SELECT *, 'ALLOCATE' AS operation, start AS moment FROM rochound_allocation
        UNION ALL
        SELECT *, 'FREE', "end" FROM rochound_allocation WHERE "end" IS NOT NULL
      )
      SELECT 'MEMORY_ALLOCATION' AS "Kind", 'MEMORY_ALLOCATION_' || operation AS "Operation",
             if(operation = 'FREE' OR agent NOT BETWEEN 0 AND 65534, NULL, 'Agent ' || agent) AS "Agent_Id",
             if(operation = 'FREE', 0, size) AS "Allocation_Size",
             printf('0x%016x', address) AS "Address", NULL AS "Correlation_Id",
             moment AS "Start_Timestamp", moment AS "End_Timestamp", pid AS "Process_Id"
      FROM told ORDER BY moment, id, operation)"},
};

base::Result<void> WriteCsv(duck::Connection& connection, const std::string& sql,
                            const fs::path& folder, const std::string& name) {
  const fs::path file = folder / (name + ".csv");
  auto written = connection.Run("COPY (" + sql + ") TO " + duck::Literal(file.string()) +
                                " (FORMAT csv, HEADER true)");
  if (!written.ok()) return written.error().In("cannot write " + name);
  return {};
}

}  // namespace

base::Result<void> ExportCsv(TraceDatabase& trace, const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder, error))
    return base::Error{"'" + folder.string() + "' is there already; remove it or name another"};
  const fs::path parent = folder.has_parent_path() ? folder.parent_path() : fs::path(".");
  ROCHOUND_TRY(base::TempDir partial, base::TempDir::Create(parent, ".rochound-csv-"));
  duck::Connection& connection = trace.connection();
  ROCHOUND_CHECK(connection.Confine(partial.path()));
  for (const TraceTable& table : TraceTables()) {
    ROCHOUND_CHECK(WriteCsv(connection,
                            "SELECT " + ColumnNames(table) + " FROM " +
                                duck::Identifier(table.name) + " ORDER BY " + table.key,
                            partial.path(), table.name));
  }
  ROCHOUND_CHECK(FindStreams(connection));
  for (const FlatTable& table : kFlatTables)
    ROCHOUND_CHECK(WriteCsv(connection, table.sql, partial.path(), table.name));
  fs::permissions(partial.path(), fs::perms(0755), error);
  fs::rename(partial.path(), folder, error);
  if (error) return base::Error{"cannot make '" + folder.string() + "': " + error.message()};
  partial.Release();
  return {};
}

}  // namespace rochound::store
