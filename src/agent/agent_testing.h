// SPDX-License-Identifier: MIT
//
// A test of the agent between a program and a small runtime. Each test is a process of its own: the
// agent's state lives as long as the process.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "agent/fake_runtime.h"
#include "agent/session.h"
#include "base/files.h"
#include "trace/reader.h"

extern "C" {
bool OnLoad(void* table, uint64_t version, uint64_t failed, const char* const* names);
void OnUnload();
}

namespace rochound::agent {

// Only something that never happens takes so long.
inline constexpr uint64_t kHangNs = 60'000'000'000;

struct Seen : trace::Visitor {
  struct Times {
    uint64_t begin_ticks;
    uint64_t end_ticks;
  };
  std::map<uint64_t, trace::KernelDispatch> dispatches;
  std::map<uint64_t, Times> times;
  std::map<uint64_t, Times> copy_times;
  int copies = 0;
  std::set<uint16_t> copy_clocks;

  void OnDispatch(const trace::Event<trace::KernelDispatch>& event) override {
    dispatches[event.record.dispatch] = event.record;
  }
  void OnKernelTime(const trace::Event<trace::KernelTime>& event) override {
    EXPECT_EQ(times.count(event.record.dispatch), 0u) << "two times for one dispatch";
    times[event.record.dispatch] = {event.record.begin_ticks, event.record.end_ticks};
  }
  void OnCopy(const trace::Event<trace::Copy>&) override { ++copies; }
  void OnCopyTime(const trace::Event<trace::CopyTime>& event) override {
    copy_clocks.insert(event.record.head.small);
    copy_times[event.record.copy] = {event.record.begin_ticks, event.record.end_ticks};
  }

  size_t Timed() const {
    size_t timed = 0;
    for (const auto& [dispatch, time] : times) timed += time.end_ticks != 0;
    return timed;
  }
};

class AgentTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = base::TempDir::Create(std::filesystem::temp_directory_path(), "agent-test-");
    ASSERT_TRUE(folder.ok()) << folder.error().message;
    folder_ = std::make_unique<base::TempDir>(std::move(folder).value());
    log_ = folder_->path() / "log";
    setenv("ROCHOUND_LOG_DIR", log_.c_str(), 1);
    setenv("ROCHOUND_RECORD", "kernels,copies", 1);
    setenv("ROCHOUND_CONTROL_DIR", (folder_->path() / "control").c_str(), 1);
  }

  void TearDown() override { OnUnload(); }  // a runtime says so before its queues go

  void Load() { ASSERT_TRUE(OnLoad(runtime_.table(), 0, 0, nullptr)); }

  // Everything the process has recorded, after a flush.
  Seen Read() {
    Flush();
    Seen seen;
    const auto run = trace::RunLog::Open(log_);
    EXPECT_TRUE(run.ok()) << run.error().message;
    if (!run.ok()) return seen;
    EXPECT_EQ(run.value().processes().size(), 1u);
    for (const auto& process : run.value().processes()) EXPECT_TRUE(process->Visit(seen).ok());
    return seen;
  }

  // Records that the process has lost so far for a reason.
  uint64_t Lost(trace::DropReason reason) {
    Flush();
    const auto run = trace::RunLog::Open(log_);
    EXPECT_TRUE(run.ok()) << run.error().message;
    return run.ok() ? run.value().processes().front()->Dropped(reason) : 0;
  }

  uint64_t Launch(hsa_queue_t* queue, hsa_signal_t signal = {0}, uint64_t kernel = 64,
                  bool barrier = false) {
    FakeQueue& fake = FakeRuntime::Of(queue);
    const uint64_t index = fake.Reserve();
    fake.Write(index, kernel, signal, barrier);
    runtime_.Ring(queue, index);
    return index;
  }

  // A file that the process has beside its records; empty: it is not there, or nothing is in it.
  std::string FileOfProcess(const char* name) {
    for (const auto& process : std::filesystem::directory_iterator(log_)) {
      const auto text = base::ReadFile(process.path() / name);
      if (text.ok()) return text.value();
    }
    return {};
  }

  // A packet that waits for all before it, and the GPU passes it. Its index.
  uint64_t PassBarrier(hsa_queue_t* queue) {
    FakeQueue& fake = FakeRuntime::Of(queue);
    const uint64_t index = fake.Reserve();
    fake.Packet(index)->completion_signal = {0};
    __atomic_store_n(&fake.Packet(index)->header,
                     uint16_t{HSA_PACKET_TYPE_BARRIER_AND | 1 << HSA_PACKET_HEADER_BARRIER},
                     __ATOMIC_RELEASE);
    runtime_.Ring(queue, index);
    EXPECT_TRUE(fake.WaitUntilConsumed(index + 1));
    return index;
  }

  std::unique_ptr<base::TempDir> folder_;
  std::filesystem::path log_;
  FakeRuntime runtime_;
};

// What the program's own exit handlers do, before ours and after it.
inline std::function<void()> exits_first;
inline std::function<void()> exits_last;

// A handler that calls exit while our code holds locks on its thread; `interrupted` comes to the
// runtime's function in which the handler runs.
inline void ExitInside(const std::function<void()>& load,
                       const std::function<void()>& interrupted) {
  const pid_t child = fork();
  if (child == 0) {
    atexit([] {
      exits_last();
      OnUnload();  // as a runtime does, after our own exit handler
    });
    load();
    atexit([] { exits_first(); });
    interrupted();
    _exit(1);
  }
  int status = 0;
  pid_t ended = 0;
  for (int tries = 0; tries < 2000 && ended == 0; ++tries) {
    usleep(10'000);
    ended = waitpid(child, &status, WNOHANG);
  }
  if (ended == 0) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

}  // namespace rochound::agent
