// SPDX-License-Identifier: MIT
#include "agent/calls/values.h"

#include <gtest/gtest.h>

#include <string>

namespace rochound::agent {
namespace {

enum Color : int { kRed = -1, kBlue = 7 };
enum class Small : uint8_t { kBig = 200 };
struct Handle {
  uint64_t handle;
};
struct ThreeNumbers {
  uint32_t x, y, z;
};
struct Large {
  uint8_t bytes[20];
};
struct Opaque;

template <typename T>
std::string NameOf() {
  return Value<T>::Name().text;
}

template <typename T>
uint64_t WordOf(const T& value) {
  uint64_t word = ~uint64_t{0};
  Value<T>::Put(&word, value);
  return word;
}

TEST(Values, EveryTypeHasItsName) {
  EXPECT_EQ(NameOf<bool>(), "bool");
  EXPECT_EQ(NameOf<int>(), "i32");
  EXPECT_EQ(NameOf<short>(), "i32");
  EXPECT_EQ(NameOf<unsigned char>(), "u32");
  EXPECT_EQ(NameOf<size_t>(), "u64");
  EXPECT_EQ(NameOf<int64_t>(), "i64");
  EXPECT_EQ(NameOf<float>(), "f32");
  EXPECT_EQ(NameOf<double>(), "f64");
  EXPECT_EQ(NameOf<Color>(), "enum");
  EXPECT_EQ(NameOf<const char*>(), "str");
  EXPECT_EQ(NameOf<char*>(), "ptr");
  EXPECT_EQ(NameOf<void*>(), "ptr");
  EXPECT_EQ(NameOf<void (*)(int)>(), "ptr");
  EXPECT_EQ(NameOf<Handle>(), "handle");
  EXPECT_EQ(NameOf<ThreeNumbers>(), "dim3");
  EXPECT_EQ(NameOf<Large>(), "struct20");
}

TEST(Values, NumbersAreWidenedWithTheirSign) {
  EXPECT_EQ(WordOf<int>(-2), static_cast<uint64_t>(-2));
  EXPECT_EQ(WordOf<unsigned>(0xffffffffu), 0xffffffffu);
  EXPECT_EQ(WordOf<Color>(kRed), static_cast<uint64_t>(-1));
  EXPECT_EQ(WordOf<Small>(Small::kBig), 200u);
  EXPECT_EQ(WordOf<bool>(true), 1u);
  EXPECT_EQ(WordOf<float>(1.0f), 0x3f800000u);
  EXPECT_EQ(WordOf<double>(1.0), 0x3ff0000000000000u);
  EXPECT_EQ(WordOf<Handle>({0x123456789abcdef0u}), 0x123456789abcdef0u);
}

TEST(Values, StructsFillTheirWordsAndNoMore) {
  uint64_t words[3] = {~0ull, ~0ull, ~0ull};
  Value<ThreeNumbers>::Put(words, {1, 2, 3});
  EXPECT_EQ(words[0], 0x200000001u);
  EXPECT_EQ(words[1], 3u);
  EXPECT_EQ(words[2], ~0ull);

  uint64_t more[4] = {~0ull, ~0ull, ~0ull, ~0ull};
  Large large{};
  large.bytes[19] = 0xab;
  Value<Large>::Put(more, large);
  EXPECT_EQ(Value<Large>::kWords, 3u);
  EXPECT_EQ(more[2], 0xab000000u);
  EXPECT_EQ(more[3], ~0ull);
}

TEST(Values, OnlySmallKnownThingsAreReadThroughPointers) {
  EXPECT_TRUE(PointsToValue<void**>());
  EXPECT_TRUE(PointsToValue<int*>());
  EXPECT_TRUE(PointsToValue<Handle*>());
  EXPECT_TRUE(PointsToValue<Opaque**>());
  EXPECT_FALSE(PointsToValue<const int*>());
  EXPECT_FALSE(PointsToValue<void*>());
  EXPECT_FALSE(PointsToValue<char*>());
  EXPECT_FALSE(PointsToValue<Large*>());
  EXPECT_FALSE(PointsToValue<Opaque*>());
  EXPECT_FALSE(PointsToValue<void (*)(int)>());
  EXPECT_FALSE(PointsToValue<int>());
}

TEST(Values, AnOutArgumentIsReadAfterAGoodCallOnly) {
  using Out = Argument<int*, true>;
  int behind = -5;
  uint64_t words[2];
  Out::Put(words, &behind, true);
  EXPECT_EQ(words[0], reinterpret_cast<uint64_t>(&behind));
  EXPECT_EQ(words[1], static_cast<uint64_t>(-5));
  Out::Put(words, &behind, false);
  EXPECT_EQ(words[1], 0u);
  Out::Put(words, nullptr, true);
  EXPECT_EQ(words[0], 0u);
  EXPECT_EQ(words[1], 0u);
  // A wild pointer of a failed call must not be touched.
  Out::Put(words, reinterpret_cast<int*>(16), false);
  EXPECT_EQ(words[0], 16u);
  EXPECT_STREQ(Out::Name().text, "*i32");
  EXPECT_STREQ((Argument<void**, true>::Name().text), "*ptr");
  EXPECT_STREQ((Argument<Handle*, true>::Name().text), "*handle");
  EXPECT_STREQ((Argument<int*, false>::Name().text), "ptr");
  EXPECT_EQ((Argument<int*, false>::kWords), 1u);
}

}  // namespace
}  // namespace rochound::agent
