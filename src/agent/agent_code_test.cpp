// SPDX-License-Identifier: MIT
//
// What the agent tells of kernels in flight and of their code objects, and what a program does
// meanwhile.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "agent/agent_testing.h"
#include "agent/fake_code.h"
#include "agent/fake_memory.h"
#include "agent/fake_runtime.h"
#include "agent/faults.h"
#include "agent/queue.h"
#include "agent/session.h"
#include "base/clock.h"
#include "trace/reader.h"

namespace rochound::agent {
namespace {

constexpr uint64_t kImage = 0x100000;
constexpr uint64_t kImageBytes = 0x1000;

bool WaitFor(const std::function<bool()>& condition, uint64_t patience_ns = kHangNs) {
  const uint64_t end = base::ClockNs(CLOCK_MONOTONIC) + patience_ns;
  while (!condition()) {
    if (base::ClockNs(CLOCK_MONOTONIC) > end) return false;
    usleep(1000);
  }
  return true;
}

Queue* OnlyQueue() {
  Queue* found = nullptr;
  ForEachQueue([&](Queue& queue) { found = &queue; });
  return found;
}

// A disk that takes nothing: a FIFO that nobody reads is where a code object is to be written.
TEST_F(AgentTest, ADoorbellDoesNotWaitForTheRecordOfAHang) {
  setenv("ROCHOUND_HANG", "100ms", 1);
  FakeCode::Install(runtime_.table()->core_);
  Load();
  FakeCode::Load(runtime_.core(), 1, kImage, kImageBytes, "a code object");
  std::filesystem::path fifo;
  for (const auto& process : std::filesystem::directory_iterator(log_))
    if (process.is_directory()) fifo = process.path() / "hang-code-0.elf.new";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  hsa_queue_t* queue = runtime_.CreateQueue(4096);
  FakeQueue& fake = FakeRuntime::Of(queue);
  fake.Hold();
  const int asked = FakeCode::bytes_asked;
  Launch(queue, {0}, kImage + 64);
  ASSERT_TRUE(WaitFor([&] { return FakeCode::bytes_asked > asked; }));
  usleep(100'000);  // the drain thread is at the file by now
  std::atomic<int> launched{0};
  std::thread program([&] {
    for (; launched < 100; ++launched) Launch(queue, {0}, kImage + 64);
  });
  EXPECT_TRUE(WaitFor([&] { return launched == 100; }, 10'000'000'000));
  EXPECT_TRUE(std::filesystem::is_fifo(fifo)) << "the drain thread is not at the file any more";
  const int reader = open(fifo.c_str(), O_RDONLY);
  char content[64];
  while (read(reader, content, sizeof content) > 0) {
  }
  close(reader);
  program.join();
  EXPECT_TRUE(WaitFor([&] { return !FileOfProcess("hang.json").empty(); }));
  EXPECT_NE(FileOfProcess("hang.json").find("Kernel16385"), std::string::npos);
  fake.Go();
  ASSERT_TRUE(fake.WaitUntilConsumed(101));
}

// Whoever destroys a queue holds its first lock and waits for the second: nobody reads what the
// runtime is about to free.
TEST_F(AgentTest, AQueueThatIsBeingDestroyedIsNotLookedAt) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeRuntime::Of(queue).Hold();
  Launch(queue);
  WatchProgress(1);
  Queue* const known = OnlyQueue();
  ASSERT_NE(known, nullptr);
  ASSERT_EQ(WorkInFlightFor(0).size(), 1u);
  known->harvesting.lock();
  std::thread destroys([&] { runtime_.core().hsa_queue_destroy_fn(queue); });
  ASSERT_TRUE(WaitFor([&] {
    if (!known->submitting.try_lock()) return true;
    known->submitting.unlock();
    return false;
  }));
  std::atomic<bool> looked{false};
  size_t found = 1;
  std::thread looks([&] {
    found = WorkInFlightFor(0).size();
    looked = true;
  });
  EXPECT_TRUE(WaitFor([&] { return looked.load(); }, 10'000'000'000));
  known->harvesting.unlock();
  looks.join();
  destroys.join();
  EXPECT_EQ(found, 0u);
}

// The thread that captures a launch holds the first lock for long, and its queue is told of.
TEST_F(AgentTest, AQueueWhoseDoorbellIsHeldIsLookedAt) {
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  FakeQueue& fake = FakeRuntime::Of(queue);
  fake.Hold();
  Launch(queue);
  WatchProgress(1);
  Queue* const known = OnlyQueue();
  ASSERT_NE(known, nullptr);
  known->submitting.lock();
  EXPECT_EQ(WorkInFlightFor(0).size(), 1u);
  EXPECT_TRUE(DescribeInFlight());
  known->submitting.unlock();
  EXPECT_NE(FileOfProcess("now.json").find("kernel_object"), std::string::npos);
  fake.Go();
  ASSERT_TRUE(fake.WaitUntilConsumed(1));
}

// A capture reads the images of all code objects; who unloads another module waits for its end.
TEST_F(AgentTest, NoCodeObjectGoesAwayDuringACapture) {
  setenv("ROCHOUND_CAPTURE_DIR", (folder_->path() / "bundle").c_str(), 1);
  FakeCode::Install(runtime_.table()->core_);
  FakeMemory::Install(runtime_.table()->core_, runtime_.table()->amd_ext_);
  Load();
  FakeMemory::Add(kImage, kImageBytes);
  FakeMemory::Add(2 * kImage, kImageBytes);
  FakeCode::Load(runtime_.core(), 1, kImage, kImageBytes, "a code object");
  FakeCode::Load(runtime_.core(), 2, 2 * kImage, kImageBytes, "another");
  const uint64_t kernel = runtime_.KernelObject(kImage / 64);
  std::thread program;
  bool stayed = false;
  FakeMemory::on_copy = [&] {
    program = std::thread([&] { runtime_.core().hsa_executable_destroy_fn({2}); });
    stayed = !WaitFor([] { return !FakeCode::Has(2 * kImage); }, 200'000'000);
    return false;
  };
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  char arguments[16] = {};
  FakeRuntime::Of(queue).Packet(0)->kernarg_address = arguments;
  Launch(queue, {0}, kernel);
  ASSERT_TRUE(program.joinable()) << FileOfProcess("capture");
  program.join();
  EXPECT_TRUE(stayed);
  EXPECT_FALSE(FakeCode::Has(2 * kImage));
  ASSERT_TRUE(FakeRuntime::Of(queue).WaitUntilConsumed(1));
  FakeMemory::on_copy = nullptr;
}

// The runtime gives a module that is loaded anew the addresses, and the handle, of the one before.
TEST_F(AgentTest, AKernelThatIsLoadedAnewIsOfAnotherCodeObject) {
  FakeCode::Install(runtime_.table()->core_);
  Load();
  hsa_queue_t* queue = runtime_.CreateQueue(64);
  for (const char* bytes : {"a code object", "its next version"}) {
    FakeCode::Load(runtime_.core(), 1, kImage, kImageBytes, bytes);
    uint64_t kernel = 0;
    for (int asked = 0; asked < 2; ++asked) kernel = runtime_.KernelObject(kImage / 64);
    Launch(queue, {0}, kernel);
    runtime_.core().hsa_executable_destroy_fn({1});
  }
  ASSERT_TRUE(FakeRuntime::Of(queue).WaitUntilConsumed(2));
  const Seen seen = Read();
  std::set<uint32_t> ids;
  for (const auto& [dispatch, record] : seen.dispatches) ids.insert(record.kernel);
  EXPECT_EQ(ids.size(), 2u);
  const auto run = trace::RunLog::Open(log_);
  ASSERT_TRUE(run.ok());
  std::set<uint32_t> code_objects;
  for (const auto& [id, kernel] : run.value().processes()[0]->kernels())
    code_objects.insert(kernel.code_object);
  EXPECT_EQ(code_objects, (std::set<uint32_t>{1, 2}));
  const std::string lines = FileOfProcess("code_objects");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2) << lines;
}

}  // namespace
}  // namespace rochound::agent
