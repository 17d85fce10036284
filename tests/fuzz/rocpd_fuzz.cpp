// SPDX-License-Identifier: MIT
//
// Feeds arbitrary bytes to the reader of rocprofv3's databases: reading must end, in an error or
// with rows, never in a crash. The first byte chooses: the rest is the file itself, or rows of one.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/sqlite_rows.h"
#include "fuzz/trace_reader.h"
#include "store/open/source_rocpd.h"

namespace {

constexpr size_t kMaxInput = 1 << 16;

// What the reader asks for, for two processes.
constexpr const char* kTables =
    "CREATE TABLE rocpd_info_node_U (id INTEGER PRIMARY KEY, hostname TEXT);"
    "CREATE TABLE rocpd_info_process_U (id INTEGER PRIMARY KEY, nid INTEGER, pid INTEGER, ppid "
    "INTEGER, "
    "start BIGINT, end BIGINT, command TEXT);"
    "CREATE TABLE rocpd_info_thread_U (id INTEGER PRIMARY KEY, tid INTEGER);"
    "CREATE TABLE rocpd_info_agent_U (id INTEGER PRIMARY KEY, nid INTEGER, pid INTEGER, type TEXT, "
    "absolute_index INTEGER, uuid INTEGER, name TEXT, product_name TEXT);"
    "CREATE TABLE rocpd_string_U (id INTEGER PRIMARY KEY, string TEXT);"
    "CREATE TABLE rocpd_info_pmc_U (id INTEGER PRIMARY KEY, name TEXT);"
    "CREATE TABLE rocpd_info_kernel_symbol_U (id INTEGER PRIMARY KEY, kernel_name TEXT, "
    "display_name "
    "TEXT);"
    "CREATE TABLE rocpd_event_U (id INTEGER PRIMARY KEY, category_id INTEGER, stack_id INTEGER, "
    "extdata "
    "JSONB, call_stack JSONB);"
    "CREATE TABLE rocpd_arg_U (id INTEGER PRIMARY KEY, event_id INTEGER, position INTEGER, name "
    "TEXT, "
    "value TEXT);"
    "CREATE TABLE rocpd_track_U (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER);"
    "CREATE TABLE rocpd_region_U (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start BIGINT, "
    "end "
    "BIGINT, name_id INTEGER, event_id INTEGER);"
    "CREATE TABLE rocpd_sample_U (id INTEGER PRIMARY KEY, track_id INTEGER, timestamp BIGINT, "
    "event_id "
    "INTEGER);"
    "CREATE TABLE rocpd_kernel_dispatch_U (id INTEGER PRIMARY KEY, pid INTEGER, agent_id INTEGER, "
    "kernel_id INTEGER, dispatch_id INTEGER, queue_id INTEGER, start BIGINT, end BIGINT, "
    "workgroup_size_x INTEGER, workgroup_size_y INTEGER, workgroup_size_z INTEGER, grid_size_x "
    "INTEGER, "
    "grid_size_y INTEGER, grid_size_z INTEGER, event_id INTEGER);"
    "CREATE TABLE rocpd_memory_copy_U (id INTEGER PRIMARY KEY, pid INTEGER, start BIGINT, end "
    "BIGINT, "
    "name_id INTEGER, dst_agent_id INTEGER, dst_address INTEGER, src_agent_id INTEGER, src_address "
    "INTEGER, size INTEGER, event_id INTEGER);"
    "CREATE TABLE rocpd_memory_allocate_U (id INTEGER PRIMARY KEY, pid INTEGER, type TEXT, level "
    "TEXT, "
    "start BIGINT, end BIGINT, address INTEGER, size INTEGER);"
    "CREATE TABLE rocpd_pmc_event_U (id INTEGER PRIMARY KEY, event_id INTEGER, pmc_id INTEGER, "
    "value "
    "REAL);"
    "INSERT INTO rocpd_info_process_U (id, nid, pid) VALUES (1, 1, 1), (2, 1, 2);"
    "INSERT INTO rocpd_info_agent_U (id, nid, pid, type) VALUES (1, 1, 1, 'GPU'), (2, 1, 2, 'GPU');"
    "INSERT INTO rocpd_string_U VALUES (1, 'MARKER_CORE_API'), (2, 'hipLaunchKernel'), (3, "
    "'MEMORY_COPY_HOST_TO_DEVICE');";

std::string TwoParts() {
  std::string tables = kTables;
  std::string second = tables;
  for (size_t at = second.find("_U"); at != std::string::npos; at = second.find("_U", at))
    second.replace(at, 2, "_V");
  return tables + second;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2 || size > kMaxInput) return 0;
  const uint8_t choice = data[0] % 3;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::filesystem::path path = rochound::fuzz::Folder() / "trace.db";
  if (choice == 0) {
    rochound::fuzz::Write("trace.db", input);
  } else {
    static const std::string two = TwoParts();
    rochound::fuzz::SqliteRows rows(path, choice == 1 ? kTables : two.c_str());
    rows.Fill(input);
  }
  rochound::fuzz::Read(path, input,
                       [](auto& connection, const auto& file, const std::string& schema) {
                         return rochound::store::AttachRocpd(connection, file, schema);
                       });
  return 0;
}
