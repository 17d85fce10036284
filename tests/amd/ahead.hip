// SPDX-License-Identifier: MIT
//
// A program for runtimes that are newer than rochound (tools/amd_ahead.py makes them): it calls
// what is new in their HIP and ROCr and submits packets of new kinds, beside what is known. How
// often it did what the recorder cannot know is in lines of its own:
//   new-hip hipAheadBetween=7 ... nameless=4
//   new-hsa ...
//   new-packets vendor_format_7=4 type_9=2
#include <dlfcn.h>
#include <hsa/hsa.h>

#include "../programs/program.h"

__global__ void AddOne(int* data, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] += 1;
}

namespace {

#define HSA_CHECKED(call)                                                         \
  do {                                                                            \
    const hsa_status_t status = (call);                                           \
    CHECK(status == HSA_STATUS_SUCCESS, "line %d: %s gave 0x%x", __LINE__, #call, \
          static_cast<unsigned>(status));                                         \
  } while (0)

template <typename Function>
Function Find(const char* name) {
  void* const found = dlsym(RTLD_DEFAULT, name);
  CHECK(found != nullptr, "these runtimes have no %s", name);
  return reinterpret_cast<Function>(found);
}

// --- HIP
constexpr int kCount = 1000, kLaunches = 3, kTwice = 4, kBetween = 7;

void UseHip() {
  const dim3 grid((kCount + 63) / 64), block(64);
  int* device = program::NewDevice(std::vector<int>(kCount, 5));
  int count = kCount;
  for (int i = 0; i < kLaunches; ++i) LAUNCH(AddOne, grid, block, 0, nullptr, device, count);
  const auto twice = Find<hipError_t (*)(const void*, dim3, dim3, void**, size_t, hipStream_t)>(
      "hipAheadLaunchTwice");
  void* arguments[] = {&device, &count};
  for (int i = 0; i < kTwice; ++i) {
    CHECK(twice(reinterpret_cast<const void*>(AddOne), grid, block, arguments, 0, nullptr) ==
              hipSuccess,
          "hipAheadLaunchTwice failed");
    program::CountKernels("AddOne", 2);
  }
  const auto between =
      Find<long (*)(int, double, const char*, long, long, long, long, dim3)>("hipAheadBetween");
  for (int i = 0; i < kBetween; ++i) {
    const long sum = between(1, 20.0, "d", 1000, 10000, 100000, 1000000, dim3(1, 2, 3));
    CHECK(sum == 1111000 + 100 + 21 + 6, "hipAheadBetween gave %ld", sum);
  }
  HIP_CALL(hipDeviceSynchronize());
  for (const int value : program::Download(device, kCount))
    CHECK(value == 5 + kLaunches + 2 * kTwice, "it is %d", value);
  program::Free(device);
}

// --- HSA
constexpr int kCoreBetween = 20, kAmdBetween = 30, kOfNewTable = 5, kEnd = 10;

void CallHsa() {
  const auto core = Find<hsa_status_t (*)(uint32_t, uint32_t*)>("hsa_ahead_between");
  for (uint32_t i = 0, answer = 0; i < kCoreBetween; ++i) {
    HSA_CHECKED(core(i, &answer));
    CHECK(answer == 2 * i, "hsa_ahead_between gave %u", answer);
  }
  const auto amd = Find<hsa_status_t (*)(uint64_t, double, uint64_t, uint64_t, uint64_t, uint64_t,
                                         uint64_t, uint64_t*)>("hsa_amd_ahead_between");
  for (uint64_t i = 0, sum = 0; i < kAmdBetween; ++i) {
    HSA_CHECKED(amd(i, 20.0, 300, 4000, 50000, 600000, 7000000, &sum));
    CHECK(sum == 7654320 + i, "hsa_amd_ahead_between gave %lu", static_cast<unsigned long>(sum));
  }
  const auto other = Find<hsa_status_t (*)(uint32_t*)>("hsa_ahead_of_new_table");
  for (uint32_t i = 0, answer = 0; i < kOfNewTable; ++i) {
    HSA_CHECKED(other(&answer));
    CHECK(answer == 42, "hsa_ahead_of_new_table gave %u", answer);
  }
}

hsa_agent_t FirstGpu() {
  hsa_agent_t gpu = {};
  const auto find = [](hsa_agent_t agent, void* found) {
    hsa_device_type_t type;
    HSA_CHECKED(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
    if (type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_SUCCESS;
    *static_cast<hsa_agent_t*>(found) = agent;
    return HSA_STATUS_INFO_BREAK;
  };
  CHECK(hsa_iterate_agents(find, &gpu) == HSA_STATUS_INFO_BREAK, "no GPU");
  return gpu;
}

// type_and_format: the packet's first word.
void Submit(hsa_queue_t* queue, uint32_t type_and_format, hsa_signal_t done) {
  const uint64_t index = hsa_queue_add_write_index_scacq_screl(queue, 1);
  auto* const packet = static_cast<uint32_t*>(queue->base_address) + index % queue->size * 16;
  memset(packet + 1, 0, 60);
  memcpy(packet + 14, &done, sizeof done);
  __atomic_store_n(packet, type_and_format | 1 << HSA_PACKET_HEADER_BARRIER, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

void SubmitNewPackets(hsa_queue_t* queue) {
  constexpr uint32_t kVendorFormat7 = HSA_PACKET_TYPE_VENDOR_SPECIFIC | 7 << 16;
  hsa_signal_t done;
  HSA_CHECKED(hsa_signal_create(4, 0, nullptr, &done));
  for (const uint32_t kind :
       {kVendorFormat7, 9u, uint32_t{HSA_PACKET_TYPE_BARRIER_AND}, kVendorFormat7})
    Submit(queue, kind, done);
  while (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                   HSA_WAIT_STATE_BLOCKED) > 0) {
  }
  HSA_CHECKED(hsa_signal_destroy(done));
  HSA_CHECKED(hsa_queue_destroy(queue));
}

using QueueCreate = hsa_status_t (*)(hsa_agent_t, uint32_t, hsa_queue_type32_t,
                                     void (*)(hsa_status_t, hsa_queue_t*, void*), void*,
                                     hsa_queue_t**);

}  // namespace

int main() {
  program::Begin("ahead");
  UseHip();
  CallHsa();
  const hsa_agent_t gpu = FirstGpu();
  hsa_queue_t* queue = nullptr;
  HSA_CHECKED(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX,
                               UINT32_MAX, &queue));
  SubmitNewPackets(queue);
  HSA_CHECKED(Find<QueueCreate>("hsa_amd_ahead_queue_create")(gpu, 64, HSA_QUEUE_TYPE_MULTI,
                                                              nullptr, nullptr, &queue));
  SubmitNewPackets(queue);
  uint64_t queues = 0;  // also those of HIP
  for (int i = 0; i < kEnd; ++i)
    HSA_CHECKED(Find<hsa_status_t (*)(uint64_t*)>("hsa_ahead_end")(&queues));
  printf("new-hip hipAheadBetween=%d hipAheadLaunchTwice=%d nameless=%d\n", kBetween, kTwice,
         kTwice);
  printf(
      "new-hsa hsa_amd_ahead_between=%d hsa_ahead_between=%d hsa_ahead_end=%d "
      "hsa_amd_ahead_queue_create=%llu nameless=%d\n",
      kAmdBetween, kCoreBetween, kEnd, static_cast<unsigned long long>(queues), kOfNewTable);
  printf("new-packets vendor_format_7=4 type_9=2\n");
  return program::Pass();
}
