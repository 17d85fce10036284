// SPDX-License-Identifier: MIT
//
// Programs whose GPU work does not end, one way each, and programs that are only slow:
// `hangs NAME`. Prints its process id once the work is submitted. Programs that hang wait until
// they are killed; slow ones end with 0 and print how long the kernel took. hangs.py knows what
// each of them waits for.

#include <hip/hip_runtime.h>
#include <hsa/hsa.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

namespace {

void Check(hipError_t error, const char* call, int line) {
  if (error == hipSuccess) return;
  printf("line %d: %s gave %s\n", line, call, hipGetErrorName(error));
  fflush(stdout);
  _exit(4);
}
#define HIP(...) Check((__VA_ARGS__), #__VA_ARGS__, __LINE__)

void CheckHsa(hsa_status_t status, const char* call, int line) {
  if (status == HSA_STATUS_SUCCESS) return;
  printf("line %d: %s gave %#x\n", line, call, static_cast<unsigned>(status));
  fflush(stdout);
  _exit(4);
}
#define HSA(...) CheckHsa((__VA_ARGS__), #__VA_ARGS__, __LINE__)

}  // namespace

__global__ void Endless() {
  for (;;) __builtin_amdgcn_s_sleep(10);
}

__global__ void EndlessWork(volatile int* data) {
  for (;;) data[threadIdx.x] = data[threadIdx.x] * 3 + 1;
}

__global__ void WaitForFlag(int* data, volatile int* flag) {
  while (*flag == 0) __builtin_amdgcn_s_sleep(10);
  data[threadIdx.x] = 1;
}

__global__ void TakeLock(int* lock, int* data) {
  while (atomicCAS(lock, 0, 1) != 0) __builtin_amdgcn_s_sleep(10);
  *data = 1;
}

__global__ void SetFlag(volatile int* flag) { *flag = 1; }

__global__ void Count(int* data, long rounds) {
  int value = data[threadIdx.x];
  for (long i = 0; i < rounds; ++i) {
    asm volatile("" : "+v"(value));
    value = value * 3 + 1;
  }
  data[threadIdx.x] = value;
}

__global__ void UntilTime(int* data, long long ticks) {
  const long long start = wall_clock64();
  while (wall_clock64() - start < ticks) __builtin_amdgcn_s_sleep(10);
  data[threadIdx.x] = 1;
}

// Counts a float down, and looks at its magnitude.
__global__ void CountDown(float* data, float from, long times) {
  float sum = 0;
  for (long i = 0; i < times; ++i) {
    float value = from;
    while (fabsf(value) > 0.5f) value -= 1;
    sum += value;
  }
  data[threadIdx.x] = sum;
}

__global__ void UntilCount(volatile unsigned* count, unsigned wanted, int* data) {
  while (*count < wanted) __builtin_amdgcn_s_sleep(10);
  data[threadIdx.x] = 1;
}

// One more every so many ticks.
__global__ void Produce(volatile unsigned* count, unsigned wanted, long long ticks) {
  for (unsigned i = 1; i <= wanted; ++i) {
    const long long start = wall_clock64();
    while (wall_clock64() - start < ticks) __builtin_amdgcn_s_sleep(10);
    *count = i;
  }
}

__global__ void Quick(int* data) { data[threadIdx.x] = 1; }

namespace {

template <typename T>
T* Device(size_t count) {
  T* memory = nullptr;
  HIP(hipMalloc(&memory, count * sizeof(T)));
  HIP(hipMemset(memory, 0, count * sizeof(T)));
  HIP(hipDeviceSynchronize());
  return memory;
}

hipStream_t Stream() {
  hipStream_t stream = nullptr;
  HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  return stream;
}

// What the program prints when all is submitted.
void Submitted() {
  printf("pid=%d\n", static_cast<int>(getpid()));
  fflush(stdout);
}

void WaitForEver() {
  Submitted();
  HIP(hipDeviceSynchronize());
  printf("it ended\n");
}

// --- a packet that waits, in queues of the program's own

hsa_status_t FirstGpu(hsa_agent_t agent, void* data) {
  hsa_device_type_t type{};
  HSA(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  if (type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_SUCCESS;
  *static_cast<hsa_agent_t*>(data) = agent;
  return HSA_STATUS_INFO_BREAK;
}

hsa_queue_t* NewQueue() {
  hsa_agent_t gpu{};
  hsa_iterate_agents(FirstGpu, &gpu);
  hsa_queue_t* queue = nullptr;
  HSA(hsa_queue_create(gpu, 128, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX,
                       &queue));
  return queue;
}

hsa_signal_t NewSignal() {
  hsa_signal_t signal{};
  HSA(hsa_signal_create(1, 0, nullptr, &signal));
  return signal;
}

void SubmitBarrier(hsa_queue_t* queue, hsa_signal_t after, hsa_signal_t done) {
  const uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
  auto* const packet =
      static_cast<hsa_barrier_and_packet_t*>(queue->base_address) + index % queue->size;
  for (hsa_signal_t& signal : packet->dep_signal) signal.handle = 0;
  packet->dep_signal[1] = after;
  packet->completion_signal = done;
  const uint16_t header = HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE |
                          1 << HSA_PACKET_HEADER_BARRIER |
                          HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  __atomic_store_n(&packet->header, header, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

void AwaitSignal(hsa_signal_t done) {
  Submitted();
  while (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                   HSA_WAIT_STATE_BLOCKED) > 0) {
  }
}

// --- hangs

void RunEndless() {
  Endless<<<1, 64>>>();
  WaitForEver();
}

void RunEndlessWork() {
  EndlessWork<<<1, 64>>>(Device<int>(64));
  WaitForEver();
}

void Flag() {
  int* const data = Device<int>(64);
  WaitForFlag<<<1, 64>>>(data, Device<int>(1));
  Quick<<<1, 64>>>(data);
  WaitForEver();
}

// The hung kernel is beside a stream that works all the time.
void FlagBeside() {
  int* const data = Device<int>(64);
  WaitForFlag<<<1, 64, 0, Stream()>>>(data, Device<int>(1));
  const hipStream_t busy = Stream();
  Submitted();
  for (;;) {
    Quick<<<1, 64, 0, busy>>>(data);
    HIP(hipStreamSynchronize(busy));
    usleep(20000);
  }
}

void Lock() {
  int* const lock = Device<int>(1);
  const int taken = 1;
  HIP(hipMemcpy(lock, &taken, sizeof taken, hipMemcpyHostToDevice));
  TakeLock<<<1, 1>>>(lock, Device<int>(1));
  WaitForEver();
}

void Barrier() {
  HSA(hsa_init());
  const hsa_signal_t done = NewSignal();
  SubmitBarrier(NewQueue(), NewSignal(), done);
  AwaitSignal(done);
}

void Value() {
  void* flag = nullptr;
  HIP(hipExtMallocWithFlags(&flag, 8, hipMallocSignalMemory));
  const hipStream_t stream = Stream();
  HIP(hipStreamWriteValue64(stream, flag, 0, 0));
  int* const data = Device<int>(64);
  Quick<<<1, 64, 0, stream>>>(data);
  HIP(hipStreamSynchronize(stream));
  HIP(hipStreamWaitValue64(stream, flag, 7, hipStreamWaitValueEq, ~0ull));
  Quick<<<1, 64, 0, stream>>>(data);
  WaitForEver();
}

void HostFunction() {
  const hipStream_t stream = Stream();
  int* const data = Device<int>(64);
  Quick<<<1, 64, 0, stream>>>(data);
  HIP(hipStreamSynchronize(stream));
  HIP(hipLaunchHostFunc(stream, [](void*) { pause(); }, nullptr));
  Quick<<<1, 64, 0, stream>>>(data);
  WaitForEver();
}

void Deadlock() {
  int* const data = Device<int>(64);
  int* const first = Device<int>(1);
  int* const second = Device<int>(1);
  const hipStream_t one = Stream();
  const hipStream_t other = Stream();
  WaitForFlag<<<1, 64, 0, one>>>(data, first);
  WaitForFlag<<<1, 64, 0, other>>>(data, second);
  SetFlag<<<1, 1, 0, one>>>(second);
  SetFlag<<<1, 1, 0, other>>>(first);
  WaitForEver();
}

void DeadlockSignals() {
  HSA(hsa_init());
  hsa_queue_t* const one = NewQueue();
  hsa_queue_t* const other = NewQueue();
  const hsa_signal_t first = NewSignal();
  const hsa_signal_t second = NewSignal();
  SubmitBarrier(one, first, second);
  SubmitBarrier(other, second, first);
  AwaitSignal(first);
}

// --- slow

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double slow_seconds = 8;

void SlowCount() {
  int* const data = Device<int>(64);
  long rounds = 10000;
  double took = 0;
  while (took < 1.5) {  // on a machine that may be busy
    rounds *= 3;
    const double start = Seconds();
    Count<<<1, 64>>>(data, rounds);
    HIP(hipDeviceSynchronize());
    took = Seconds() - start;
  }
  const double start = Seconds();
  Count<<<1, 64>>>(data, static_cast<long>(static_cast<double>(rounds) * 2 * slow_seconds / took));
  Submitted();
  HIP(hipDeviceSynchronize());
  printf("took %.3f s\n", Seconds() - start);
}

// Its time is measured with fewer rounds first.
void SlowFloat() {
  float* const data = Device<float>(64);
  constexpr float kFrom = 100'000;
  const double before = Seconds();
  CountDown<<<1, 64>>>(data, kFrom, 1);
  HIP(hipDeviceSynchronize());
  const double took = Seconds() - before;
  const double start = Seconds();
  CountDown<<<1, 64>>>(data, kFrom, static_cast<long>(2 * slow_seconds / took) + 1);
  Submitted();
  HIP(hipDeviceSynchronize());
  printf("took %.3f s\n", Seconds() - start);
}

constexpr unsigned kProduced = 100;

// Another stream brings what it waits for, a little at a time.
void SlowProducer() {
  unsigned* const count = Device<unsigned>(1);
  int* const data = Device<int>(64);
  int khz = 0;
  HIP(hipDeviceGetAttribute(&khz, hipDeviceAttributeWallClockRate, 0));
  const double start = Seconds();
  UntilCount<<<1, 64, 0, Stream()>>>(count, kProduced, data);
  Produce<<<1, 1, 0, Stream()>>>(count, kProduced,
                                 static_cast<long long>(slow_seconds * khz * 1000 / kProduced));
  Submitted();
  HIP(hipDeviceSynchronize());
  printf("took %.3f s\n", Seconds() - start);
}

// The host does.
void SlowHost() {
  unsigned* count = nullptr;
  HIP(hipHostMalloc(reinterpret_cast<void**>(&count), sizeof(unsigned)));
  *count = 0;
  const double start = Seconds();
  UntilCount<<<1, 64>>>(count, kProduced, Device<int>(64));
  Submitted();
  for (unsigned i = 1; i <= kProduced; ++i) {
    usleep(static_cast<useconds_t>(slow_seconds * 1e6 / kProduced));
    __atomic_store_n(count, i, __ATOMIC_RELEASE);
  }
  HIP(hipDeviceSynchronize());
  printf("took %.3f s\n", Seconds() - start);
}

void SlowTime() {
  int* const data = Device<int>(64);
  int khz = 0;
  HIP(hipDeviceGetAttribute(&khz, hipDeviceAttributeWallClockRate, 0));
  const double start = Seconds();
  UntilTime<<<1, 64>>>(data, static_cast<long long>(slow_seconds * khz * 1000));
  Submitted();
  HIP(hipDeviceSynchronize());
  printf("took %.3f s\n", Seconds() - start);
}

// Every kernel ends at once, and there is always one.
void Busy() {
  int* const data = Device<int>(64);
  Submitted();
  for (const double start = Seconds(); Seconds() - start < slow_seconds;) {
    Quick<<<1, 64>>>(data);
    HIP(hipDeviceSynchronize());
  }
}

void Idle() {
  int* const data = Device<int>(64);
  Quick<<<1, 64>>>(data);
  HIP(hipDeviceSynchronize());
  Submitted();
  sleep(static_cast<unsigned>(slow_seconds));
}

const std::map<std::string, std::function<void()>> kPrograms = {
    {"endless", RunEndless},
    {"endless_work", RunEndlessWork},
    {"flag", Flag},
    {"flag_beside", FlagBeside},
    {"lock", Lock},
    {"barrier", Barrier},
    {"value", Value},
    {"host_function", HostFunction},
    {"deadlock", Deadlock},
    {"deadlock_signals", DeadlockSignals},
    {"slow_count", SlowCount},
    {"slow_time", SlowTime},
    {"slow_float", SlowFloat},
    {"slow_producer", SlowProducer},
    {"slow_host", SlowHost},
    {"busy", Busy},
    {"idle", Idle},
};

}  // namespace

int main(int argc, char** argv) {
  const auto program = kPrograms.find(argc > 1 ? argv[1] : "");
  if (program == kPrograms.end()) {
    for (const auto& [name, run] : kPrograms) printf("%s\n", name.c_str());
    return 2;
  }
  if (argc > 2) slow_seconds = atof(argv[2]);
  // In case that nobody kills it.
  alarm(120 + 10 * static_cast<unsigned>(slow_seconds));
  program->second();
  return 0;
}
