// SPDX-License-Identifier: MIT
//
// Rectangles: hipMemcpy2D and its asynchronous form in every direction with different pitches, and
// a three-dimensional box. What lies between the rows must stay as it was.

#include "program.h"

namespace {

unsigned char Value(size_t x, size_t y, size_t z) {
  return static_cast<unsigned char>(x * 7 + y * 13 + z * 29 + 1);
}

// Host memory in pages of its own: where the driver has no shared virtual memory, ROCr cannot pin
// two ranges that begin in the same page.
class Pages {
 public:
  Pages(size_t bytes, unsigned char fill) : memory_(bytes + 2 * kPage, fill) {
    data = memory_.data() + (kPage - reinterpret_cast<uintptr_t>(memory_.data()) % kPage);
  }
  unsigned char* data;

 private:
  static constexpr size_t kPage = 4096;
  std::vector<unsigned char> memory_;
};

void Rectangle(size_t width, size_t height, hipStream_t stream) {
  const size_t in_pitch = width + 5, out_pitch = width + 9, tight = (width + 63) / 64 * 64;
  const Pages in(in_pitch * height, 0xAA), out(out_pitch * height, 0xBB);
  for (size_t y = 0; y < height; ++y) {
    for (size_t x = 0; x < width; ++x) in.data[y * in_pitch + x] = Value(x, y, 0);
  }
  void* wide = nullptr;
  size_t wide_pitch = 0;
  HIP_CALL(hipMallocPitch(&wide, &wide_pitch, width, height));
  CHECK(wide_pitch >= width, "pitch %zu is less than the width %zu", wide_pitch, width);
  unsigned char* narrow = program::NewDevice<unsigned char>(tight * height);
  const size_t bytes = width * height;
  if (stream == nullptr) {
    HIP_COPY(
        kH2D, bytes,
        hipMemcpy2D(wide, wide_pitch, in.data, in_pitch, width, height, hipMemcpyHostToDevice));
    HIP_COPY(kD2D, bytes,
             hipMemcpy2D(narrow, tight, wide, wide_pitch, width, height, hipMemcpyDeviceToDevice));
    HIP_COPY(kD2H, bytes,
             hipMemcpy2D(out.data, out_pitch, narrow, tight, width, height, hipMemcpyDeviceToHost));
  } else {
    HIP_COPY(kH2D, bytes,
             hipMemcpy2DAsync(wide, wide_pitch, in.data, in_pitch, width, height,
                              hipMemcpyHostToDevice, stream));
    HIP_COPY(kD2D, bytes,
             hipMemcpy2DAsync(narrow, tight, wide, wide_pitch, width, height,
                              hipMemcpyDeviceToDevice, stream));
    HIP_COPY(kD2H, bytes,
             hipMemcpy2DAsync(out.data, out_pitch, narrow, tight, width, height,
                              hipMemcpyDeviceToHost, stream));
    HIP_CALL(hipStreamSynchronize(stream));
  }
  for (size_t y = 0; y < height; ++y) {
    for (size_t x = 0; x < out_pitch; ++x) {
      const unsigned want = x < width ? Value(x, y, 0) : 0xBB;
      CHECK(out.data[y * out_pitch + x] == want, "%zux%zu: byte %zu of row %zu is %d, wanted %u",
            width, height, x, y, out.data[y * out_pitch + x], want);
    }
  }
  program::Free(wide);
  program::Free(narrow);
}

void Box() {
  const size_t width = 40, height = 6, depth = 5;
  std::vector<unsigned char> in(width * height * depth), out(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    in[i] = Value(i % width, i / width % height, i / width / height);
  }
  const hipExtent extent = make_hipExtent(width, height, depth);
  hipPitchedPtr box = {};
  HIP_CALL(hipMalloc3D(&box, extent));
  hipMemcpy3DParms copy = {};
  copy.extent = extent;
  copy.srcPtr = make_hipPitchedPtr(in.data(), width, width, height);
  copy.dstPtr = box;
  copy.kind = hipMemcpyHostToDevice;
  HIP_COPY(kH2D, in.size(), hipMemcpy3D(&copy));
  copy.srcPtr = box;
  copy.dstPtr = make_hipPitchedPtr(out.data(), width, width, height);
  copy.kind = hipMemcpyDeviceToHost;
  HIP_COPY(kD2H, in.size(), hipMemcpy3D(&copy));
  CHECK(in == out, "the box came back different");
  program::Free(box.ptr);
}

}  // namespace

int main() {
  program::Begin("copy_2d");
  hipStream_t stream = nullptr;
  HIP_CALL(hipStreamCreate(&stream));
  const size_t shapes[][2] = {{1, 1}, {17, 5}, {64, 64}, {1000, 33}, {4096, 300}};
  for (const auto& shape : shapes) {
    Rectangle(shape[0], shape[1], nullptr);
    Rectangle(shape[0], shape[1], stream);
  }
  Box();
  HIP_CALL(hipStreamDestroy(stream));
  return program::Pass();
}
