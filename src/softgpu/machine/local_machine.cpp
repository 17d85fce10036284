// SPDX-License-Identifier: MIT
#include "softgpu/machine/local_machine.h"

#include <elf.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/mutex.h"
#include "softgpu/isa/architecture.h"
#include "softgpu/machine/activity.h"

namespace rochound::softgpu {
namespace {

constexpr uint32_t kSlots = 4096;
constexpr uint32_t kQueueId = 1;

[[noreturn]] void Die(const std::string& message) {
  std::fprintf(stderr, "local machine: %s\n", message.c_str());
  std::abort();
}

uint8_t* MapPages(size_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) Die("no memory");
  return static_cast<uint8_t*>(pages);
}

size_t RoundUp(size_t bytes) { return (bytes + kGpuPageSize - 1) & ~(kGpuPageSize - 1); }

}  // namespace

struct LocalMachine::QueueMemory {
  amd_queue_t queue;
  amd_signal_t signal;
  alignas(64) hsa_kernel_dispatch_packet_t ring[kSlots];
};

DeviceConfig LocalMachine::Mi300x() {
  DeviceConfig config;
  config.name = "mi300x";
  config.target = "gfx942";
  config.gpu_id = 1;
  config.compute_units = 304;
  config.simds_per_compute_unit = 4;
  config.max_waves_per_simd = 8;
  config.xcc_count = 8;
  config.shared_aperture_base = uint64_t{1} << 48;
  config.private_aperture_base = uint64_t{1} << 49;
  return config;
}

DeviceConfig LocalMachine::Rx6800xt() {
  DeviceConfig config = Mi300x();
  config.name = "rx6800xt";
  config.target = "gfx1030";
  config.compute_units = 72;
  config.simds_per_compute_unit = 2;
  config.max_waves_per_simd = 16;
  config.xcc_count = 1;
  return config;
}

LocalMachine::LocalMachine(const DeviceConfig& config) {
  std::string why;
  device_ = Device::Create(config, this, &why);
  if (device_ == nullptr) Die(why);
  queue_ = static_cast<QueueMemory*>(Allocate(sizeof(QueueMemory)));
  for (hsa_kernel_dispatch_packet_t& packet : queue_->ring) packet.header = HSA_PACKET_TYPE_INVALID;
  QueueConfig queue;
  queue.id = kQueueId;
  queue.ring_address = reinterpret_cast<uint64_t>(queue_->ring);
  queue.ring_bytes = sizeof(queue_->ring);
  queue.read_index_address = reinterpret_cast<uint64_t>(&queue_->queue.read_dispatch_id);
  queue.write_index_address = reinterpret_cast<uint64_t>(&queue_->queue.write_dispatch_id);
  queue.doorbell = &doorbell_;
  device_->CreateQueue(queue);
}

LocalMachine::~LocalMachine() { device_->DestroyQueue(kQueueId); }

void* LocalMachine::Allocate(size_t bytes) {
  size_t size = RoundUp(bytes);
  uint8_t* pages = MapPages(size);
  device_->address_space().Map(reinterpret_cast<uint64_t>(pages), size, pages, kRead | kWrite);
  return pages;
}

void LocalMachine::LoadCodeObject(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (bytes.size() < sizeof(Elf64_Ehdr) || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0)
    Die(path + " is no code object");
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(bytes.data());
  const auto* segments = reinterpret_cast<const Elf64_Phdr*>(bytes.data() + header->e_phoff);
  size_t end = 0;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type == PT_LOAD)
      end = std::max<size_t>(end, segments[i].p_vaddr + segments[i].p_memsz);
  }
  uint8_t* image = MapPages(RoundUp(end));
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type == PT_LOAD)
      std::memcpy(image + segments[i].p_vaddr, bytes.data() + segments[i].p_offset,
                  segments[i].p_filesz);
  }
  device_->address_space().Map(reinterpret_cast<uint64_t>(image), RoundUp(end), image,
                               kRead | kExecute);
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(bytes.data() + header->e_shoff);
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_DYNSYM) continue;
    const char* strings = bytes.data() + sections[sections[i].sh_link].sh_offset;
    const auto* symbols = reinterpret_cast<const Elf64_Sym*>(bytes.data() + sections[i].sh_offset);
    for (size_t s = 0; s < sections[i].sh_size / sizeof(Elf64_Sym); ++s)
      kernels_.emplace_back(strings + symbols[s].st_name,
                            reinterpret_cast<uint64_t>(image) + symbols[s].st_value);
  }
}

uint64_t LocalMachine::KernelObject(std::string_view name) const {
  for (const auto& [symbol, address] : kernels_) {
    if (symbol == std::string(name) + ".kd") return address;
  }
  return 0;
}

unsigned LocalMachine::WaveSize() const {
  return FindArchitecture(device_->config().target)->has_wave32 ? 32 : 64;
}

uint64_t LocalMachine::LoadWords(const std::vector<uint32_t>& words) {
  constexpr size_t kCodeOffset = 256;
  size_t size = RoundUp(kCodeOffset + words.size() * 4);
  uint8_t* image = MapPages(size);
  int64_t entry = kCodeOffset;
  uint32_t modes = 0xF0u << 12;
  uint16_t properties = WaveSize() == 32 ? 1 << 10 : 0;
  std::memcpy(image + 16, &entry, 8);
  std::memcpy(image + 48, &modes, 4);
  std::memcpy(image + 56, &properties, 2);
  std::memcpy(image + kCodeOffset, words.data(), words.size() * 4);
  auto address = reinterpret_cast<uint64_t>(image);
  device_->address_space().Map(address, size, image, kRead | kExecute);
  return address;
}

void LocalMachine::GiveScratch(uint32_t bytes_per_lane, uint32_t waves) {
  queue_->queue.scratch_backing_memory_location =
      reinterpret_cast<uint64_t>(Allocate(size_t{bytes_per_lane} * 64 * waves));
  queue_->queue.scratch_wave64_lane_byte_size = bytes_per_lane;
  queue_->queue.compute_tmpring_size = waves;
}

void LocalMachine::SwitchTimesOn() {
  __atomic_fetch_or(&queue_->queue.queue_properties, AMD_QUEUE_PROPERTIES_ENABLE_PROFILING,
                    __ATOMIC_RELAXED);
}

void LocalMachine::Submit(const Launch& launch) { Ring(Enqueue(launch)); }

void LocalMachine::Ring(uint64_t index) { __atomic_store_n(&doorbell_, index, __ATOMIC_RELEASE); }

uint64_t LocalMachine::Enqueue(const Launch& launch) {
  while (write_index_ - __atomic_load_n(&queue_->queue.read_dispatch_id, __ATOMIC_ACQUIRE) >=
         kSlots) {
    if (!error().empty()) return write_index_;
    device_->Kick();
  }
  hsa_kernel_dispatch_packet_t packet = {};
  packet.setup = 2;
  packet.workgroup_size_x = launch.group;
  packet.workgroup_size_y = launch.group_y;
  packet.workgroup_size_z = 1;
  packet.grid_size_x = launch.grid;
  packet.grid_size_y = launch.grid_y;
  packet.grid_size_z = 1;
  packet.group_segment_size = launch.group_bytes;
  packet.private_segment_size = launch.private_bytes;
  packet.kernel_object = launch.kernel_object;
  packet.kernarg_address = const_cast<void*>(launch.kernarg);
  packet.completion_signal.handle =
      launch.signal != 0 ? launch.signal : reinterpret_cast<uint64_t>(&queue_->signal);
  hsa_kernel_dispatch_packet_t* slot = &queue_->ring[write_index_ % kSlots];
  packet.header = HSA_PACKET_TYPE_INVALID;
  *slot = packet;
  if (launch.signal == 0) __atomic_fetch_add(&queue_->signal.value, 1, __ATOMIC_ACQ_REL);
  __atomic_store_n(&queue_->queue.write_dispatch_id, write_index_ + 1, __ATOMIC_RELEASE);
  uint32_t first = HSA_PACKET_TYPE_KERNEL_DISPATCH |
                   uint32_t{launch.barrier} << HSA_PACKET_HEADER_BARRIER |
                   uint32_t{packet.setup} << 16;
  __atomic_store_n(reinterpret_cast<uint32_t*>(slot), first, __ATOMIC_RELEASE);
  return write_index_++;
}

uint64_t LocalMachine::ReadIndex() const {
  return __atomic_load_n(&queue_->queue.read_dispatch_id, __ATOMIC_ACQUIRE);
}

bool LocalMachine::Wait() {
  Activity::Waiter waiter;
  device_->Kick();
  while (__atomic_load_n(&queue_->signal.value, __ATOMIC_ACQUIRE) != 0) {
    if (!error().empty()) return false;
    waiter.Pause();
  }
  return true;
}

std::string LocalMachine::error() const {
  const base::Lock lock(mutex_);
  return error_;
}

std::vector<LocalMachine::Injected> LocalMachine::injected() const {
  const base::Lock lock(mutex_);
  return injected_;
}

void LocalMachine::OnInjectedFault(uint32_t, uint32_t, std::string_view fault, uint64_t packet,
                                   std::string_view) {
  const base::Lock lock(mutex_);
  injected_.push_back({std::string(fault), packet});
}

void LocalMachine::OnMemoryFault(uint32_t, uint32_t, const MemoryFault&, std::string_view what) {
  const base::Lock lock(mutex_);
  error_ = std::string(what);
}

void LocalMachine::OnQueueError(uint32_t, uint32_t, QueueError, std::string_view what) {
  const base::Lock lock(mutex_);
  error_ = std::string(what);
}

}  // namespace rochound::softgpu
