// SPDX-License-Identifier: MIT
#include "capture/replay/elements.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace rochound::capture::replay {
namespace {

template <typename T>
const std::byte* At(const T& value) {
  return reinterpret_cast<const std::byte*>(&value);
}

TEST(Elements, TypesBehindPointers) {
  EXPECT_EQ(ElementBehind("float*"), Element::kFloat);
  EXPECT_EQ(ElementBehind("float const*"), Element::kFloat);
  EXPECT_EQ(ElementBehind("const double * __restrict"), Element::kDouble);
  EXPECT_EQ(ElementBehind("unsigned long long*"), Element::kUint64);
  EXPECT_EQ(ElementBehind("__half const*"), Element::kHalf);
  EXPECT_EQ(ElementBehind("__hip_bfloat16*"), Element::kBfloat16);
  EXPECT_EQ(ElementBehind("HIP_vector_type<float, 4u>*"), Element::kFloat);
  EXPECT_EQ(ElementBehind("uint4*"), Element::kUint32);
  EXPECT_EQ(ElementBehind("float"), Element::kUnknown);
  EXPECT_EQ(ElementBehind("Node*"), Element::kUnknown);
  EXPECT_EQ(ElementBehind("float**"), Element::kUnknown);
  EXPECT_EQ(ElementBehind(""), Element::kUnknown);
}

TEST(Elements, ParametersOfDemangledNames) {
  EXPECT_EQ(ParameterTypes("add(float*, float const*, int)"),
            (std::vector<std::string>{"float*", "float const*", "int"}));
  EXPECT_EQ(ParameterTypes("void f<std::pair<int, int>>(std::pair<int, int>*, int)"),
            (std::vector<std::string>{"std::pair<int, int>*", "int"}));
  EXPECT_EQ(ParameterTypes("(anonymous namespace)::g(void (*)(int), int)"),
            (std::vector<std::string>{"void (*)(int)", "int"}));
  EXPECT_TRUE(ParameterTypes("plain_name").empty());
  EXPECT_TRUE(ParameterTypes("none()").empty());
}

TEST(Elements, ValuesAndText) {
  const uint16_t half = 0x3e00;  // 1.5
  EXPECT_EQ(ValueOf(Element::kHalf, At(half)), 1.5);
  const uint16_t tiny = 0x8001;
  EXPECT_EQ(ValueOf(Element::kHalf, At(tiny)), -std::ldexp(1, -24));
  const uint16_t brain = 0xc040;  // -3
  EXPECT_EQ(ValueOf(Element::kBfloat16, At(brain)), -3);
  const uint64_t large = 0xffffffffffffffff;
  EXPECT_EQ(TextOf(Element::kUint64, At(large)), "18446744073709551615");
  EXPECT_EQ(TextOf(Element::kInt64, At(large)), "-1");
  const float third = 1.0F / 3;
  EXPECT_EQ(TextOf(Element::kFloat, At(third)), "0.333333343");
  const uint8_t byte = 5;
  EXPECT_EQ(TextOf(Element::kUnknown, At(byte)), "0x05");
}

TEST(Elements, IntegersThatDifferDoNotPrintAlike) {
  const int32_t many = 16777216, more = 16777217, least = INT32_MIN;
  EXPECT_EQ(TextOf(Element::kInt32, At(many)), "16777216");
  EXPECT_EQ(TextOf(Element::kInt32, At(more)), "16777217");
  EXPECT_EQ(TextOf(Element::kInt32, At(least)), "-2147483648");
  EXPECT_EQ(TextOf(Element::kUint32, At(least)), "2147483648");
  const int16_t small = -300;
  EXPECT_EQ(TextOf(Element::kInt16, At(small)), "-300");
  const uint64_t one = 9007199254740993, other = 9007199254740992;
  EXPECT_TRUE(Less(Element::kUint64, At(other), At(one)));
  const uint32_t nan = 0x7fc00001;
  EXPECT_EQ(BitsOf(Element::kFloat, At(nan)), "0x7fc00001");
}

TEST(Elements, PointersToConst) {
  EXPECT_TRUE(PointsToConst("float const*"));
  EXPECT_TRUE(PointsToConst("const float*"));
  EXPECT_TRUE(PointsToConst("float const* __restrict__"));
  EXPECT_FALSE(PointsToConst("float*"));
  EXPECT_FALSE(PointsToConst("float* const"));
  EXPECT_FALSE(PointsToConst("float const* *"));
  EXPECT_FALSE(PointsToConst("int"));
}

TEST(Elements, ToleranceIsForFloatsOnly) {
  const Tolerance exact;
  Tolerance loose;
  loose.exact = false;
  loose.relative = 1e-3;
  loose.absolute = 1e-6;
  const float one = 1, close = 1.0005F, far = 1.01F, zero = 0, small = 5e-7F;
  EXPECT_FALSE(Same(Element::kFloat, exact, At(one), At(close)));
  EXPECT_TRUE(Same(Element::kFloat, loose, At(one), At(close)));
  EXPECT_FALSE(Same(Element::kFloat, loose, At(one), At(far)));
  EXPECT_TRUE(Same(Element::kFloat, loose, At(zero), At(small)));
  const int many = 1000000, more = 1000001;
  EXPECT_FALSE(Same(Element::kInt32, loose, At(many), At(more)));
  const float infinite = INFINITY, none = NAN;
  uint32_t other_nan = 0x7fc12345;
  EXPECT_FALSE(Same(Element::kFloat, loose, At(infinite), At(one)));
  EXPECT_FALSE(Same(Element::kFloat, loose, At(none), At(one)));
  EXPECT_TRUE(Same(Element::kFloat, loose, At(none), At(other_nan)));
  // Bits that differ without a difference in value are one all the same if exact is asked for.
  const float minus_zero = -0.0F;
  EXPECT_FALSE(Same(Element::kFloat, exact, At(zero), At(minus_zero)));
  EXPECT_TRUE(Same(Element::kFloat, loose, At(zero), At(minus_zero)));
  Tolerance nans;
  nans.any_nan = true;
  EXPECT_FALSE(Same(Element::kFloat, exact, At(none), At(other_nan)));
  EXPECT_TRUE(Same(Element::kFloat, nans, At(none), At(other_nan)));
  EXPECT_FALSE(Same(Element::kFloat, nans, At(none), At(one)));
  EXPECT_FALSE(Same(Element::kFloat, nans, At(zero), At(minus_zero)));
}

}  // namespace
}  // namespace rochound::capture::replay
