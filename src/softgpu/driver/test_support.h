// SPDX-License-Identifier: MIT
//
// For the driver's tests: GPUs without a machine behind them. Queues are only remembered.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "softgpu/driver/gpu.h"
#include "softgpu/machine/device.h"
#include "softgpu/memory/address_space.h"

namespace rochound::softgpu {

inline GpuFacts TestFacts(uint32_t node) {
  GpuFacts facts;
  facts.name = "test";
  facts.marketing_name = "A GPU for tests";
  facts.target = "gfx1030";
  facts.node = node;
  facts.gpu_id = 50000 + node;
  facts.render_minor = 127 + node;
  facts.vram_bytes = uint64_t{1} << 38;
  facts.vram_host_visible = true;
  facts.cu_count = 72;
  facts.num_xcc = 1;
  facts.simd_per_cu = 2;
  facts.max_waves_per_simd = 16;
  facts.lds_bytes = 65536;
  facts.counter_khz = 100000;
  facts.gws = 64;
  return facts;
}

class FakeDevice final : public Device {
 public:
  const DeviceConfig& config() const override { return config_; }
  AddressSpace& address_space() override { return space_; }
  void CreateQueue(const QueueConfig& config) override { queues[config.id] = config; }
  void SetCuMask(uint32_t, std::span<const uint32_t>) override {}
  void UpdateQueue(uint32_t id, uint64_t ring, uint64_t bytes, uint32_t percentage) override {
    queues[id].ring_address = ring;
    queues[id].ring_bytes = percentage == 0 ? 0 : bytes;
  }
  void DestroyQueue(uint32_t id) override { queues.erase(id); }
  void Kick() override { ++kicks; }
  void AbandonAfterFork() override { abandoned = true; }
  uint64_t instructions_executed() const override { return 0; }

  std::map<uint32_t, QueueConfig> queues;
  int kicks = 0;
  bool abandoned = false;

 private:
  DeviceConfig config_;
  AddressSpace space_;
};

// Where the GPU finds [address, address + size), or nullptr if that would be a fault.
inline uint8_t* GpuSees(Device& device, uint64_t address, uint64_t size, uint8_t access) {
  AddressSpace::Reader reader(device.address_space());
  reader.Enter();
  uint8_t* host = reader.Translate(address, size, access);
  reader.Leave();
  return host;
}

}  // namespace rochound::softgpu
