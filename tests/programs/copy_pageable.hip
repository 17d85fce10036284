// SPDX-License-Identifier: MIT
//
// hipMemcpy between ordinary host memory and the device, in sizes from one byte (a blit kernel) to
// several megabytes (SDMA through pinned pages), at odd offsets on both sides.

#include "program.h"

namespace {

void RoundTrip(size_t bytes, size_t host_offset, size_t device_offset) {
  std::vector<unsigned char> in(bytes + host_offset), out(bytes + host_offset + 2, 0xEE);
  program::Random random(bytes);
  for (auto& byte : in) byte = static_cast<unsigned char>(random.Next() >> 56);
  unsigned char* first = program::NewDevice<unsigned char>(bytes + device_offset);
  unsigned char* second = program::NewDevice<unsigned char>(bytes + device_offset);
  HIP_COPY(kH2D, bytes,
           hipMemcpy(first + device_offset, in.data() + host_offset, bytes, hipMemcpyHostToDevice));
  HIP_COPY(
      kD2D, bytes,
      hipMemcpy(second + device_offset, first + device_offset, bytes, hipMemcpyDeviceToDevice));
  HIP_COPY(kD2H, bytes,
           hipMemcpy(out.data() + host_offset + 1, second + device_offset, bytes,
                     hipMemcpyDeviceToHost));
  CHECK(memcmp(in.data() + host_offset, out.data() + host_offset + 1, bytes) == 0,
        "%zu bytes at offsets %zu/%zu differ", bytes, host_offset, device_offset);
  CHECK(out[host_offset] == 0xEE && out.back() == 0xEE, "%zu bytes: neighbours written", bytes);
  program::Free(first);
  program::Free(second);
}

}  // namespace

int main() {
  program::Begin("copy_pageable");
  const size_t sizes[] = {1, 3, 4, 64, 255, 4096, 65537, 1 << 20, (4 << 20) + 3};
  for (size_t bytes : sizes) {
    RoundTrip(bytes, 0, 0);
    RoundTrip(bytes, 1, 3);
  }
  return program::Pass();
}
