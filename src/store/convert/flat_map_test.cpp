// SPDX-License-Identifier: MIT
#include "store/convert/flat_map.h"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>

namespace rochound::store {
namespace {

TEST(FlatMap, AgreesWithTheStandardOne) {
  std::mt19937_64 random(7);
  FlatMap map;
  std::unordered_map<uint64_t, uint32_t> expected;
  for (int i = 0; i < 300000; ++i) {
    // Few keys, so that removing meets full neighbourhoods; grows in between.
    const uint64_t key = random() % 5000 << (i % 3 * 20);
    switch (random() % 4) {
      case 0:
      case 1: {
        const auto value = static_cast<uint32_t>(random() % FlatMap::kNone);
        map.Insert(key, value);
        expected[key] = value;
        break;
      }
      case 2: {
        const auto found = expected.find(key);
        ASSERT_EQ(map.Remove(key), found == expected.end() ? FlatMap::kNone : found->second);
        if (found != expected.end()) expected.erase(found);
        break;
      }
      default: {
        const auto found = expected.find(key);
        ASSERT_EQ(map.Find(key), found == expected.end() ? FlatMap::kNone : found->second);
      }
    }
    ASSERT_EQ(map.size(), expected.size());
  }
  for (const auto& [key, value] : expected) ASSERT_EQ(map.Find(key), value);
}

}  // namespace
}  // namespace rochound::store
