// SPDX-License-Identifier: MIT
//
// The HSA runtime as replay needs it: the GPUs of this machine, memory at chosen addresses, copies
// between it and the host, and what the runtime reports when a kernel goes wrong. One object per
// process, used on the main thread; faults arrive on a thread of the runtime and are kept until
// asked for. It is never shut down: the process ends instead, which is quicker and cannot hang.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/replay/plan.h"
#include "capture/replay/virtual_memory.h"

namespace rochound::capture::replay {

struct Gpu {
  hsa_agent_t handle{};
  std::string name;     // gfx942
  std::string isa;      // amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-
  std::string product;  // marketing name
  uint32_t node = 0;
  hsa_amd_memory_pool_t pool{};  // its own memory
  uint64_t granule = 0;          // of pieces of it
};

struct Fault {
  std::string reason;
  bool has_address = false;
  uint64_t address = 0;
};

// "what: the runtime's words for status".
base::Error HsaError(const std::string& what, hsa_status_t status);

class Runtime {
 public:
  // Starts it. The error says what to do where there is no GPU.
  static base::Result<std::unique_ptr<Runtime>> Start();

  const std::vector<Gpu>& gpus() const { return gpus_; }
  hsa_agent_t cpu() const { return cpu_; }
  std::string Version() const;

  // The first thing that went wrong on any GPU, if something did.
  static std::optional<Fault> TakeFault();
  // For a queue's error callback.
  static void ReportFault(const Fault& fault);

  // Reserves the addresses of the mapping, or says that it cannot; *taken: what is there instead is
  // somebody's mapping.
  base::Result<void> Reserve(const Mapping& mapping);
  void Unreserve(const Mapping& mapping);
  // Puts memory of the owner after it, which the user can reach, too.
  base::Result<void> Back(const Mapping& mapping, const Gpu& owner, const Gpu& user);

  // Memory of ours, anywhere; freed with the process.
  base::Result<std::byte*> AllocateDevice(const Gpu& gpu, uint64_t size);
  base::Result<std::byte*> AllocateHost(const Gpu& gpu, uint64_t size);
  base::Result<std::byte*> AllocateKernarg(const Gpu& gpu, uint64_t size);

 private:
  Runtime() = default;
  base::Result<void> FindAgents();

  std::vector<Gpu> gpus_;
  hsa_agent_t cpu_{};
  hsa_amd_memory_pool_t host_pool_{}, kernarg_pool_{};
  VirtualMemory virtual_memory_;
};

// Moves bytes between the host and a GPU's memory through a pair of buffers that both can reach.
class Copier {
 public:
  static constexpr uint64_t kChunk = uint64_t{4} << 20;

  struct Piece {
    uint64_t to = 0, from = 0, size = 0;
  };
  using Fill = std::function<base::Result<void>(uint64_t offset, std::span<std::byte> into)>;
  using Take = std::function<base::Result<void>(uint64_t offset, std::span<const std::byte> bytes)>;

  static base::Result<std::unique_ptr<Copier>> Create(Runtime& runtime, const Gpu& gpu);

  // Asks for the bytes chunk by chunk, at multiples of kChunk from the address.
  base::Result<void> Write(uint64_t address, uint64_t size, const Fill& fill);
  base::Result<void> Write(uint64_t address, std::span<const std::byte> bytes);
  // The same without waiting for the last ones: at most kChunk bytes, which are copied at once.
  base::Result<void> Queue(uint64_t address, std::span<const std::byte> bytes);
  base::Result<void> Flush();
  base::Result<void> WriteZeros(uint64_t address, uint64_t size);
  base::Result<void> Read(uint64_t address, uint64_t size, const Take& take);
  base::Result<void> Read(uint64_t address, std::span<std::byte> into);
  // On the GPU, all at once; waits for them.
  base::Result<void> Move(std::span<const Piece> pieces);

 private:
  Copier(Runtime& runtime, const Gpu& gpu) : runtime_(runtime), gpu_(gpu) {}
  base::Result<void> Begin(int buffer, void* to, hsa_agent_t to_agent, const void* from,
                           hsa_agent_t from_agent, uint64_t size);
  base::Result<void> Wait(int buffer);

  Runtime& runtime_;
  Gpu gpu_;
  std::byte* buffers_[2] = {};
  std::byte* zeros_ = nullptr;  // on the GPU
  hsa_signal_t signals_[2]{};
  int next_ = 0;  // buffer for Queue
};

}  // namespace rochound::capture::replay
