// SPDX-License-Identifier: MIT
//
// A captured launch is held for a while. What the program sees of that, whatever happens meanwhile.
#include <gtest/gtest.h>
#include <hsa/amd_hsa_signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "agent/agent_testing.h"
#include "agent/fake_code.h"
#include "agent/fake_memory.h"
#include "agent/fake_runtime.h"
#include "base/clock.h"
#include "base/files.h"

namespace rochound::agent {
namespace {

// An exit handler waits for what the GPU has to do, as hipDeviceSynchronize would.
void WaitForSignal(hsa_signal_t signal) {
  const auto* memory = reinterpret_cast<const amd_signal_t*>(signal.handle);
  while (__atomic_load_n(&memory->value, __ATOMIC_ACQUIRE) != 0) usleep(1000);
}

class AgentCaptureTest : public AgentTest {
 protected:
  // The next launch is captured.
  void LoadForCapture() {
    setenv("ROCHOUND_CAPTURE_DIR", (folder_->path() / "bundle").c_str(), 1);
    FakeCode::Install(runtime_.table()->core_);
    FakeMemory::Install(runtime_.table()->core_, runtime_.table()->amd_ext_);
    Load();
    const auto image = reinterpret_cast<uint64_t>(image_);
    FakeMemory::Add(image, sizeof image_);
    FakeCode::Load(runtime_.core(), 1, image, sizeof image_, "a code object");
    kernel_ = runtime_.KernelObject(image / 64);
  }

  hsa_queue_t* CreateQueue() {
    runtime_.core().hsa_queue_create_fn(
        {2}, 64, HSA_QUEUE_TYPE_MULTI, [](hsa_status_t, hsa_queue_t*, void*) {}, nullptr, 0, 0,
        &queue_);
    FakeRuntime::Of(queue_).Packet(0)->kernarg_address = arguments_;
    return queue_;
  }

  // `interrupt` says where the handler runs.
  void ExitInACapture(const std::function<void()>& interrupt) {
    ExitInside([&] { LoadForCapture(); },
               [&] {
                 const hsa_signal_t signal = runtime_.CreateSignal(1);
                 exits_first = [=] { WaitForSignal(signal); };
                 exits_last = [] {};
                 hsa_queue_t* const queue = CreateQueue();
                 interrupt();
                 Launch(queue, signal, kernel_);
               });
  }

  std::string Manifest() {
    const auto text = base::ReadFile(folder_->path() / "bundle" / "manifest.json");
    return text.ok() ? text.value() : "no bundle: " + FileOfProcess("capture");
  }

  alignas(4096) std::byte image_[4096] = {};
  char arguments_[16] = {};
  uint64_t kernel_ = 0;
  hsa_queue_t* queue_ = nullptr;
};

TEST_F(AgentCaptureTest, TheSlotInTheRingGetsTheProgramsSignalBack) {
  LoadForCapture();
  hsa_queue_t* const queue = CreateQueue();
  const hsa_signal_t signal = runtime_.CreateSignal(1);
  Launch(queue, signal, kernel_);
  EXPECT_EQ(reinterpret_cast<const amd_signal_t*>(signal.handle)->value, 0);
  EXPECT_NE(Manifest().find("\"unfinished\": false"), std::string::npos) << Manifest();
  EXPECT_EQ(FakeRuntime::Of(queue).Packet(0)->completion_signal.handle, signal.handle);
  runtime_.core().hsa_signal_destroy_fn(signal);
}

TEST_F(AgentCaptureTest, AFaultOfTheLaunchEndsTheWaitForIt) {
  LoadForCapture();
  hsa_queue_t* const queue = CreateQueue();
  FakeRuntime::Of(queue).Hold();  // it never ends
  const auto report = reinterpret_cast<void (*)(hsa_status_t, hsa_queue_t*, void*)>(
      FakeRuntime::last_callback.load());
  std::thread runtime([&] {
    for (int i = 0; i < 2000 && FakeRuntime::Of(queue).doorbell == 0; ++i) usleep(10'000);
    report(HSA_STATUS_ERROR_EXCEPTION, queue, FakeRuntime::last_callback_data);
  });
  const uint64_t begin = base::ClockNs(CLOCK_MONOTONIC);
  Launch(queue, {0}, kernel_);
  EXPECT_LT(base::ClockNs(CLOCK_MONOTONIC) - begin, 30'000'000'000u);
  runtime.join();
  EXPECT_NE(Manifest().find("\"unfinished\": true"), std::string::npos) << Manifest();
  EXPECT_NE(FileOfProcess("fault.json"), "");
  FakeRuntime::Of(queue).Go();
  ASSERT_TRUE(FakeRuntime::Of(queue).WaitUntilConsumed(1));
}

TEST_F(AgentCaptureTest, ExitInAHandlerBeforeTheLaunchLetsItGo) {
  ExitInACapture([] { FakeMemory::on_copy = []() -> bool { exit(7); }; });
}

TEST_F(AgentCaptureTest, ExitInAHandlerAfterTheLaunchCompletesItsSignal) {
  ExitInACapture([] { FakeRuntime::interruption = [] { exit(7); }; });
}

}  // namespace
}  // namespace rochound::agent
