// SPDX-License-Identifier: MIT
#include "softgpu/driver/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "softgpu/driver/test_support.h"

namespace rochound::softgpu {
namespace {

constexpr char kConf[] =
    "name test\nmarketing_name A GPU for tests\ntarget gfx1030\nnode %u\ngpu_id %u\n"
    "render_minor %u\ndevice_id 1\nrevision_id 2\nfamily_id 143\nasic_revision 1\n"
    "vram_bytes 17163091968\nvram_type 9\nvram_width_bits 256\nvram_host_visible 1\n"
    "memory_clock_mhz 1000\nengine_clock_mhz 2250\ncounter_khz 100000\ncu_count 72\nnum_xcc 1\n"
    "shader_engines 4\narrays_per_engine 2\nsimd_per_cu 2\nmax_waves_per_simd 16\n"
    "lds_bytes 65536\ngws 64\nsomething_newer 1\n";

std::string Conf(uint32_t node) {
  char text[2048];
  snprintf(text, sizeof(text), kConf, node, 50000 + node, 127 + node);
  return text;
}

// One driver for all tests of the process, as for a program: there is no way to take it back.
class DriverTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static auto directory =
        base::TempDir::Create(std::filesystem::temp_directory_path(), "softgpu-driver-test");
    ASSERT_TRUE(directory.ok());
    const auto devices = directory.value().path() / "devices";
    std::filesystem::create_directories(devices);
    for (uint32_t node : {1u, 2u})
      ASSERT_TRUE(base::WriteFile(devices / (std::to_string(node) + ".conf"), Conf(node)).ok());
    setenv("ROCHOUND_SOFTGPU_ROOT", directory.value().path().c_str(), 1);
    ASSERT_NE(Driver::Open(), nullptr);
  }

  DriverTest() : driver_(*Driver::Open()) {
    kfd_ = driver_.OpenKfd(O_RDWR | O_CLOEXEC);
    EXPECT_GE(kfd_, 0);
    // As devices are never destroyed, the driver may still point to one after the test.
    static auto& devices = *new std::vector<std::unique_ptr<FakeDevice>>;
    devices.push_back(std::make_unique<FakeDevice>());
    device_ = devices.back().get();
    driver_.gpus()[0]->device = device_;
  }
  ~DriverTest() override {
    driver_.CloseFile(kfd_);
    close(kfd_);
  }

  template <typename Args>
  int Ioctl(uint32_t number, Args& args) {
    return driver_.Control(kfd_, _IOC(_IOC_READ | _IOC_WRITE, 'K', number, sizeof(Args)), &args);
  }

  Driver& driver_;
  FakeDevice* device_ = nullptr;
  int kfd_ = -1;
};

TEST_F(DriverTest, Version) {
  kfd::GetVersionArgs args{};
  EXPECT_EQ(Ioctl(kfd::kGetVersion, args), 0);
  EXPECT_EQ(args.major, 1u);
  EXPECT_EQ(args.minor, 18u);
}

TEST_F(DriverTest, UnknownIoctlIsRefusedAndNamed) {
  testing::internal::CaptureStderr();
  uint64_t nothing = 0;
  EXPECT_EQ(Ioctl(0x7F, nothing), -ENOTTY);
  EXPECT_EQ(Ioctl(kfd::kSmiEvents, nothing), -EINVAL);
  EXPECT_EQ(Ioctl(kfd::kDbgTrap, nothing), -EINVAL);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("rochound softgpu: KFD ioctl 0xc0084b7f (number 0x7f) is not known\n"),
            said.npos)
      << said;
  EXPECT_NE(said.find("SMI_EVENTS"), said.npos) << said;
  EXPECT_EQ(said.find("DBG_TRAP"), said.npos) << "runtimes ask for it to find out: " << said;
}

TEST_F(DriverTest, OlderProgramsPassShorterStructures) {
  // CREATE_QUEUE before 1.17 had no engine id: 88 bytes. What lies after must not be touched.
  alignas(8) uint8_t memory[sizeof(kfd::CreateQueueArgs)];
  memset(memory, 0xEE, sizeof(memory));
  kfd::CreateQueueArgs args{};
  args.gpu_id = 50001;
  args.queue_type = kfd::kQueueSdma;
  args.ring_base_address = 0x1000;
  args.ring_size = 4096;
  args.read_pointer_address = 0x2000;
  args.write_pointer_address = 0x2008;
  args.queue_percentage = 100;
  memcpy(memory, &args, 88);
  ASSERT_EQ(driver_.Control(kfd_, _IOC(_IOC_READ | _IOC_WRITE, 'K', kfd::kCreateQueue, 88), memory),
            0);
  memcpy(&args, memory, 88);
  EXPECT_EQ(device_->queues.count(args.queue_id), 1u);
  EXPECT_EQ(args.doorbell_offset & kfd::kMmapTypeMask, kfd::kMmapDoorbell);
  for (size_t i = 88; i < sizeof(memory); ++i) EXPECT_EQ(memory[i], 0xEE) << i;
  kfd::QueueIdArgs id{args.queue_id, 0};
  EXPECT_EQ(Ioctl(kfd::kDestroyQueue, id), 0);
  EXPECT_EQ(Ioctl(kfd::kDestroyQueue, id), -EINVAL);
}

TEST_F(DriverTest, AperturesOfEveryGpu) {
  kfd::ProcessApertures apertures[8] = {};
  kfd::GetProcessAperturesNewArgs args{};
  EXPECT_EQ(Ioctl(kfd::kGetProcessAperturesNew, args), 0);
  EXPECT_EQ(args.num_of_nodes, 2u) << "with no space: how many there are";
  args.num_of_nodes = 8;
  args.apertures_ptr = reinterpret_cast<uint64_t>(apertures);
  EXPECT_EQ(Ioctl(kfd::kGetProcessAperturesNew, args), 0);
  EXPECT_EQ(args.num_of_nodes, 2u);
  EXPECT_EQ(apertures[1].gpu_id, 50002u);
  EXPECT_EQ(apertures[0].lds_base, uint64_t{1} << 48);
  EXPECT_EQ(apertures[0].gpuvm_limit, (uint64_t{1} << 47) - 1);
  EXPECT_EQ(apertures[2].gpu_id, 0u);
}

TEST_F(DriverTest, ClocksNameOneMomentInTheirDomains) {
  kfd::GetClockCountersArgs args{};
  args.gpu_id = 50001;
  timespec before;
  timespec after;
  clock_gettime(CLOCK_MONOTONIC_RAW, &before);
  EXPECT_EQ(Ioctl(kfd::kGetClockCounters, args), 0);
  clock_gettime(CLOCK_MONOTONIC_RAW, &after);
  const uint64_t low = before.tv_sec * 1000000000ull + before.tv_nsec;
  const uint64_t high = after.tv_sec * 1000000000ull + after.tv_nsec;
  EXPECT_GE(args.gpu_clock_counter * 10 + 10, low);
  EXPECT_LE(args.gpu_clock_counter * 10, high);
  EXPECT_EQ(args.cpu_clock_counter, args.gpu_clock_counter * 10);
  EXPECT_EQ(args.system_clock_freq, 1000000000u);
  EXPECT_GT(args.system_clock_counter, 0u);
}

TEST_F(DriverTest, EventsLiveOnThePageThatTheProgramGives) {
  kfd::AllocMemoryArgs page{};
  page.gpu_id = 50001;
  page.va_addr = 0x20'0000'0000;
  page.size = kfd::kSignalEventLimit * 8;
  page.flags = kfd::kAllocGtt | kfd::kAllocWritable;
  ASSERT_EQ(Ioctl(kfd::kAllocMemory, page), 0);
  kfd::CreateEventArgs first{};
  first.event_page_offset = page.handle;
  first.auto_reset = 1;
  ASSERT_EQ(Ioctl(kfd::kCreateEvent, first), 0);
  kfd::CreateEventArgs second{};
  ASSERT_EQ(Ioctl(kfd::kCreateEvent, second), 0);
  kfd::CreateEventArgs memory_event{};
  memory_event.event_type = kfd::kEventMemory;
  ASSERT_EQ(Ioctl(kfd::kCreateEvent, memory_event), 0);
  for (const auto& event : {first, second, memory_event}) EXPECT_NE(event.event_page_offset, 0u);
  EXPECT_EQ(second.event_slot_index, second.event_id);
  EXPECT_GE(memory_event.event_slot_index, kfd::kSignalEventLimit);

  driver_.OnInterrupt(50001, second.event_id);
  kfd::EventData data[2] = {};
  data[0].event_id = first.event_id;
  data[1].event_id = second.event_id;
  data[1].last_event_age = 1;
  kfd::WaitEventsArgs wait{};
  wait.events_ptr = reinterpret_cast<uint64_t>(data);
  wait.num_events = 2;
  wait.timeout = 10000;
  EXPECT_EQ(Ioctl(kfd::kWaitEvents, wait), 0);
  EXPECT_EQ(wait.wait_result, kfd::kWaitComplete);
  EXPECT_EQ(data[1].last_event_age, 2u);
  EXPECT_EQ(device_->kicks, 0) << "nothing to wait for";
  wait.num_events = 1;
  wait.timeout = 0;
  EXPECT_EQ(Ioctl(kfd::kWaitEvents, wait), 0);
  EXPECT_EQ(wait.wait_result, kfd::kWaitTimeout);
  EXPECT_EQ(device_->kicks, 1);

  MemoryFault fault;
  fault.address = 0x123456;
  fault.access = kWrite;
  testing::internal::CaptureStderr();
  driver_.OnMemoryFault(50001, 1, fault, "what happened");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "rochound softgpu: what happened\n");
  data[0] = {};
  data[0].event_id = memory_event.event_id;
  EXPECT_EQ(Ioctl(kfd::kWaitEvents, wait), 0);
  EXPECT_EQ(wait.wait_result, kfd::kWaitComplete);
  EXPECT_EQ(data[0].memory_exception.address, 0x123000u);
  EXPECT_EQ(data[0].memory_exception.gpu_id, 50001u);
  EXPECT_EQ(data[0].memory_exception.not_present, 1u);
  EXPECT_EQ(data[0].memory_exception.read_only, 0u);
}

// What a runtime gives the driver when it makes a queue.
struct RuntimeQueue {
  alignas(64) amd_queue_t queue{};
  alignas(64) amd_signal_t inactive{};
  uint64_t mailbox = 0;
  alignas(64) kfd::ContextSaveAreaHeader context{};
  uint64_t payload = 0;
  uint32_t id = 0;
  uint64_t doorbell_offset = 0;
};

class QueueErrorTest : public DriverTest {
 protected:
  void Create(RuntimeQueue& runtime) {
    kfd::CreateEventArgs event{};
    ASSERT_EQ(Ioctl(kfd::kCreateEvent, event), 0);
    event_ = event.event_id;
    runtime.inactive.event_id = event_;
    runtime.inactive.event_mailbox_ptr = reinterpret_cast<uint64_t>(&runtime.mailbox);
    runtime.queue.queue_inactive_signal.handle = reinterpret_cast<uint64_t>(&runtime.inactive);
    runtime.context.err_event_id = event_;
    runtime.context.err_payload_address = reinterpret_cast<uint64_t>(&runtime.payload);
    kfd::CreateQueueArgs args{};
    args.gpu_id = 50001;
    args.queue_type = kfd::kQueueComputeAql;
    args.ring_base_address = 0x1000;
    args.ring_size = 4096;
    args.read_pointer_address = reinterpret_cast<uint64_t>(&runtime.queue.read_dispatch_id);
    args.write_pointer_address = reinterpret_cast<uint64_t>(&runtime.queue.write_dispatch_id);
    args.queue_percentage = 100;
    args.ctx_save_restore_address = reinterpret_cast<uint64_t>(&runtime.context);
    ASSERT_EQ(Ioctl(kfd::kCreateQueue, args), 0);
    runtime.id = args.queue_id;
    runtime.doorbell_offset = args.doorbell_offset;
  }

  void Destroy(RuntimeQueue& runtime) {
    kfd::QueueIdArgs args{runtime.id, 0};
    EXPECT_EQ(Ioctl(kfd::kDestroyQueue, args), 0);
  }

  bool EventSignaled() {
    kfd::EventData data{};
    data.event_id = event_;
    kfd::WaitEventsArgs wait{};
    wait.events_ptr = reinterpret_cast<uint64_t>(&data);
    wait.num_events = 1;
    EXPECT_EQ(Ioctl(kfd::kWaitEvents, wait), 0);
    return wait.wait_result == kfd::kWaitComplete;
  }

  void Fail(RuntimeQueue& runtime, QueueError error) {
    testing::internal::CaptureStderr();
    driver_.OnQueueError(50001, runtime.id, error, "broken");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "rochound softgpu: broken\n");
  }

  uint32_t event_ = 0;
};

TEST_F(QueueErrorTest, IsWrittenToTheInactiveSignal) {
  RuntimeQueue runtime;
  Create(runtime);
  EXPECT_EQ(*device_->queues[runtime.id].doorbell, ~uint64_t{0});
  Fail(runtime, QueueError::kIllegalInstruction);
  EXPECT_EQ(runtime.inactive.value, 0x40000000);
  EXPECT_EQ(runtime.mailbox, event_);
  EXPECT_EQ(runtime.payload, 0u);
  EXPECT_TRUE(EventSignaled());
  Destroy(runtime);
  Fail(runtime, QueueError::kTrap);  // too late: nobody listens
  EXPECT_EQ(runtime.inactive.value, 0x40000000);
}

TEST_F(DriverTest, InjectedFaultsAreLoggedWhenAskedFor) {
  auto folder = base::TempDir::Create(std::filesystem::temp_directory_path(), "softgpu-faults");
  ASSERT_TRUE(folder.ok());
  const std::string file = folder.value().path() / "log";
  driver_.OnInjectedFault(50001, 3, "early-packets", 17, "Add");
  setenv("ROCHOUND_SOFTGPU_FAULT_LOG", file.c_str(), 1);
  driver_.OnInjectedFault(50001, 3, "drop-completions", 18, "Add");
  driver_.OnInjectedFault(50001, 4, "early-packets", 0, "");
  unsetenv("ROCHOUND_SOFTGPU_FAULT_LOG");
  const std::string process = "{\"process\": " + std::to_string(getpid());
  EXPECT_EQ(base::ReadFile(file).value(),
            process +
                ", \"gpu_id\": 50001, \"queue\": 3, \"fault\": \"drop-completions\", "
                "\"packet\": 18, \"kernel\": \"Add\"}\n" +
                process +
                ", \"gpu_id\": 50001, \"queue\": 4, \"fault\": \"early-packets\", "
                "\"packet\": 0, \"kernel\": \"\"}\n");
}

TEST_F(QueueErrorTest, IsAnExceptionBitForARuntimeThatAskedForIt) {
  kfd::RuntimeEnableArgs enable{};
  enable.mode_mask = 1;
  ASSERT_EQ(Ioctl(kfd::kRuntimeEnable, enable), 0);
  EXPECT_NE(enable.capabilities_mask, 0u);
  RuntimeQueue runtime;
  Create(runtime);
  EXPECT_EQ(Ioctl(kfd::kRuntimeEnable, enable), -EEXIST) << "there is a queue already";
  Fail(runtime, QueueError::kIllegalInstruction);
  EXPECT_EQ(runtime.payload, 8u);
  runtime.payload = 0;
  Fail(runtime, QueueError::kInactivated);
  EXPECT_EQ(runtime.payload, 1u);
  EXPECT_EQ(runtime.inactive.value, 0);
  EXPECT_TRUE(EventSignaled());
  Destroy(runtime);
  enable.mode_mask = 0;
  EXPECT_EQ(Ioctl(kfd::kRuntimeEnable, enable), 0);
}

TEST_F(QueueErrorTest, DoorbellIsTheProgramsToRing) {
  RuntimeQueue runtime;
  Create(runtime);
  void* page = nullptr;
  const uint64_t offset = runtime.doorbell_offset & ~uint64_t{kfd::kDoorbellPageBytes - 1};
  ASSERT_EQ(driver_.Map(kfd_, nullptr, kfd::kDoorbellPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                        static_cast<int64_t>(offset), &page),
            0);
  const uint64_t slot = runtime.doorbell_offset % kfd::kDoorbellPageBytes / 8;
  static_cast<uint64_t*>(page)[slot] = 3;
  EXPECT_EQ(*device_->queues[runtime.id].doorbell, 3u);
  const pid_t child = fork();
  if (child == 0) _exit(msync(page, 4096, MS_ASYNC) == -1 && errno == ENOMEM ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "a forked child has its parent's doorbells";
  munmap(page, kfd::kDoorbellPageBytes);
  Destroy(runtime);
}

TEST_F(DriverTest, ADescriptorThatIsNoLongerOursIsNotHijacked) {
  const int render = driver_.OpenRender(128, O_RDWR);
  ASSERT_GE(render, 0);
  const int other = memfd_create("other", 0);
  ASSERT_EQ(dup2(other, render), render);  // the driver does not hear of it
  void* mapped = nullptr;
  EXPECT_EQ(driver_.Map(render, nullptr, 4096, PROT_READ, MAP_SHARED, 0, &mapped), kSoftgpuNotOurs);
  EXPECT_EQ(driver_.Control(render, 0xc0086441, nullptr), -EBADF);
  close(other);
  close(render);
  EXPECT_EQ(driver_.OpenRender(200, O_RDWR), -ENOENT);
}

TEST_F(DriverTest, LibdrmsDeviceHasADescriptorOfItsOwn) {
  const int render = driver_.OpenRender(129, O_RDWR);
  Gpu* gpu = nullptr;
  ASSERT_EQ(driver_.InitializeDrm(render, &gpu), 0);
  EXPECT_EQ(gpu->facts.gpu_id, 50002u);
  EXPECT_NE(gpu->drm_fd, render);
  driver_.CloseFile(render);
  close(render);
  EXPECT_EQ(driver_.RenderGpu(gpu->drm_fd), gpu);
  driver_.DeinitializeDrm(*gpu);
  EXPECT_EQ(gpu->drm_fd, -1);
}

TEST_F(DriverTest, AForkedChildStartsAnewAndTheParentGoesOn) {
  kfd::AllocMemoryArgs buffer{};
  buffer.gpu_id = 50001;
  buffer.va_addr = 0x30'0000'0000;
  buffer.size = 4096;
  buffer.flags = kfd::kAllocVram | kfd::kAllocWritable;
  ASSERT_EQ(Ioctl(kfd::kAllocMemory, buffer), 0);
  const pid_t child = fork();
  if (child == 0) {
    // Failures are told by the exit code: each step has its own.
    if (!device_->abandoned) _exit(2);
    if (Driver::Current() != nullptr) _exit(3);
    Driver* fresh = Driver::Open();
    if (fresh == nullptr || fresh == &driver_) _exit(4);
    kfd::GetVersionArgs version{};
    const unsigned long request = _IOC(_IOC_READ, 'K', kfd::kGetVersion, sizeof(version));
    if (fresh->Control(kfd_, request, &version) != -EBADF) _exit(5);
    const int kfd = fresh->OpenKfd(O_RDWR);
    if (kfd < 0 || fresh->Control(kfd, request, &version) != 0) _exit(6);
    kfd::FreeMemoryArgs free{buffer.handle};
    if (fresh->Control(kfd, _IOC(_IOC_WRITE, 'K', kfd::kFreeMemory, 8), &free) != -EINVAL) _exit(7);
    kfd::AllocMemoryArgs own = buffer;
    if (fresh->Control(kfd, _IOC(_IOC_READ | _IOC_WRITE, 'K', kfd::kAllocMemory, sizeof(own)),
                       &own) != 0)
      _exit(8);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "exit code " << WEXITSTATUS(status);
  EXPECT_FALSE(device_->abandoned);
  kfd::FreeMemoryArgs free{buffer.handle};
  EXPECT_EQ(Ioctl(kfd::kFreeMemory, free), 0);
}

TEST(DeviceTree, SaysWhatIsWrong) {
  EXPECT_TRUE(ParseGpuFacts(Conf(1)).ok());
  EXPECT_EQ(ParseGpuFacts(Conf(1)).value().marketing_name, "A GPU for tests");
  std::string without = Conf(1);
  without.erase(without.find("cu_count"), strlen("cu_count 72\n"));
  EXPECT_EQ(ParseGpuFacts(without).error().message, "'cu_count' is missing");
  std::string wrong = Conf(1);
  wrong.replace(wrong.find("cu_count 72"), strlen("cu_count 72"), "cu_count 7x");
  EXPECT_EQ(ParseGpuFacts(wrong).error().message, "'cu_count' is not a number that fits");
  EXPECT_FALSE(ReadDeviceTree("/nonexistent").ok());
}

}  // namespace
}  // namespace rochound::softgpu
