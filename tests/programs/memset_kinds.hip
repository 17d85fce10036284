// SPDX-License-Identifier: MIT
//
// Fills of 8, 16 and 32 bits, synchronous and asynchronous, linear, rectangular and as a box, with
// odd sizes; memory outside must stay as it was.

#include "program.h"

namespace {

// Memory of a known background, so that a fill which goes too far is seen.
struct Canvas {
  explicit Canvas(size_t size) : host(size, 0x77), device(program::NewDevice(host)) {}
  ~Canvas() { program::Free(device); }
  hipDeviceptr_t At(size_t offset) const {
    return reinterpret_cast<hipDeviceptr_t>(device + offset);
  }
  void Expect(const char* what, size_t from, size_t bytes, const void* pattern, size_t unit) {
    for (size_t i = 0; i < bytes; ++i) {
      host[from + i] = static_cast<const unsigned char*>(pattern)[i % unit];
    }
    const std::vector<unsigned char> got = program::Download(device, host.size());
    for (size_t i = 0; i < got.size(); ++i) {
      CHECK(got[i] == host[i], "%s: byte %zu is 0x%02x, wanted 0x%02x", what, i, got[i], host[i]);
    }
  }
  std::vector<unsigned char> host;
  unsigned char* device;
};

void Linear(size_t count, hipStream_t stream) {
  const unsigned char byte = 0xC3;
  const unsigned short half = 0xBEEF;
  const unsigned word = 0x12345678;
  Canvas canvas(count * 4 + 64);
  HIP_MEMSET(count, hipMemset(canvas.device + 3, byte, count));
  canvas.Expect("hipMemset", 3, count, &byte, 1);
  HIP_MEMSET(count * 2, hipMemsetD16(canvas.At(6), half, count));
  canvas.Expect("hipMemsetD16", 6, count * 2, &half, 2);
  HIP_MEMSET(count * 4, hipMemsetD32(canvas.At(8), static_cast<int>(word), count));
  canvas.Expect("hipMemsetD32", 8, count * 4, &word, 4);
  HIP_MEMSET(count, hipMemsetD8(canvas.At(1), 0x11, count));
  const unsigned char one = 0x11;
  canvas.Expect("hipMemsetD8", 1, count, &one, 1);

  const unsigned char next = 0x5C;
  HIP_MEMSET(count, hipMemsetAsync(canvas.device + 5, next, count, stream));
  HIP_CALL(hipStreamSynchronize(stream));
  canvas.Expect("hipMemsetAsync", 5, count, &next, 1);
  const unsigned short next_half = 0x0102;
  HIP_MEMSET(count * 2, hipMemsetD16Async(canvas.At(2), next_half, count, stream));
  HIP_CALL(hipStreamSynchronize(stream));
  canvas.Expect("hipMemsetD16Async", 2, count * 2, &next_half, 2);
  const unsigned next_word = 0xA1B2C3D4;
  HIP_MEMSET(count * 4,
             hipMemsetD32Async(canvas.At(4), static_cast<int>(next_word), count, stream));
  HIP_MEMSET(count, hipMemsetD8Async(canvas.At(0), next, count, stream));
  HIP_CALL(hipStreamSynchronize(stream));
  for (size_t i = 0; i < count * 4; ++i) canvas.host[4 + i] = (next_word >> (i % 4 * 8)) & 0xFF;
  canvas.Expect("hipMemsetD8Async", 0, count, &next, 1);
}

void Shapes(hipStream_t stream) {
  const size_t pitch = 128, width = 50, height = 20;
  Canvas canvas(pitch * height);
  HIP_MEMSET(width * height, hipMemset2D(canvas.device, pitch, 0x21, width, height));
  HIP_MEMSET(width * 7, hipMemset2DAsync(canvas.device + 64, pitch, 0x22, width, 7, stream));
  HIP_CALL(hipStreamSynchronize(stream));
  for (size_t y = 0; y < height; ++y) {
    memset(&canvas.host[y * pitch], 0x21, width);
    if (y < 7) memset(&canvas.host[y * pitch + 64], 0x22, width);
  }
  canvas.Expect("hipMemset2D", 0, 0, nullptr, 1);

  const size_t box_width = 32, box_height = 3, box_depth = 2;
  hipPitchedPtr box = make_hipPitchedPtr(canvas.device, pitch, pitch, 5);
  HIP_MEMSET(box_width * box_height * box_depth,
             hipMemset3D(box, 0x33, make_hipExtent(box_width, box_height, box_depth)));
  HIP_CALL(hipDeviceSynchronize());
  for (size_t z = 0; z < box_depth; ++z) {
    for (size_t y = 0; y < box_height; ++y)
      memset(&canvas.host[(z * 5 + y) * pitch], 0x33, box_width);
  }
  canvas.Expect("hipMemset3D", 0, 0, nullptr, 1);
}

}  // namespace

int main() {
  program::Begin("memset_kinds");
  hipStream_t stream = nullptr;
  HIP_CALL(hipStreamCreate(&stream));
  for (size_t count : {1, 15, 1000, 300001}) Linear(count, stream);
  Shapes(stream);
  HIP_CALL(hipStreamDestroy(stream));
  return program::Pass();
}
