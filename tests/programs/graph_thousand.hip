// SPDX-License-Identifier: MIT
//
// A graph of 1,000 kernel nodes in a row, launched 50 times (or as often as the first argument
// says): 50,000 increments, none lost and none too many. The batches are what breaks tools that sit
// on the queue.

#include "program.h"

__global__ void Increment(unsigned* counter) { *counter += 1; }

int main(int argc, char** argv) {
  program::Begin("graph_thousand");
  const int nodes = 1000;
  const int launches = argc > 1 ? atoi(argv[1]) : 50;
  unsigned* counter = program::NewDevice(std::vector<unsigned>(1, 0));
  hipGraph_t graph = nullptr;
  HIP_CALL(hipGraphCreate(&graph, 0));
  void* args[] = {&counter};
  hipKernelNodeParams kernel = {};
  kernel.func = reinterpret_cast<void*>(Increment);
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(1);
  kernel.kernelParams = args;
  hipGraphNode_t previous = nullptr;
  for (int i = 0; i < nodes; ++i) {
    hipGraphNode_t node = nullptr;
    HIP_CALL(
        hipGraphAddKernelNode(&node, graph, i == 0 ? nullptr : &previous, i == 0 ? 0 : 1, &kernel));
    previous = node;
  }
  hipGraphExec_t ready = nullptr;
  HIP_CALL(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  hipStream_t stream = nullptr;
  HIP_CALL(hipStreamCreate(&stream));
  for (int launch = 0; launch < launches; ++launch) {
    HIP_CALL(hipGraphLaunch(ready, stream));
    program::CountKernels("Increment", nodes);
  }
  HIP_CALL(hipStreamSynchronize(stream));
  const unsigned got = program::Download(counter, 1)[0];
  CHECK(got == static_cast<unsigned>(nodes * launches), "%u increments, wanted %d", got,
        nodes * launches);
  HIP_CALL(hipGraphExecDestroy(ready));
  HIP_CALL(hipGraphDestroy(graph));
  HIP_CALL(hipStreamDestroy(stream));
  program::Free(counter);
  return program::Pass();
}
