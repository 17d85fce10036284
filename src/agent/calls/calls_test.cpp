// SPDX-License-Identifier: MIT
//
// The recorders in the real agent, around functions and tables of our own. Each test is a process
// of its own (the agent's state lives as long as the process).
#include "agent/calls.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <hip/hip_version.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "agent/calls/functions.h"
#include "agent/calls/hip_calls.h"
#include "agent/calls/hip_tables.h"
#include "agent/calls/hip_tracer.h"
#include "agent/calls/hsa_calls.h"
#include "agent/calls/hsa_tables.h"
#include "agent/calls/libraries.h"
#include "agent/calls/ranges.h"
#include "agent/calls/roctx.h"
#include "agent/calls/wrapper.h"
#include "agent/session.h"
#include "agent/state.h"
#include "base/files.h"
#include "trace/reader.h"

namespace rochound::agent {
namespace {

// --- a runtime to record

enum Status { kGood = 0, kBad = 3 };

struct Table {
  Status (*outer)(int number, const char* text);
  Status (*inner)(void** out);
  uint64_t (*wide)(float ratio);
  void (*silent)();
};
constinit Table table = {};
uint64_t correlation_in_inner = 0;
bool switch_off_in_outer = false;

Status RealOuter(int number, const char*) {
  if (switch_off_in_outer) SwitchFromOutside(false);
  void* out = nullptr;
  for (int i = 0; i < number; ++i) table.inner(&out);
  return number < 0 ? kBad : kGood;
}
Status RealInner(void** out) {
  if (ThreadState* thread = CurrentThread()) correlation_in_inner = thread->correlation;
  if (out != nullptr) *out = reinterpret_cast<void*>(0x1234);
  return kGood;
}
uint64_t RealWide(float ratio) { return static_cast<uint64_t>(ratio * 1e10f); }
void RealSilent() {}

enum : uint16_t { kOuter = 60001, kInner, kWide, kSilent };
template <Domain kDomain>
void InstallAll() {
  table = {RealOuter, RealInner, RealWide, RealSilent};
  Wrapper<&Table::outer, kOuter, kDomain, 0>::Install(&table);
  Wrapper<&Table::inner, kInner, kDomain, 1>::Install(&table);
  Wrapper<&Table::wide, kWide, kDomain, 0>::Install(&table);
  Wrapper<&Table::silent, kSilent, kDomain, 0>::Install(&table);
}

// --- what was recorded

struct SeenCall {
  uint16_t function;
  uint32_t result;
  uint64_t begin_ns, end_ns, correlation;
  std::vector<uint64_t> words;
  std::vector<std::pair<uint64_t, std::string>> texts;  // whole length, what was kept
  std::vector<uint64_t> frames;
};
struct SeenRange {
  trace::RangeKind kind;
  uint64_t range;
  std::string text;
};

struct Seen : trace::Visitor {
  const trace::ProcessLog* log = nullptr;
  std::vector<SeenCall> calls;
  std::vector<SeenRange> ranges;

  void OnCall(const trace::CallEvent& call) override {
    SeenCall seen{call.function,
                  call.result,
                  call.begin_ns,
                  call.end_ns,
                  call.correlation,
                  {call.words.begin(), call.words.end()},
                  {},
                  {call.frames.begin(), call.frames.end()}};
    for (const trace::TextArgument& text : call.texts)
      seen.texts.emplace_back(text.total, std::string(text.text));
    calls.push_back(std::move(seen));
  }
  void OnRange(const trace::Event<trace::Range>& event) override {
    ranges.push_back({static_cast<trace::RangeKind>(event.record.head.small), event.record.range,
                      std::string(log->String(event.record.head.wide).value_or(""))});
  }
  std::vector<SeenCall> Of(uint16_t function) const {
    std::vector<SeenCall> some;
    for (const SeenCall& call : calls)
      if (call.function == function) some.push_back(call);
    return some;
  }
};

class CallsTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = base::TempDir::Create(std::filesystem::temp_directory_path(), "calls-test-");
    ASSERT_TRUE(folder.ok()) << folder.error().message;
    folder_.emplace(std::move(folder).value());
    log_ = folder_->path() / "log";
    setenv("ROCHOUND_LOG_DIR", log_.c_str(), 1);
    setenv("ROCHOUND_RECORD", "hip,hsa,roctx", 1);
  }

  void Start() { ASSERT_TRUE(agent::SetUp()); }

  Seen Read() {
    Flush();
    Seen seen;
    const auto run = trace::RunLog::Open(log_);
    EXPECT_TRUE(run.ok()) << run.error().message;
    if (!run.ok()) return seen;
    for (const auto& process : run.value().processes()) {
      seen.log = process.get();
      EXPECT_TRUE(process->Visit(seen).ok());
    }
    return seen;
  }

  std::optional<base::TempDir> folder_;
  std::filesystem::path log_;
};

TEST_F(CallsTest, ACallIsPassedOnAndRecorded) {
  Start();
  InstallAll<Domain::kHip>();
  void* out = nullptr;
  EXPECT_EQ(table.outer(0, "hello"), kGood);
  EXPECT_EQ(table.outer(-7, nullptr), kBad);
  EXPECT_EQ(table.inner(&out), kGood);
  EXPECT_EQ(out, reinterpret_cast<void*>(0x1234));
  EXPECT_EQ(table.wide(2.0f), 20000000000u);
  table.silent();

  const Seen seen = Read();
  ASSERT_EQ(seen.calls.size(), 5u);
  const auto outer = seen.Of(kOuter);
  ASSERT_EQ(outer.size(), 2u);
  EXPECT_EQ(outer[0].result, kGood);
  ASSERT_EQ(outer[0].words.size(), 2u);
  EXPECT_EQ(outer[0].words[0], 0u);
  ASSERT_EQ(outer[0].texts.size(), 1u);
  EXPECT_EQ(outer[0].texts[0].second, "hello");
  EXPECT_EQ(outer[1].result, kBad);
  EXPECT_EQ(outer[1].words[0], static_cast<uint64_t>(-7));
  EXPECT_EQ(outer[1].words[1], 0u);
  EXPECT_TRUE(outer[1].texts.empty());
  const auto inner = seen.Of(kInner);
  ASSERT_EQ(inner.size(), 1u);
  ASSERT_EQ(inner[0].words.size(), 2u);
  EXPECT_EQ(inner[0].words[0], reinterpret_cast<uint64_t>(&out));
  EXPECT_EQ(inner[0].words[1], 0x1234u);
  const auto wide = seen.Of(kWide);
  ASSERT_EQ(wide.size(), 1u);
  ASSERT_EQ(wide[0].words.size(), 2u);
  EXPECT_EQ(wide[0].words[1], 20000000000u);
  EXPECT_EQ(seen.Of(kSilent).size(), 1u);
  EXPECT_TRUE(seen.Of(kSilent)[0].words.empty());
  std::set<uint64_t> correlations;
  for (const SeenCall& call : seen.calls) {
    EXPECT_LE(call.begin_ns, call.end_ns);
    EXPECT_NE(call.correlation, 0u);
    correlations.insert(call.correlation);
  }
  EXPECT_EQ(correlations.size(), seen.calls.size());
}

TEST_F(CallsTest, OnlyTheOutermostHipCallIsTheProgramsOwn) {
  Start();
  InstallAll<Domain::kHip>();
  table.outer(3, nullptr);
  table.inner(nullptr);
  const Seen seen = Read();
  EXPECT_EQ(seen.Of(kOuter).size(), 1u);
  ASSERT_EQ(seen.Of(kInner).size(), 1u);
  EXPECT_EQ(correlation_in_inner, seen.Of(kInner)[0].correlation);
}

TEST_F(CallsTest, HsaCallsAreRecordedAtAnyDepthAndWorkBelongsToTheOutermost) {
  Start();
  InstallAll<Domain::kHsa>();
  table.outer(3, nullptr);
  const Seen seen = Read();
  ASSERT_EQ(seen.Of(kOuter).size(), 1u);
  EXPECT_EQ(seen.Of(kInner).size(), 3u);
  EXPECT_EQ(correlation_in_inner, seen.Of(kOuter)[0].correlation);
  EXPECT_EQ(CurrentThread()->correlation, 0u);
}

TEST(LibrariesTest, ImportsAreSeen) {
  EXPECT_TRUE(AnybodyImports("dl_iterate_phdr"));  // by the recorder's own parts
  EXPECT_FALSE(AnybodyImports("a_function_that_nobody_calls"));
}

TEST_F(CallsTest, NothingIsRecordedWhileSwitchedOff) {
  Start();
  InstallAll<Domain::kHip>();
  SwitchFromOutside(false);
  EXPECT_EQ(table.outer(-1, "x"), kBad);
  SwitchFromOutside(true);
  table.silent();
  EXPECT_EQ(Read().calls.size(), 1u);
}

TEST_F(CallsTest, ACallThatSeesTheSwitchIsRecordedToItsEnd) {
  Start();
  InstallAll<Domain::kHip>();
  switch_off_in_outer = true;
  table.outer(0, nullptr);
  table.silent();
  SwitchFromOutside(true);
  table.silent();
  const Seen seen = Read();
  EXPECT_EQ(seen.Of(kOuter).size(), 1u);
  EXPECT_EQ(seen.Of(kSilent).size(), 1u);
}

TEST_F(CallsTest, OurOwnCallsAreNotRecorded) {
  Start();
  InstallAll<Domain::kHip>();
  {
    const Inside inside(CurrentThread());
    table.silent();
  }
  table.silent();
  EXPECT_EQ(Read().calls.size(), 1u);
}

TEST_F(CallsTest, CallsGoOnWhenTheAgentIsDisabled) {
  Start();
  InstallAll<Domain::kHip>();
  table.silent();
  Disable("a test says so");
  EXPECT_EQ(table.outer(-1, "x"), kBad);
  EXPECT_EQ(table.wide(1.0f), 10000000000u);
}

TEST_F(CallsTest, LongTextsAreCut) {
  Start();
  InstallAll<Domain::kHip>();
  const std::string exact(kMaxTextBytes, 'a');
  const std::string longer(1000, 'b');
  for (const std::string& text : {std::string(), std::string(40, 'c'), exact, longer})
    table.outer(0, text.c_str());
  const auto calls = Read().Of(kOuter);
  ASSERT_EQ(calls.size(), 4u);
  EXPECT_EQ(calls[1].texts.at(0), std::make_pair(uint64_t{40}, std::string(40, 'c')));
  EXPECT_EQ(calls[2].texts.at(0), std::make_pair(uint64_t{kMaxTextBytes}, exact));
  EXPECT_EQ(calls[3].texts.at(0), std::make_pair(uint64_t{1000}, longer.substr(0, kMaxTextBytes)));
}

TEST_F(CallsTest, ThreadsRecordSideBySide) {
  Start();
  InstallAll<Domain::kHip>();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 1000; ++i) table.outer(0, "text");
    });
  for (std::thread& thread : threads) thread.join();
  const auto calls = Read().Of(kOuter);
  EXPECT_EQ(calls.size(), 4000u);
  for (const SeenCall& call : calls) EXPECT_EQ(call.texts.size(), 1u);
}

int CallSilent(const void*, const void*) {
  table.silent();
  return 0;
}

// The agent is part of this program here, and leaves its own frames out: so qsort is the first it
// shows.
TEST_F(CallsTest, StacksShowWhoCalled) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer puts frames of its own on the stack";
#endif
  setenv("ROCHOUND_RECORD", "hip,stacks", 1);
  Start();
  InstallAll<Domain::kHip>();
  int numbers[2] = {1, 2};
  qsort(numbers, 2, sizeof(int), CallSilent);
  const auto calls = Read().Of(kSilent);
  ASSERT_EQ(calls.size(), 1u);
  ASSERT_GE(calls[0].frames.size(), 3u);
  Dl_info info;
  ASSERT_NE(dladdr(reinterpret_cast<void*>(calls[0].frames[0]), &info), 0);
  EXPECT_NE(std::strstr(info.dli_fname, "libc.so"), nullptr) << info.dli_fname;
  ASSERT_NE(dladdr(reinterpret_cast<void*>(calls[0].frames.back()), &info), 0);
}

// --- tables

TEST_F(CallsTest, EveryFunctionHasALine) {
  const std::string text = FunctionsText();
  std::istringstream lines(text);
  std::set<int> ids;
  std::map<std::string, std::string> rows;
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> columns;
    std::istringstream parts(line);
    for (std::string column; std::getline(parts, column, '\t');) columns.push_back(column);
    ASSERT_GE(columns.size(), 4u) << line;
    ASSERT_EQ(std::count(line.begin(), line.end(), '\t'), 4) << line;
    EXPECT_TRUE(ids.insert(std::stoi(columns[0])).second) << line;
    EXPECT_EQ(line.find(' '), std::string::npos) << line;
    // A function that is known twice has its better row first.
    rows.emplace(columns[1] + " " + columns[2],
                 columns[3] + "|" + (columns.size() > 4 ? columns[4] : ""));
  }
  EXPECT_EQ(rows["hsa hsa_signal_create"],
            "enum|initial_value:i64,num_consumers:u32,consumers:ptr,signal:*handle");
  EXPECT_EQ(rows["hsa hsa_signal_load_relaxed"], "i64|signal:handle,return:i64");
  EXPECT_EQ(rows["hsa hsa_signal_store_relaxed"], "void|signal:handle,value:i64");
  EXPECT_EQ(rows["hsa hsa_init"], "enum|");
  EXPECT_EQ(rows["hip hipMalloc"], "enum|ptr:*ptr,size:u64");
  EXPECT_EQ(rows["hip hipLaunchKernel"],
            "enum|function_address:ptr,numBlocks:dim3,dimBlocks:dim3,args:ptr,sharedMemBytes:u64,"
            "stream:ptr");
  EXPECT_EQ(rows["hip hipModuleGetFunction"], "enum|function:*ptr,module:ptr,kname:str");
  EXPECT_EQ(rows["hip hipDeviceSynchronize"], "enum|");
  EXPECT_GE(rows.size(), 500u);
}

void Nothing() {}

TEST_F(CallsTest, HsaEntriesBeyondTheTablesEndAreLeftAlone) {
  CoreApiTable core;
  AmdExtTable amd;
  HsaApiTable root{};
  const auto fill = [](auto* table) {
    auto** entries = reinterpret_cast<void (**)()>(table);
    for (size_t i = 0; i < sizeof(*table) / sizeof(*entries); ++i) entries[i] = Nothing;
  };
  fill(&core);
  fill(&amd);
  // An older runtime: its core table ends with hsa_agent_get_info, and it knows no other tables.
  core.version = {HSA_CORE_API_TABLE_MAJOR_VERSION, offsetof(CoreApiTable, hsa_queue_create_fn), 0,
                  0};
  amd.version = {HSA_AMD_EXT_API_TABLE_MAJOR_VERSION,
                 offsetof(AmdExtTable, hsa_amd_memory_pool_allocate_fn), 0, 0};
  root.core_ = &core;
  root.amd_ext_ = &amd;
  root.version.minor_id = offsetof(HsaApiTable, finalizer_ext_);
  HsaTables tables;
  ASSERT_TRUE(tables.Read(&root));
  InstallHsaCalls(tables.ours());
  tables.WriteBack();
  const auto is_ours = [](auto entry) { return reinterpret_cast<void*>(entry) != &Nothing; };
  EXPECT_TRUE(is_ours(core.hsa_init_fn));
  EXPECT_TRUE(is_ours(core.hsa_agent_get_info_fn));
  EXPECT_FALSE(is_ours(core.hsa_queue_create_fn));
  EXPECT_FALSE(is_ours(core.hsa_signal_create_fn));
  EXPECT_TRUE(is_ours(amd.hsa_amd_signal_wait_any_fn));
  EXPECT_FALSE(is_ours(amd.hsa_amd_memory_pool_allocate_fn));
}

TEST_F(CallsTest, HipEntriesBeyondTheTablesEndAreLeftAlone) {
  if (KnownHipEntries().count == 0) GTEST_SKIP() << "this release's HIP has no tables";
  Start();
  const auto nothing = reinterpret_cast<uintptr_t>(&Nothing);
  std::vector<uintptr_t> memory(2000, nothing);
  constexpr size_t kBytes = 300 * 8;
  memory[0] = kBytes;
  TakeHipTable(HipTable::kRuntime, HIP_VERSION_MAJOR * 10000, memory.data());
  size_t inside = 0;
  for (const HipTableEntry& entry : KnownHipEntries()) {
    if (entry.table != HipTable::kRuntime) continue;
    const bool ours = memory[entry.offset / 8] != nothing;
    EXPECT_EQ(ours, entry.offset < kBytes) << entry.function;
    inside += ours;
  }
  EXPECT_EQ(inside, 299u);
  // A second HIP in the process is not ours.
  std::vector<uintptr_t> second(2000, nothing);
  second[0] = kBytes;
  TakeHipTable(HipTable::kRuntime, HIP_VERSION_MAJOR * 10000, second.data());
  for (size_t i = 1; i < second.size(); ++i) ASSERT_EQ(second[i], nothing) << i;
}

// What a portable installation meets on Debian 12: it was built with the headers of another HIP.
TEST_F(CallsTest, CallsOfAnOldHipAreRecordedWithoutTheirArguments) {
  Start();
  void* const hip = dlopen(OLD_HIP, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(hip, nullptr) << dlerror();
  const auto good = reinterpret_cast<int (*)()>(dlsym(hip, "hipOfThen"));
  const auto bad = reinterpret_cast<int (*)()>(dlsym(hip, "hipOfOldTimes"));
  EXPECT_EQ(AttachHipTracer(hip, /*quietly=*/false, /*roctracer=*/true), TracerKind::kNone);
  ASSERT_EQ(AttachHipTracer(hip, /*quietly=*/false, /*roctracer=*/false), TracerKind::kNoArguments);
  EXPECT_EQ(good(), 0);
  EXPECT_EQ(bad(), 3);
  SwitchFromOutside(false);
  EXPECT_EQ(bad(), 3);
  const Seen seen = Read();
  ASSERT_EQ(seen.calls.size(), 2u);
  EXPECT_EQ(seen.calls[0].function, kFirstTracedFunction + 1);
  EXPECT_EQ(seen.calls[0].result, 0u);
  EXPECT_EQ(seen.calls[1].function, kFirstTracedFunction + 2);
  EXPECT_EQ(seen.calls[1].result, 3u);
  for (const SeenCall& call : seen.calls) {
    EXPECT_LT(call.begin_ns, call.end_ns);
    EXPECT_TRUE(call.words.empty());
  }
  const std::string row =
      std::to_string(kFirstTracedFunction + 2) + "\thip\thipOfOldTimes\tenum\t\n";
  EXPECT_NE(FunctionsText().find(row), std::string::npos);
}

// --- ranges

TEST_F(CallsTest, RangesAreNumberedByDepth) {
  Start();
  using trace::RangeKind;
  RecordRange(RangeKind::kPop, nullptr, 0);  // pushed before we came
  RecordRange(RangeKind::kPush, "outer", 0);
  RecordRange(RangeKind::kPush, "inner", 0);
  RecordRange(RangeKind::kMark, "mark", 0);
  RecordRange(RangeKind::kPop, nullptr, 0);
  SwitchFromOutside(false);
  RecordRange(RangeKind::kPush, "unseen", 0);
  RecordRange(RangeKind::kPop, nullptr, 0);
  SwitchFromOutside(true);
  RecordRange(RangeKind::kPop, nullptr, 0);
  RecordRange(RangeKind::kStart, "started", 77);
  RecordRange(RangeKind::kStop, nullptr, 77);
  const auto ranges = Read().ranges;
  ASSERT_EQ(ranges.size(), 7u);
  EXPECT_EQ(ranges[0].text, "outer");
  EXPECT_EQ(ranges[0].range, 0u);
  EXPECT_EQ(ranges[1].text, "inner");
  EXPECT_EQ(ranges[1].range, 1u);
  EXPECT_EQ(ranges[2].kind, RangeKind::kMark);
  EXPECT_EQ(ranges[3].range, 1u);
  EXPECT_EQ(ranges[4].kind, RangeKind::kPop);
  EXPECT_EQ(ranges[4].range, 0u);
  EXPECT_EQ(ranges[5].range, 77u);
  EXPECT_EQ(ranges[6].kind, RangeKind::kStop);
}

// A program that is not linked to roctx and opens it itself, after the agent was set up.
TEST_F(CallsTest, RangesOfTheRealRoctxAreSeenWheneverItIsOpened) {
  Start();
  void* roctx = dlopen("libroctx64.so.4", RTLD_NOW | RTLD_LOCAL);
  if (roctx == nullptr) GTEST_SKIP() << "this release has no libroctx64: " << dlerror();
  const auto push = reinterpret_cast<int (*)(const char*)>(dlsym(roctx, "roctxRangePushA"));
  const auto pop = reinterpret_cast<int (*)()>(dlsym(roctx, "roctxRangePop"));
  const auto mark = reinterpret_cast<void (*)(const char*)>(dlsym(roctx, "roctxMarkA"));
  const auto start = reinterpret_cast<uint64_t (*)(const char*)>(dlsym(roctx, "roctxRangeStartA"));
  const auto stop = reinterpret_cast<void (*)(uint64_t)>(dlsym(roctx, "roctxRangeStop"));
  EXPECT_EQ(push("one"), 0);
  EXPECT_EQ(push("two"), 1);
  mark("here");
  EXPECT_EQ(pop(), 1);
  EXPECT_EQ(pop(), 0);
  const uint64_t id = start("three");
  stop(id);
  const auto ranges = Read().ranges;
  ASSERT_EQ(ranges.size(), 7u);
  EXPECT_EQ(ranges[0].text, "one");
  EXPECT_EQ(ranges[1].text, "two");
  EXPECT_EQ(ranges[2].text, "here");
  EXPECT_EQ(ranges[5].text, "three");
  EXPECT_EQ(ranges[5].range, id);
  EXPECT_EQ(ranges[6].range, id);
}

}  // namespace
}  // namespace rochound::agent
