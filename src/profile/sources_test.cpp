// SPDX-License-Identifier: MIT
//
// Files in the shapes that rocprofv3 and the software GPU write.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "profile/counter_source.h"
#include "store/rpd/database.h"

namespace rochound::profile {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHead =
    "\"Correlation_Id\",\"Dispatch_Id\",\"Agent_Id\",\"Queue_Id\",\"Process_Id\",\"Thread_Id\","
    "\"Grid_Size\",\"Kernel_Id\",\"Kernel_Name\",\"Workgroup_Size\",\"LDS_Block_Size\","
    "\"Scratch_Size\",\"VGPR_Count\",\"Accum_VGPR_Count\",\"SGPR_Count\",\"Counter_Name\","
    "\"Counter_Value\",\"Start_Timestamp\",\"End_Timestamp\"\n";

std::string Row(int dispatch, int grid, const std::string& kernel, const std::string& counter,
                const std::string& value, int process = 77) {
  return fmt::format(
      "{0},{0},\"Agent 1\",1,{5},{5},{1},9,\"{2}\",64,0,0,8,4,32,\"{3}\",{4},1000,3500\n", dispatch,
      grid, kernel, counter, value, process);
}

class SourcesTest : public testing::Test {
 protected:
  SourcesTest()
      : folder_(std::move(base::TempDir::Create(testing::TempDir(), "profile")).value()) {}

  fs::path Write(const std::string& name, const std::string& text) {
    const fs::path path = folder_.path() / name;
    fs::create_directories(path.parent_path());
    EXPECT_TRUE(base::WriteFile(path, text).ok());
    return path;
  }
  static CounterSet Read(const CounterSource& source) {
    auto set = source.Read();
    EXPECT_TRUE(set.ok()) << (set.ok() ? "" : set.error().message);
    return set.ok() ? std::move(set).value() : CounterSet{};
  }

  base::TempDir folder_;
};

TEST_F(SourcesTest, OneCsv) {
  const fs::path file =
      Write("1_counter_collection.csv",
            kHead + Row(1, 4096, "void f<int, 2>(int*, \"\"x\"\")", "SQ_WAVES", "64") +
                Row(1, 4096, "void f<int, 2>(int*, \"\"x\"\")", "TCC_HIT", "1.5") +
                Row(1, 4096, "void f<int, 2>(int*, \"\"x\"\")", "TCC_HIT", "2") +
                Row(2, 64, "g.kd", "SQ_WAVES", ""));
  const CounterSet set = Read(*RocprofFiles({file}));
  EXPECT_EQ(set.source, "rocprofv3, 1 pass");
  ASSERT_EQ(set.launches.size(), 2u);
  EXPECT_EQ(set.launches[0].kernel, "void f<int, 2>(int*, \"x\")");
  EXPECT_EQ(set.launches[0].grid[0], 4096u);
  EXPECT_EQ(set.launches[0].workgroup[0], 64u);
  EXPECT_EQ(set.launches[0].nanoseconds, 2500);
  EXPECT_EQ(set.launches[0].exact, (Values{{"SQ_WAVES", 64}, {"TCC_HIT", 3.5}}));
  EXPECT_EQ(set.launches[1].kernel, "g");
  EXPECT_TRUE(set.launches[1].exact.empty()) << "an empty value is missing, not 0";
}

// A column for each counter; times and the GPU are in files beside it.
TEST_F(SourcesTest, PmcPerfOfRocprofilerCompute) {
  const fs::path file =
      Write("vcopy/pmc_perf.csv",
            "Dispatch_ID,Kernel_Name,GPU_ID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,SGPR,obj,"
            "wave_size,SQ_WAVES,TCC_HIT[0],TCC_HIT[1],SQ_WAVES_1,SQC_DCACHE_REQ_READ_16,"
            "Start_Timestamp,End_Timestamp\n"
            "0,f (.kd),2,4096,64,128,16,0x7f,64,64,3,4,64,5,0,0\n"
            "1,f (.kd),2,4096,64,128,16,0x7f,64,65,5,,65,6,0,0\n");
  const Values first = {{"SQ_WAVES", 64}, {"TCC_HIT", 7}, {"SQC_DCACHE_REQ_READ_16", 5}};
  CounterSet set = Read(*RocprofFiles({file.parent_path()}));
  EXPECT_EQ(set.source, "rocprofiler-compute, 1 pass");
  ASSERT_EQ(set.launches.size(), 2u);
  EXPECT_EQ(set.launches[0].kernel, "f");
  EXPECT_EQ(set.launches[0].exact, first);
  EXPECT_EQ(set.launches[1].exact.at("TCC_HIT"), 5);
  EXPECT_FALSE(set.launches[0].nanoseconds.has_value());
  EXPECT_EQ(set.launches[0].target, "");
  Write("vcopy/timestamps.csv",
        "Dispatch_ID,Start_Timestamp,End_Timestamp\n1,1000,3500\n2,8.1E+14,8.1E+14\n");
  Write("vcopy/sysinfo.csv", "gpu_model,gpu_arch\nMI200,gfx90a\n");
  set = Read(*RocprofFiles({file}));
  EXPECT_EQ(set.launches[0].nanoseconds, 2500);
  EXPECT_FALSE(set.launches[1].nanoseconds.has_value()) << "the time was rounded away";
  EXPECT_EQ(set.launches[1].target, "gfx90a");
}

// Two passes of a program of two processes. The kernel's two shapes are launched in another order
// in the second pass; its third launch is there only in the first.
// ROCm 6.2 calls folders of passes otherwise.
TEST_F(SourcesTest, SeveralPasses) {
  for (const std::string& name : {std::string("pass"), std::string("pmc")}) {
    Write(name + "/out/" + name + "_1/host/1_counter_collection.csv",
          kHead + Row(1, 64, "f", "A", "10") + Row(2, 64, "f", "A", "11") +
              Row(3, 128, "f", "A", "12") + Row(4, 64, "f", "A", "13"));
    Write(name + "/out/" + name + "_1/host/2_counter_collection.csv",
          kHead + Row(1, 64, "h", "A", "20", 78));
    Write(name + "/out/" + name + "_2/host/1_counter_collection.csv",
          kHead + Row(1, 128, "f", "B", "102") + Row(2, 64, "f", "B", "100") +
              Row(2, 64, "f", "A", "9") + Row(3, 64, "f", "B", "101"));
    Write(name + "/out/" + name + "_2/host/2_counter_collection.csv",
          kHead + Row(1, 64, "h", "B", "200", 78));
    const CounterSet set = Read(*RocprofFiles({folder_.path() / name / "out"}));
    EXPECT_EQ(set.source, "rocprofv3, 2 passes");
    ASSERT_EQ(set.launches.size(), 5u);
    EXPECT_EQ(set.launches[0].exact, (Values{{"A", 10}, {"B", 100}}));
    EXPECT_EQ(set.launches[1].exact, (Values{{"A", 11}, {"B", 101}}));
    EXPECT_EQ(set.launches[2].exact, (Values{{"A", 12}, {"B", 102}}));
    EXPECT_EQ(set.launches[3].exact, (Values{{"A", 13}})) << "the second pass lacks it";
    EXPECT_EQ(set.launches[4].kernel, "h");
    EXPECT_EQ(set.launches[4].exact, (Values{{"A", 20}, {"B", 200}}));
    ASSERT_EQ(set.warnings.size(), 2u);
    EXPECT_NE(set.warnings[0].find("1 of 5 launches"), std::string::npos) << set.warnings[0];
    EXPECT_NE(set.warnings[1].find("A..."), std::string::npos) << set.warnings[1];
  }
}

constexpr const char* kJson = R"({"rocprofiler-sdk-tool":[{
 "metadata":{"pid":42},
 "agents":[{"id":{"handle":5},"name":"gfx942"}],
 "counters":[{"id":{"handle":1000},"name":"SQ_WAVES"},{"id":{"handle":1001},"name":"TCC_HIT"}],
 "strings":{}, "code_objects":[],
 "kernel_symbols":[{"kernel_id":3,"kernel_name":"_Z1fPf.kd"}],
 "callback_records":{"counter_collection":[{"thread_id":42,
   "dispatch_data":{"correlation_id":{"internal":1,"external":0},"start_timestamp":10,"end_timestamp":40,
     "dispatch_info":{"agent_id":{"handle":5},"queue_id":{"handle":1},"kernel_id":3,"dispatch_id":1,
       "private_segment_size":0,"group_segment_size":0,
       "workgroup_size":{"x":8,"y":8,"z":1},"grid_size":{"x":64,"y":32,"z":1}}},
   "records":[{"counter_id":{"handle":1000},"value":32.0},{"counter_id":{"handle":1001},"value":1.0},
              {"counter_id":{"handle":1001},"value":2.0}]}]},
 "buffer_records":{}}]})";

TEST_F(SourcesTest, Json) {
  const CounterSet set = Read(*RocprofFiles({Write("42_results.json", kJson)}));
  ASSERT_EQ(set.launches.size(), 1u);
  const Launch& launch = set.launches[0];
  EXPECT_EQ(launch.kernel, "_Z1fPf");
  EXPECT_EQ(launch.target, "gfx942");
  EXPECT_EQ(launch.process, 42u);
  EXPECT_EQ(launch.grid, (std::array<uint64_t, 3>{64, 32, 1}));
  EXPECT_EQ(launch.workgroup, (std::array<uint64_t, 3>{8, 8, 1}));
  EXPECT_EQ(launch.nanoseconds, 30);
  EXPECT_EQ(launch.exact, (Values{{"SQ_WAVES", 32}, {"TCC_HIT", 3}})) << "instances are added up";
}

// A file as rocprofv3 --output-format rocpd writes it: tables have the process in their names.
class RocpdFile {
 public:
  explicit RocpdFile(const fs::path& path)
      : database_(std::move(store::Database::Open(path, store::Database::Mode::kCreate)).value()) {}

  void AddProcess(const std::string& id, int pid) {
    part_ = "_" + id;
    Run("CREATE TABLE {info_process} (id INTEGER PRIMARY KEY, nid INTEGER, pid INTEGER);"
        "CREATE TABLE {info_agent} (id INTEGER PRIMARY KEY, type TEXT, name TEXT);"
        "CREATE TABLE {info_pmc} (id INTEGER PRIMARY KEY, agent_id INTEGER, name TEXT);"
        "CREATE TABLE {info_code_object} (id INTEGER PRIMARY KEY, uri TEXT);"
        "CREATE TABLE {info_kernel_symbol} (id INTEGER PRIMARY KEY, code_object_id INTEGER, "
        "kernel_name TEXT, display_name TEXT);"
        "CREATE TABLE {kernel_dispatch} (id INTEGER PRIMARY KEY, pid INTEGER, agent_id INTEGER, "
        "kernel_id INTEGER, dispatch_id INTEGER, start BIGINT, end BIGINT, workgroup_size_x "
        "INTEGER, workgroup_size_y INTEGER, workgroup_size_z INTEGER, grid_size_x INTEGER, "
        "grid_size_y INTEGER, grid_size_z INTEGER, event_id INTEGER);"
        "CREATE TABLE {pmc_event} (id INTEGER PRIMARY KEY, event_id INTEGER, pmc_id INTEGER, value "
        "REAL DEFAULT 0.0, sample_id INTEGER);"
        "INSERT INTO {info_process} VALUES (1, 9, " +
        std::to_string(pid) +
        ");INSERT INTO {info_agent} VALUES (0, 'CPU', 'EPYC'), (4, 'GPU', 'gfx942');"
        "INSERT INTO {info_code_object} VALUES (1, 'file:///app#offset=64&size=9'), "
        "(2, 'memory://" +
        std::to_string(pid) +
        "#offset=0x7f00&size=128');"
        "INSERT INTO {info_kernel_symbol} VALUES (21, 1, '_Z5scalePf.kd', 'scale(float*)'), "
        "(22, 2, '_Z5scalePf.kd', 'scale(float*)');");
  }
  // dispatch, kernel, its counters
  void Add(int dispatch, int kernel, const std::map<std::string, std::string>& counters) {
    Run(
        fmt::format("INSERT INTO {{kernel_dispatch}} VALUES ({0}, 1, 4, {1}, {0}, 1000, 3500, 64, "
                    "2, 1, 256, 4, 1, {2});",
                    dispatch, kernel, 100 + dispatch));
    for (const auto& [name, value] : counters) {
      const int number = static_cast<int>(std::hash<std::string>()(name) % 100000);
      Run(
          fmt::format("INSERT OR IGNORE INTO {{info_pmc}} VALUES ({1}, 4, '{0}');"
                      "INSERT INTO {{pmc_event}} (event_id, pmc_id, value) VALUES ({2}, {1}, {3});",
                      name, number, 100 + dispatch, value));
    }
  }
  void Run(std::string sql) {
    for (size_t at = sql.find('{'); at != std::string::npos; at = sql.find('{')) {
      const size_t end = sql.find('}', at);
      sql.replace(at, end + 1 - at, "\"rocpd_" + sql.substr(at + 1, end - at - 1) + part_ + "\"");
    }
    const auto done = database_.Run(sql);
    EXPECT_TRUE(done.ok()) << done.error().message;
  }

 private:
  store::Database database_;
  std::string part_;
};

TEST_F(SourcesTest, Rocpd) {
  {
    RocpdFile file(folder_.path() / "7_results.db");
    file.AddProcess("00001", 500);
    file.Add(1, 21, {{"SQ_WAVES", "8"}, {"TCC_HIT", "30"}});
    file.Add(2, 21, {{"SQ_WAVES", "NULL"}});
    // Another instance of the same counter; a value of a streaming counter, of no dispatch.
    file.Run(
        "INSERT INTO {pmc_event} (event_id, pmc_id, value) SELECT 101, id, 12 FROM {info_pmc} "
        "WHERE name = 'TCC_HIT';"
        "INSERT INTO {pmc_event} (event_id, pmc_id, value, sample_id) SELECT 101, id, 999, 5 "
        "FROM {info_pmc}");
    file.AddProcess("00002", 600);
    file.Add(1, 21, {{"SQ_WAVES", "3"}});
  }
  const CounterSet set = Read(*RocprofFiles({folder_.path()}));
  EXPECT_EQ(set.source, "rocprofv3, 1 pass");
  EXPECT_TRUE(set.warnings.empty());
  ASSERT_EQ(set.launches.size(), 3U);
  EXPECT_EQ(set.launches[0].kernel, "_Z5scalePf");
  EXPECT_EQ(set.launches[0].code_object, "file:///app#offset=64&size=9");
  EXPECT_EQ(set.launches[0].target, "gfx942");
  EXPECT_EQ(set.launches[0].process, 500U);
  EXPECT_EQ(set.launches[0].nanoseconds, 2500);
  EXPECT_EQ(set.launches[0].grid, (std::array<uint64_t, 3>{256, 4, 1}));
  EXPECT_EQ(set.launches[0].workgroup, (std::array<uint64_t, 3>{64, 2, 1}));
  EXPECT_EQ(set.launches[0].exact, (Values{{"SQ_WAVES", 8}, {"TCC_HIT", 42}}));
  EXPECT_TRUE(set.launches[1].exact.empty());  // missing is missing
  EXPECT_EQ(set.launches[2].process, 600U);
  EXPECT_EQ(set.launches[2].exact, (Values{{"SQ_WAVES", 3}}));
}

TEST_F(SourcesTest, KernelsOfOneNameAreKnownByTheirCodeObject) {
  for (const bool second : {false, true}) {
    const std::string pass = second ? "pass_2" : "pass_1";
    fs::create_directories(folder_.path() / pass);
    RocpdFile file(folder_.path() / pass / "7_results.db");
    file.AddProcess("1", second ? 8 : 7);  // addresses in memory differ from run to run
    // Two kernels of one name and shape; the second run launches them the other way round.
    file.Add(1, second ? 22 : 21, {{second ? "B" : "A", second ? "2" : "1"}});
    file.Add(2, second ? 21 : 22, {{second ? "B" : "A", second ? "1" : "2"}});
  }
  const CounterSet set = Read(*RocprofFiles({folder_.path()}));
  EXPECT_EQ(set.source, "rocprofv3, 2 passes");
  EXPECT_TRUE(set.warnings.empty());
  ASSERT_EQ(set.launches.size(), 2U);
  for (const Launch& launch : set.launches) {
    const double kind = launch.code_object.starts_with("file:") ? 1 : 2;
    EXPECT_EQ(launch.exact, (Values{{"A", kind}, {"B", kind}}));
  }
}

TEST_F(SourcesTest, ADatabaseWithoutCountersIsRefused) {
  {
    RocpdFile file(folder_.path() / "7_results.db");
    file.Run("CREATE TABLE other (id INTEGER)");
  }
  const auto read = [&] {
    const auto set = RocprofFiles({folder_.path()})->Read();
    return set.ok() ? "" : set.error().message;
  };
  EXPECT_NE(read().find("no rocpd file"), std::string::npos);
  fs::remove(folder_.path() / "7_results.db");
  {
    RocpdFile file(folder_.path() / "7_results.db");
    file.AddProcess("1", 7);
    file.Add(1, 21, {});
  }
  EXPECT_NE(read().find("has no counters"), std::string::npos);
  {
    RocpdFile file(folder_.path() / "8_results.db");
    file.AddProcess("1", 7);
    file.Add(1, 99, {{"A", "1"}});
  }
  fs::remove(folder_.path() / "7_results.db");
  EXPECT_NE(read().find("not described"), std::string::npos);
  fs::remove(folder_.path() / "8_results.db");
  Write("7_results.db", "this is no database, however long it is");
  EXPECT_FALSE(RocprofFiles({folder_.path()})->Read().ok());
}

TEST_F(SourcesTest, WhatIsNoneIsRefused) {
  std::string unnamed(kJson);
  unnamed.replace(unnamed.find("\"handle\":1001},\"name\""), 13, "\"handle\":1009");
  for (const fs::path& file :
       {Write("empty.csv", ""), Write("other.csv", "a,b\n1,2\n"),
        Write("number.csv", kHead + std::string("1,x,A,1,1,1,y,9,f,64,0,0,8,4,32,C,1,1,2\n")),
        Write("no.json", "{}"), Write("cut.json", std::string(kJson).substr(0, 300)),
        Write("unnamed.json", unnamed), Write("shape.json", R"({"rocprofiler-sdk-tool":[{}]})"),
        folder_.path() / "absent.csv", Write("folder/readme.txt", "").parent_path()})
    EXPECT_FALSE(RocprofFiles({file})->Read().ok()) << file;
}

TEST_F(SourcesTest, SoftwareGpu) {
  const std::string line =
      R"({"process":7,"order":3,"gpu":"mi300x","gpu_id":1,"target":"gfx942","queue":0,"kernel":"f.kd","completed":true,)"
      R"("grid":[64,1,1],"workgroup":[32,1,1],"waves":2,"operations":{"vector":{"f32":{"arithmetic":128}}},)"
      R"("unmeasured":{},"model":{"cycles":99,"bound":"simd","busy":{"simd":4}}})";
  const CounterSet set =
      Read(*SoftgpuCounters(Write("run.jsonl", line + "\n" + line.substr(0, 40))));
  ASSERT_EQ(set.launches.size(), 1u);
  EXPECT_EQ(set.warnings.size(), 1u);
  const Launch& launch = set.launches[0];
  EXPECT_EQ(launch.kernel, "f");
  EXPECT_EQ(launch.gpu, "mi300x");
  EXPECT_EQ(launch.order, 3u);
  EXPECT_EQ(launch.exact, (Values{{"waves", 2}, {"operations.vector.f32.arithmetic", 128}}));
  EXPECT_EQ(launch.modelled, (Values{{"cycles", 99}, {"busy.simd", 4}}));
  EXPECT_FALSE(launch.nanoseconds.has_value());
  EXPECT_FALSE(SoftgpuCounters(Write("bad.jsonl", "{}\n"))->Read().ok());
}

}  // namespace
}  // namespace rochound::profile
