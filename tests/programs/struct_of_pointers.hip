// SPDX-License-Identifier: MIT
//
// Kernel arguments that hide pointers: a struct of pointers and numbers passed by value, with a
// nested struct, and an array of structs of pointers that itself lies in device memory.

#include "program.h"

struct Range {
  int begin, end;
};

struct View {
  const float* input;
  char tag;
  Range range;
  double factor;
  struct {
    float* output;
    short shift;
  } target;
};

__global__ void ApplyView(View view, int extra) {
  const int i = view.range.begin + blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= view.range.end) return;
  view.target.output[i + view.target.shift] =
      static_cast<float>(view.input[i] * view.factor) + view.tag + extra;
}

__global__ void ApplyViews(const View* views, int count) {
  for (int v = 0; v < count; ++v) {
    const View& view = views[v];
    const int i = view.range.begin + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < view.range.end) view.target.output[i] = view.input[i] + view.tag;
  }
}

int main() {
  program::Begin("struct_of_pointers");
  const int count = 1000, shift = 3;
  std::vector<float> in(count);
  for (int i = 0; i < count; ++i) in[i] = static_cast<float>(i);
  float* input = program::NewDevice(in);
  float* output = program::NewDevice(std::vector<float>(count + shift, -1.0f));
  View view = {};
  view.input = input;
  view.tag = 'A';
  view.range = {10, 900};
  view.factor = 0.5;
  view.target.output = output;
  view.target.shift = shift;
  LAUNCH(ApplyView, 14, 64, 0, nullptr, view, 1000);
  HIP_CALL(hipDeviceSynchronize());
  std::vector<float> got = program::Download(output, count + shift);
  for (int i = 0; i < count + shift; ++i) {
    const bool written = i >= 10 + shift && i < 900 + shift;
    const float want = written ? (i - shift) * 0.5f + 'A' + 1000 : -1.0f;
    CHECK(got[i] == want, "by value: element %d is %g, wanted %g", i, got[i], want);
  }

  std::vector<View> views(3, view);
  std::vector<float*> outputs;
  for (int v = 0; v < 3; ++v) {
    outputs.push_back(program::NewDevice<float>(count));
    views[v].range = {0, count - v};
    views[v].tag = static_cast<char>(v + 1);
    views[v].target.output = outputs[v];
    views[v].input = v == 0 ? input : outputs[v - 1];  // each works on what the one before left
  }
  View* device_views = program::NewDevice(views);
  LAUNCH(ApplyViews, (count + 63) / 64, 64, 0, nullptr, device_views, 3);
  HIP_CALL(hipDeviceSynchronize());
  got = program::Download(outputs[2], count - 2);
  for (int i = 0; i < count - 2; ++i)
    CHECK(got[i] == i + 6, "array: element %d is %g, wanted %d", i, got[i], i + 6);
  for (float* pointer : outputs) program::Free(pointer);
  program::Free(device_views);
  program::Free(input);
  program::Free(output);
  return program::Pass();
}
