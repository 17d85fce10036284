// SPDX-License-Identifier: MIT
#include "capture/replay/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/mutex.h"

namespace rochound::capture::replay {
namespace {

using base::Error;
using base::Result;

base::Mutex fault_mutex;
std::optional<Fault> first_fault ROCHOUND_GUARDED_BY(fault_mutex);

void* Pointer(uint64_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT: an address is what we have
}

template <typename T, typename Info>
T AgentInfo(hsa_agent_t agent, Info info) {
  T value{};
  hsa_agent_get_info(agent, static_cast<hsa_agent_info_t>(info), &value);
  return value;
}

template <typename T>
T PoolInfo(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t info) {
  T value{};
  hsa_amd_memory_pool_get_info(pool, info, &value);
  return value;
}

// hsa_*_iterate_* with a lambda; nothing stops early.
template <typename Handle, typename Function>
hsa_status_t Visit(Handle handle, void* data) {
  (*static_cast<Function*>(data))(handle);
  return HSA_STATUS_SUCCESS;
}

template <typename Function>
void ForEachPool(hsa_agent_t agent, Function function) {
  hsa_amd_agent_iterate_memory_pools(agent, Visit<hsa_amd_memory_pool_t, Function>, &function);
}

std::string IsaName(hsa_agent_t agent) {
  std::string name;
  const auto visit = [](hsa_isa_t isa, void* data) {
    uint32_t length = 0;
    hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME_LENGTH, &length);
    std::string text(length, '\0');
    hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, text.data());
    text.resize(strnlen(text.c_str(), length));
    *static_cast<std::string*>(data) = text;
    return HSA_STATUS_INFO_BREAK;  // generic ones follow
  };
  hsa_agent_iterate_isas(agent, visit, &name);
  return name;
}

bool Allocatable(hsa_amd_memory_pool_t pool) {
  return PoolInfo<hsa_amd_segment_t>(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT) ==
             HSA_AMD_SEGMENT_GLOBAL &&
         PoolInfo<bool>(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED);
}

hsa_status_t OnSystemEvent(const hsa_amd_event_t* event, void*) {
  if (event->event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT) {
    const auto& fault = event->memory_fault;
    const uint32_t mask = fault.fault_reason_mask;
    const char* const reason =
        (mask & HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT) != 0 ? "memory that is not mapped"
        : (mask & HSA_AMD_MEMORY_FAULT_READ_ONLY) != 0      ? "a write to read-only memory"
        : (mask & HSA_AMD_MEMORY_FAULT_NX) != 0             ? "a jump to memory that holds no code"
                                                            : "a memory fault";
    Runtime::ReportFault({reason, true, fault.virtual_address});
  } else {
    Runtime::ReportFault({"the GPU reported an error (hang or ECC)", false, 0});
  }
  return HSA_STATUS_SUCCESS;  // otherwise the runtime ends the process
}

}  // namespace

Error HsaError(const std::string& what, hsa_status_t status) {
  const char* text = nullptr;
  if (hsa_status_string(status, &text) != HSA_STATUS_SUCCESS || text == nullptr)
    text = "unknown error";
  return Error{fmt::format("{}: {}", what, text)};
}

Result<std::unique_ptr<Runtime>> Runtime::Start() {
  const hsa_status_t status = hsa_init();
  if (status != HSA_STATUS_SUCCESS) {
    return Error{HsaError("the HSA runtime does not start", status).message +
                 " Is there a GPU, and may you open /dev/kfd?"};
  }
  std::unique_ptr<Runtime> runtime(new Runtime);
  ROCHOUND_TRY(runtime->virtual_memory_, VirtualMemory::Find());
  ROCHOUND_CHECK(runtime->FindAgents());
  hsa_amd_register_system_event_handler(OnSystemEvent, nullptr);
  return runtime;
}

Result<void> Runtime::FindAgents() {
  std::vector<hsa_agent_t> agents;
  const auto add = [](hsa_agent_t agent, void* data) {
    static_cast<std::vector<hsa_agent_t>*>(data)->push_back(agent);
    return HSA_STATUS_SUCCESS;
  };
  hsa_iterate_agents(add, &agents);
  for (const hsa_agent_t agent : agents) {
    const auto type = AgentInfo<hsa_device_type_t>(agent, HSA_AGENT_INFO_DEVICE);
    if (type == HSA_DEVICE_TYPE_CPU && cpu_.handle == 0) {
      cpu_ = agent;
      ForEachPool(agent, [&](hsa_amd_memory_pool_t pool) {
        if (!Allocatable(pool)) return;
        const auto flags = PoolInfo<uint32_t>(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS);
        if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) != 0) kernarg_pool_ = pool;
        if (host_pool_.handle == 0 || (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) != 0)
          host_pool_ = pool;
      });
    } else if (type == HSA_DEVICE_TYPE_GPU) {
      Gpu gpu;
      gpu.handle = agent;
      gpu.isa = IsaName(agent);
      gpu.node = AgentInfo<uint32_t>(agent, HSA_AMD_AGENT_INFO_DRIVER_NODE_ID);
      char text[65] = {};
      hsa_agent_get_info(agent, HSA_AGENT_INFO_NAME, text);
      gpu.name = text;
      memset(text, 0, sizeof(text));
      hsa_agent_get_info(agent, static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_PRODUCT_NAME),
                         text);
      gpu.product = text;
      ForEachPool(agent, [&](hsa_amd_memory_pool_t pool) {
        if (!Allocatable(pool) || gpu.pool.handle != 0) return;
        const auto flags = PoolInfo<uint32_t>(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS);
        if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) == 0) return;
        gpu.pool = pool;
        gpu.granule = std::max<uint64_t>(
            4096, PoolInfo<size_t>(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE));
      });
      if (gpu.pool.handle != 0) gpus_.push_back(std::move(gpu));
    }
  }
  if (gpus_.empty()) return Error{"the HSA runtime finds no GPU here"};
  if (cpu_.handle == 0 || host_pool_.handle == 0)
    return Error{"the HSA runtime shows no host memory"};
  if (kernarg_pool_.handle == 0) kernarg_pool_ = host_pool_;
  return {};
}

std::string Runtime::Version() const {
  uint16_t major = 0, minor = 0;
  hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MAJOR, &major);
  hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MINOR, &minor);
  return fmt::format("{}.{}", major, minor);
}

std::optional<Fault> Runtime::TakeFault() {
  const base::Lock lock(fault_mutex);
  return std::exchange(first_fault, std::nullopt);
}

void Runtime::ReportFault(const Fault& fault) {
  const base::Lock lock(fault_mutex);
  // An address tells more than what the queue says about the same fault.
  if (!first_fault || (fault.has_address && !first_fault->has_address)) first_fault = fault;
}

Result<void> Runtime::Reserve(const Mapping& mapping) {
  void* got = nullptr;
  const hsa_status_t status = virtual_memory_.reserve(&got, mapping.size, mapping.base, 0);
  if (status != HSA_STATUS_SUCCESS)
    return HsaError(fmt::format("cannot reserve {:#x} +{}", mapping.base, mapping.size), status);
  if (got == Pointer(mapping.base)) return {};
  virtual_memory_.free(got, mapping.size);
  return Error{fmt::format("the runtime does not give {:#x} +{}", mapping.base, mapping.size)};
}

void Runtime::Unreserve(const Mapping& mapping) {
  virtual_memory_.free(Pointer(mapping.base), mapping.size);
}

Result<void> Runtime::Back(const Mapping& mapping, const Gpu& owner, const Gpu& user) {
  const std::string what = fmt::format("cannot put {} bytes of memory of {} (node {}) at {:#x}",
                                       mapping.size, owner.name, owner.node, mapping.base);
  VirtualMemory::Handle handle{};
  hsa_status_t status = virtual_memory_.create(owner.pool, mapping.size, 0, 0, &handle);
  if (status == HSA_STATUS_SUCCESS)
    status = virtual_memory_.map(Pointer(mapping.base), mapping.size, 0, handle, 0);
  if (status != HSA_STATUS_SUCCESS) return HsaError(what, status);
  std::vector<VirtualMemory::Access> access = {{HSA_ACCESS_PERMISSION_RW, user.handle}};
  if (owner.handle.handle != user.handle.handle)
    access.push_back({HSA_ACCESS_PERMISSION_RW, owner.handle});
  status =
      virtual_memory_.set_access(Pointer(mapping.base), mapping.size, access.data(), access.size());
  if (status != HSA_STATUS_SUCCESS) return HsaError(what, status);
  return {};
}

Result<std::byte*> Runtime::AllocateDevice(const Gpu& gpu, uint64_t size) {
  void* memory = nullptr;
  const hsa_status_t status = hsa_amd_memory_pool_allocate(gpu.pool, size, 0, &memory);
  if (status != HSA_STATUS_SUCCESS)
    return HsaError(fmt::format("no {} bytes of GPU memory", size), status);
  return static_cast<std::byte*>(memory);
}

Result<std::byte*> Runtime::AllocateHost(const Gpu& gpu, uint64_t size) {
  void* memory = nullptr;
  hsa_status_t status = hsa_amd_memory_pool_allocate(host_pool_, size, 0, &memory);
  if (status == HSA_STATUS_SUCCESS)
    status = hsa_amd_agents_allow_access(1, &gpu.handle, nullptr, memory);
  if (status != HSA_STATUS_SUCCESS)
    return HsaError(fmt::format("no {} bytes of host memory", size), status);
  return static_cast<std::byte*>(memory);
}

Result<std::byte*> Runtime::AllocateKernarg(const Gpu& gpu, uint64_t size) {
  void* memory = nullptr;
  hsa_status_t status =
      hsa_amd_memory_pool_allocate(kernarg_pool_, std::max<uint64_t>(size, 64), 0, &memory);
  if (status == HSA_STATUS_SUCCESS)
    status = hsa_amd_agents_allow_access(1, &gpu.handle, nullptr, memory);
  if (status != HSA_STATUS_SUCCESS)
    return HsaError(fmt::format("no {} bytes for kernel arguments", size), status);
  return static_cast<std::byte*>(memory);
}

Result<std::unique_ptr<Copier>> Copier::Create(Runtime& runtime, const Gpu& gpu) {
  std::unique_ptr<Copier> copier(new Copier(runtime, gpu));
  for (int i = 0; i < 2; ++i) {
    ROCHOUND_TRY(copier->buffers_[i], runtime.AllocateHost(gpu, kChunk));
    const hsa_status_t status = hsa_signal_create(0, 0, nullptr, &copier->signals_[i]);
    if (status != HSA_STATUS_SUCCESS) return HsaError("cannot make a signal", status);
  }
  return copier;
}

Result<void> Copier::Begin(int buffer, void* to, hsa_agent_t to_agent, const void* from,
                           hsa_agent_t from_agent, uint64_t size) {
  hsa_signal_add_relaxed(signals_[buffer], 1);
  const hsa_status_t status =
      hsa_amd_memory_async_copy(to, to_agent, from, from_agent, size, 0, nullptr, signals_[buffer]);
  if (status == HSA_STATUS_SUCCESS) return {};
  hsa_signal_subtract_relaxed(signals_[buffer], 1);
  return HsaError(fmt::format("cannot copy {} bytes from {} to {}", size, from, to), status);
}

Result<void> Copier::Wait(int buffer) {
  const hsa_signal_value_t value = hsa_signal_wait_scacquire(
      signals_[buffer], HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
  if (value == 0) return {};
  return Error{"a copy to or from the GPU failed; is the GPU still usable?"};
}

Result<void> Copier::Write(uint64_t address, uint64_t size, const Fill& fill) {
  int buffer = 0;
  for (uint64_t offset = 0; offset < size; offset += kChunk, buffer ^= 1) {
    const uint64_t part = std::min(kChunk, size - offset);
    ROCHOUND_CHECK(Wait(buffer));
    ROCHOUND_CHECK(fill(offset, {buffers_[buffer], part}));
    ROCHOUND_CHECK(Begin(buffer, Pointer(address + offset), gpu_.handle, buffers_[buffer],
                         runtime_.cpu(), part));
  }
  return Flush();
}

Result<void> Copier::Write(uint64_t address, std::span<const std::byte> bytes) {
  return Write(address, bytes.size(),
               [&](uint64_t offset, std::span<std::byte> into) -> Result<void> {
                 memcpy(into.data(), bytes.data() + offset, into.size());
                 return {};
               });
}

Result<void> Copier::Queue(uint64_t address, std::span<const std::byte> bytes) {
  const int buffer = std::exchange(next_, next_ ^ 1);
  ROCHOUND_CHECK(Wait(buffer));
  memcpy(buffers_[buffer], bytes.data(), bytes.size());
  return Begin(buffer, Pointer(address), gpu_.handle, buffers_[buffer], runtime_.cpu(),
               bytes.size());
}

Result<void> Copier::Flush() {
  ROCHOUND_CHECK(Wait(0));
  return Wait(1);
}

Result<void> Copier::WriteZeros(uint64_t address, uint64_t size) {
  if (zeros_ == nullptr) {
    ROCHOUND_TRY(std::byte * zeros, runtime_.AllocateDevice(gpu_, kChunk));
    memset(buffers_[0], 0, kChunk);
    ROCHOUND_CHECK(Begin(0, zeros, gpu_.handle, buffers_[0], runtime_.cpu(), kChunk));
    ROCHOUND_CHECK(Wait(0));
    zeros_ = zeros;
  }
  std::vector<Piece> pieces;
  for (uint64_t offset = 0; offset < size; offset += kChunk) {
    pieces.push_back({address + offset, reinterpret_cast<uint64_t>(zeros_),  // NOLINT
                      std::min(kChunk, size - offset)});
  }
  return Move(pieces);
}

Result<void> Copier::Read(uint64_t address, uint64_t size, const Take& take) {
  const auto begin = [&](uint64_t offset, int buffer) {
    return Begin(buffer, buffers_[buffer], runtime_.cpu(), Pointer(address + offset), gpu_.handle,
                 std::min(kChunk, size - offset));
  };
  if (size == 0) return {};
  ROCHOUND_CHECK(begin(0, 0));
  int buffer = 0;
  for (uint64_t offset = 0; offset < size; offset += kChunk, buffer ^= 1) {
    if (offset + kChunk < size) ROCHOUND_CHECK(begin(offset + kChunk, buffer ^ 1));
    ROCHOUND_CHECK(Wait(buffer));
    ROCHOUND_CHECK(take(offset, {buffers_[buffer], std::min(kChunk, size - offset)}));
  }
  return {};
}

Result<void> Copier::Read(uint64_t address, std::span<std::byte> into) {
  return Read(address, into.size(),
              [&](uint64_t offset, std::span<const std::byte> bytes) -> Result<void> {
                memcpy(into.data() + offset, bytes.data(), bytes.size());
                return {};
              });
}

Result<void> Copier::Move(std::span<const Piece> pieces) {
  for (const Piece& piece : pieces) {
    ROCHOUND_CHECK(
        Begin(0, Pointer(piece.to), gpu_.handle, Pointer(piece.from), gpu_.handle, piece.size));
  }
  return Wait(0);
}

}  // namespace rochound::capture::replay
