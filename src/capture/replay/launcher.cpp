// SPDX-License-Identifier: MIT
#include "capture/replay/launcher.h"

#include <fmt/format.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/hsa_ven_amd_loader.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace rochound::capture::replay {
namespace {

using base::Error;
using base::Result;
using Clock = std::chrono::steady_clock;

constexpr uint32_t kQueuePackets = 64;
// How long a wait goes on before it looks for faults and at the clock.
constexpr double kSliceSeconds = 0.02;

void OnQueueError(hsa_status_t status, hsa_queue_t*, void*) {
  Runtime::ReportFault({HsaError("the queue stopped", status).message, false, 0});
}

struct ImagePlace {
  uint64_t base = 0, size = 0, delta = 0;
};

Result<ImagePlace> PlaceOf(hsa_executable_t executable) {
  hsa_ven_amd_loader_1_01_pfn_t loader{};
  const hsa_status_t status =
      hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, sizeof(loader), &loader);
  if (status != HSA_STATUS_SUCCESS) return HsaError("the runtime's loader tells nothing", status);
  ImagePlace place;
  struct Context {
    const hsa_ven_amd_loader_1_01_pfn_t& loader;
    ImagePlace& place;
  } context{loader, place};
  const auto visit = [](hsa_executable_t, hsa_loaded_code_object_t object, void* data) {
    auto& [table, into] = *static_cast<Context*>(data);
    const auto get = [&](hsa_ven_amd_loader_loaded_code_object_info_t what, uint64_t* value) {
      table.hsa_ven_amd_loader_loaded_code_object_get_info(object, what, value);
    };
    get(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE, &into.base);
    get(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE, &into.size);
    get(HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA, &into.delta);
    return HSA_STATUS_SUCCESS;
  };
  loader.hsa_ven_amd_loader_executable_iterate_loaded_code_objects(executable, visit, &context);
  if (place.size == 0) return Error{"the runtime's loader does not say where the code is"};
  return place;
}

}  // namespace

Result<std::unique_ptr<Launcher>> Launcher::Create(const Gpu& gpu, double timeout_seconds) {
  std::unique_ptr<Launcher> launcher(new Launcher(gpu, timeout_seconds));
  const hsa_status_t status = hsa_signal_create(1, 0, nullptr, &launcher->done_);
  if (status != HSA_STATUS_SUCCESS) return HsaError("cannot make a signal", status);
  uint64_t frequency = 0;
  hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency);
  if (frequency != 0) launcher->tick_ns_ = 1e9 / static_cast<double>(frequency);
  return launcher;
}

Result<LoadedKernel> Launcher::Load(
    std::span<const std::byte> code_object, const std::string& symbol,
    const std::vector<std::pair<std::string, uint64_t>>& variables) {
  hsa_code_object_reader_t reader{};
  hsa_executable_t executable{};
  hsa_executable_symbol_t found{};
  hsa_status_t status =
      hsa_code_object_reader_create_from_memory(code_object.data(), code_object.size(), &reader);
  if (status == HSA_STATUS_SUCCESS) {
    status = hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                       nullptr, &executable);
  }
  for (const auto& [name, address] : variables)
    if (status == HSA_STATUS_SUCCESS)
      status = hsa_executable_agent_global_variable_define(
          executable, gpu_.handle, name.c_str(), reinterpret_cast<void*>(address));  // NOLINT
  if (status == HSA_STATUS_SUCCESS)
    status =
        hsa_executable_load_agent_code_object(executable, gpu_.handle, reader, nullptr, nullptr);
  if (status == HSA_STATUS_SUCCESS) status = hsa_executable_freeze(executable, nullptr);
  if (status != HSA_STATUS_SUCCESS)
    return HsaError("the runtime does not load the code object", status);
  status = hsa_executable_get_symbol_by_name(executable, symbol.c_str(), &gpu_.handle, &found);
  if (status != HSA_STATUS_SUCCESS)
    return HsaError(fmt::format("the code object has no kernel '{}'", symbol), status);
  LoadedKernel kernel;
  const auto get = [&](hsa_executable_symbol_info_t what, void* value) {
    hsa_executable_symbol_get_info(found, what, value);
  };
  get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel.object);
  get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &kernel.group_bytes);
  get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &kernel.private_bytes);
  get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &kernel.kernarg_bytes);
  get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK, &kernel.dynamic_stack);
  ROCHOUND_TRY(const ImagePlace place, PlaceOf(executable));
  kernel.base = place.base;
  kernel.size = place.size;
  kernel.delta = place.delta;
  return kernel;
}

Result<void> Launcher::MakeQueue(bool cooperative) {
  const hsa_queue_type32_t type = cooperative ? HSA_QUEUE_TYPE_COOPERATIVE : HSA_QUEUE_TYPE_SINGLE;
  const hsa_status_t status = hsa_queue_create(gpu_.handle, kQueuePackets, type, OnQueueError,
                                               nullptr, UINT32_MAX, UINT32_MAX, &queue_);
  if (status != HSA_STATUS_SUCCESS) return HsaError("cannot make a queue", status);
  hsa_amd_profiling_set_profiler_enabled(queue_, 1);
  return {};
}

uint64_t Launcher::queue_address() const {
  return reinterpret_cast<uint64_t>(queue_);  // NOLINT: amd_queue_t starts with it
}

std::pair<Range, Range> Launcher::queue_memory() const {
  const auto ring = reinterpret_cast<uint64_t>(queue_->base_address);  // NOLINT
  return {{queue_address(), sizeof(amd_queue_t)},
          {ring, uint64_t{queue_->size} * sizeof(hsa_kernel_dispatch_packet_t)}};
}

LaunchResult Launcher::Launch(const Packet& packet) {
  LaunchResult result;
  hsa_signal_store_relaxed(done_, 1);
  const uint64_t index = hsa_queue_load_write_index_relaxed(queue_);
  auto* const slots = static_cast<hsa_kernel_dispatch_packet_t*>(queue_->base_address);
  hsa_kernel_dispatch_packet_t& slot = slots[index & (queue_->size - 1)];
  const auto start = Clock::now();
  slot.workgroup_size_x = static_cast<uint16_t>(packet.workgroup[0]);
  slot.workgroup_size_y = static_cast<uint16_t>(packet.workgroup[1]);
  slot.workgroup_size_z = static_cast<uint16_t>(packet.workgroup[2]);
  slot.reserved0 = 0;
  slot.grid_size_x = packet.grid[0];
  slot.grid_size_y = packet.grid[1];
  slot.grid_size_z = packet.grid[2];
  slot.private_segment_size = packet.private_bytes;
  slot.group_segment_size = packet.group_bytes;
  slot.kernel_object = packet.object;
  slot.kernarg_address = reinterpret_cast<void*>(packet.kernarg);  // NOLINT
  slot.reserved2 = 0;
  slot.completion_signal = done_;
  const uint16_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                          1 << HSA_PACKET_HEADER_BARRIER |
                          HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                          HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  hsa_queue_store_write_index_relaxed(queue_, index + 1);
  __atomic_store_n(reinterpret_cast<uint32_t*>(&slot), header | packet.setup << 16,  // NOLINT
                   __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue_->doorbell_signal, static_cast<hsa_signal_value_t>(index));

  const auto slice = static_cast<uint64_t>(kSliceSeconds * 1e9 / tick_ns_);
  while (hsa_signal_wait_scacquire(done_, HSA_SIGNAL_CONDITION_LT, 1, slice,
                                   HSA_WAIT_STATE_BLOCKED) >= 1) {
    if (const auto fault = Runtime::TakeFault()) {
      result.state = LaunchResult::State::kFault;
      result.fault = *fault;
      return result;
    }
    if (std::chrono::duration<double>(Clock::now() - start).count() > timeout_seconds_) {
      result.state = LaunchResult::State::kTimeout;
      return result;
    }
  }
  result.wall_ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  hsa_amd_profiling_dispatch_time_t time{};
  if (hsa_amd_profiling_get_dispatch_time(gpu_.handle, done_, &time) == HSA_STATUS_SUCCESS)
    result.gpu_ns = static_cast<double>(time.end - time.start) * tick_ns_;
  return result;
}

}  // namespace rochound::capture::replay
