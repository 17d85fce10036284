// SPDX-License-Identifier: MIT
//
// Folders in the shape in which rocprofv3 --att leaves a decoded trace.
#include "profile/thread_trace.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"

namespace rochound::profile {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kCode = R"json({"code":[
["; _Z4axpyfPKfPf",0,0,"axpy(float, float const*, float*)",2,6400,0,0,0,0],
["s_load_dwordx4 s[0:3], s[0:1], 0x8",0,1,"/src/axpy.hip:3",2,6400,4,16,0,0],
["s_waitcnt lgkmcnt(0)",0,2,"/src/axpy.hip:3",2,6408,4,260,244,0],
["global_load_dword v2, v1, s[0:1]",0,3,"/src/axpy.hip:4",2,6412,4,40,24,8],
["v_mfma_f32_4x4x1_16b_f32 a[0:3], v1, v2, a[0:3]",0,4,"/opt/rocm/include/amd_math.h:70 -> /src/axpy.hip:4",2,6420,4,32,0,4],
["v_fmac_f32_e32 v3, s4, v2",0,5,"/opt/rocm/include/amd_math.h:71 -> /src/axpy.hip:4",2,6428,4,16,0,0],
["s_cbranch_scc1 12",0,6,"",2,6432,0,0,0,0],
["s_endpgm",0,7,"/src/axpy.hip:5",2,6436,4,16,0,20],
["; _Z6helperv",0,8,"helper()",2,6500,0,0,0,0],
["s_setpc_b64 s[30:31]",0,9,"/src/axpy.hip:1",2,6500,0,0,0,0]],
"header":"ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle","version":"3.0.0"})json";

std::string Wave(int simd, int slot, int begin, int end, int instructions) {
  json list = json::array();
  for (int i = 0; i < instructions; ++i) list.push_back({begin + i, 6, 0, 4, i + 1});
  return json{{"name", "SE0"},
              {"duration", end - begin},
              {"num_insts", instructions},
              {"num_stitched", instructions},
              {"wave",
               {{"cu", 1},
                {"id", 0},
                {"simd", simd},
                {"slot", slot},
                {"begin", begin},
                {"end", end},
                {"instructions", list},
                {"timeline", json::array({{2, 10}, {3, 20}})},
                {"waitcnt", nullptr}}}}
      .dump();
}

class ThreadTraceTest : public testing::Test {
 protected:
  ThreadTraceTest()
      : folder_(std::move(base::TempDir::Create(testing::TempDir(), "att")).value()) {}

  void Write(const std::string& name, const std::string& text) {
    const fs::path path = folder_.path() / name;
    fs::create_directories(path.parent_path());
    EXPECT_TRUE(base::WriteFile(path, text).ok());
  }
  ThreadTraces Read() {
    auto traces = ReadThreadTraces({folder_.path()});
    EXPECT_TRUE(traces.ok()) << (traces.ok() ? "" : traces.error().message);
    return traces.ok() ? std::move(traces).value() : ThreadTraces{};
  }
  std::string Refusal() {
    const auto traces = ReadThreadTraces({folder_.path()});
    return traces.ok() ? "" : traces.error().message;
  }
  static constexpr const char* kFolder = "host/ui_output_agent_1234_dispatch_7/";
  std::string In(const std::string& name) { return kFolder + name; }

  base::TempDir folder_;
};

TEST_F(ThreadTraceTest, CodeIsReadExactly) {
  Write(In("code.json"), kCode);
  const ThreadTraces traces = Read();
  EXPECT_TRUE(traces.warnings.empty());
  ASSERT_EQ(traces.traces.size(), 1U);
  const ThreadTrace& trace = traces.traces[0];
  EXPECT_EQ(trace.agent, "1234");
  EXPECT_EQ(trace.dispatch, 7U);
  EXPECT_FALSE(trace.modelled);
  EXPECT_FALSE(trace.waves || trace.span);
  ASSERT_EQ(trace.functions.size(), 2U);
  EXPECT_EQ(trace.Kernel(), 0U);
  EXPECT_EQ(trace.functions[0].symbol, "_Z4axpyfPKfPf");
  EXPECT_EQ(trace.functions[0].name, "axpy(float, float const*, float*)");
  ASSERT_EQ(trace.instructions.size(), 8U);
  const TracedInstruction& wait = trace.instructions[1];
  EXPECT_EQ(wait.text, "s_waitcnt lgkmcnt(0)");
  EXPECT_EQ(wait.address, 6408U);
  EXPECT_EQ(wait.hits, 4U);
  EXPECT_EQ(wait.latency, 260U);
  EXPECT_EQ(wait.stall, 244U);
  EXPECT_EQ(wait.idle, 0U);
  ASSERT_EQ(trace.instructions[3].source.size(), 2U);
  EXPECT_EQ(trace.instructions[3].source[0].file, "/opt/rocm/include/amd_math.h");
  EXPECT_EQ(trace.instructions[3].source[1].line, 4U);
  EXPECT_TRUE(trace.instructions[5].source.empty());
  EXPECT_EQ(trace.instructions[7].function, 1U);
}

TEST_F(ThreadTraceTest, UnitsAreNamedByWhatIsSpecialFirst) {
  // "v_" and "s_" alone would make all of these VALU and SALU.
  EXPECT_EQ(UnitOf("v_mfma_f32_4x4x1_16b_f32 a[0:3]"), "MFMA");
  EXPECT_EQ(UnitOf("v_wmma_f32_16x16x16_f16 v[0:7]"), "MFMA");
  EXPECT_EQ(UnitOf("v_fmac_f32_e32 v3"), "VALU");
  EXPECT_EQ(UnitOf("s_cbranch_scc1 12"), "branch");
  EXPECT_EQ(UnitOf("s_waitcnt vmcnt(0)"), "wait");
  EXPECT_EQ(UnitOf("s_wait_loadcnt 0x0"), "wait");
  EXPECT_EQ(UnitOf("s_load_dword s1"), "SMEM");
  EXPECT_EQ(UnitOf("s_buffer_load_dword s1"), "SMEM");
  EXPECT_EQ(UnitOf("s_add_u32 s1"), "SALU");
  EXPECT_EQ(UnitOf("buffer_load_dword v1"), "VMEM");
  EXPECT_EQ(UnitOf("flat_store_dword v1"), "VMEM");
  EXPECT_EQ(UnitOf("ds_read_b32 v1"), "LDS");
  EXPECT_EQ(UnitOf("s_barrier"), "barrier");
  EXPECT_EQ(UnitOf(""), "other");
}

TEST_F(ThreadTraceTest, LinesHaveWhatWasInlinedThere) {
  Write(In("code.json"), kCode);
  const std::vector<LineCost> lines = CostOfLines(Read().traces[0]);
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[0].where.line, 3U);
  EXPECT_EQ(lines[0].latency, 276U);
  EXPECT_EQ(lines[0].own_latency, 276U);
  EXPECT_EQ(lines[0].stall, 244U);
  EXPECT_EQ(lines[1].where.file, "/src/axpy.hip");
  EXPECT_EQ(lines[1].where.line, 4U);
  EXPECT_EQ(lines[1].hits, 12U);
  EXPECT_EQ(lines[1].latency, 88U);
  EXPECT_EQ(lines[1].own_latency, 40U);
  EXPECT_EQ(lines[1].idle, 12U);
}

TEST_F(ThreadTraceTest, UtilisationNeedsTheWaves) {
  Write(In("code.json"), kCode);
  EXPECT_EQ(UseOfUnits(Read().traces[0]).at("VALU").utilisation, std::nullopt);
  // 24 instructions, as code.json has them, on two SIMDs for 100 cycles.
  Write(In("se0_sm0_sl0_wv0.json"), Wave(0, 0, 1000, 1080, 6));
  Write(In("se0_sm0_sl1_wv0.json"), Wave(0, 1, 1010, 1100, 6));
  Write(In("se0_sm1_sl0_wv0.json"), Wave(1, 0, 1000, 1090, 6));
  Write(In("se0_sm1_sl0_wv1.json"), Wave(1, 0, 1020, 1090, 6));
  const ThreadTraces traces = Read();
  EXPECT_TRUE(traces.warnings.empty());
  const ThreadTrace& trace = traces.traces[0];
  EXPECT_EQ(trace.waves, 4U);
  EXPECT_EQ(trace.span.value_or(TracedSpan{}).cycles, 100U);
  EXPECT_EQ(trace.span.value_or(TracedSpan{}).simds, 2U);
  const auto units = UseOfUnits(trace);
  EXPECT_DOUBLE_EQ(units.at("MFMA").utilisation.value_or(-1), 32.0 / 200);
  EXPECT_DOUBLE_EQ(units.at("VALU").utilisation.value_or(-1), 16.0 / 200);
  EXPECT_DOUBLE_EQ(units.at("VMEM").utilisation.value_or(-1),
                   16.0 / 200);  // 40 less 24 that it stalled
  EXPECT_EQ(units.at("VMEM").stall_cycles, 24U);
  EXPECT_FALSE(units.contains("branch"));  // never issued
  fs::remove(folder_.path() / In("se0_sm1_sl0_wv1.json"));
  ASSERT_EQ(Read().warnings.size(), 1U);
  EXPECT_NE(Read().warnings[0].find("18 instructions, code.json 24"), std::string::npos);
}

TEST_F(ThreadTraceTest, OccupancyOverTime) {
  Write(In("code.json"), kCode);
  // Two waves from 0 to 10 and one more from 5 on, over two shader engines; a slot is taken again.
  Write(In("occupancy.json"),
        R"({"0":[[100,1,0,0,1,1],[100,1,1,0,1,1],[110,1,0,0,0,1],[110,1,0,0,1,1],[120,1,0,0,0,1]],
            "1":[[105,0,0,0,true,1],[120,0,0,0,false,1]],
            "dispatches":{"0":"0 / 0x0","1":"_Z4axpyfPKfPf"},"version":"3.0.0"})");
  const auto occupancy = Read().traces[0].occupancy;
  ASSERT_EQ(occupancy.size(), 20U);
  EXPECT_EQ(occupancy[0], (std::pair<uint64_t, double>{100, 2}));
  EXPECT_EQ(occupancy[4].second, 2);
  EXPECT_EQ(occupancy[5].second, 3);
  EXPECT_EQ(occupancy[15].second, 3);
  // A long trace has as many steps as can be seen, and means of them.
  Write(In("occupancy.json"), R"({"0":[[0,1,0,0,1,1],[500000,1,0,0,0,1],[1000000,1,0,0,1,1]]})");
  const auto longer = Read().traces[0].occupancy;
  ASSERT_EQ(longer.size(), 400U);
  EXPECT_EQ(longer[0].second, 1);
  EXPECT_EQ(longer[300].second, 0);
}

TEST_F(ThreadTraceTest, SourcesAreCopiesBesideIt) {
  Write(In("code.json"), kCode);
  Write(In("source_0_axpy.hip"), "one\ntwo\nthree\nfour\nfive");
  Write("secret", "not for you");
  Write(In("snapshots.json"),
        R"({"/":{"src":{"axpy.hip":"source_0_axpy.hip","a":"../../secret","b":"source_/../x"}}})");
  const ThreadTraces traces = Read();
  ASSERT_EQ(traces.sources.size(), 1U);
  EXPECT_EQ(traces.sources.at("/src/axpy.hip")[3], "four");
  const std::string page = ThreadTracePage(traces);
  EXPECT_NE(page.find("/src/axpy.hip:3  three"), std::string::npos) << page;
  EXPECT_NE(page.find("67.0%  88.4% stalled"), std::string::npos) << page;
  const json file = json::parse(ThreadTraceJson(traces));
  EXPECT_EQ(file["texts"].size(), 5U);
  EXPECT_EQ(file["traces"][0]["instructions"].size(), 8U);
  EXPECT_EQ(file["traces"][0]["instructions"][3][8], json::parse("[[1,70],[0,4]]"));
  EXPECT_EQ(file["files"][1], "/opt/rocm/include/amd_math.h");
  EXPECT_EQ(file["traces"][0]["units"]["VALU"]["utilisation"], nullptr);
}

TEST_F(ThreadTraceTest, ATableAloneIsEnough) {
  Write("stats_ui_output_agent_9_dispatch_3.csv",
        "\"CodeObj\",\"Vaddr\",\"Instruction\",\"Hitcount\",\"Latency\",\"Stall\",\"Idle\","
        "\"Source\"\n2,6400,\"; _Z4axpyfPKfPf\",0,0,0,0,\"axpy(float, float const*, float*)\"\n"
        "2,6400,\"s_load_dwordx4 s[0:3], s[0:1], 0x8\",4,16,0,2,\"/src/axpy.hip:3\"\n");
  const ThreadTraces traces = Read();
  ASSERT_EQ(traces.traces.size(), 1U);
  const ThreadTrace& trace = traces.traces[0];
  EXPECT_EQ(trace.agent, "9");
  EXPECT_EQ(trace.dispatch, 3U);
  EXPECT_EQ(trace.functions[0].name, "axpy(float, float const*, float*)");
  ASSERT_EQ(trace.instructions.size(), 1U);
  EXPECT_EQ(trace.instructions[0].idle, 2U);
}

TEST_F(ThreadTraceTest, LaunchesStandInTheOrderOfTheirDispatch) {
  Write("ui_output_agent_1_dispatch_10/code.json", kCode);
  Write("ui_output_agent_1_dispatch_9/code.json", kCode);
  const ThreadTraces traces = Read();
  ASSERT_EQ(traces.traces.size(), 2U);
  EXPECT_EQ(traces.traces[0].dispatch, 9U);
}

TEST_F(ThreadTraceTest, WhatWasNotDecodedIsTold) {
  Write(In("code.json"), fmt::format(R"({{"code":null,"header":"{}","version":"3.0.0"}})",
                                     "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, "
                                     "Stall, Idle"));
  const ThreadTraces traces = Read();
  EXPECT_TRUE(traces.traces.empty());
  ASSERT_EQ(traces.warnings.size(), 1U);
  EXPECT_NE(traces.warnings[0].find("no decoder"), std::string::npos);
  EXPECT_NE(ThreadTracePage(traces).find("No instruction was traced."), std::string::npos);
}

TEST_F(ThreadTraceTest, WhatDoesNotFitIsRefused) {
  EXPECT_NE(Refusal().find("rocprofv3 --att writes them"), std::string::npos);
  Write(In("code.json"), "[]");
  EXPECT_NE(Refusal().find("not as rocprofv3"), std::string::npos);
  Write(In("code.json"), R"({"code":[],"header":"other"})");
  EXPECT_NE(Refusal().find("called otherwise"), std::string::npos);
  const std::string code(kCode);
  for (const auto& [from, to] : std::initializer_list<std::pair<std::string, std::string>>{
           {"6408,4,260,244,0]", "6408,4,260,244]"},
           {"6408,4,260,244,0]", "6408,4,-260,244,0]"},
           {"6408,4,260,244,0]", "6408,4,2.5e300,244,0]"},
           {"6408,4,260,244,0]", "6408,\"4\",260,244,0]"}}) {
    std::string wrong = code;
    wrong.replace(wrong.find(from), from.size(), to);
    Write(In("code.json"), wrong);
    EXPECT_NE(Refusal().find("not as rocprofv3"), std::string::npos) << to;
  }
  Write(In("code.json"), code);
  Write(In("se0_sm0_sl0_wv0.json"), Wave(0, 0, 100, 50, 6));
  EXPECT_NE(Refusal().find("ends before it begins"), std::string::npos);
  fs::remove(folder_.path() / In("se0_sm0_sl0_wv0.json"));
  Write(In("occupancy.json"), R"({"0":[[1,2]]})");
  EXPECT_NE(Refusal().find("not as rocprofv3"), std::string::npos);
}

}  // namespace
}  // namespace rochound::profile
