// SPDX-License-Identifier: MIT
//
// Feeds arbitrary bytes to the reader of .rpd files: reading must end, in an error or with rows,
// never in a crash. The first byte chooses: the rest is the file itself, or rows of a file of ours,
// of RPD 3 or of RPD 2.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/sqlite_rows.h"
#include "fuzz/trace_reader.h"
#include "store/rpd/rpd_schema.h"

namespace {

using rochound::fuzz::Folder;

constexpr size_t kMaxInput = 1 << 16;

// Columns that differ from version 3; constraints are left out, for they would refuse odd rows.
constexpr const char* kVersion2 =
    "CREATE TABLE rocpd_metadata (id integer PRIMARY KEY, tag varchar(4096), value varchar(4096));"
    "CREATE TABLE rocpd_string (id integer PRIMARY KEY, string varchar(4096));"
    "CREATE TABLE rocpd_barrierop (op_ptr_id integer PRIMARY KEY, signalCount integer);"
    "CREATE TABLE rocpd_api (id integer PRIMARY KEY, pid integer, tid integer, start integer, end "
    "integer, apiName_id integer, args_id integer);"
    "CREATE TABLE rocpd_op (id integer PRIMARY KEY, gpuId integer, queueId integer, sequenceId "
    "integer, "
    "completionSignal varchar(18), start integer, end integer, description_id integer, opType_id "
    "integer);"
    "CREATE TABLE rocpd_api_ops (id integer PRIMARY KEY, api_id integer, op_id integer);"
    "CREATE TABLE rocpd_kernelapi (api_ptr_id integer PRIMARY KEY, stream varchar(18), gridX "
    "integer, "
    "gridY integer, gridZ integer, workgroupX integer, workgroupY integer, workgroupZ integer, "
    "groupSegmentSize integer, privateSegmentSize integer, codeObject_id integer, kernelName_id "
    "integer);"
    "CREATE TABLE rocpd_copyapi (api_ptr_id integer PRIMARY KEY, stream varchar(18), size integer, "
    "width "
    "integer, height integer, kind integer, dst varchar(18), src varchar(18), dstDevice integer, "
    "srcDevice integer, sync bool, pinned bool);"
    "CREATE TABLE rocpd_monitor (id integer PRIMARY KEY, deviceType varchar(16), deviceId integer, "
    "monitorType varchar(16), start integer, end integer, value varchar(255));"
    "INSERT INTO rocpd_metadata VALUES (1, 'schema_version', '2');"
    "INSERT INTO rocpd_string VALUES (1, 'KernelExecution'), (2, 'hipMemcpy'), (3, 'Memcpy'), (4, "
    "'UserMarker');";

std::string WithoutRules(std::string schema) {
  for (const std::string_view rule : {" NOT NULL", " AUTOINCREMENT"}) {
    for (size_t at = schema.find(rule); at != std::string::npos; at = schema.find(rule, at))
      schema.erase(at, rule.size());
  }
  return schema;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2 || size > kMaxInput) return 0;
  const uint8_t choice = data[0] % 4;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::filesystem::path path = Folder() / "trace.rpd";
  if (choice == 0) {
    rochound::fuzz::Write("trace.rpd", input);
  } else {
    static const std::string foreign = WithoutRules(rochound::store::kRpdTables);
    static const std::string ours = foreign + WithoutRules(rochound::store::RochoundTables());
    rochound::fuzz::SqliteRows rows(path, choice == 1   ? ours.c_str()
                                          : choice == 2 ? foreign.c_str()
                                                        : kVersion2);
    rows.Fill(input);
  }
  rochound::fuzz::Read(path, input,
                       [](auto& connection, const auto& file, const std::string& schema) {
                         return rochound::store::AttachRpd(connection, file, schema);
                       });
  return 0;
}
