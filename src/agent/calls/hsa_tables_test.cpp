// SPDX-License-Identifier: MIT
//
// HSA's tables of another release: read from the code of a library in another order, taken by
// their contract where there is no code to read, and refused where neither says anything.
#include "agent/calls/hsa_tables.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "agent/calls/new_functions.h"

namespace rochound::agent {
namespace {

constexpr uint32_t kTables = (sizeof(HsaApiTable) - sizeof(ApiTableVersion)) / sizeof(void*);

const char* const kNames[] = {
#define ROCHOUND_HSA_FUNCTION(type, part, function, names, outs) #function,
#include "agent/calls/hsa_functions.inc"
#undef ROCHOUND_HSA_FUNCTION
};

struct OurEntry {
  std::string name;
  void (*function)();
  bool main;
};

std::vector<OurEntry> EntriesOf(HsaApiTable* table) {
  return {
#define ROCHOUND_HSA_FUNCTION(type, part, function, names, outs)        \
  {#function, reinterpret_cast<void (*)()>(table->part->function##_fn), \
   std::string(#part) == "core_" || std::string(#part) == "amd_ext_"},
#include "agent/calls/hsa_functions.inc"
#undef ROCHOUND_HSA_FUNCTION
  };
}

class OtherOrder : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Hsa, OtherOrder, testing::Values(REORDERED_HSA, SHIFTED_HSA),
                         [](const auto& info) {
                           return info.index == 0 ? "Reordered" : "Shifted";
                         });

TEST_P(OtherOrder, EveryFunctionIsFoundAndNewOnesAreCounted) {
  void* const library = dlopen(GetParam(), RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto function = [&](const char* name) {
    return reinterpret_cast<void (*)()>(dlsym(library, name));
  };
  const auto last = reinterpret_cast<int (*)()>(dlsym(library, "LastCalled"));
  auto* const theirs = static_cast<HsaApiTable*>(
      reinterpret_cast<void* (*)(uint32_t)>(dlsym(library, "TheTables"))(kTables));
  HsaTables tables;
  ASSERT_TRUE(tables.Read(theirs));
  EXPECT_EQ(tables.library(), GetParam());
  // Each function of ours is the one of that name.
  const std::vector<OurEntry> entries = EntriesOf(tables.ours());
  for (size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(entries[i].function != nullptr, entries[i].main) << entries[i].name;
    if (entries[i].function == nullptr) continue;
    entries[i].function();
    EXPECT_EQ(kNames[last()], entries[i].name);
  }
  // What is changed in ours is what the library's function calls.
  static int shut_downs = 0;
  tables.ours()->core_->hsa_shut_down_fn = [] {
    ++shut_downs;
    return HSA_STATUS_SUCCESS;
  };
  tables.WriteBack();
  function("hsa_shut_down")();
  EXPECT_EQ(shut_downs, 1);
  function("hsa_init")();
  EXPECT_EQ(std::string(kNames[last()]), "hsa_init");

  const int known = static_cast<int>(std::size(kNames));
  function("hsa_new_one")();
  EXPECT_EQ(last(), known + 1);
  for (int i = 0; i < 3; ++i) function("hsa_amd_new_between")();
  EXPECT_EQ(last(), known + 2);
  for (int i = 0; i < 4; ++i) function("hsa_of_new_table")();
  EXPECT_EQ(last(), known + 4);
  const std::string text = "," + NewFunctionsText(NewIn::kHsa) + ",";
  EXPECT_NE(text.find(",hsa_new_one:1,"), std::string::npos) << text;
  EXPECT_NE(text.find(",hsa_amd_new_between:3,"), std::string::npos) << text;
  EXPECT_NE(text.find(",:0,"), std::string::npos) << text;  // nobody called it
  EXPECT_NE(text.find(",:4,"), std::string::npos) << text;  // of the new table
  EXPECT_EQ(NewFunctionsText(NewIn::kHip), "");

  // The runtime is started anew, with the same tables: the counts go on.
  ASSERT_TRUE(tables.Read(theirs));
  tables.WriteBack();
  function("hsa_new_one")();
  EXPECT_NE(NewFunctionsText(NewIn::kHsa).find("hsa_new_one:2"), std::string::npos);
}

// Tables in no library: only the contract says what is where.
class Contract : public testing::Test {
 protected:
  Contract() {
    root_.version = {HSA_API_TABLE_MAJOR_VERSION, sizeof(HsaApiTable), 0, 0};
    root_.core_ = &core_.known;
    root_.amd_ext_ = &amd_;
    core_.known.version = {HSA_CORE_API_TABLE_MAJOR_VERSION, sizeof core_, 0, 0};
    core_.known.hsa_init_fn = [] { return HSA_STATUS_ERROR; };
    core_.added = [](int value) { return value + 1; };
    amd_.version = {HSA_AMD_EXT_API_TABLE_MAJOR_VERSION, sizeof amd_, 0, 0};
  }

  struct LongerTable {
    CoreApiTable known{};
    int (*added)(int) = nullptr;
  } core_;
  AmdExtTable amd_{};
  HsaApiTable root_{};
};

TEST_F(Contract, WhatWasAddedAtTheEndIsCounted) {
  HsaTables tables;
  ASSERT_TRUE(tables.Read(&root_));
  EXPECT_EQ(tables.ours()->core_->hsa_init_fn, core_.known.hsa_init_fn);
  tables.WriteBack();
  EXPECT_EQ(core_.added(41), 42);
  const std::string text = "," + NewFunctionsText(NewIn::kHsa) + ",";
  EXPECT_NE(text.find(",:1,"), std::string::npos) << text;
}

TEST_F(Contract, AShorterTableIsReadAndChangedUpToItsEnd) {
  core_.known.version.minor_id = offsetof(CoreApiTable, hsa_shut_down_fn);
  core_.known.hsa_shut_down_fn = [] { return HSA_STATUS_ERROR; };
  const auto behind = core_.known.hsa_shut_down_fn;
  HsaTables tables;
  ASSERT_TRUE(tables.Read(&root_));
  EXPECT_EQ(tables.ours()->core_->hsa_shut_down_fn, nullptr);
  tables.ours()->core_->hsa_init_fn = nullptr;
  tables.ours()->core_->hsa_shut_down_fn = [] { return HSA_STATUS_SUCCESS; };
  tables.WriteBack();
  EXPECT_EQ(core_.known.hsa_init_fn, nullptr);
  EXPECT_EQ(core_.known.hsa_shut_down_fn, behind);
}

TEST_F(Contract, AnotherMajorVersionIsRefused) {
  core_.known.version.major_id = HSA_CORE_API_TABLE_MAJOR_VERSION + 1;
  HsaTables tables;
  EXPECT_FALSE(tables.Read(&root_));
}

}  // namespace
}  // namespace rochound::agent
