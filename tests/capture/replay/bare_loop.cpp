// SPDX-License-Identifier: MIT
//
// What replay's loop is measured against: Scale of kernels.hip launched again and again, with no
// more than that takes. usage: bare_loop CODE_OBJECT ITERATIONS. Prints nanoseconds per launch.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/files.h"
#include "capture/replay/launcher.h"
#include "capture/replay/runtime.h"

namespace {

namespace replay = rochound::capture::replay;

template <typename T>
T Get(rochound::base::Result<T> result) {
  if (!result.ok()) {
    fprintf(stderr, "bare_loop: %s\n", result.error().message.c_str());
    exit(1);
  }
  return std::move(result).value();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  constexpr int kCount = 5000;
  const auto runtime = Get(replay::Runtime::Start());
  const replay::Gpu& gpu = runtime->gpus().front();
  const auto launcher = Get(replay::Launcher::Create(gpu, 60));
  const std::string file = Get(rochound::base::ReadFile(argv[1]));
  const auto kernel = Get(launcher->Load(std::as_bytes(std::span(file)), "_Z5ScalePfPKffi.kd"));
  struct {
    std::byte *data, *add;
    float factor;
    int count;
  } const arguments = {Get(runtime->AllocateDevice(gpu, kCount * sizeof(float))),
                       Get(runtime->AllocateDevice(gpu, kCount * sizeof(float))), 2.0F, kCount};
  std::byte* const kernarg = Get(runtime->AllocateKernarg(gpu, 4096));
  memset(kernarg, 0, 4096);
  memcpy(kernarg, &arguments, sizeof(arguments));
  const uint32_t groups = (kCount + 63) / 64;
  const uint32_t hidden[] = {groups, 1, 1};
  const uint16_t sizes[] = {64, 1, 1};
  memcpy(kernarg + 24, hidden, sizeof(hidden));
  memcpy(kernarg + 36, sizes, sizeof(sizes));

  hsa_queue_t* queue = nullptr;
  hsa_signal_t done{};
  if (hsa_queue_create(gpu.handle, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX,
                       UINT32_MAX, &queue) != HSA_STATUS_SUCCESS ||
      hsa_signal_create(1, 0, nullptr, &done) != HSA_STATUS_SUCCESS)
    return 1;
  const auto launch = [&] {
    hsa_signal_store_relaxed(done, 1);
    const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
    auto& packet =
        static_cast<hsa_kernel_dispatch_packet_t*>(queue->base_address)[index & (queue->size - 1)];
    packet.workgroup_size_x = 64;
    packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.grid_size_x = groups * 64;
    packet.grid_size_y = packet.grid_size_z = 1;
    packet.private_segment_size = kernel.private_bytes;
    packet.group_segment_size = kernel.group_bytes;
    packet.kernel_object = kernel.object;
    packet.kernarg_address = kernarg;
    packet.completion_signal = done;
    const uint32_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH | 1 << HSA_PACKET_HEADER_BARRIER |
                            HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                            HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE |
                            1 << 16;
    __atomic_store_n(reinterpret_cast<uint32_t*>(&packet), header, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
    hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
  };
  launch();
  const int iterations = atoi(argv[2]);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < iterations; ++i) launch();
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
  printf("%.1f\n", taken.count() / iterations);
  fflush(stdout);
  _Exit(0);
}
