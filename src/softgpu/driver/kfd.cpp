// SPDX-License-Identifier: MIT
#include "softgpu/driver/kfd.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <time.h>

#include <algorithm>
#include <cstring>

#include "softgpu/driver/driver.h"
#include "softgpu/driver/kfd_abi.h"
#include "softgpu/driver/message.h"

namespace rochound::softgpu {
namespace {

uint64_t ClockNs(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// The answer for the GPU of that id, or -EINVAL if there is none.
template <typename Answer>
int WithGpu(Driver& driver, uint32_t gpu_id, Answer&& answer) {
  Gpu* gpu = driver.FindGpu(gpu_id);
  return gpu == nullptr ? -EINVAL : answer(*gpu);
}

// Settings of hardware that we do not have: the GPU must exist, that is all.
template <typename Args>
int AcceptForGpu(Driver& driver, Args& args) {
  return driver.FindGpu(args.gpu_id) == nullptr ? -EINVAL : 0;
}

int GetVersion(Driver&, kfd::GetVersionArgs& args) {
  args.major = kfd::kMajorVersion;
  args.minor = kfd::kMinorVersion;
  return 0;
}

kfd::ProcessApertures AperturesOf(const Gpu& gpu) {
  kfd::ProcessApertures apertures{};
  apertures.lds_base = kLdsApertureBase;
  apertures.lds_limit = kLdsApertureBase + kApertureSize - 1;
  apertures.scratch_base = kScratchApertureBase;
  apertures.scratch_limit = kScratchApertureBase + kApertureSize - 1;
  apertures.gpuvm_base = kGpuVmBase;
  apertures.gpuvm_limit = kGpuVmLimit;
  apertures.gpu_id = gpu.facts.gpu_id;
  return apertures;
}

int GetProcessApertures(Driver& driver, kfd::GetProcessAperturesArgs& args) {
  args.num_of_nodes = 0;
  for (const auto& gpu : driver.gpus()) {
    if (args.num_of_nodes == kfd::kOldApertureCount) break;
    args.apertures[args.num_of_nodes++] = AperturesOf(*gpu);
  }
  return 0;
}

int GetProcessAperturesNew(Driver& driver, kfd::GetProcessAperturesNewArgs& args) {
  const auto count = static_cast<uint32_t>(driver.gpus().size());
  const uint32_t space = args.num_of_nodes;
  args.num_of_nodes = space == 0 ? count : std::min(space, count);
  if (space == 0) return 0;
  auto* out = reinterpret_cast<kfd::ProcessApertures*>(args.apertures_ptr);
  if (out == nullptr) return -EFAULT;
  for (uint32_t i = 0; i < args.num_of_nodes; ++i) out[i] = AperturesOf(*driver.gpus()[i]);
  return 0;
}

int AcquireVm(Driver& driver, kfd::AcquireVmArgs& args) {
  return WithGpu(driver, args.gpu_id,
                 [&](Gpu& gpu) { return driver.AcquireVm(gpu, static_cast<int>(args.drm_fd)); });
}

int GetClockCounters(Driver&, kfd::GetClockCountersArgs& args) {
  args.gpu_clock_counter = GpuClockNow();
  // One reading for both, so that they name the same moment.
  args.cpu_clock_counter = args.gpu_clock_counter * (1'000'000'000 / kGpuClockHz);
  args.system_clock_counter = ClockNs(CLOCK_BOOTTIME);
  args.system_clock_freq = 1'000'000'000;
  return 0;
}

int GetTileConfig(Driver& driver, kfd::GetTileConfigArgs& args) {
  args.num_tile_configs = 0;  // there are no tiled images
  args.num_macro_tile_configs = 0;
  return AcceptForGpu(driver, args);
}

int CreateQueue(Driver& driver, kfd::CreateQueueArgs& args) {
  return WithGpu(driver, args.gpu_id, [&](Gpu& gpu) { return driver.queues().Create(gpu, args); });
}

int UpdateQueue(Driver& driver, kfd::UpdateQueueArgs& args) { return driver.queues().Update(args); }

int DestroyQueue(Driver& driver, kfd::QueueIdArgs& args) {
  return driver.queues().Destroy(args.queue_id);
}

int AllocQueueGws(Driver& driver, kfd::AllocQueueGwsArgs& args) {
  return driver.queues().AllocGws(args);
}

int SetCuMask(Driver& driver, kfd::SetCuMaskArgs& args) { return driver.queues().SetCuMask(args); }

int CreateEvent(Driver& driver, kfd::CreateEventArgs& args) {
  if (args.event_page_offset != 0) {
    // A dGPU's event page is memory that the program has allocated; it hands in the handle once.
    uint8_t* page = driver.memory().Alias(args.event_page_offset, kfd::kSignalEventLimit * 8);
    if (page == nullptr) return -EINVAL;
    if (const int error = driver.events().SetPage(reinterpret_cast<std::atomic<uint64_t>*>(page)))
      return error;
  }
  if (const int error =
          driver.events().Create(args.event_type, args.auto_reset != 0, &args.event_id))
    return error;
  const bool has_slot = args.event_id < kfd::kSignalEventLimit;
  // Not zero even for events without a slot: the runtime takes zero for "no event page".
  args.event_page_offset = kfd::kMmapEvents;
  args.event_slot_index = has_slot ? args.event_id : ~uint32_t{0};
  args.event_trigger_data = args.event_id;
  return 0;
}

int DestroyEvent(Driver& driver, kfd::EventIdArgs& args) {
  return driver.events().Destroy(args.event_id);
}

int SetEvent(Driver& driver, kfd::EventIdArgs& args) { return driver.events().Set(args.event_id); }

int ResetEvent(Driver& driver, kfd::EventIdArgs& args) {
  return driver.events().Reset(args.event_id);
}

int WaitEvents(Driver& driver, kfd::WaitEventsArgs& args) {
  auto* data = reinterpret_cast<kfd::EventData*>(args.events_ptr);
  return driver.events().Wait(data, args.num_events, args.wait_for_all != 0, args.timeout,
                              &args.wait_result, [&driver] { driver.KickDevices(); });
}

int AllocMemory(Driver& driver, kfd::AllocMemoryArgs& args) {
  return WithGpu(driver, args.gpu_id, [&](Gpu& gpu) { return driver.memory().Alloc(gpu, args); });
}

int FreeMemory(Driver& driver, kfd::FreeMemoryArgs& args) {
  return driver.memory().Free(args.handle);
}

int MapMemory(Driver& driver, kfd::MapMemoryArgs& args) { return driver.memory().Map(args); }

int UnmapMemory(Driver& driver, kfd::MapMemoryArgs& args) { return driver.memory().Unmap(args); }

int AvailableMemory(Driver& driver, kfd::AvailableMemoryArgs& args) {
  return WithGpu(driver, args.gpu_id, [&](Gpu& gpu) {
    args.available = driver.memory().Available(gpu);
    return 0;
  });
}

int ExportDmabuf(Driver& driver, kfd::ExportDmabufArgs& args) {
  return driver.memory().ExportDmabuf(args.handle, args.flags, &args.dmabuf_fd);
}

int ImportDmabuf(Driver& driver, kfd::ImportDmabufArgs& args) {
  return WithGpu(driver, args.gpu_id, [&](Gpu& gpu) {
    return driver.memory().ImportDmabuf(gpu, static_cast<int>(args.dmabuf_fd), args.va_addr,
                                        &args.handle);
  });
}

int GetDmabufInfo(Driver& driver, kfd::GetDmabufInfoArgs& args) {
  return driver.memory().DmabufInfo(args);
}

int IpcExportHandle(Driver& driver, kfd::IpcExportHandleArgs& args) {
  return driver.memory().ExportIpc(args.handle, args.share_handle);
}

int IpcImportHandle(Driver& driver, kfd::IpcImportHandleArgs& args) {
  return WithGpu(driver, args.gpu_id,
                 [&](Gpu& gpu) { return driver.memory().ImportIpc(gpu, args); });
}

int RuntimeEnable(Driver& driver, kfd::RuntimeEnableArgs& args) {
  const bool enable = (args.mode_mask & kfd::kRuntimeEnableMode) != 0;
  if (enable && !driver.queues().Empty()) return -EEXIST;
  driver.queues().EnableExceptions(enable);
  args.capabilities_mask = kfd::kRuntimeCapsCoreDump;
  return 0;
}

// No recoverable page faults: asking is allowed, switching them on is not.
int SetXnackMode(Driver&, kfd::SetXnackModeArgs& args) {
  if (args.xnack_enabled > 0) return -EPERM;
  args.xnack_enabled = 0;
  return 0;
}

// The one structure of variable length: the attributes are after it, and its size counts them.
int Svm(Driver& driver, unsigned long request, void* argument) {
  auto& args = *static_cast<kfd::SvmArgs*>(argument);
  if (_IOC_SIZE(request) < sizeof(args)) return -EINVAL;
  const size_t space = (_IOC_SIZE(request) - sizeof(args)) / sizeof(kfd::SvmAttribute);
  return args.attribute_count > space ? -EINVAL : driver.memory().Svm(args);
}

struct Ioctl {
  uint32_t number;
  const char* name;
  size_t size;  // of the structure
  int (*answer)(Driver& driver, void* arguments);
  bool refused_quietly = false;
  // Instead of `answer`: on the program's own structure.
  int (*answer_in_place)(Driver& driver, unsigned long request, void* argument) = nullptr;
};

template <typename Args>
Args ArgsOf(int (*)(Driver&, Args&));

template <auto Function>
constexpr Ioctl Answered(uint32_t number, const char* name) {
  using Args = decltype(ArgsOf(Function));
  return {number, name, sizeof(Args), [](Driver& driver, void* arguments) {
            return Function(driver, *static_cast<Args*>(arguments));
          }};
}

constexpr Ioctl Refused(uint32_t number, const char* name) { return {number, name, 0, nullptr}; }

// Runtimes try these to see whether the driver can do it; that is no news for the user.
constexpr Ioctl RefusedQuietly(uint32_t number, const char* name) {
  return {number, name, 0, nullptr, true};
}

constexpr Ioctl kIoctls[] = {
    Answered<&GetVersion>(kfd::kGetVersion, "GET_VERSION"),
    Answered<&CreateQueue>(kfd::kCreateQueue, "CREATE_QUEUE"),
    Answered<&DestroyQueue>(kfd::kDestroyQueue, "DESTROY_QUEUE"),
    Answered<&AcceptForGpu<kfd::SetMemoryPolicyArgs>>(kfd::kSetMemoryPolicy, "SET_MEMORY_POLICY"),
    Answered<&GetClockCounters>(kfd::kGetClockCounters, "GET_CLOCK_COUNTERS"),
    Answered<&GetProcessApertures>(kfd::kGetProcessApertures, "GET_PROCESS_APERTURES"),
    Answered<&UpdateQueue>(kfd::kUpdateQueue, "UPDATE_QUEUE"),
    Answered<&CreateEvent>(kfd::kCreateEvent, "CREATE_EVENT"),
    Answered<&DestroyEvent>(kfd::kDestroyEvent, "DESTROY_EVENT"),
    Answered<&SetEvent>(kfd::kSetEvent, "SET_EVENT"),
    Answered<&ResetEvent>(kfd::kResetEvent, "RESET_EVENT"),
    Answered<&WaitEvents>(kfd::kWaitEvents, "WAIT_EVENTS"),
    Refused(kfd::kDbgRegister, "DBG_REGISTER"),
    Refused(kfd::kDbgUnregister, "DBG_UNREGISTER"),
    Refused(kfd::kDbgAddressWatch, "DBG_ADDRESS_WATCH"),
    Refused(kfd::kDbgWaveControl, "DBG_WAVE_CONTROL"),
    Answered<&AcceptForGpu<kfd::SetScratchBackingVaArgs>>(kfd::kSetScratchBackingVa,
                                                          "SET_SCRATCH_BACKING_VA"),
    Answered<&GetTileConfig>(kfd::kGetTileConfig, "GET_TILE_CONFIG"),
    Answered<&AcceptForGpu<kfd::SetTrapHandlerArgs>>(kfd::kSetTrapHandler, "SET_TRAP_HANDLER"),
    Answered<&GetProcessAperturesNew>(kfd::kGetProcessAperturesNew, "GET_PROCESS_APERTURES_NEW"),
    Answered<&AcquireVm>(kfd::kAcquireVm, "ACQUIRE_VM"),
    Answered<&AllocMemory>(kfd::kAllocMemory, "ALLOC_MEMORY_OF_GPU"),
    Answered<&FreeMemory>(kfd::kFreeMemory, "FREE_MEMORY_OF_GPU"),
    Answered<&MapMemory>(kfd::kMapMemory, "MAP_MEMORY_TO_GPU"),
    Answered<&UnmapMemory>(kfd::kUnmapMemory, "UNMAP_MEMORY_FROM_GPU"),
    Answered<&SetCuMask>(kfd::kSetCuMask, "SET_CU_MASK"),
    Refused(kfd::kGetQueueWaveState, "GET_QUEUE_WAVE_STATE"),
    Answered<&GetDmabufInfo>(kfd::kGetDmabufInfo, "GET_DMABUF_INFO"),
    Answered<&ImportDmabuf>(kfd::kImportDmabuf, "IMPORT_DMABUF"),
    Answered<&AllocQueueGws>(kfd::kAllocQueueGws, "ALLOC_QUEUE_GWS"),
    Refused(kfd::kSmiEvents, "SMI_EVENTS"),
    {kfd::kSvm, "SVM", sizeof(kfd::SvmArgs), nullptr, false, &Svm},
    Answered<&SetXnackMode>(kfd::kSetXnackMode, "SET_XNACK_MODE"),
    Refused(kfd::kCriu, "CRIU_OP"),
    Answered<&AvailableMemory>(kfd::kAvailableMemory, "AVAILABLE_MEMORY"),
    Answered<&ExportDmabuf>(kfd::kExportDmabuf, "EXPORT_DMABUF"),
    Answered<&RuntimeEnable>(kfd::kRuntimeEnable, "RUNTIME_ENABLE"),
    RefusedQuietly(kfd::kDbgTrap, "DBG_TRAP"),
    Answered<&IpcImportHandle>(kfd::kIpcImportHandle, "IPC_IMPORT_HANDLE"),
    Answered<&IpcExportHandle>(kfd::kIpcExportHandle, "IPC_EXPORT_HANDLE"),
    RefusedQuietly(kfd::kDbgTrapOld, "DBG_TRAP, the one before 1.13"),
    Refused(kfd::kCrossMemoryCopy, "CROSS_MEMORY_COPY"),
    Refused(kfd::kSpm, "RLC_SPM"),
    Refused(kfd::kPcSample, "PC_SAMPLE"),
};

// A request also carries the structure's size, which has grown with the interface: whatever is
// passed is copied into a zeroed buffer and as many bytes are copied back, as the kernel does it.
constexpr size_t kArgumentsBuffer = 512;
constexpr bool AllFit() {
  for (const Ioctl& ioctl : kIoctls)
    if (ioctl.size > kArgumentsBuffer) return false;
  return true;
}
static_assert(AllFit());

const Ioctl* FindIoctl(unsigned long request) {
  if (_IOC_TYPE(request) != kfd::kIoctlType) return nullptr;
  for (const Ioctl& ioctl : kIoctls)
    if (ioctl.number == _IOC_NR(request)) return &ioctl;
  return nullptr;
}

}  // namespace

int AnswerKfdIoctl(Driver& driver, unsigned long request, void* argument) {
  const Ioctl* ioctl = FindIoctl(request);
  if (ioctl == nullptr) {
    PrintFormatted("KFD ioctl 0x%lx (number 0x%lx) is not known", request, _IOC_NR(request));
    return -ENOTTY;
  }
  if (ioctl->answer_in_place != nullptr)
    return argument == nullptr ? -EFAULT : ioctl->answer_in_place(driver, request, argument);
  if (ioctl->answer == nullptr) {
    if (!ioctl->refused_quietly)
      PrintFormatted("KFD ioctl 0x%x (%s) is not implemented", ioctl->number, ioctl->name);
    return -EINVAL;
  }
  if (argument == nullptr) return -EFAULT;
  alignas(8) uint8_t arguments[kArgumentsBuffer];
  const size_t passed = std::min<size_t>(_IOC_SIZE(request), sizeof(arguments));
  if (passed < ioctl->size) memset(arguments + passed, 0, ioctl->size - passed);
  memcpy(arguments, argument, passed);
  const int result = ioctl->answer(driver, arguments);
  memcpy(argument, arguments, passed);
  return result;
}

}  // namespace rochound::softgpu
