// SPDX-License-Identifier: MIT
#include "probe/plain_code.h"

#include <gtest/gtest.h>

namespace rochound::probe {
namespace {

const std::vector<PlainInstruction> kCode = {
    {"s_load_dwordx4 s[0:3], s[4:5], null", {{"a.hip", 2}}},
    {"global_load_dword v1, v2, s[0:1]", {{"a.hip", 4}}},
    {"v_add_f32_e32 v1, v1, v3", {{"a.hip", 4}}},
    {"global_load_dword v2, v2, s[2:3]", {{"a.hip", 4}}},
    {"global_load_dword v3, v2, s[2:3]", {{"lib.h", 7}, {"a.hip", 5}}},
    {"global_store_dword v2, v1, s[2:3]", {}},
};

TEST(PlainCode, InstructionsAreFoundByNameAndInnermostLine) {
  const auto found = FindInstructions(kCode, {{"global_load_dword", {{"lib.h", 7}, {"a.hip", 5}}},
                                              {"global_load_dword", {{"a.hip", 4}}},
                                              {"global_load_dword", {{"a.hip", 4}}},
                                              {"global_load_dword", {{"a.hip", 4}}},
                                              {"global_load_dword", {{"a.hip", 5}}},
                                              {"global_load", {{"a.hip", 4}}},
                                              {"", {{"a.hip", 4}}}});
  // In their order; the third shares the last one, since there are two. Others are not guessed.
  EXPECT_EQ(found, (std::vector<size_t>{4, 1, 3, 3, 6, 6, 6}));
}

TEST(PlainCode, WithoutLinesTheOnlyOneOfItsNameIsMeant) {
  EXPECT_EQ(FindInstructions(kCode, {{"global_store_dword", {{"a.hip", 9}}}}),
            std::vector<size_t>{5});
  EXPECT_EQ(FindInstructions(kCode, {{"global_store_dword", {}}}), std::vector<size_t>{5});
  EXPECT_EQ(FindInstructions(kCode, {{"global_load_dword", {}}}), std::vector<size_t>{6});
}

TEST(PlainCode, WhatHoldsNoKernelIsRefused) {
  EXPECT_FALSE(ReadPlainCode("/nowhere", "k", "gfx1030").ok());
  EXPECT_FALSE(ReadPlainCode("/etc/passwd", "k", "gfx1030").ok());
}

}  // namespace
}  // namespace rochound::probe
