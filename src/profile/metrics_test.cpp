// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

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
  for (const char* wrong : {"max(A", "max()", "ceil(A, B)", "floor(A)", "max(A,)"})
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

Values Operations(const std::string& type) {
  return {{"SQ_INSTS_VALU_ADD_" + type, 3},
          {"SQ_INSTS_VALU_MUL_" + type, 5},
          {"SQ_INSTS_VALU_TRANS_" + type, 7},
          {"SQ_INSTS_VALU_FMA_" + type, 11},
          {"SQ_INSTS_VALU_MFMA_MOPS_" + type, 13}};
}

constexpr double kOperations = 64 * (3 + 5 + 7 + 22) + 512 * 13;

// CDNA's targets differ in how they count requests to memory, if they do.
void CheckCdnaMetrics(const char* target, const std::vector<Expected>& of_memory) {
  std::vector<Expected> expected = {
      {"operations_f64", Operations("F64"), kOperations},
      {"operations_f32", Operations("F32"), kOperations},
      {"operations_f16", Operations("F16"), kOperations},
      {"operations_bf16", {{"SQ_INSTS_VALU_MFMA_MOPS_BF16", 2}}, 1024},
      {"operations_i8", {{"SQ_INSTS_VALU_MFMA_MOPS_I8", 3}}, 1536},
  };
  expected.insert(expected.end(), of_memory.begin(), of_memory.end());
  for (const Expected& one : std::vector<Expected>{
           {"l2_hits", {{"TCC_HIT_sum", 75}, {"TCC_MISS_sum", 25}}, 75},
           {"active_lanes", {{"SQ_THREAD_CYCLES_VALU", 320}, {"SQ_ACTIVE_INST_VALU", 10}}, 50},
           {"lds_conflicts", {{"SQ_LDS_BANK_CONFLICT", 5}, {"SQ_LDS_IDX_ACTIVE", 20}}, 25},
       })
    expected.push_back(one);
  CheckMetrics(target, expected);
}

TEST(MetricsTest, Gfx90a) {
  CheckCdnaMetrics("gfx90a", {
                                 {"memory_read_bytes",
                                  {{"TCC_EA_RDREQ_sum", 100}, {"TCC_EA_RDREQ_32B_sum", 20}},
                                  20 * 32 + 80 * 64},
                                 {"memory_written_bytes",
                                  {{"TCC_EA_WRREQ_sum", 50}, {"TCC_EA_WRREQ_64B_sum", 30}},
                                  30 * 64 + 20 * 32},
                             });
}

TEST(MetricsTest, Gfx950) {
  CheckCdnaMetrics("gfx950", {
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
  CheckMetrics("gfx1201", {
                              // 256 MiB, as somebody counted them.
                              {"memory_read_bytes", {{"GL2C_EA_RDREQ_sum", 1048576}}, 256 << 20},
                              {"l2_hits", {{"GL2C_HIT_sum", 60}, {"GL2C_MISS_sum", 40}}, 60},
                          });
}

TEST(MetricsTest, Gfx942) {
  CheckCdnaMetrics(
      "gfx942",
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

TEST(MetricsTest, AnUnknownTargetIsAnError) {
  EXPECT_FALSE(LoadArchitecture(ROCHOUND_ARCHITECTURES, "gfx803").ok());
}

}  // namespace
}  // namespace rochound::profile
