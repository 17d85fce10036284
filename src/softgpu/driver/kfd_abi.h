// SPDX-License-Identifier: MIT
//
// The kernel's interface of /dev/kfd as far as the driver answers it: ioctl numbers, argument
// structures, flags. Not taken from <linux/kfd_ioctl.h>, which differs in age between the systems
// that we build on. The sizes are part of the ioctl number, so a program built against an older
// interface passes a shorter structure: see kfd.cpp.
#pragma once

#include <cstdint>

namespace rochound::softgpu::kfd {

inline constexpr uint32_t kMajorVersion = 1;
inline constexpr uint32_t kMinorVersion = 18;
inline constexpr char kIoctlType = 'K';

// Every number the interface has, known to us or not, so that a refusal can name it.
enum Ioctl : uint32_t {
  kGetVersion = 0x01,
  kCreateQueue = 0x02,
  kDestroyQueue = 0x03,
  kSetMemoryPolicy = 0x04,
  kGetClockCounters = 0x05,
  kGetProcessApertures = 0x06,
  kUpdateQueue = 0x07,
  kCreateEvent = 0x08,
  kDestroyEvent = 0x09,
  kSetEvent = 0x0A,
  kResetEvent = 0x0B,
  kWaitEvents = 0x0C,
  kDbgRegister = 0x0D,
  kDbgUnregister = 0x0E,
  kDbgAddressWatch = 0x0F,
  kDbgWaveControl = 0x10,
  kSetScratchBackingVa = 0x11,
  kGetTileConfig = 0x12,
  kSetTrapHandler = 0x13,
  kGetProcessAperturesNew = 0x14,
  kAcquireVm = 0x15,
  kAllocMemory = 0x16,
  kFreeMemory = 0x17,
  kMapMemory = 0x18,
  kUnmapMemory = 0x19,
  kSetCuMask = 0x1A,
  kGetQueueWaveState = 0x1B,
  kGetDmabufInfo = 0x1C,
  kImportDmabuf = 0x1D,
  kAllocQueueGws = 0x1E,
  kSmiEvents = 0x1F,
  kSvm = 0x20,
  kSetXnackMode = 0x21,
  kCriu = 0x22,
  kAvailableMemory = 0x23,
  kExportDmabuf = 0x24,
  kRuntimeEnable = 0x25,
  kDbgTrap = 0x26,
  // Out of the mainline kernel's range: AMD's own driver.
  kIpcImportHandle = 0x80,
  kIpcExportHandle = 0x81,
  kDbgTrapOld = 0x82,
  kCrossMemoryCopy = 0x83,
  kSpm = 0x84,
  kPcSample = 0x85,
};

struct GetVersionArgs {
  uint32_t major;
  uint32_t minor;
};
static_assert(sizeof(GetVersionArgs) == 8);

enum QueueType : uint32_t {
  kQueueCompute = 0,
  kQueueSdma = 1,
  kQueueComputeAql = 2,
  kQueueSdmaXgmi = 3,
  kQueueSdmaByEngine = 4,
};

struct CreateQueueArgs {
  uint64_t ring_base_address;
  uint64_t write_pointer_address;
  uint64_t read_pointer_address;
  uint64_t doorbell_offset;  // out
  uint32_t ring_size;
  uint32_t gpu_id;
  uint32_t queue_type;
  uint32_t queue_percentage;
  uint32_t queue_priority;
  uint32_t queue_id;  // out
  uint64_t eop_buffer_address;
  uint64_t eop_buffer_size;
  uint64_t ctx_save_restore_address;
  uint32_t ctx_save_restore_size;
  uint32_t ctl_stack_size;
  uint32_t sdma_engine_id;  // since 1.17
  uint32_t pad;
};
static_assert(sizeof(CreateQueueArgs) == 96);

struct QueueIdArgs {  // DESTROY_QUEUE
  uint32_t queue_id;
  uint32_t pad;
};
static_assert(sizeof(QueueIdArgs) == 8);

struct UpdateQueueArgs {
  uint64_t ring_base_address;
  uint32_t queue_id;
  uint32_t ring_size;
  uint32_t queue_percentage;
  uint32_t queue_priority;
};
static_assert(sizeof(UpdateQueueArgs) == 24);

struct SetCuMaskArgs {
  uint32_t queue_id;
  uint32_t num_cu_mask;  // bits
  uint64_t cu_mask_ptr;
};
static_assert(sizeof(SetCuMaskArgs) == 16);

struct SetMemoryPolicyArgs {
  uint64_t alternate_aperture_base;
  uint64_t alternate_aperture_size;
  uint32_t gpu_id;
  uint32_t default_policy;
  uint32_t alternate_policy;
  uint32_t misc_process_flag;
};
static_assert(sizeof(SetMemoryPolicyArgs) == 32);

struct GetClockCountersArgs {
  uint64_t gpu_clock_counter;
  uint64_t cpu_clock_counter;
  uint64_t system_clock_counter;
  uint64_t system_clock_freq;
  uint32_t gpu_id;
  uint32_t pad;
};
static_assert(sizeof(GetClockCountersArgs) == 40);

struct ProcessApertures {
  uint64_t lds_base;
  uint64_t lds_limit;
  uint64_t scratch_base;
  uint64_t scratch_limit;
  uint64_t gpuvm_base;
  uint64_t gpuvm_limit;
  uint32_t gpu_id;
  uint32_t pad;
};
static_assert(sizeof(ProcessApertures) == 56);

inline constexpr uint32_t kOldApertureCount = 7;
struct GetProcessAperturesArgs {
  ProcessApertures apertures[kOldApertureCount];
  uint32_t num_of_nodes;
  uint32_t pad;
};
static_assert(sizeof(GetProcessAperturesArgs) == 400);

struct GetProcessAperturesNewArgs {
  uint64_t apertures_ptr;
  uint32_t num_of_nodes;
  uint32_t pad;
};
static_assert(sizeof(GetProcessAperturesNewArgs) == 16);

enum EventType : uint32_t {
  kEventSignal = 0,
  kEventNodeChange = 1,
  kEventDeviceStateChange = 2,
  kEventHwException = 3,
  kEventSystem = 4,
  kEventDebug = 5,
  kEventProfile = 6,
  kEventQueue = 7,
  kEventMemory = 8,
};

inline constexpr uint32_t kSignalEventLimit = 4096;
inline constexpr uint64_t kUnsignaledSlot = ~uint64_t{0};

struct CreateEventArgs {
  uint64_t event_page_offset;  // in: handle of the event page; out: offset for mmap
  uint32_t event_trigger_data;
  uint32_t event_type;
  uint32_t auto_reset;
  uint32_t node_id;
  uint32_t event_id;
  uint32_t event_slot_index;
};
static_assert(sizeof(CreateEventArgs) == 32);

struct EventIdArgs {  // DESTROY_EVENT, SET_EVENT, RESET_EVENT
  uint32_t event_id;
  uint32_t pad;
};
static_assert(sizeof(EventIdArgs) == 8);

struct MemoryExceptionData {
  uint32_t not_present;
  uint32_t read_only;
  uint32_t no_execute;
  uint32_t imprecise;
  uint64_t address;
  uint32_t gpu_id;
  uint32_t error_type;
};
static_assert(sizeof(MemoryExceptionData) == 32);

struct HwExceptionData {
  uint32_t reset_type;
  uint32_t reset_cause;
  uint32_t memory_lost;
  uint32_t gpu_id;
};
static_assert(sizeof(HwExceptionData) == 16);

struct EventData {
  union {
    MemoryExceptionData memory_exception;
    HwExceptionData hw_exception;
    uint64_t last_event_age;  // signal events, in and out; since 1.14
  };
  uint64_t extension_ptr;
  uint32_t event_id;
  uint32_t pad;
};
static_assert(sizeof(EventData) == 48);

enum WaitResult : uint32_t { kWaitComplete = 0, kWaitTimeout = 1, kWaitFail = 2 };
inline constexpr uint32_t kWaitForever = 0xFFFFFFFF;

struct WaitEventsArgs {
  uint64_t events_ptr;
  uint32_t num_events;
  uint32_t wait_for_all;
  uint32_t timeout;  // ms
  uint32_t wait_result;
};
static_assert(sizeof(WaitEventsArgs) == 24);

struct SetScratchBackingVaArgs {
  uint64_t va_addr;
  uint32_t gpu_id;
  uint32_t pad;
};
static_assert(sizeof(SetScratchBackingVaArgs) == 16);

struct GetTileConfigArgs {
  uint64_t tile_config_ptr;
  uint64_t macro_tile_config_ptr;
  uint32_t num_tile_configs;
  uint32_t num_macro_tile_configs;
  uint32_t gpu_id;
  uint32_t gb_addr_config;
  uint32_t num_banks;
  uint32_t num_ranks;
};
static_assert(sizeof(GetTileConfigArgs) == 40);

struct SetTrapHandlerArgs {
  uint64_t tba_addr;
  uint64_t tma_addr;
  uint32_t gpu_id;
  uint32_t pad;
};
static_assert(sizeof(SetTrapHandlerArgs) == 24);

struct AcquireVmArgs {
  uint32_t drm_fd;
  uint32_t gpu_id;
};
static_assert(sizeof(AcquireVmArgs) == 8);

enum AllocFlags : uint32_t {
  kAllocVram = 1u << 0,
  kAllocGtt = 1u << 1,
  kAllocUserptr = 1u << 2,
  kAllocDoorbell = 1u << 3,
  kAllocMmioRemap = 1u << 4,
  kAllocTypeMask = 0x1F,
  kAllocWritable = 1u << 31,
  kAllocExecutable = 1u << 30,
  kAllocPublic = 1u << 29,
  kAllocAqlQueueMem = 1u << 27,
};

struct AllocMemoryArgs {
  uint64_t va_addr;
  uint64_t size;
  uint64_t handle;       // out
  uint64_t mmap_offset;  // in for user memory: its address; else out
  uint32_t gpu_id;
  uint32_t flags;
};
static_assert(sizeof(AllocMemoryArgs) == 40);

struct FreeMemoryArgs {
  uint64_t handle;
};
static_assert(sizeof(FreeMemoryArgs) == 8);

struct AvailableMemoryArgs {
  uint64_t available;
  uint32_t gpu_id;
  uint32_t pad;
};
static_assert(sizeof(AvailableMemoryArgs) == 16);

struct MapMemoryArgs {  // UNMAP_MEMORY too
  uint64_t handle;
  uint64_t device_ids_ptr;
  uint32_t n_devices;
  uint32_t n_success;  // in and out
};
static_assert(sizeof(MapMemoryArgs) == 24);

struct AllocQueueGwsArgs {
  uint32_t queue_id;
  uint32_t num_gws;
  uint32_t first_gws;
  uint32_t pad;
};
static_assert(sizeof(AllocQueueGwsArgs) == 16);

struct GetDmabufInfoArgs {
  uint64_t size;
  uint64_t metadata_ptr;
  uint32_t metadata_size;  // in and out
  uint32_t gpu_id;
  uint32_t flags;
  uint32_t dmabuf_fd;
};
static_assert(sizeof(GetDmabufInfoArgs) == 32);

struct ImportDmabufArgs {
  uint64_t va_addr;
  uint64_t handle;  // out
  uint32_t gpu_id;
  uint32_t dmabuf_fd;
};
static_assert(sizeof(ImportDmabufArgs) == 24);

struct ExportDmabufArgs {
  uint64_t handle;
  uint32_t flags;
  uint32_t dmabuf_fd;  // out
};
static_assert(sizeof(ExportDmabufArgs) == 16);

struct IpcExportHandleArgs {
  uint64_t handle;
  uint32_t share_handle[4];  // out
  uint32_t gpu_id;
  uint32_t flags;
};
static_assert(sizeof(IpcExportHandleArgs) == 32);

struct IpcImportHandleArgs {
  uint64_t handle;  // out
  uint64_t va_addr;
  uint64_t mmap_offset;  // out
  uint32_t share_handle[4];
  uint32_t gpu_id;
  uint32_t flags;  // out
};
static_assert(sizeof(IpcImportHandleArgs) == 48);

struct SetXnackModeArgs {
  int32_t xnack_enabled;  // negative: only ask
};
static_assert(sizeof(SetXnackModeArgs) == 4);

// Shared virtual memory: attributes of ranges of the program's own addresses.
enum SvmOperation : uint32_t { kSvmSet = 0, kSvmGet = 1 };
enum SvmAttributeType : uint32_t {
  kSvmPreferredLocation = 0,
  kSvmPrefetchLocation = 1,
  kSvmAccess = 2,
  kSvmAccessInPlace = 3,
  kSvmNoAccess = 4,
  kSvmSetFlags = 5,
  kSvmClearFlags = 6,
  kSvmGranularity = 7,
};
enum SvmFlags : uint32_t {
  kSvmHostAccess = 1u << 0,
  kSvmCoherent = 1u << 1,
  kSvmGpuReadOnly = 1u << 3,
  kSvmGpuExecute = 1u << 4,
  kSvmAllFlags = 0xFF,
};
inline constexpr uint32_t kSvmLocationSystem = 0;
inline constexpr uint32_t kSvmLocationUndefined = 0xFFFFFFFF;

struct SvmAttribute {
  uint32_t type;
  uint32_t value;
};

struct SvmArgs {  // followed by nattr attributes
  uint64_t start_address;
  uint64_t size;
  uint32_t operation;
  uint32_t attribute_count;
};
static_assert(sizeof(SvmArgs) == 24);

enum RuntimeEnableBits : uint32_t {
  kRuntimeEnableMode = 1,
  // Says that the kernel takes GPU core dumps by itself, so that the runtime does not try to.
  kRuntimeCapsCoreDump = 0x80000000u,
};

struct RuntimeEnableArgs {
  uint64_t r_debug;
  uint32_t mode_mask;
  uint32_t capabilities_mask;  // out
};
static_assert(sizeof(RuntimeEnableArgs) == 16);

// What is at the start of a queue's context save area.
struct ContextSaveAreaHeader {
  uint32_t wave_state[4];
  uint32_t debug_offset;
  uint32_t debug_size;
  uint64_t err_payload_address;
  uint32_t err_event_id;
  uint32_t reserved;
};
static_assert(sizeof(ContextSaveAreaHeader) == 40);

// Bit number + 1 in the word at err_payload_address.
enum ExceptionCode : uint32_t {
  kWaveAbort = 1,
  kWaveTrap = 2,
  kWaveIllegalInstruction = 4,
  kWaveMemoryViolation = 5,
  kWaveApertureViolation = 6,
  kPacketDispatchCodeInvalid = 18,
  kPacketUnsupported = 20,
};
inline constexpr uint64_t ExceptionMask(ExceptionCode code) { return uint64_t{1} << (code - 1); }

// Offsets for mmap of /dev/kfd: a type, and the GPU's id where it matters.
inline constexpr uint64_t kMmapTypeMask = uint64_t{3} << 62;
inline constexpr uint64_t kMmapMmio = uint64_t{0} << 62;
inline constexpr uint64_t kMmapEvents = uint64_t{2} << 62;
inline constexpr uint64_t kMmapDoorbell = uint64_t{3} << 62;
inline constexpr uint64_t MmapGpu(uint32_t gpu_id) { return uint64_t{gpu_id & 0xFFFF} << 46; }
inline constexpr uint32_t GpuOfMmap(uint64_t offset) { return (offset >> 46) & 0xFFFF; }

inline constexpr uint32_t kDoorbellBytes = 8;
inline constexpr uint32_t kDoorbellPageBytes = 8192;

}  // namespace rochound::softgpu::kfd
