// SPDX-License-Identifier: MIT
//
// The real librocprofiler-register between a library that registers its tables and the real agent.
// Each test is a process of its own.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "registering_library.h"
#include "trace/reader.h"

namespace {

using rochound::base::TempDir;
namespace trace = rochound::trace;

struct SeenCall {
  std::string name;
  uint32_t result;
  std::vector<uint64_t> words;
  std::string text;
};

struct Seen : trace::Visitor {
  const trace::ProcessLog* log = nullptr;
  std::vector<SeenCall> calls;
  std::vector<std::pair<trace::RangeKind, std::string>> ranges;

  void OnCall(const trace::CallEvent& call) override {
    const trace::Function* function = log->FindFunction(call.function);
    ASSERT_NE(function, nullptr) << call.function;
    calls.push_back({function->domain + " " + function->name,
                     call.result,
                     {call.words.begin(), call.words.end()},
                     call.texts.empty() ? std::string() : std::string(call.texts[0].text)});
  }
  std::vector<std::string> unrecorded;
  void OnRange(const trace::Event<trace::Range>& event) override {
    ranges.emplace_back(static_cast<trace::RangeKind>(event.record.head.small),
                        std::string(log->String(event.record.head.wide).value_or("")));
  }
};

class RegisterTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = TempDir::Create(std::filesystem::temp_directory_path(), "register-test-");
    ASSERT_TRUE(folder.ok()) << folder.error().message;
    folder_.emplace(std::move(folder).value());
    setenv("ROCPROFILER_REGISTER_LIBRARY", ROCHOUND_AGENT, 1);
    log_ = folder_->path() / "log";
    setenv("ROCHOUND_LOG_DIR", log_.c_str(), 1);
    setenv("ROCHOUND_RECORD", "hip,hsa,roctx", 1);
  }

  Seen Read() {
    Seen seen;
    const auto run = trace::RunLog::Open(log_);
    EXPECT_TRUE(run.ok()) << run.error().message;
    if (!run.ok()) return seen;
    EXPECT_EQ(run.value().processes().size(), 1u);
    for (const auto& process : run.value().processes()) {
      seen.log = process.get();
      EXPECT_TRUE(process->Visit(seen).ok());
      for (const trace::Unrecorded& one : process->unrecorded()) seen.unrecorded.push_back(one.why);
    }
    return seen;
  }

  std::optional<TempDir> folder_;
  std::filesystem::path log_;
};

TEST_F(RegisterTest, HipCallsAreRecordedFromTheVeryFirst) {
  void* pointer = nullptr;
  EXPECT_EQ(fake_hip_malloc(&pointer, 100), 0);
  EXPECT_EQ(pointer, reinterpret_cast<void*>(101));
  EXPECT_NE(fake_hip_malloc(nullptr, 100), 0);
  int device = 0;
  EXPECT_EQ(fake_hip_get_device(&device), 0);
  EXPECT_EQ(device, 5);
  EXPECT_NE(fake_hip_launch(&device, 7, 64), 0);
  void* module = nullptr;
  EXPECT_EQ(fake_hip_load_module(&module, "/some/where.co"), 0);
  EXPECT_EQ(fake_refusals(), 0);

  const Seen seen = Read();
  ASSERT_EQ(seen.calls.size(), 7u);
  EXPECT_EQ(seen.calls[0].name, "hip hipMalloc");
  EXPECT_EQ(seen.calls[0].result, 0u);
  EXPECT_EQ(seen.calls[0].words,
            (std::vector<uint64_t>{reinterpret_cast<uint64_t>(&pointer), 101, 100}));
  EXPECT_EQ(seen.calls[1].name, "hip hipMalloc");
  EXPECT_NE(seen.calls[1].result, 0u);
  EXPECT_EQ(seen.calls[2].name, "hip hipGetDevice");
  EXPECT_EQ(seen.calls[2].words.at(1), 5u);
  EXPECT_EQ(seen.calls[3].name, "hip __hipPushCallConfiguration");
  EXPECT_EQ(seen.calls[3].words.at(0), 0x100000007u);
  EXPECT_EQ(seen.calls[4].name, "hip __hipPopCallConfiguration");
  EXPECT_EQ(seen.calls[5].name, "hip hipLaunchKernel");
  EXPECT_EQ(seen.calls[5].result, 719u);  // hipErrorLaunchFailure
  EXPECT_EQ(seen.calls[6].text, "/some/where.co");
}

TEST_F(RegisterTest, RangesOfARegisteringRoctxAreRecorded) {
  EXPECT_EQ(fake_roctx_push("outer"), 0);
  EXPECT_EQ(fake_roctx_push("inner"), 1);
  fake_roctx_mark("mark");
  EXPECT_EQ(fake_roctx_pop(), 1);
  EXPECT_EQ(fake_roctx_pop(), 0);
  EXPECT_EQ(fake_refusals(), 0);
  const Seen seen = Read();
  using trace::RangeKind;
  ASSERT_EQ(seen.ranges.size(), 5u);
  EXPECT_EQ(seen.ranges[0], std::make_pair(RangeKind::kPush, std::string("outer")));
  EXPECT_EQ(seen.ranges[2], std::make_pair(RangeKind::kMark, std::string("mark")));
  EXPECT_EQ(seen.ranges[4].first, RangeKind::kPop);
}

TEST_F(RegisterTest, TheProgramsPauseIsKeptAndNoted) {
  fake_roctx_push("outer");
  fake_roctx_push("before");
  EXPECT_EQ(fake_roctx_pause(), 21);
  fake_roctx_mark("unseen");
  fake_roctx_pop();
  fake_roctx_push("unseen");
  EXPECT_EQ(fake_roctx_resume(), 22);
  fake_roctx_pop();  // of a range whose push is not there
  fake_roctx_mark("after");
  fake_roctx_pop();
  EXPECT_EQ(fake_refusals(), 0);
  const Seen seen = Read();
  using trace::RangeKind;
  ASSERT_EQ(seen.ranges.size(), 4u);
  EXPECT_EQ(seen.ranges[1].second, "before");
  EXPECT_EQ(seen.ranges[2], std::make_pair(RangeKind::kMark, std::string("after")));
  EXPECT_EQ(seen.ranges[3].first, RangeKind::kPop);
  ASSERT_EQ(seen.unrecorded.size(), 1u);
  EXPECT_EQ(seen.unrecorded[0], "the program paused it (roctxProfilerPause)");
}

// The one way in is HSA_TOOLS_LIB: nobody hands the ranges' table over.
TEST_F(RegisterTest, RangesOfARoctxThatRegistersNowhereAreRecorded) {
  unsetenv("ROCPROFILER_REGISTER_LIBRARY");
  void* const roctx = dlopen(SDK_ROCTX, RTLD_LAZY);
  ASSERT_NE(roctx, nullptr) << dlerror();
  const auto push = reinterpret_cast<int (*)(const char*)>(dlsym(roctx, "roctxRangePushA"));
  const auto pop = reinterpret_cast<int (*)()>(dlsym(roctx, "roctxRangePop"));
  const auto mark = reinterpret_cast<void (*)(const char*)>(dlsym(roctx, "roctxMarkA"));
  const auto pause = reinterpret_cast<int (*)(uint64_t)>(dlsym(roctx, "roctxProfilerPause"));
  const auto resume = reinterpret_cast<int (*)(uint64_t)>(dlsym(roctx, "roctxProfilerResume"));
  ASSERT_TRUE(fake_hsa_load_tool(ROCHOUND_AGENT));
  EXPECT_EQ(push("outer"), 0);
  EXPECT_EQ(pause(0), 21);
  mark("unseen");
  EXPECT_EQ(resume(0), 22);
  mark("mark");
  EXPECT_EQ(pop(), 0);
  const Seen seen = Read();
  using trace::RangeKind;
  ASSERT_EQ(seen.ranges.size(), 3u);
  EXPECT_EQ(seen.ranges[0], std::make_pair(RangeKind::kPush, std::string("outer")));
  EXPECT_EQ(seen.ranges[1], std::make_pair(RangeKind::kMark, std::string("mark")));
  EXPECT_EQ(seen.ranges[2].first, RangeKind::kPop);
  EXPECT_EQ(seen.unrecorded.size(), 1u);
}

TEST_F(RegisterTest, AnHsaRuntimeIsTaken) {
  const uint64_t signal = fake_hsa_signal(3);
  EXPECT_NE(signal, 0u);
  EXPECT_EQ(fake_refusals(), 0);
  const Seen seen = Read();
  ASSERT_EQ(seen.calls.size(), 1u);
  EXPECT_EQ(seen.calls[0].name, "hsa hsa_signal_create");
  EXPECT_EQ(seen.calls[0].words.at(0), 3u);
  EXPECT_EQ(seen.calls[0].words.back(), signal);
}

TEST_F(RegisterTest, AllAtOnceFromManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 100; ++i) {
        int device = 0;
        fake_hip_get_device(&device);
        fake_roctx_mark("here");
      }
      fake_hsa_signal(1);
    });
  for (std::thread& thread : threads) thread.join();
  const Seen seen = Read();
  std::map<std::string, int> counts;
  for (const SeenCall& call : seen.calls) ++counts[call.name];
  EXPECT_EQ(counts["hip hipGetDevice"], 800);
  EXPECT_EQ(counts["hsa hsa_signal_create"], 8);
  EXPECT_EQ(seen.ranges.size(), 800u);
}

// The agent's folder cannot be made: the library and its calls do not notice.
TEST_F(RegisterTest, CallsGoThroughWhenNothingCanBeRecorded) {
  setenv("ROCHOUND_LOG_DIR", "/proc/nowhere/log", 1);
  int device = 0;
  EXPECT_EQ(fake_hip_get_device(&device), 0);
  EXPECT_EQ(device, 5);
  EXPECT_EQ(fake_roctx_push("x"), 0);
  EXPECT_NE(fake_hsa_signal(1), 0u);
  EXPECT_EQ(fake_refusals(), 0);
}

}  // namespace
