// SPDX-License-Identifier: MIT
//
// HIP's tables: found in the real libamdhip64, which needs no GPU for that, and refused where they
// are not what our headers say.
#include "agent/calls/hip_tables.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <hip/hip_version.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/calls/hip_table_finder.h"
#include "agent/calls/libraries.h"
#include "agent/calls/table_finder.h"

namespace rochound::agent {
namespace {

// The tests below are skipped where they are not known.
TEST(HipTables, AreKnownOfEveryReleaseThatHasThem) {
  EXPECT_EQ(KnownHipEntries().count != 0, HIP_VERSION_MAJOR >= 6);
}

class RealHip : public testing::Test {
 protected:
  void SetUp() override {
    if (KnownHipEntries().count == 0) GTEST_SKIP() << "this release's HIP has no tables";
    handle_ = dlopen("libamdhip64.so", RTLD_LAZY);
    ASSERT_NE(handle_, nullptr) << dlerror();
    using NameOf = const char* (*)(uint32_t);
    const auto name = reinterpret_cast<NameOf>(dlsym(handle_, "hipApiName"));
    ASSERT_NE(name, nullptr);
    name(1);  // makes HIP fill its table in
    for (const Library& library : LoadedLibraries())
      if (library.IsFile("libamdhip64.so")) library_ = library;
    ASSERT_FALSE(library_.path.empty());
  }

  void* handle_ = nullptr;
  Library library_;
};

TEST_F(RealHip, TheRuntimeTableIsFoundAndItsEntriesAgree) {
  const FoundHipTables found = FindHipTables(library_, {});
  ASSERT_NE(found.runtime, nullptr);
  const size_t size = *static_cast<const size_t*>(found.runtime);
  const auto entries = CheckedEntries(library_, handle_, HipTable::kRuntime, size);
  size_t known = 0;
  for (const HipTableEntry& entry : KnownHipEntries())
    known += entry.table == HipTable::kRuntime && entry.offset + 8 <= size;
  EXPECT_GE(known, 400u);
  // A few functions are not exported, or are in no table of this build.
  EXPECT_GE(entries.size() * 100, known * 98);
  std::set<std::string> names;
  for (const HipTableEntry* entry : entries) names.insert(entry->function);
  for (const char* name : {"hipMalloc", "hipFree", "hipMemcpy", "hipLaunchKernel", "hipGraphLaunch",
                           "hipModuleLaunchKernel", "hipStreamSynchronize", "hipGetDevice"})
    EXPECT_EQ(names.count(name), 1u) << name;
}

// Had another release put one function in between, all after it would be called by wrong names.
TEST_F(RealHip, EntriesThatStandElsewhereAreRefused) {
  Library other = library_;
  const auto entries = CheckedEntries(other, handle_, HipTable::kRuntime, SIZE_MAX);
  ASSERT_FALSE(entries.empty());
  // The same library under the table of another kind: no offset agrees.
  EXPECT_TRUE(CheckedEntries(other, handle_, HipTable::kCompiler, 0).empty());
  void* libc = dlopen("libc.so.6", RTLD_LAZY);
  EXPECT_TRUE(CheckedEntries(other, libc, HipTable::kRuntime, SIZE_MAX).empty());
}

TEST_F(RealHip, NothingHasMovedInTheReleaseOfOurHeaders) {
  const void* const table = FindHipTables(library_, LoadedLibraries()).runtime;
  ASSERT_NE(table, nullptr);
  const size_t size = *static_cast<const size_t*>(table);
  const HipTableLayout layout = ReadHipTable(library_, handle_, HipTable::kRuntime, size);
  EXPECT_TRUE(layout.readable);
  EXPECT_GE(layout.known.size(), 400u);
  for (const HipEntryAt& at : layout.known) EXPECT_EQ(at.moved, 0) << at.entry->function;
  for (const NewFunction& one : layout.unknown) ADD_FAILURE() << one.name << " is no news";
}

// What is read in a release of another order must be readable in this one.
TEST_F(RealHip, TheCodeOfNearlyEveryFunctionSaysWhereItsEntryIs) {
  std::map<std::string, ExportedFunction> exported;
  for (const ExportedFunction& function : ExportedFunctions(handle_))
    exported[function.name] = function;
  size_t runtime = 0, silent = 0;
  for (const HipTableEntry& entry : KnownHipEntries()) {
    const auto found = exported.find(entry.function);
    if (found == exported.end()) continue;
    const size_t offset = LookedUpOffset(found->second.code, found->second.bytes, 65536);
    if (entry.table == HipTable::kCompiler) {
      EXPECT_EQ(offset, entry.offset) << entry.function;
      continue;
    }
    ++runtime;
    if (offset != entry.offset) ++silent;
  }
  EXPECT_GE(runtime, 400u);
  EXPECT_LE(silent, 2u);
}

// A HIP of another release than our headers: entries have moved, and there are new functions.
TEST(ReorderedHip, EntriesAreFoundWhereTheyAreAndNewFunctionsAreCounted) {
  if (KnownHipEntries().count == 0) GTEST_SKIP() << "this release's HIP has no tables";
  void* const handle = dlopen(REORDERED_HIP, RTLD_LAZY);
  ASSERT_NE(handle, nullptr) << dlerror();
  Library library;
  for (const Library& one : LoadedLibraries())
    if (one.path == REORDERED_HIP) library = one;
  auto* const table = reinterpret_cast<char* (*)()>(dlsym(handle, "TheTable"))();
  const size_t size = *reinterpret_cast<const size_t*>(table);
  const HipTableLayout layout = ReadHipTable(library, handle, HipTable::kRuntime, size);
  EXPECT_TRUE(layout.readable);
  std::map<std::string, size_t> places;
  for (const HipEntryAt& at : layout.known)
    places[at.entry->function] = at.entry->offset + static_cast<size_t>(at.moved);
  EXPECT_EQ(places, (std::map<std::string, size_t>{{"hipFree", 8},
                                                   {"hipGetDevice", 24},
                                                   {"hipDeviceSynchronize", 32},
                                                   {"hipMalloc", 40 + 320},
                                                   {"hipStreamSynchronize", 48 + 320},
                                                   {"hipSetDevice", 56 + 320}}));
  std::map<std::string, size_t> news;
  for (const NewFunction& one : layout.unknown)
    if (*one.name != 0 || *reinterpret_cast<void**>(table + one.offset) != nullptr)
      news[one.name] = one.offset;
  EXPECT_EQ(news, (std::map<std::string, size_t>{
                      {"hipNewOne", 16}, {"hipNewer", 64 + 320}, {"", 72 + 320}}));

  for (const HipEntryAt& at : layout.known) at.entry->install(table + at.moved);
  CountNewFunctions(NewIn::kHip, table, layout.unknown);
  const auto entry = [&](size_t offset) { return *reinterpret_cast<void**>(table + offset); };
  for (const auto& [name, offset] : places)
    EXPECT_FALSE(library.HasCode(reinterpret_cast<uintptr_t>(entry(offset)))) << name;
  // Everything does what it did, with all its arguments.
  int device = 0;
  EXPECT_EQ(reinterpret_cast<int (*)(int*)>(dlsym(handle, "hipGetDevice"))(&device), 0);
  EXPECT_EQ(device, 6);
  EXPECT_EQ(reinterpret_cast<int (*)(int)>(dlsym(handle, "hipSetDevice"))(9), 9);
  using NewOne = int (*)(int, double, const char*, int64_t, int64_t, int64_t, int64_t, int64_t);
  const auto new_one = reinterpret_cast<NewOne>(dlsym(handle, "hipNewOne"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(new_one(1, 20.0, "", 0, 0, 0, 0, 300), 321);
  EXPECT_EQ(reinterpret_cast<int (*)()>(dlsym(handle, "hipNewer"))(), 11);
  EXPECT_EQ(reinterpret_cast<int (*)()>(entry(72 + 320))(), 12);
  const std::string text = "," + NewFunctionsText(NewIn::kHip) + ",";
  EXPECT_NE(text.find(",hipNewOne:3,"), std::string::npos) << text;
  EXPECT_NE(text.find(",hipNewer:1,"), std::string::npos) << text;
  EXPECT_NE(text.find(",:1,"), std::string::npos) << text;
}

// A new function near the end: what is after it is found where it is now.
TEST(ShiftedHip, EveryFunctionIsFoundAndTheNewOneIsCounted) {
  if (KnownHipEntries().count == 0) GTEST_SKIP() << "this release's HIP has no tables";
  void* const handle = dlopen(SHIFTED_HIP, RTLD_LAZY);
  ASSERT_NE(handle, nullptr) << dlerror();
  Library library;
  for (const Library& one : LoadedLibraries())
    if (one.path == SHIFTED_HIP) library = one;
  auto* const table = reinterpret_cast<char* (*)()>(dlsym(handle, "TheTable"))();
  const size_t size = *reinterpret_cast<const size_t*>(table);
  const HipTableLayout layout = ReadHipTable(library, handle, HipTable::kRuntime, size);
  std::vector<std::string> missing;
  size_t moved = 0;
  for (const HipTableEntry& entry : KnownHipEntries())
    if (entry.table == HipTable::kRuntime) missing.push_back(entry.function);
  for (const HipEntryAt& at : layout.known) {
    std::erase(missing, at.entry->function);
    moved += at.moved == sizeof(void*);
    const auto function = reinterpret_cast<int (*)()>(dlsym(handle, at.entry->function));
    const auto entry = *reinterpret_cast<int (**)()>(table + at.entry->offset + at.moved);
    EXPECT_EQ(entry(), function()) << at.entry->function;
  }
  EXPECT_EQ(missing, std::vector<std::string>());
  EXPECT_EQ(moved, 3u);
  ASSERT_EQ(layout.unknown.size(), 1u);
  EXPECT_STREQ(layout.unknown[0].name, "hipNewBetween");
  EXPECT_EQ(layout.unknown[0].offset, size - 4 * sizeof(void*));
}

class FakeLibrary : public testing::Test {
 protected:
  // A library whose code is `code_` and whose zeroed memory is `memory_`.
  Library Describe() {
    Library library;
    library.code_begin = reinterpret_cast<uintptr_t>(code_);
    library.code_end = library.code_begin + sizeof(code_);
    library.zeroed_begin = reinterpret_cast<uintptr_t>(memory_.data());
    library.zeroed_end = library.zeroed_begin + memory_.size() * 8;
    return library;
  }
  void PutTable(size_t at, size_t entries) {
    memory_[at] = (entries + 1) * 8;
    for (size_t i = 1; i <= entries; ++i)
      memory_[at + i] = reinterpret_cast<uintptr_t>(code_) + i % sizeof(code_);
  }

  char code_[64] = {};
  std::vector<uintptr_t> memory_ = std::vector<uintptr_t>(3000);
};

TEST_F(FakeLibrary, OneTableIsFound) {
  PutTable(700, 500);
  PutTable(100, 11);  // more than HIP 7 has
  const FoundHipTables found = FindHipTables(Describe(), {});
  EXPECT_EQ(found.runtime, &memory_[700]);
  EXPECT_EQ(found.compiler, &memory_[100]);
}

TEST_F(FakeLibrary, TwoTablesAreNone) {
  PutTable(700, 500);
  PutTable(1500, 600);
  EXPECT_EQ(FindHipTables(Describe(), {}).runtime, nullptr);
}

TEST_F(FakeLibrary, AForeignPointerMakesItNoTable) {
  PutTable(700, 500);
  memory_[900] = reinterpret_cast<uintptr_t>(&memory_);
  EXPECT_EQ(FindHipTables(Describe(), {}).runtime, nullptr);
}

// A profiler that came before us has put its own functions into the table.
TEST_F(FakeLibrary, AnotherProfilersFunctionsMayStandInATableThatIsInUse) {
  char code[64] = {};
  Library profiler;
  profiler.code_begin = reinterpret_cast<uintptr_t>(code);
  profiler.code_end = profiler.code_begin + sizeof(code);
  PutTable(700, 500);
  PutTable(100, 9);
  for (size_t i = 710; i < 1100; ++i) memory_[i] = profiler.code_begin + i % sizeof(code);
  memory_[103] = profiler.code_begin;
  // HIP does not use them yet: it is just handing them over.
  FoundHipTables found = FindHipTables(Describe(), {profiler});
  EXPECT_EQ(found.runtime, nullptr);
  EXPECT_EQ(found.compiler, nullptr);
  EXPECT_TRUE(found.being_handed_over);
  // HIP has kept where they are.
  memory_[5] = reinterpret_cast<uintptr_t>(&memory_[700]);
  memory_[6] = reinterpret_cast<uintptr_t>(&memory_[100]);
  found = FindHipTables(Describe(), {profiler});
  EXPECT_EQ(found.runtime, &memory_[700]);
  EXPECT_EQ(found.compiler, &memory_[100]);
  EXPECT_FALSE(found.being_handed_over);
  EXPECT_EQ(FindHipTables(Describe(), {}).runtime, nullptr);
}

TEST_F(FakeLibrary, ATableThatGoesBeyondTheEndIsNone) {
  PutTable(2600, 399);
  memory_[2600] = 500 * 8;
  EXPECT_EQ(FindHipTables(Describe(), {}).runtime, nullptr);
  memory_.assign(memory_.size(), 0);
  EXPECT_EQ(FindHipTables(Describe(), {}).runtime, nullptr);
  memory_.clear();
  EXPECT_EQ(FindHipTables(Describe(), {}).runtime, nullptr);
}

}  // namespace
}  // namespace rochound::agent
