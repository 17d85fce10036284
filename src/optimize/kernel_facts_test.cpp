// SPDX-License-Identifier: MIT
#include "optimize/kernel_facts.h"

#include <gtest/gtest.h>

namespace rochound::optimize {
namespace {

using nlohmann::ordered_json;

TEST(Facts, TellsTheKernelsOwnLimit) {
  const std::string file =
      R"({"kernels": [{"kernel": "other.kd"}, {"kernel": "gemm.kd", "verdict": "memory", "reasons": ["r"],
          "bottleneck": {"primary": "LDS", "reasoning": ["why"], "would_change": ["what"]}}]})";
  EXPECT_EQ(RooflineText(file, "gemm"), "memory\n- r\n");
  EXPECT_EQ(LimitText(file, "gemm"), "LDS\n- why\nWhat would change that:\n- what\n");
  EXPECT_EQ(LimitText(file, "blur"), "");
  EXPECT_EQ(RooflineText("nothing", "gemm"), "");
}

TEST(Facts, TellsTheWorstPlaceFirst) {
  const std::string lines =
      R"({"file": "/a/b.hip", "line": 5, "action": "load", "bytes": 4, "space": "global", "addresses": "side by side", "lines": 10, "needed_lines": 10}
{"file": "/a/b.hip", "line": 6, "action": "load", "bytes": 4, "space": "global", "addresses": "stride 256", "lines": 320, "needed_lines": 10}
{"file": "/a/c.h", "line": 7, "action": "store", "bytes": 4, "space": "lds", "addresses": "stride 64", "cycles": 64, "bank_conflicts": 32, "address_conflicts": 0}
)";
  EXPECT_EQ(MemoryUseText(lines),
            "- b.hip:6: load of 4 bytes, stride 256: 32 times the cache lines that it needs\n"
            "- c.h:7: store of 4 bytes, stride 64: 2 times the cycles of LDS that it needs\n"
            "- b.hip:5: load of 4 bytes, side by side: 1 times the cache lines that it needs\n");
}

// What a kernel could send out by the way it fails.
TEST(Facts, VerdictsForModelsHoldNoData) {
  const ordered_json verdict = {
      {"reason", "different"},
      {"message", "1.bundle: 1 element differs; the first is out[4711] (float): 3.25 instead of 4"},
      {"launches",
       {{{"shape", "grid 64x1x1 in workgroups of 64x1x1"},
         {"message", "out[4711]: 3.25"},
         {"differences",
          {{"count", 1},
           {"worst_relative", 0.1875},
           {"first",
            {{{"argument", "out"}, {"index", 4711}, {"type", "float"}, {"got", "3.25"}}}}}}}}}};
  EXPECT_EQ(VerdictForModel(verdict),
            "its results are different: one element of out (float) (grid 64x1x1 in workgroups of "
            "64x1x1)");
  const ordered_json faster = {{"reason", "faster"}, {"speedup", {{"ratio", 1.23456}}}};
  EXPECT_EQ(VerdictForModel(faster), "equal and faster: 1.2 times as fast");
  const ordered_json outside = {{"reason", "reads-outside"},
                                {"message", "reads 4 bytes at 0x7f12345"},
                                {"launches", {{{"shape", "s"}, {"message", "at 0x7f12345"}}}}};
  EXPECT_EQ(VerdictForModel(outside), "it reads outside of its memory (s)");
}

}  // namespace
}  // namespace rochound::optimize
