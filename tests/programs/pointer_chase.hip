// SPDX-License-Identifier: MIT
//
// A linked list in device memory whose links are device addresses, walked by one thread and then by
// many from different starts.

#include "program.h"

struct Node {
  Node* next;
  unsigned value;
};

__global__ void Chase(Node* const* starts, int steps, unsigned* out) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  const Node* node = starts[thread];
  unsigned hash = 0;
  for (int step = 0; step < steps && node != nullptr; ++step) {
    hash = hash * 31 + node->value;
    node = node->next;
  }
  out[thread] = hash;
}

int main() {
  program::Begin("pointer_chase");
  const int count = 4096, threads = 128;
  program::Random random(29);
  std::vector<int> order(count), place(count);
  for (int i = 0; i < count; ++i) order[i] = i;
  for (int i = count - 1; i > 0; --i) std::swap(order[i], order[random.Below(i + 1)]);
  for (int i = 0; i < count; ++i) place[order[i]] = i;
  Node* device = program::NewDevice<Node>(count);
  std::vector<Node> nodes(count);
  for (int i = 0; i < count; ++i) {
    nodes[order[i]].value = i * 2654435761u;
    nodes[order[i]].next = i + 1 < count ? device + order[i + 1] : nullptr;
  }
  program::Upload(device, nodes);

  const auto run = [&](int lanes, int steps) {
    std::vector<Node*> starts(lanes);
    for (int lane = 0; lane < lanes; ++lane)
      starts[lane] = device + (lanes == 1 ? order[0] : lane * 31);
    Node** device_starts = program::NewDevice(starts);
    unsigned* device_out = program::NewDevice<unsigned>(lanes);
    LAUNCH(Chase, (lanes + 63) / 64, lanes < 64 ? lanes : 64, 0, nullptr, device_starts, steps,
           device_out);
    HIP_CALL(hipDeviceSynchronize());
    const std::vector<unsigned> out = program::Download(device_out, lanes);
    for (int lane = 0; lane < lanes; ++lane) {
      unsigned want = 0;
      int at = place[starts[lane] - device];
      for (int step = 0; step < steps && at < count; ++step, ++at)
        want = want * 31 + at * 2654435761u;
      CHECK(out[lane] == want, "walk %d of %d gave %u, wanted %u", lane, lanes, out[lane], want);
    }
    program::Free(device_starts);
    program::Free(device_out);
  };
  run(1, count + 10);
  run(threads, 200);
  program::Free(device);
  return program::Pass();
}
