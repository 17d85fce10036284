// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "profile/architecture.h"
#include "profile/formula.h"

namespace rochound::profile {
namespace {

std::optional<double> Value(std::string_view formula, const Values& values = {}) {
  const auto result = Evaluate(formula, values);
  EXPECT_TRUE(result.ok()) << formula;
  return result.ok() ? result.value().value : std::nullopt;
}

TEST(FormulaTest, IsArithmetic) {
  EXPECT_EQ(Value("1 + 2 * 3 - 4 / 2"), 5);
  EXPECT_EQ(Value("(1 + 2) * (3 - 1)"), 6);
  EXPECT_EQ(Value("10 - 3 - 2"), 5);
  EXPECT_EQ(Value("16 / 4 / 2"), 2);
  EXPECT_EQ(Value("2 * A_B + C_sum", {{"A_B", 4}, {"C", 1}}), 9);
  EXPECT_EQ(Value("C_sum", {{"C_sum", 2}, {"C", 1}}), 2);
}

TEST(FormulaTest, Functions) {
  const Values values = {{"A", 2}, {"B", 2.5}};
  const auto value = [&](const char* formula) { return Evaluate(formula, values).value().value; };
  EXPECT_EQ(value("max(A, B, 1)"), 2.5);
  EXPECT_EQ(value("min(A, B) * 2"), 4);
  EXPECT_EQ(value("ceil(B) + max(A)"), 5);
  EXPECT_EQ(value("max(A, C)"), std::nullopt) << "what is missing might be the greatest";
  EXPECT_EQ(value("first(A, C) + first(C, D * 2, B)"), 4.5);
  EXPECT_EQ(value("first(1 / 0, B)"), std::nullopt) << "nothing is missing of the first";
  EXPECT_EQ(Evaluate("C + first(D, E)", values).value().missing, (std::set<std::string>{"C", "D"}));
  for (const char* wrong : {"max(A", "max()", "first(", "ceil(A, B)", "floor(A)", "max(A,)"})
    EXPECT_FALSE(Evaluate(wrong, values).ok()) << wrong;
}

TEST(FormulaTest, MissingIsMissingAndNeverZero) {
  const auto result = Evaluate("A + 0 * B + C", {{"A", 1}});
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result.value().value.has_value());
  EXPECT_EQ(result.value().missing, (std::set<std::string>{"B", "C"}));
  const auto divided = Evaluate("1 / A", {{"A", 0}});
  ASSERT_TRUE(divided.ok());
  EXPECT_FALSE(divided.value().value.has_value());
  EXPECT_TRUE(divided.value().missing.empty());
}

TEST(FormulaTest, WrongOnesAreRefused) {
  for (const char* formula : {"", "1 +", "(1", "1 2", "* 3", "1..2", "A)", "1 + + 2"})
    EXPECT_FALSE(Evaluate(formula, {}).ok()) << formula;
}

struct Expected {
  const char* metric;
  Values counters;
  double value;
};

// Every metric of the file has to have a row here, and every counter that it needs.
void CheckMetrics(const char* target, const std::vector<Expected>& expected) {
  const auto architecture = LoadArchitecture(ROCHOUND_ARCHITECTURES, target);
  ASSERT_TRUE(architecture.ok()) << architecture.error().message;
  EXPECT_EQ(architecture.value().target, target);
  ASSERT_EQ(architecture.value().metrics.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const Metric& metric = architecture.value().metrics[i];
    EXPECT_EQ(metric.name, expected[i].metric);
    EXPECT_FALSE(metric.source.empty());
    EXPECT_EQ(Value(metric.formula, expected[i].counters), expected[i].value) << metric.name;
    for (const auto& [name, value] : expected[i].counters) {
      Values fewer = expected[i].counters;
      fewer.erase(name);
      EXPECT_EQ(Value(metric.formula, fewer), std::nullopt) << metric.name << " without " << name;
    }
  }
}

Expected Vector(const char* metric, const std::string& type) {
  return {metric,
          {{"SQ_INSTS_VALU_ADD_" + type, 3},
           {"SQ_INSTS_VALU_MUL_" + type, 5},
           {"SQ_INSTS_VALU_TRANS_" + type, 7},
           {"SQ_INSTS_VALU_FMA_" + type, 11}},
          64 * (3 + 5 + 7 + 22)};
}

Expected Matrix(const char* metric, const std::string& type) {
  return {metric, {{"SQ_INSTS_VALU_MFMA_MOPS_" + type, 13}}, 512 * 13};
}

// CDNA's targets differ in the types of matrix instructions, and in how they count requests to
// memory.
void CheckCdnaMetrics(const char* target, const std::vector<Expected>& of_matrices,
                      const std::vector<Expected>& of_memory) {
  std::vector<Expected> expected = {
      Vector("operations_vector_f64", "F64"),  Vector("operations_vector_f32", "F32"),
      Vector("operations_vector_f16", "F16"),  Matrix("operations_matrix_f64", "F64"),
      Matrix("operations_matrix_f32", "F32"),  Matrix("operations_matrix_f16", "F16"),
      Matrix("operations_matrix_bf16", "BF16")};
  expected.insert(expected.end(), of_matrices.begin(), of_matrices.end());
  expected.insert(expected.end(), of_memory.begin(), of_memory.end());
  for (const Expected& one : std::vector<Expected>{
           {"l2_bytes", {{"TCC_REQ_sum", 3}}, 384},
           {"l2_hits", {{"TCC_HIT_sum", 75}, {"TCC_MISS_sum", 25}}, 75},
           {"active_lanes", {{"SQ_THREAD_CYCLES_VALU", 320}, {"SQ_ACTIVE_INST_VALU", 10}}, 50},
           {"lds_conflicts", {{"SQ_LDS_BANK_CONFLICT", 5}, {"SQ_LDS_IDX_ACTIVE", 20}}, 25},
           {"waves_per_simd", {{"SQ_WAVE_CYCLES", 140}, {"SQ_BUSY_CU_CYCLES", 20}}, 7},
       })
    expected.push_back(one);
  CheckMetrics(target, expected);
}

TEST(MetricsTest, Gfx90a) {
  CheckCdnaMetrics("gfx90a", {Matrix("operations_matrix_i8", "I8")},
                   {
                       {"memory_read_bytes",
                        {{"TCC_EA_RDREQ_sum", 100}, {"TCC_EA_RDREQ_32B_sum", 20}},
                        20 * 32 + 80 * 64},
                       {"memory_written_bytes",
                        {{"TCC_EA_WRREQ_sum", 50}, {"TCC_EA_WRREQ_64B_sum", 30}},
                        30 * 64 + 20 * 32},
                   });
}

TEST(MetricsTest, Gfx950) {
  CheckCdnaMetrics("gfx950",
                   {Matrix("operations_matrix_fp8", "F8"), Matrix("operations_matrix_f6f4", "F6F4"),
                    Matrix("operations_matrix_i8", "I8")},
                   {
                       {"memory_read_bytes",
                        {{"TCC_EA0_RDREQ_128B_sum", 10},
                         {"TCC_EA0_RDREQ_64B_sum", 70},
                         {"TCC_EA0_RDREQ_32B_sum", 20}},
                        10 * 128 + 20 * 32 + 70 * 64},
                       {"memory_written_bytes",
                        {{"TCC_EA0_WRREQ_sum", 50}, {"TCC_EA0_WRREQ_64B_sum", 30}},
                        30 * 64 + 20 * 32},
                   });
}

TEST(MetricsTest, Gfx1201) {
  CheckMetrics("gfx1201",
               {
                   // 256 MiB, as somebody counted them: all requests but a few are of 256 bytes.
                   {"memory_read_bytes",
                    {{"GL2C_EA_RDREQ_sum", 1048576 + 6 + 6 + 193},
                     {"GL2C_EA_RDREQ_32B_sum", 6},
                     {"GL2C_EA_RDREQ_64B_sum", 6},
                     {"GL2C_EA_RDREQ_128B_sum", 193}},
                    (256 << 20) + 6 * 32 + 6 * 64 + 193 * 128},
                   {"l2_hits", {{"GL2C_HIT_sum", 60}, {"GL2C_MISS_sum", 40}}, 60},
               });
}

TEST(MetricsTest, Gfx942) {
  CheckCdnaMetrics(
      "gfx942", {Matrix("operations_matrix_fp8", "F8"), Matrix("operations_matrix_i8", "I8")},
      {
          // 100 reads: 10 of 128 bytes, 20 of 32, so 70 of 64.
          {"memory_read_bytes",
           {{"TCC_EA0_RDREQ_sum", 100}, {"TCC_BUBBLE_sum", 10}, {"TCC_EA0_RDREQ_32B_sum", 20}},
           10 * 128 + 20 * 32 + 70 * 64},
          {"memory_written_bytes",
           {{"TCC_EA0_WRREQ_sum", 50}, {"TCC_EA0_WRREQ_64B_sum", 30}},
           30 * 64 + 20 * 32},
      });
}

TEST(MetricsTest, Gfx1030AndGfx1100) {
  for (const char* target : {"gfx1030", "gfx1100"})
    CheckMetrics(target, {
                             {"memory_read_bytes",
                              {{"GL2C_EA_RDREQ_32B_sum", 1},
                               {"GL2C_EA_RDREQ_64B_sum", 2},
                               {"GL2C_EA_RDREQ_96B_sum", 3},
                               {"GL2C_EA_RDREQ_128B_sum", 4}},
                              32 + 128 + 288 + 512},
                             {"memory_written_bytes",
                              {{"GL2C_EA_WRREQ_64B_sum", 30}, {"GL2C_MC_WRREQ_sum", 50}},
                              30 * 64 + 20 * 32},
                             {"l2_hits", {{"GL2C_HIT_sum", 60}, {"GL2C_MISS_sum", 40}}, 60},
                         });
}

// What a file does not have from somewhere is wrong sooner or later.
TEST(MetricsTest, EveryFigureNamesItsSource) {
  for (const auto& entry : std::filesystem::directory_iterator(ROCHOUND_ARCHITECTURES)) {
    const auto text = base::ReadFile(entry.path());
    ASSERT_TRUE(text.ok());
    const auto file = nlohmann::json::parse(text.value());
    for (const char* source :
         {"memory_source", "memory_reachable_source", "operations_source", "counters_source"})
      EXPECT_FALSE(file.at(source).get<std::string>().empty()) << entry.path() << " " << source;
  }
  const auto rules = base::ReadFile(ROCHOUND_COUNTER_RULES);
  ASSERT_TRUE(rules.ok());
  const auto file = nlohmann::json::parse(rules.value());
  for (const char* part : {"values", "rules"}) {
    for (const auto& one : file.at(part))
      EXPECT_FALSE(one.value("source", "").empty()) << one.dump();
  }
}

// Each is known to the roofline, so that what a GPU counts has a peak to be compared with.
TEST(MetricsTest, OperationsHaveAPeak) {
  for (const char* target : {"gfx90a", "gfx942", "gfx950"}) {
    const auto architecture = LoadArchitecture(ROCHOUND_ARCHITECTURES, target);
    ASSERT_TRUE(architecture.ok());
    size_t types = 0;
    for (const Metric& metric : architecture.value().metrics) {
      if (metric.roofline.find('.') == std::string::npos) continue;
      ++types;
      EXPECT_TRUE(architecture.value().operations_per_clock.contains(metric.roofline))
          << target << " " << metric.roofline;
    }
    EXPECT_GE(types, 8u);
  }
}

TEST(MetricsTest, AnUnknownTargetIsAnError) {
  EXPECT_FALSE(LoadArchitecture(ROCHOUND_ARCHITECTURES, "gfx803").ok());
}

}  // namespace
}  // namespace rochound::profile
