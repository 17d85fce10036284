// SPDX-License-Identifier: MIT
//
// Programs with one planted fault each, in settings where it is easy to accuse the wrong kernel:
// `planted NAME`. truth.py knows who is guilty of what. Kernels called Guilty... fail; kernels
// called Innocent... never do, whatever their arguments look like. Ends with 0 if nothing failed.

#include <hip/hip_runtime.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "planted_memory.h"

struct Node {
  int* data = nullptr;
  Node* next = nullptr;
  long padding[2] = {};
};

struct Outer {
  long header[3] = {};
  Node* node = nullptr;
};

struct Large {
  long before[6];
  int* data;
  long after;
};

// --- innocents

// Marks that it runs, waits for the host, then writes where it may.
__global__ void InnocentWait(int* data, volatile int* started, volatile int* release) {
  *started = 1;
  while (*release == 0) __builtin_amdgcn_s_sleep(10);
  data[threadIdx.x] = 7;
}

__global__ void InnocentOther(int* data, volatile int* started, volatile int* release) {
  *started = 1;
  while (*release == 0) __builtin_amdgcn_s_sleep(10);
  data[threadIdx.x] = data[threadIdx.x + 64] + 1;
}

__global__ void InnocentOptional(int* data, int* optional, volatile int* started,
                                 volatile int* release) {
  *started = 1;
  while (*release == 0) __builtin_amdgcn_s_sleep(10);
  if (optional != nullptr) optional[0] = 1;
  data[threadIdx.x] = 7;
}

// Reads the index array that a guilty kernel trips over, and counts.
__global__ void InnocentIndices(const int* index, int* count, volatile int* started,
                                volatile int* release) {
  *started = 1;
  while (*release == 0) __builtin_amdgcn_s_sleep(10);
  if (index[threadIdx.x] > 0) atomicAdd(count, 1);
}

__global__ void InnocentRead(const int* from, int* to) { to[threadIdx.x] = from[threadIdx.x]; }

__global__ void InnocentFill(int* data, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = i;
}

// --- guilty

__global__ void GuiltyFar(int* data) { data[2 * kInts + threadIdx.x] = 1; }
__global__ void GuiltyAt(int* data, size_t at) { data[at + threadIdx.x] = 1; }
__global__ void GuiltyRead(const int* data, size_t at, int* out) {
  out[threadIdx.x] = data[at + threadIdx.x];
}
__global__ void GuiltyPointers(int** pointers) { pointers[3][threadIdx.x] = 1; }
__global__ void GuiltyField(Node* node) { node->data[threadIdx.x] = 1; }
__global__ void GuiltyNested(int* ok, Outer* outer) {
  outer->node->data[threadIdx.x] = ok[threadIdx.x];
}
__global__ void GuiltyList(Node* node) {
  for (; node != nullptr; node = node->next) node->data[0] = 1;
}
__global__ void GuiltyFieldOptional(Node* node, int* optional) {
  if (optional != nullptr) optional[0] = 1;
  node->data[threadIdx.x] = 1;
}
__global__ void GuiltyIndex(const int* index, float* data) { data[index[threadIdx.x]] = 1; }
__global__ void GuiltyFill(int* data, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = i;
}
__global__ void GuiltyOffByOne(int* data, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= count) data[i] = i;
}
__global__ void GuiltyMisaligned(char* data, int offset) {
  atomicAdd(reinterpret_cast<unsigned long long*>(data + offset), 1ull);
}
// The host has cut a pointer to 32 bits.
__global__ void GuiltyTruncated(unsigned address, int value) {
  reinterpret_cast<int*>(static_cast<unsigned long long>(address))[threadIdx.x] = value;
}
__device__ __attribute__((noinline)) int* Advanced(int* data, long count) { return data + count; }
__global__ void GuiltyCallee(int* data, long count) { Advanced(data, count)[threadIdx.x] = 1; }
// As a debug build has it.
__global__ __attribute__((optnone, noinline)) void GuiltyDebugBuild(int* data, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = i;
}
__global__ void GuiltyByValue(Large large) { large.data[threadIdx.x] = 1; }
__global__ void GuiltyBesideStale(int* stale, int* data) {
  if (threadIdx.x > 1000) stale[0] = 1;
  data[2 * kInts + threadIdx.x] = 2;
}
__global__ void GuiltyCopy(const int* from, int* to) { to[threadIdx.x] = from[threadIdx.x]; }
__device__ int* global_pointer;
__global__ void GuiltyGlobal() { global_pointer[threadIdx.x] = 1; }
__global__ void GuiltyGlobalNumber(int number) { global_pointer[threadIdx.x] = number; }
__global__ void GuiltyLds(int* out, int offset) {
  __shared__ int shared[64];
  shared[threadIdx.x] = threadIdx.x;
  __syncthreads();
  int* flat = shared;
  asm volatile("" : "+v"(flat));  // hides from the compiler that it is LDS
  flat[offset + threadIdx.x] = 7;
  __syncthreads();
  out[threadIdx.x] = shared[threadIdx.x];
}
__device__ __attribute__((noinline)) int Deeper(int depth, volatile int* marks) {
  volatile int mine[64];
  for (int i = 0; i < 64; ++i) mine[i] = depth + i;
  if (marks[0] == depth) return mine[depth & 63];
  return Deeper(depth + 1, marks) + mine[depth & 63];
}
__global__ void GuiltyRecursion(int* marks) { marks[1] = Deeper(0, marks); }
__global__ void GuiltyIllegal(int* data) {
  data[0] = 1;
  asm volatile(".long 0x7fffffff\n.long 0xdeadbeef\n");
  data[1] = 2;
}
__global__ void GuiltyTrap(int* data) {
  data[0] = 1;
  __builtin_trap();
}
__global__ void GuiltyAbort(int* data) {
  if (threadIdx.x == 3) abort();
  data[0] = 1;
}
using Function = void (*)(int*);
__global__ void GuiltyCall(int* data, Function function) { function(data); }
__global__ void GuiltyForever(volatile int* data) {
  while (*data == 0) __builtin_amdgcn_s_sleep(1);
}

namespace {

hipStream_t Stream() {
  hipStream_t stream = nullptr;
  HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  return stream;
}

// Launches that wait, each on a stream of its own, until the program ends.
class Waiting {
 public:
  Waiting() {
    void* pointer = nullptr;
    HIP(hipHostMalloc(&pointer, 64 * sizeof(int)));
    flags_ = static_cast<int*>(pointer);
    memset(flags_, 0, 64 * sizeof(int));
  }

  template <typename Launch>
  void Start(Launch launch) {
    int* const started = flags_ + 1 + count_++;
    launch(Stream(), started, flags_);
    while (*static_cast<volatile int*>(started) == 0) usleep(1000);
  }
  void Wait(int* data) {
    Start([&](hipStream_t stream, int* started, int* release) {
      InnocentWait<<<1, 64, 0, stream>>>(data, started, release);
    });
  }
  void WaitOther(int* data) {
    Start([&](hipStream_t stream, int* started, int* release) {
      InnocentOther<<<1, 64, 0, stream>>>(data, started, release);
    });
  }
  void WaitOptional(int* data, int* optional) {
    Start([&](hipStream_t stream, int* started, int* release) {
      InnocentOptional<<<1, 64, 0, stream>>>(data, optional, started, release);
    });
  }
  void WaitIndices(const int* index, int* count) {
    Start([&](hipStream_t stream, int* started, int* release) {
      InnocentIndices<<<1, 64, 0, stream>>>(index, count, started, release);
    });
  }
  void Release() { *static_cast<volatile int*>(flags_) = 1; }
  int* flags() { return flags_; }

 private:
  int* flags_;
  int count_ = 0;
};

int* data = nullptr;  // 2 MiB, which is what GPU memory is mapped in

// --- several streams

void StreamsShared() {
  Waiting waiting;
  waiting.Wait(data);
  waiting.WaitOther(data);
  waiting.Wait(data);
  GuiltyAt<<<1, 64, 0, Stream()>>>(data, 2 * kInts);
}

void StreamsFar() {
  int* const shared = Device<int>(2 * kMebi);
  Waiting waiting;
  waiting.Wait(shared);
  waiting.WaitOther(shared);
  GuiltyFar<<<1, 64, 0, Stream()>>>(shared);
}

void StreamsNeighbour() {  // the fault is where an innocent's buffer ends
  char* const buffer = Device<char>(4 * kMebi);
  Waiting waiting;
  waiting.Wait(reinterpret_cast<int*>(buffer));
  int* const past = reinterpret_cast<int*>(buffer + 4 * kMebi);
  int** const pointers = Upload<int*>({data, data, data, past});
  GuiltyPointers<<<1, 64, 0, Stream()>>>(pointers);
}

void StreamsOptional() {  // an innocent has a null argument that it does not use
  Node* const node = Upload<Node>({Node{}});
  Waiting waiting;
  waiting.WaitOptional(data, nullptr);
  GuiltyField<<<1, 64, 0, Stream()>>>(node);
}

void StreamsOtherBuffer() {
  int* const large = Device<int>(8 * kMebi);
  Waiting waiting;
  waiting.Wait(large);
  GuiltyAt<<<1, 64, 0, Stream()>>>(data, 2 * kInts);
}

void StreamsFreed() {  // an innocent works in the memory below the freed one
  const auto [below, freed] = Adjacent();
  FreeSecond(freed);
  Waiting waiting;
  waiting.Wait(reinterpret_cast<int*>(below));
  GuiltyCopy<<<1, 64, 0, Stream()>>>(data, reinterpret_cast<int*>(freed));
}

void StreamsSameKernel() {  // two launches of one kernel; the one with two workgroups is guilty
  Waiting waiting;
  waiting.Wait(data);
  hipStream_t first = Stream();
  hipStream_t second = Stream();
  GuiltyAt<<<1, 64, 0, first>>>(data, 0);
  HIP(hipStreamSynchronize(first));
  GuiltyAt<<<2, 64, 0, second>>>(data, 2 * kInts);
}

void StreamsIndices() {
  std::vector<int> index(64);
  for (int i = 0; i < 64; ++i) index[i] = i;
  index[13] = static_cast<int>(8 * kInts);
  int* const indices = Upload(index);
  Waiting waiting;
  waiting.WaitIndices(indices, data);
  GuiltyIndex<<<1, 64, 0, Stream()>>>(indices, Apart<float>(2 * kMebi));
}

void StreamsRead() {
  int* const out = Device<int>(kMebi);
  Waiting waiting;
  waiting.WaitOther(data);
  GuiltyRead<<<1, 64, 0, Stream()>>>(data, 2 * kInts, out);
}

void StreamsSix() {
  Waiting waiting;
  for (int i = 0; i < 3; ++i) waiting.Wait(data + 64 * i);
  for (int i = 0; i < 3; ++i) waiting.WaitOptional(data, i == 1 ? nullptr : data);
  GuiltyFill<<<1, 64, 0, Stream()>>>(nullptr, 64);
}

// --- one stream, several launches

void QueuedNull() {
  Node* const node = Upload<Node>({Node{}});
  Waiting waiting;
  waiting.Release();
  hipStream_t stream = Stream();
  InnocentWait<<<1, 64, 0, stream>>>(data, waiting.flags() + 1, waiting.flags());
  GuiltyField<<<1, 64, 0, stream>>>(node);
  InnocentOptional<<<1, 64, 0, stream>>>(data, nullptr, waiting.flags() + 2, waiting.flags());
}

void QueuedPast() {
  char* const buffer = Device<char>(2 * kMebi);
  Node* const node = Upload<Node>({Node{reinterpret_cast<int*>(buffer + 2 * kMebi)}});
  hipStream_t stream = Stream();
  GuiltyField<<<1, 64, 0, stream>>>(node);
  InnocentFill<<<1, 64, 0, stream>>>(reinterpret_cast<int*>(buffer), 64);
}

void QueuedMany() {
  for (int i = 0; i < 300; ++i) InnocentFill<<<1, 64>>>(data, 64);
  GuiltyAt<<<1, 64>>>(data, 2 * kInts);
  for (int i = 0; i < 300; ++i) InnocentFill<<<1, 64>>>(data, 64);
}

void QueuedFreed() {  // what comes after the guilty one uses freed memory, and has not started
  int* const freed = Device<int>(4 * kMebi);
  Free(freed);
  Waiting waiting;
  hipStream_t stream = Stream();
  waiting.Start([&](hipStream_t, int* started, int* release) {
    InnocentWait<<<1, 64, 0, stream>>>(data, started, release);
  });
  GuiltyFar<<<1, 64, 0, stream>>>(data);
  InnocentFill<<<1, 64, 0, stream>>>(freed, 64);
  waiting.Release();
}

void Graph() {
  hipStream_t stream = Stream();
  HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  InnocentFill<<<4, 64, 0, stream>>>(data, 256);
  GuiltyAt<<<1, 64, 0, stream>>>(data, 2 * kInts);
  InnocentFill<<<4, 64, 0, stream>>>(data, 256);
  hipGraph_t graph = nullptr;
  hipGraphExec_t executable = nullptr;
  HIP(hipStreamEndCapture(stream, &graph));
  HIP(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  HIP(hipGraphLaunch(executable, stream));
}

void GraphBeside() {
  Waiting waiting;
  waiting.Wait(data);
  Graph();
}

// --- pointers that are in memory

void FieldFreed() {
  int* const freed = Device<int>(4 * kMebi);
  Node* const node = Upload<Node>({Node{freed}});
  Free(freed);
  GuiltyField<<<1, 64>>>(node);
}

void FieldHost() {
  int* const host = static_cast<int*>(malloc(kMebi));
  host[0] = 1;
  GuiltyField<<<1, 64>>>(Upload<Node>({Node{host}}));
}

void FieldGarbage() {
  GuiltyField<<<1, 64>>>(Upload<Node>({Node{reinterpret_cast<int*>(0x123456789000)}}));
}

void FieldNull() { GuiltyField<<<1, 64>>>(Upload<Node>({Node{}})); }

void FieldOptional() { GuiltyFieldOptional<<<1, 64>>>(Upload<Node>({Node{}}), nullptr); }

void NestedFreed() {
  int* const freed = Device<int>(4 * kMebi);
  Node* const node = Upload<Node>({Node{freed}});
  Outer* const outer = Upload<Outer>({Outer{{}, node}});
  Free(freed);
  GuiltyNested<<<1, 64>>>(data, outer);
}

void NestedNull() { GuiltyNested<<<1, 64>>>(data, Upload<Outer>({Outer{}})); }

void ListGarbage() {
  Node* const nodes = Device<Node>(8192);
  const Node list[2] = {{data, nodes + 1}, {data, reinterpret_cast<Node*>(0xdeadbeef0000)}};
  HIP(hipMemcpy(nodes, list, sizeof list, hipMemcpyHostToDevice));
  GuiltyList<<<1, 1>>>(nodes);
}

void NeighbourFreed() {  // the array of pointers lies directly below the freed memory
  const auto [below, freed] = Adjacent();
  int* const pointers[4] = {data, data, data, reinterpret_cast<int*>(freed)};
  HIP(hipMemcpy(below, pointers, sizeof pointers, hipMemcpyHostToDevice));
  FreeSecond(freed);
  GuiltyPointers<<<1, 64>>>(reinterpret_cast<int**>(below));
}

void ByValue() {
  Large large{};
  large.data = data + 2 * kInts;
  GuiltyByValue<<<1, 64>>>(large);
}

void BesideStale() {
  int* const stale = Device<int>(4 * kMebi);
  Free(stale);
  GuiltyBesideStale<<<1, 64>>>(stale, data);
}

void IndexPast() {
  std::vector<int> index(64, 3);
  index[13] = static_cast<int>(16 * kInts);
  GuiltyIndex<<<1, 64>>>(Upload(index), Apart<float>(2 * kMebi));
}

void IndexNegative() {
  int* const indices = Device<int>(2 * kMebi);
  float* const values = Apart<float>(2 * kMebi);
  std::vector<int> index(64, 3);
  index[40] = -static_cast<int>(64 * kInts);
  HIP(hipMemcpy(indices, index.data(), 64 * sizeof(int), hipMemcpyHostToDevice));
  GuiltyIndex<<<1, 64>>>(indices, values);
}

void SetGlobal(int* value) {
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(global_pointer), &value, sizeof value));
}

void GlobalGarbage() {
  SetGlobal(reinterpret_cast<int*>(0x200000000000));
  GuiltyGlobal<<<1, 64>>>();
}

void GlobalNull() {
  Waiting waiting;
  waiting.WaitOptional(data, nullptr);
  GuiltyGlobalNumber<<<1, 64, 0, Stream()>>>(5);
}

// --- memory of all kinds

void Misaligned() { GuiltyMisaligned<<<1, 1>>>(Device<char>(4096), 4); }

void Truncated() {
  const auto address = reinterpret_cast<uint64_t>(Device<int>(kMebi));
  GuiltyTruncated<<<1, 64>>>(static_cast<unsigned>(address), 7);
}

void Callee() { GuiltyCallee<<<1, 64>>>(Device<int>(2 * kMebi), 1024 * kMebi); }

void DebugBuild() {
  constexpr int kCount = 2 * kMebi / sizeof(int);
  GuiltyDebugBuild<<<kCount / 256 + 1, 256>>>(Device<int>(2 * kMebi), kCount + 256);
}

void NullArgument() { GuiltyFill<<<4, 64>>>(nullptr, 256); }

void Freed() {
  int* const freed = Device<int>(4 * kMebi);
  Free(freed);
  GuiltyFill<<<4, 64>>>(freed, 256);
}

void FreedAndReused() {
  int* const freed = Device<int>(8 * kMebi);
  Free(freed);
  int* const other = Device<int>(2 * kMebi);
  GuiltyCopy<<<1, 64>>>(other, freed + 3 * kInts);
}

void FreedAsync() {
  hipStream_t stream = Stream();
  int* freed = nullptr;
  HIP(hipMallocAsync(reinterpret_cast<void**>(&freed), 4 * kMebi, stream));
  InnocentFill<<<4, 64, 0, stream>>>(freed, 256);
  HIP(hipFreeAsync(freed, stream));
  HIP(hipStreamSynchronize(stream));
  hipMemPool_t pool = nullptr;
  HIP(hipDeviceGetDefaultMemPool(&pool, 0));
  HIP(hipMemPoolTrimTo(pool, 0));
  GuiltyFill<<<4, 64, 0, stream>>>(freed, 256);
}

void FreedPinned() {
  int* host = nullptr;
  HIP(hipHostMalloc(reinterpret_cast<void**>(&host), 4 * kMebi));
  HIP(hipHostFree(host));
  GuiltyFill<<<4, 64>>>(host, 256);
}

int* Registered(char** mapping) {
  *mapping = static_cast<char*>(
      mmap(nullptr, 4 * kMebi, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  memset(*mapping, 0, 4 * kMebi);
  HIP(hipHostRegister(*mapping, 4 * kMebi, 0));
  int* seen = nullptr;
  HIP(hipHostGetDevicePointer(reinterpret_cast<void**>(&seen), *mapping, 0));
  return seen;
}

void Unmapped() {
  char* mapping = nullptr;
  int* const seen = Registered(&mapping);
  munmap(mapping, 4 * kMebi);
  GuiltyFill<<<4, 64>>>(seen, 256);
}

void HostMemory() {
  int* const host = static_cast<int*>(malloc(4 * kMebi));
  memset(host, 0, 4 * kMebi);
  GuiltyFill<<<4, 64>>>(host, 256);
}

void HostStack() {
  int host[256] = {};
  GuiltyFill<<<4, 64>>>(host, 256);
  HIP(hipDeviceSynchronize());
}

// Host memory that was registered, and then protected from writes.
int* Protected() {
  void* const host =
      mmap(nullptr, kMebi, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(host, 7, kMebi);
  HIP(hipHostRegister(host, kMebi, hipHostRegisterDefault));
  void* seen = nullptr;
  HIP(hipHostGetDevicePointer(&seen, host, 0));
  mprotect(host, kMebi, PROT_READ);
  return static_cast<int*>(seen);
}

void ReadOnly() { GuiltyFill<<<1, 64>>>(Protected(), 64); }

void ReadsReadOnly() { InnocentRead<<<1, 64>>>(Protected(), data); }

void HostFile() { GuiltyFill<<<1, 64>>>(reinterpret_cast<int*>(&Freed), 64); }

void OnePastEnd() {  // the argument itself is one past the end
  int* const buffer = Device<int>(2 * kMebi);
  GuiltyFill<<<1, 64>>>(buffer + 2 * kInts, 64);
}

void OffByOne() {
  GuiltyOffByOne<<<2 * kMebi / 1024 + 1, 256>>>(Device<int>(2 * kMebi), 2 * kInts);
}

// --- several GPUs and processes

void SecondGpu() {
  Waiting waiting;
  waiting.Wait(data);
  HIP(hipSetDevice(1));
  int* const there = Device<int>(kMebi);
  GuiltyAt<<<1, 64, 0, Stream()>>>(there, 2 * kInts);
}

void PeerNoAccess() {
  HIP(hipSetDevice(1));
  GuiltyCopy<<<1, 64>>>(data, Device<int>(kMebi));
}

void Child() {  // `data` was not allocated yet
  const pid_t child = fork();
  if (child == 0) {
    GuiltyAt<<<1, 64>>>(Device<int>(kMebi), 2 * kInts);
    HIP(hipDeviceSynchronize());
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  InnocentFill<<<4, 64>>>(Device<int>(kMebi), 256);
}

// --- other ways to fail

void Lds() { GuiltyLds<<<1, 64>>>(data, 1 << 20); }

void LdsBeside() {
  Waiting waiting;
  waiting.Wait(data);
  GuiltyLds<<<1, 64, 0, Stream()>>>(data, 1 << 20);
}

void Recursion() {
  const int never = -1;
  HIP(hipMemcpy(data, &never, sizeof never, hipMemcpyHostToDevice));
  GuiltyRecursion<<<1, 1>>>(data);
}

void Illegal() {
  Waiting waiting;
  waiting.Wait(data);
  GuiltyIllegal<<<1, 64, 0, Stream()>>>(data);
}

void Trap() {
  Waiting waiting;
  waiting.Wait(data);
  GuiltyTrap<<<1, 64, 0, Stream()>>>(data);
}

void Abort() { GuiltyAbort<<<1, 64>>>(data); }
void CallNowhere() { GuiltyCall<<<1, 64>>>(data, reinterpret_cast<Function>(0x7000)); }
void CallData() {
  GuiltyCall<<<1, 64>>>(data, reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(data)));
}

void OwnHandler() {
  signal(SIGABRT, [](int) { _exit(42); });
  GuiltyAt<<<1, 64>>>(data, 2 * kInts);
}

void Forever() {
  GuiltyForever<<<1, 64>>>(data);
  sleep(4);
  _exit(3);
}

void Slow(bool fault) {
  Waiting waiting;
  waiting.Wait(data);
  sleep(4);
  waiting.Release();
  HIP(hipDeviceSynchronize());
  if (fault) GuiltyAt<<<1, 64>>>(data, 2 * kInts);
}

// --- nothing is wrong with the GPU

void FailsByItself() {
  InnocentFill<<<1, 64>>>(data, 64);
  HIP(hipDeviceSynchronize());
  abort();
}

void FailsWhileBusy() {
  Waiting waiting;
  waiting.Wait(data);
  abort();
}

void ExitsWhileBusy() {
  Waiting waiting;
  waiting.Wait(data);
  _exit(5);
}

void Clean() { InnocentFill<<<4, 64>>>(data, 256); }

const std::map<std::string, std::function<void()>> kPlanted = {
    {"streams_shared", StreamsShared},
    {"streams_far", StreamsFar},
    {"streams_neighbour", StreamsNeighbour},
    {"streams_optional", StreamsOptional},
    {"streams_other_buffer", StreamsOtherBuffer},
    {"streams_freed", StreamsFreed},
    {"streams_same_kernel", StreamsSameKernel},
    {"streams_indices", StreamsIndices},
    {"streams_read", StreamsRead},
    {"streams_six", StreamsSix},
    {"queued_null", QueuedNull},
    {"queued_past", QueuedPast},
    {"queued_many", QueuedMany},
    {"queued_freed", QueuedFreed},
    {"graph", Graph},
    {"graph_beside", GraphBeside},
    {"field_freed", FieldFreed},
    {"field_host", FieldHost},
    {"field_garbage", FieldGarbage},
    {"field_null", FieldNull},
    {"field_optional", FieldOptional},
    {"nested_freed", NestedFreed},
    {"nested_null", NestedNull},
    {"list_garbage", ListGarbage},
    {"neighbour_freed", NeighbourFreed},
    {"by_value", ByValue},
    {"beside_stale", BesideStale},
    {"index_past", IndexPast},
    {"index_negative", IndexNegative},
    {"global_garbage", GlobalGarbage},
    {"global_null", GlobalNull},
    {"null_argument", NullArgument},
    {"freed", Freed},
    {"freed_and_reused", FreedAndReused},
    {"freed_async", FreedAsync},
    {"freed_pinned", FreedPinned},
    {"unmapped", Unmapped},
    {"host_memory", HostMemory},
    {"host_stack", HostStack},
    {"host_file", HostFile},
    {"read_only", ReadOnly},
    {"reads_read_only", ReadsReadOnly},
    {"one_past_end", OnePastEnd},
    {"off_by_one", OffByOne},
    {"misaligned", Misaligned},
    {"truncated", Truncated},
    {"callee", Callee},
    {"debug_build", DebugBuild},
    {"second_gpu", SecondGpu},
    {"peer_no_access", PeerNoAccess},
    {"child", Child},
    {"lds", Lds},
    {"lds_beside", LdsBeside},
    {"recursion", Recursion},
    {"illegal", Illegal},
    {"trap", Trap},
    {"abort", Abort},
    {"call_nowhere", CallNowhere},
    {"call_data", CallData},
    {"own_handler", OwnHandler},
    {"forever", Forever},
    {"slow", [] { Slow(false); }},
    {"slow_then_fault", [] { Slow(true); }},
    {"fails_by_itself", FailsByItself},
    {"fails_while_busy", FailsWhileBusy},
    {"exits_while_busy", ExitsWhileBusy},
    {"clean", Clean},
};

}  // namespace

int main(int argc, char** argv) {
  const auto planted = kPlanted.find(argc > 1 ? argv[1] : "");
  if (planted == kPlanted.end()) {
    for (const auto& [name, run] : kPlanted) printf("%s\n", name.c_str());
    return 2;
  }
  alarm(60);  // where nothing fails, kernels that wait would wait for ever
  if (planted->first != "child") data = Device<int>(2 * kMebi);
  planted->second();
  const hipError_t error = hipDeviceSynchronize();
  printf("error=%s\n", hipGetErrorName(error));
  fflush(stdout);
  if (error == hipSuccess) return 0;
  _exit(1);  // the runtime may not survive its own end
}
