// SPDX-License-Identifier: MIT
#include "agent/fake_runtime.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"

namespace rochound::agent {
namespace {

constexpr hsa_agent_t kCpu{1};
constexpr hsa_agent_t kGpu{2};
constexpr uint64_t kTickNs = 10;
constexpr uint64_t kKernelTicks = 5;

base::Mutex queues_lock;
std::vector<std::unique_ptr<FakeQueue>> queues;

FakeQueue* Find(uint64_t doorbell) {
  const base::Lock lock(queues_lock);
  for (const auto& queue : queues)
    if (queue->handle()->doorbell_signal.handle == doorbell) return queue.get();
  return nullptr;
}

void Interrupt() {
  if (void (*const handler)() = std::exchange(FakeRuntime::interruption, nullptr)) handler();
}

amd_signal_t* Memory(hsa_signal_t signal) { return reinterpret_cast<amd_signal_t*>(signal.handle); }

hsa_status_t SignalCreate(hsa_signal_value_t value, uint32_t, const hsa_agent_t*,
                          hsa_signal_t* signal) {
  auto* memory = new amd_signal_t{};
  memory->kind = AMD_SIGNAL_KIND_USER;
  memory->value = value;
  signal->handle = reinterpret_cast<uint64_t>(memory);
  ++FakeRuntime::live_signals;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t AmdSignalCreate(hsa_signal_value_t value, uint32_t count, const hsa_agent_t* agents,
                             uint64_t, hsa_signal_t* signal) {
  Interrupt();
  return SignalCreate(value, count, agents, signal);
}

hsa_status_t SignalDestroy(hsa_signal_t signal) {
  delete Memory(signal);
  --FakeRuntime::live_signals;
  return HSA_STATUS_SUCCESS;
}

void SignalStore(hsa_signal_t signal, hsa_signal_value_t value) {
  if (Memory(signal)->kind == AMD_SIGNAL_KIND_USER) {
    __atomic_store_n(&Memory(signal)->value, value, __ATOMIC_RELEASE);
    return;
  }
  FakeQueue* queue = Find(signal.handle);
  const uint64_t count = static_cast<uint64_t>(value) + 1;
  uint64_t before = queue->doorbell.load();
  while (before < count && !queue->doorbell.compare_exchange_weak(before, count)) {
  }
}

void SignalAdd(hsa_signal_t signal, hsa_signal_value_t value) {
  Interrupt();
  __atomic_fetch_add(&Memory(signal)->value, value, __ATOMIC_ACQ_REL);
}

void SignalSubtract(hsa_signal_t signal, hsa_signal_value_t value) {
  __atomic_fetch_sub(&Memory(signal)->value, value, __ATOMIC_ACQ_REL);
}

hsa_signal_value_t SignalLoad(hsa_signal_t signal) {
  return __atomic_load_n(&Memory(signal)->value, __ATOMIC_ACQUIRE);
}

hsa_signal_value_t SignalAcquire(hsa_signal_t signal) {
  Interrupt();
  return SignalLoad(signal);
}

hsa_signal_value_t SignalExchange(hsa_signal_t signal, hsa_signal_value_t value) {
  Interrupt();
  return __atomic_exchange_n(&Memory(signal)->value, value, __ATOMIC_ACQ_REL);
}

hsa_signal_value_t SignalCas(hsa_signal_t signal, hsa_signal_value_t expected,
                             hsa_signal_value_t value) {
  Interrupt();
  __atomic_compare_exchange_n(&Memory(signal)->value, &expected, value, false, __ATOMIC_ACQ_REL,
                              __ATOMIC_ACQUIRE);
  return expected;
}

hsa_status_t QueueCreate(hsa_agent_t, uint32_t size, hsa_queue_type32_t,
                         void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data, uint32_t,
                         uint32_t, hsa_queue_t** queue) {
  FakeRuntime::last_callback = reinterpret_cast<uintptr_t>(callback);
  FakeRuntime::last_callback_data = data;
  const base::Lock lock(queues_lock);
  queues.push_back(std::make_unique<FakeQueue>(size));
  queues.back()->handle()->id = queues.size();
  *queue = queues.back()->handle();
  return HSA_STATUS_SUCCESS;
}

hsa_status_t SetProfilerEnabled(hsa_queue_t* queue, int enable) {
  FakeRuntime::Of(queue).KeepTimes(enable != 0);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t QueueDestroy(hsa_queue_t* queue) {
  const base::Lock lock(queues_lock);
  std::erase_if(queues, [&](const auto& one) { return one->handle() == queue; });
  return HSA_STATUS_SUCCESS;
}

uint64_t WriteIndex(const hsa_queue_t* queue) {
  return FakeRuntime::Of(const_cast<hsa_queue_t*>(queue)).write_.load();
}
uint64_t ReadIndex(const hsa_queue_t* queue) {
  return FakeRuntime::Of(const_cast<hsa_queue_t*>(queue)).read_.load();
}

hsa_status_t IterateAgents(hsa_status_t (*visit)(hsa_agent_t, void*), void* data) {
  const hsa_status_t status = visit(kCpu, data);
  return status == HSA_STATUS_SUCCESS ? visit(kGpu, data) : status;
}

hsa_status_t AgentInfo(hsa_agent_t agent, hsa_agent_info_t what, void* value) {
  const bool gpu = agent.handle == kGpu.handle;
  if (what == HSA_AGENT_INFO_DEVICE)
    *static_cast<hsa_device_type_t*>(value) = gpu ? HSA_DEVICE_TYPE_GPU : HSA_DEVICE_TYPE_CPU;
  else if (what == HSA_AGENT_INFO_NODE)
    *static_cast<uint32_t*>(value) = gpu ? 1 : 0;
  else if (static_cast<uint32_t>(what) == HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT)
    *static_cast<uint32_t*>(value) = gpu ? 40 : 4;
  else if (what == HSA_AGENT_INFO_WAVEFRONT_SIZE)
    *static_cast<uint32_t*>(value) = gpu ? 64 : 0;
  else
    std::strcpy(static_cast<char*>(value), gpu ? "fake gpu" : "fake cpu");
  return HSA_STATUS_SUCCESS;
}

hsa_status_t SystemInfo(hsa_system_info_t what, void* value) {
  if (what == HSA_SYSTEM_INFO_VERSION_MAJOR || what == HSA_SYSTEM_INFO_VERSION_MINOR)
    *static_cast<uint16_t*>(value) = 1;
  else
    *static_cast<uint64_t*>(value) = base::ClockNs(CLOCK_BOOTTIME);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t SymbolInfo(hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t what,
                        void* value) {
  const std::string name = "Kernel" + std::to_string(symbol.handle) + ".kd";
  switch (what) {
    case HSA_EXECUTABLE_SYMBOL_INFO_TYPE:
      *static_cast<hsa_symbol_kind_t*>(value) = HSA_SYMBOL_KIND_KERNEL;
      break;
    case HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH:
      *static_cast<uint32_t*>(value) = static_cast<uint32_t>(name.size());
      break;
    case HSA_EXECUTABLE_SYMBOL_INFO_NAME:
      std::memcpy(value, name.data(), name.size());
      break;
    case HSA_EXECUTABLE_SYMBOL_INFO_AGENT:
      *static_cast<hsa_agent_t*>(value) = kGpu;
      break;
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT:
      *static_cast<uint64_t*>(value) = symbol.handle * 64;
      break;
    default:
      *static_cast<uint32_t*>(value) = 16;
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t Convert(hsa_agent_t, uint64_t tick, uint64_t* system) {
  *system = tick * kTickNs;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t AsyncCopy(void* to, hsa_agent_t, const void* from, hsa_agent_t, size_t bytes, uint32_t,
                       const hsa_signal_t*, hsa_signal_t signal) {
  if (to == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  amd_signal_t* memory = Memory(signal);
  memory->start_ts = base::ClockNs(CLOCK_BOOTTIME);
  std::memcpy(to, from, bytes);
  memory->end_ts = base::ClockNs(CLOCK_BOOTTIME);
  __atomic_fetch_sub(&memory->value, 1, __ATOMIC_ACQ_REL);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t DispatchTime(hsa_agent_t, hsa_signal_t signal,
                          hsa_amd_profiling_dispatch_time_t* time) {
  *time = {Memory(signal)->start_ts, Memory(signal)->end_ts};
  return HSA_STATUS_SUCCESS;
}

hsa_status_t CopyTime(hsa_signal_t signal, hsa_amd_profiling_async_copy_time_t* time) {
  *time = {Memory(signal)->start_ts, Memory(signal)->end_ts};
  return HSA_STATUS_SUCCESS;
}

}  // namespace

std::atomic<int> FakeRuntime::live_signals{0};
std::atomic<uintptr_t> FakeRuntime::last_callback{0};
std::atomic<void*> FakeRuntime::last_callback_data{nullptr};
thread_local void (*FakeRuntime::interruption)() = nullptr;

FakeQueue::FakeQueue(uint32_t packets)
    : ring_(packets),
      doorbell_signal_(std::make_unique<amd_signal_t>()),
      inactive_signal_(std::make_unique<amd_signal_t>()) {
  for (auto& packet : ring_) packet.header = HSA_PACKET_TYPE_INVALID;
  doorbell_signal_->kind = AMD_SIGNAL_KIND_DOORBELL;
  structure_.hsa_queue.size = packets;
  structure_.hsa_queue.base_address = ring_.data();
  structure_.hsa_queue.doorbell_signal.handle = reinterpret_cast<uint64_t>(doorbell_signal_.get());
  structure_.queue_inactive_signal.handle = reinterpret_cast<uint64_t>(inactive_signal_.get());
  gpu_ = std::thread([this] { Consume(); });
}

FakeQueue::~FakeQueue() {
  stop_ = true;
  gpu_.join();
}

void FakeQueue::Write(uint64_t index, uint64_t kernel, hsa_signal_t signal, bool barrier) {
  hsa_kernel_dispatch_packet_t* packet = Packet(index);
  packet->setup = 1;
  packet->workgroup_size_x = 64;
  packet->workgroup_size_y = packet->workgroup_size_z = 1;
  packet->grid_size_x = 256;
  packet->grid_size_y = packet->grid_size_z = 1;
  packet->kernel_object = kernel;
  packet->completion_signal = signal;
  __atomic_store_n(&packet->header,
                   static_cast<uint16_t>(HSA_PACKET_TYPE_KERNEL_DISPATCH |
                                         (barrier ? 1 << HSA_PACKET_HEADER_BARRIER : 0)),
                   __ATOMIC_RELEASE);
}

void FakeQueue::KeepTimes(bool keep) {
  constexpr uint32_t kBit = AMD_QUEUE_PROPERTIES_ENABLE_PROFILING;
  if (keep)
    __atomic_fetch_or(&structure_.queue_properties, kBit, __ATOMIC_ACQ_REL);
  else
    __atomic_fetch_and(&structure_.queue_properties, ~kBit, __ATOMIC_ACQ_REL);
}

void FakeQueue::Complete(hsa_signal_t signal, uint64_t begin, uint64_t end) const {
  if (__atomic_load_n(&structure_.queue_properties, __ATOMIC_ACQUIRE) &
      AMD_QUEUE_PROPERTIES_ENABLE_PROFILING) {
    __atomic_store_n(&Memory(signal)->start_ts, begin, __ATOMIC_RELAXED);
    __atomic_store_n(&Memory(signal)->end_ts, end, __ATOMIC_RELAXED);
  }
  __atomic_fetch_sub(&Memory(signal)->value, 1, __ATOMIC_ACQ_REL);
}

bool FakeQueue::WaitUntilConsumed(uint64_t count) {
  for (int attempt = 0; attempt < 60'000 && read_ < count; ++attempt)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return read_ >= count;
}

uint64_t FakeQueue::CompleteLost() {
  const uint64_t end = lost_begin_ + kKernelTicks;
  Complete({lost_signal_}, lost_begin_, end);
  return end;
}

// In order, up to the doorbell, waiting at a packet that is not valid yet.
void FakeQueue::Consume() {
  while (!stop_) {
    const uint64_t at = read_.load();
    hsa_kernel_dispatch_packet_t* packet = Packet(at);
    if (held_ || doorbell.load() <= at ||
        (__atomic_load_n(&packet->header, __ATOMIC_ACQUIRE) & 0xff) == HSA_PACKET_TYPE_INVALID) {
      std::this_thread::yield();
      continue;
    }
    const uint64_t begin = base::ClockNs(CLOCK_BOOTTIME) / kTickNs;
    const hsa_signal_t signal = packet->completion_signal;
    __atomic_store_n(&packet->header, HSA_PACKET_TYPE_INVALID, __ATOMIC_RELEASE);
    const bool lost = lost_ == at;
    if (lost) {
      lost_signal_ = signal.handle;
      lost_begin_ = begin;
    }
    read_.store(at + 1);
    if (signal.handle != 0 && !lost) Complete(signal, begin, begin + kKernelTicks);
  }
}

FakeRuntime::FakeRuntime() {
  core_.version = {HSA_CORE_API_TABLE_MAJOR_VERSION, sizeof core_, 0, 0};
  core_.hsa_iterate_agents_fn = IterateAgents;
  core_.hsa_agent_get_info_fn = AgentInfo;
  core_.hsa_agent_iterate_isas_fn = [](hsa_agent_t, hsa_status_t (*)(hsa_isa_t, void*), void*) {
    return HSA_STATUS_SUCCESS;
  };
  core_.hsa_status_string_fn = [](hsa_status_t, const char** text) {
    *text = "a status";
    return HSA_STATUS_SUCCESS;
  };
  core_.hsa_system_get_info_fn = SystemInfo;
  core_.hsa_queue_create_fn = QueueCreate;
  core_.hsa_queue_destroy_fn = QueueDestroy;
  core_.hsa_queue_load_write_index_relaxed_fn = WriteIndex;
  core_.hsa_queue_load_write_index_scacquire_fn = WriteIndex;
  core_.hsa_queue_load_read_index_scacquire_fn = ReadIndex;
  core_.hsa_signal_create_fn = SignalCreate;
  core_.hsa_signal_destroy_fn = SignalDestroy;
  core_.hsa_signal_store_relaxed_fn = SignalStore;
  core_.hsa_signal_store_screlease_fn = SignalStore;
  core_.hsa_signal_silent_store_relaxed_fn = SignalStore;
  core_.hsa_signal_silent_store_screlease_fn = SignalStore;
  core_.hsa_signal_load_relaxed_fn = SignalLoad;
  core_.hsa_signal_load_scacquire_fn = SignalAcquire;
  core_.hsa_signal_subtract_screlease_fn = SignalSubtract;
  core_.hsa_signal_add_screlease_fn = SignalAdd;
  core_.hsa_signal_exchange_scacq_screl_fn = SignalExchange;
  core_.hsa_signal_cas_scacq_screl_fn = SignalCas;
  core_.hsa_executable_symbol_get_info_fn = SymbolInfo;
  amd_.version = {HSA_AMD_EXT_API_TABLE_MAJOR_VERSION, sizeof amd_, 0, 0};
  amd_.hsa_amd_signal_create_fn = AmdSignalCreate;
  // It has no pools, so that memory cannot be read: a launch that is to be captured is held, and
  // then let go as it is.
  amd_.hsa_amd_agent_iterate_memory_pools_fn = [](hsa_agent_t,
                                                  hsa_status_t (*)(hsa_amd_memory_pool_t, void*),
                                                  void*) { return HSA_STATUS_SUCCESS; };
  amd_.hsa_amd_memory_async_copy_fn = AsyncCopy;
  amd_.hsa_amd_profiling_get_dispatch_time_fn = DispatchTime;
  amd_.hsa_amd_profiling_get_async_copy_time_fn = CopyTime;
  amd_.hsa_amd_profiling_convert_tick_to_system_domain_fn = Convert;
  amd_.hsa_amd_profiling_async_copy_enable_fn = [](bool) { return HSA_STATUS_SUCCESS; };
  amd_.hsa_amd_profiling_set_profiler_enabled_fn = SetProfilerEnabled;
  table_.version = {HSA_API_TABLE_MAJOR_VERSION, sizeof table_, 0, 0};
  table_.core_ = &core_;
  table_.amd_ext_ = &amd_;
}

FakeRuntime::~FakeRuntime() {
  const base::Lock lock(queues_lock);
  queues.clear();
}

hsa_queue_t* FakeRuntime::CreateQueue(uint32_t packets) {
  hsa_queue_t* queue = nullptr;
  core_.hsa_queue_create_fn(kGpu, packets, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &queue);
  return queue;
}

hsa_queue_t* FakeRuntime::CreateQueueElsewhere(uint32_t packets, bool tells) {
  hsa_queue_t* queue = nullptr;
  QueueCreate(kGpu, packets, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &queue);
  if (tells) Of(queue).TellByDoorbell();
  return queue;
}

FakeQueue& FakeRuntime::Of(hsa_queue_t* queue) { return *Find(queue->doorbell_signal.handle); }

hsa_signal_t FakeRuntime::CreateSignal(int64_t value) {
  hsa_signal_t signal{};
  core_.hsa_signal_create_fn(value, 0, nullptr, &signal);
  return signal;
}

}  // namespace rochound::agent
