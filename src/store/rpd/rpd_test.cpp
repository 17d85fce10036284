// SPDX-License-Identifier: MIT
#include "store/rpd/rpd.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "store/rpd/database.h"

namespace rochound::store {
namespace {

class Rpd : public testing::Test {
 protected:
  Rpd() : dir_(base::TempDir::Create(testing::TempDir(), "rochound-rpd-").value()) {
    writer_ = RpdWriter::Create(path()).value();
  }

  std::filesystem::path path() const { return dir_.path() / "trace.rpd"; }

  int64_t Call(std::string_view name, int64_t start, int64_t end, std::string_view args = "") {
    return writer_->AddApi({.pid = 10,
                            .tid = 11,
                            .start = start,
                            .end = end,
                            .name = writer_->String(name),
                            .category = writer_->String(""),
                            .domain = writer_->String("hip")},
                           args);
  }

  int64_t Op(std::string_view description, std::string_view type, int64_t start, int64_t end) {
    return writer_->AddOp({.gpu = 0,
                           .queue = 1,
                           .sequence = 2,
                           .start = start,
                           .end = end,
                           .description = writer_->String(description),
                           .type = writer_->String(type)});
  }

  // All rows of a question, columns with | between them.
  std::vector<std::string> Ask(const std::string& sql, int columns) {
    Database database = Database::Open(path(), Database::Mode::kRead).value();
    auto statement = database.Prepare(sql);
    if (!statement.ok()) return {statement.error().message};
    std::vector<std::string> rows;
    while (statement.value().Step().value()) {
      std::string row;
      for (int i = 0; i < columns; ++i) row += (i > 0 ? "|" : "") + statement.value().Text(i);
      rows.push_back(row);
    }
    return rows;
  }

  // "name type notnull pk" of each column.
  std::string Columns(const std::string& table) {
    std::string text;
    for (const std::string& row : Ask("SELECT name || ' ' || lower(type) || ' ' || \"notnull\" || "
                                      "pk FROM pragma_table_info('" +
                                          table + "')",
                                      1))
      text += (text.empty() ? "" : ", ") + row;
    return text;
  }

  base::TempDir dir_;
  std::unique_ptr<RpdWriter> writer_;
};

using Rows = std::vector<std::string>;

TEST_F(Rpd, HasRpdsTables) {
  ASSERT_TRUE(writer_->Finish().ok());
  const auto table_is = [&](const char* table, const std::string& columns) {
    EXPECT_EQ(Columns(table), columns) << table;
  };
  table_is("rocpd_metadata", "id integer 11, tag varchar(4096) 10, value varchar(4096) 10");
  table_is("rocpd_string", "id integer 11, string varchar(4096) 10");
  table_is("rocpd_ustring", "id integer 11, string varchar(4096) 10");
  table_is("rocpd_api",
           "id integer 11, pid integer 10, tid integer 10, start integer 10, end integer 10, "
           "apiName_id bigint 10, category_id bigint 10, domain_id bigint 10, args_id bigint 10");
  table_is(
      "rocpd_op",
      "id integer 11, gpuId integer 10, queueId integer 10, sequenceId integer 10, start integer "
      "10, end integer 10, description_id bigint 10, opType_id bigint 10");
  table_is("rocpd_api_ops", "id integer 11, api_id bigint 10, op_id bigint 10");
  table_is("rocpd_kernelapi",
           "api_ptr_id bigint 11, stream varchar(18) 10, gridX integer 10, gridY integer 10, gridZ "
           "integer 10, workgroupX integer 10, workgroupY integer 10, workgroupZ integer 10, "
           "groupSegmentSize integer 10, privateSegmentSize integer 10, kernelName_id bigint 10");
  table_is(
      "rocpd_copyapi",
      "api_ptr_id bigint 11, stream varchar(18) 10, size integer 10, width integer 10, height "
      "integer 10, kind integer 10, dst varchar(18) 10, src varchar(18) 10, dstDevice integer 10, "
      "srcDevice integer 10, sync bool 10, pinned bool 10");
  table_is(
      "rocpd_monitor",
      "id integer 11, deviceType varchar(16) 10, deviceId integer 10, monitorType varchar(16) 10, "
      "start integer 10, end integer 10, value varchar(255) 10");
  table_is("rocpd_counter", "id integer 11, value real 10, op_id bigint 10, name_id bigint 10");
  table_is("rocpd_stackframe",
           "id integer 11, api_ptr_id bigint 10, depth integer 10, name_id bigint 10");
  EXPECT_EQ(
      Ask("SELECT tag, value FROM rocpd_metadata WHERE tag NOT LIKE 'references%' ORDER BY id", 2),
      (Rows{"gpu_stride|1000", "pid_stride|10000000", "schema_version|3", "session_count|0"}));
}

TEST_F(Rpd, HasRpdsViews) {
  ASSERT_TRUE(writer_->Finish().ok());
  const auto view_is = [&](const char* view, const Rows& columns) {
    EXPECT_EQ(Ask(fmt::format("SELECT name FROM pragma_table_info('{}')", view), 1), columns)
        << view;
    EXPECT_EQ(Ask(fmt::format("SELECT * FROM \"{}\"", view), 1), Rows{}) << view;
  };
  view_is("api", {"id", "pid", "tid", "start", "end", "domain", "category", "apiName", "args"});
  view_is("op", {"id", "gpuId", "queueId", "sequenceId", "start", "end", "description", "opType"});
  view_is("busy", {"gpuId", "GpuTime", "WallTime", "Busy"});
  view_is("top", {"Name", "TotalCalls", "TotalDuration_us", "Ave_us", "Percentage"});
  view_is("kernel", {"id", "gpuId", "queueId", "sequenceId", "start", "end", "duration", "stream",
                     "gridX", "gridY", "gridz", "workgroupX", "workgroupY", "workgroupZ",
                     "groupSegmentSize", "privateSegmentSize", "kernelName"});
  view_is("copy", {"id", "pid", "tid", "start", "end", "apiName", "stream", "size", "width",
                   "height", "kind", "dst", "src", "dstDevice", "srcDevice", "sync", "pinned"});
  view_is("copyop", {"id", "gpuId", "queueId", "sequenceId", "start", "end", "duration", "stream",
                     "size", "width", "height", "kind", "dst", "src", "dstDevice", "srcDevice",
                     "sync", "pinned", "apiName"});
  view_is("stackframe", {"id", "string", "depth", "string:1"});
  view_is("napi",
          {"id", "node", "pid", "tid", "start", "end", "domain", "category", "apiName", "args"});
  view_is("nop", {"id", "node", "gpuId", "queueId", "sequenceId", "start", "end", "description",
                  "opType"});
}

TEST_F(Rpd, AnswersThroughTheViews) {
  writer_->BeginSession();
  const int64_t kernel = writer_->AddKernel({.name = writer_->String("add(int*)"),
                                             .mangled_name = writer_->String("_Z3addPi"),
                                             .kernel_object = 4096,
                                             .code_object = 1,
                                             .kernarg_bytes = 8,
                                             .agent = 1});
  const int64_t launch = Call("hipLaunchKernel", 100, 200, "f=0x1|stream=0x0");
  writer_->AddKernelApi(launch, {.stream = "0x0",
                                 .grid_x = 64,
                                 .grid_y = 2,
                                 .grid_z = 1,
                                 .workgroup_x = 32,
                                 .workgroup_y = 1,
                                 .workgroup_z = 1,
                                 .group_bytes = 16,
                                 .private_bytes = 0,
                                 .kernel_name = writer_->String("add(int*)")});
  for (int i = 0; i < 2; ++i) {  // alike in everything but their id
    const int64_t op = Op("add(int*)", "KernelExecution", 300, 1300);
    writer_->AddApiOp(launch, op);
    writer_->AddDispatch(op, {.api = launch,
                              .kernel = kernel,
                              .grid_x = 64,
                              .grid_y = 2,
                              .grid_z = 1,
                              .workgroup_x = 32,
                              .workgroup_y = 1,
                              .workgroup_z = 1,
                              .group_bytes = 16,
                              .private_bytes = 0,
                              .queue = 1,
                              .agent = 1,
                              .submit = 150,
                              .timed = true});
  }
  const int64_t copy = Call("hipMemcpy", 2000, 5000);
  writer_->AddCopyApi(copy, {.stream = "",
                             .size = 5000000000,
                             .width = 0,
                             .height = 0,
                             .kind = 2,
                             .destination = "0x20",
                             .source = "0x10",
                             .destination_device = 0,
                             .source_device = 1,
                             .sync = true,
                             .pinned = false});
  const int64_t copied = Op("", "CopyDeviceToHost", 2300, 4300);
  writer_->AddApiOp(copy, copied);
  writer_->AddCopy(copied, {.api = std::nullopt,
                            .size = 5000000000,
                            .source_agent = 1,
                            .destination_agent = 0,
                            .source = 16,
                            .destination = 32,
                            .width = 0,
                            .height = 0,
                            .submit = 2100,
                            .timed = true});
  writer_->AddStackFrame({copy, 0, writer_->String("main")});
  writer_->AddProcess({.pid = 10,
                       .ppid = 1,
                       .executable = "/bin/x",
                       .command = "x y",
                       .host = "h",
                       .start = 1,
                       .end = 9,
                       .calls = 2,
                       .dispatches = 2,
                       .copies = 1,
                       .note = ""});
  ASSERT_TRUE(writer_->Finish().ok());

  EXPECT_EQ(Ask("PRAGMA integrity_check", 1), Rows{"ok"});
  EXPECT_EQ(Ask("PRAGMA foreign_key_check", 1), Rows{});
  EXPECT_EQ(Ask("SELECT * FROM api", 9),
            (Rows{"1|10|11|100|200|hip||hipLaunchKernel|f=0x1|stream=0x0",
                  "2|10|11|2000|5000|hip||hipMemcpy|"}));
  EXPECT_EQ(Ask("SELECT * FROM top", 4), (Rows{"CopyDeviceToHost|1|2|2.0", "add(int*)|2|2|1.0"}));
  EXPECT_EQ(Ask("SELECT sum(Percentage) FROM top", 1), Rows{"100.0"});
  EXPECT_EQ(Ask("SELECT * FROM busy", 4), Rows{"0|4000|4000|1.0"});
  EXPECT_EQ(Ask("SELECT * FROM kernel", 17),
            (Rows{"1|0|1|2|300|1300|1000|0x0|64|2|1|32|1|1|16|0|add(int*)",
                  "2|0|1|2|300|1300|1000|0x0|64|2|1|32|1|1|16|0|add(int*)"}));
  EXPECT_EQ(Ask("SELECT * FROM copy", 17),
            Rows{"2|10|11|2000|5000|hipMemcpy||5000000000|0|0|2|0x20|0x10|0|1|1|0"});
  EXPECT_EQ(Ask("SELECT * FROM copyop", 19),
            Rows{"3|0|1|2|2300|4300|2000||5000000000|0|0|2|0x20|0x10|0|1|1|0|hipMemcpy"});
  EXPECT_EQ(Ask("SELECT * FROM stackframe", 4), Rows{"2|hipMemcpy|0|main"});
  EXPECT_EQ(Ask("SELECT id, node, pid, tid, apiName FROM napi", 5),
            (Rows{"1|0|10|11|hipLaunchKernel", "2|0|10|11|hipMemcpy"}));
  EXPECT_EQ(Ask("SELECT id, node, gpuId FROM nop WHERE opType = 'CopyDeviceToHost'", 3),
            Rows{"3|0|0"});
  EXPECT_EQ(Ask("SELECT api_id IS NULL FROM rochound_copy", 1), Rows{"1"});
}

TEST_F(Rpd, GivesEachProcessItsSession) {
  for (int i = 0; i < 3; ++i) {
    writer_->BeginSession();
    EXPECT_EQ(Call("a", 1, 2), (int64_t{i} << 32) + 1);
    EXPECT_EQ(Call("b", 3, 4, "x=1"), (int64_t{i} << 32) + 2);
    EXPECT_EQ(Op("k", "KernelExecution", 1, 2), (int64_t{i} << 32) + 1);
  }
  ASSERT_TRUE(writer_->Finish().ok());
  EXPECT_EQ(Ask("SELECT value FROM rocpd_metadata WHERE tag = 'session_count'", 1), Rows{"3"});
  EXPECT_EQ(Ask("SELECT id >> 32, count(*), count(DISTINCT args) FROM api GROUP BY 1", 3),
            (Rows{"0|2|2", "1|2|2", "2|2|2"}));
  EXPECT_EQ(Ask("SELECT count(*) FROM rocpd_string WHERE string = 'a'", 1), Rows{"1"});
  // Whoever goes on writing in this file finds the counters where RPD leaves them.
  EXPECT_EQ(Ask("SELECT seq FROM sqlite_sequence WHERE name = 'rocpd_api'", 1),
            Rows{std::to_string((int64_t{2} << 32) + 2)});
  EXPECT_EQ(Ask("PRAGMA integrity_check", 1), Rows{"ok"});
}

TEST_F(Rpd, CutsLongArgumentsBetweenCharacters) {
  writer_->BeginSession();
  std::string text = "x";
  while (text.size() < 5000)
    text += "\xc3\xa4";  // two bytes each, so that 4096 is in the middle of one
  Call("a", 1, 2, text);
  ASSERT_TRUE(writer_->Finish().ok());
  EXPECT_EQ(Ask("SELECT args FROM api", 1), Rows{text.substr(0, 4095)});
}

TEST_F(Rpd, LeavesNothingBehindWithoutFinish) {
  ASSERT_TRUE(base::WriteFile(path(), "what was there before").ok());
  writer_->BeginSession();
  Call("a", 1, 2);
  writer_.reset();
  EXPECT_EQ(base::ReadFile(path()).value(), "what was there before");
  int files = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(dir_.path()))
    ++files;
  EXPECT_EQ(files, 1);
}

TEST_F(Rpd, SaysWhereItCannotWrite) {
  const auto writer = RpdWriter::Create(dir_.path() / "no/such/folder/trace.rpd");
  ASSERT_FALSE(writer.ok());
  EXPECT_NE(writer.error().message.find("no/such/folder"), std::string::npos);
}

}  // namespace
}  // namespace rochound::store
