// SPDX-License-Identifier: MIT
//
// Two small graphs: one captured from a stream (copy, fill, kernels, a fork into a second stream),
// one put together by hand from nodes, whose kernel parameters are then changed. Each is launched
// several times.

#include "program.h"

__global__ void Scale(const int* in, int* out, int count, int factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[i] * factor;
}

__global__ void Accumulate(const int* in, int* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] += in[i];
}

namespace {

constexpr int kCount = 1000, kBlocks = (kCount + 127) / 128;
constexpr size_t kBytes = kCount * sizeof(int);

void Captured() {
  hipStream_t stream = nullptr, side = nullptr;
  HIP_CALL(hipStreamCreate(&stream));
  HIP_CALL(hipStreamCreate(&side));
  hipEvent_t fork = nullptr, join = nullptr;
  HIP_CALL(hipEventCreateWithFlags(&fork, hipEventDisableTiming));
  HIP_CALL(hipEventCreateWithFlags(&join, hipEventDisableTiming));
  int *in = nullptr, *out = nullptr;
  HIP_CALL(hipHostMalloc(&in, kBytes, hipHostMallocDefault));
  HIP_CALL(hipHostMalloc(&out, kBytes, hipHostMallocDefault));
  int* a = program::NewDevice<int>(kCount);
  int* b = program::NewDevice<int>(kCount);
  int* sum = program::NewDevice<int>(kCount);

  HIP_CALL(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  HIP_CALL(hipMemcpyAsync(a, in, kBytes, hipMemcpyHostToDevice, stream));
  HIP_CALL(hipEventRecord(fork, stream));
  HIP_CALL(hipStreamWaitEvent(side, fork, 0));
  HIP_CALL(hipMemsetAsync(sum, 0, kBytes, side));
  HIP_CALL(hipEventRecord(join, side));
  CAPTURE(Scale, kBlocks, 128, 0, stream, a, b, kCount, 5);
  HIP_CALL(hipStreamWaitEvent(stream, join, 0));
  CAPTURE(Accumulate, kBlocks, 128, 0, stream, a, sum, kCount);
  CAPTURE(Accumulate, kBlocks, 128, 0, stream, b, sum, kCount);
  HIP_CALL(hipMemcpyAsync(out, sum, kBytes, hipMemcpyDeviceToHost, stream));
  hipGraph_t graph = nullptr;
  HIP_CALL(hipStreamEndCapture(stream, &graph));
  size_t nodes = 0;
  HIP_CALL(hipGraphGetNodes(graph, nullptr, &nodes));
  CHECK(nodes == 6, "the captured graph has %zu nodes, wanted 6", nodes);
  hipGraphExec_t ready = nullptr;
  HIP_CALL(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kCount; ++i) in[i] = i + round * 1000, out[i] = -1;
    HIP_CALL(hipGraphLaunch(ready, stream));
    program::CountKernels("Scale", 1);
    program::CountKernels("Accumulate", 2);
    program::CountCopies(program::kH2D, kBytes, 1);
    program::CountCopies(program::kD2H, kBytes, 1);
    program::CountMemsets(kBytes, 1);
    HIP_CALL(hipStreamSynchronize(stream));
    for (int i = 0; i < kCount; ++i) {
      CHECK(out[i] == in[i] * 6, "captured graph, round %d: element %d is %d, wanted %d", round, i,
            out[i], in[i] * 6);
    }
  }
  HIP_CALL(hipGraphExecDestroy(ready));
  HIP_CALL(hipGraphDestroy(graph));
  for (hipEvent_t event : {fork, join}) HIP_CALL(hipEventDestroy(event));
  for (hipStream_t each : {stream, side}) HIP_CALL(hipStreamDestroy(each));
  for (int* pointer : {a, b, sum}) program::Free(pointer);
  for (int* pointer : {in, out}) HIP_CALL(hipHostFree(pointer));
}

void ByHand() {
  std::vector<int> in(kCount), out(kCount);
  for (int i = 0; i < kCount; ++i) in[i] = i * 2 + 1;
  int* a = program::NewDevice<int>(kCount);
  int* b = program::NewDevice<int>(kCount);
  hipGraph_t graph = nullptr;
  HIP_CALL(hipGraphCreate(&graph, 0));
  hipGraphNode_t upload, fill, scale, add, download;
  HIP_CALL(hipGraphAddMemcpyNode1D(&upload, graph, nullptr, 0, a, in.data(), kBytes,
                                   hipMemcpyHostToDevice));
  hipMemsetParams zero = {};
  zero.dst = b;
  zero.elementSize = 4;
  zero.value = 0x01010101;
  zero.width = kCount;
  zero.height = 1;
  zero.pitch = kBytes;
  HIP_CALL(hipGraphAddMemsetNode(&fill, graph, nullptr, 0, &zero));

  int count = kCount, factor = 3;
  void* scale_args[] = {&a, &a, &count, &factor};
  hipKernelNodeParams kernel = {};
  kernel.func = reinterpret_cast<void*>(Scale);
  kernel.gridDim = dim3(kBlocks);
  kernel.blockDim = dim3(128);
  kernel.kernelParams = scale_args;
  HIP_CALL(hipGraphAddKernelNode(&scale, graph, &upload, 1, &kernel));
  void* add_args[] = {&a, &b, &count};
  hipKernelNodeParams add_kernel = kernel;
  add_kernel.func = reinterpret_cast<void*>(Accumulate);
  add_kernel.kernelParams = add_args;
  const hipGraphNode_t both[] = {scale, fill};
  HIP_CALL(hipGraphAddKernelNode(&add, graph, both, 2, &add_kernel));
  HIP_CALL(hipGraphAddMemcpyNode1D(&download, graph, &add, 1, out.data(), b, kBytes,
                                   hipMemcpyDeviceToHost));
  hipGraphExec_t ready = nullptr;
  HIP_CALL(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  hipStream_t stream = nullptr;
  HIP_CALL(hipStreamCreate(&stream));
  for (int round = 0; round < 4; ++round) {
    if (round == 2) {
      factor = 11;
      HIP_CALL(hipGraphExecKernelNodeSetParams(ready, scale, &kernel));
    }
    HIP_CALL(hipGraphLaunch(ready, stream));
    program::CountKernels("Scale", 1);
    program::CountKernels("Accumulate", 1);
    program::CountCopies(program::kH2D, kBytes, 1);
    program::CountCopies(program::kD2H, kBytes, 1);
    program::CountMemsets(kBytes, 1);
    HIP_CALL(hipStreamSynchronize(stream));
    for (int i = 0; i < kCount; ++i) {
      const int want = 0x01010101 + in[i] * factor;
      CHECK(out[i] == want, "graph by hand, round %d: element %d is %d, wanted %d", round, i,
            out[i], want);
    }
  }
  HIP_CALL(hipGraphExecDestroy(ready));
  HIP_CALL(hipGraphDestroy(graph));
  HIP_CALL(hipStreamDestroy(stream));
  program::Free(a);
  program::Free(b);
}

}  // namespace

int main() {
  program::Begin("graph_small");
  Captured();
  ByHand();
  return program::Pass();
}
