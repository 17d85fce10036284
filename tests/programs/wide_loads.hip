// SPDX-License-Identifier: MIT
//
// Loads and stores of every width: bytes, shorts, words, 64, 96 and 128 bits, signed and unsigned,
// packed structs at addresses that are not aligned, in global memory and in LDS.

#include "program.h"

struct __attribute__((packed)) Packed {
  char tag;
  int word;
  short half;
  long long wide;
  float real;
};
static_assert(sizeof(Packed) == 19, "no padding");

__global__ void Vectors(const float4* in4, const float3* in3, const double2* in2, float4* out4,
                        float3* out3, double2* out2, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float4 a = in4[i];
  out4[i] = make_float4(a.w, a.z, a.y, a.x);
  const float3 b = in3[i];
  out3[i] = make_float3(b.z + 1, b.x + 2, b.y + 3);
  const double2 c = in2[i];
  out2[i] = make_double2(c.y - c.x, c.x + c.y);
}

__global__ void Small(const signed char* bytes, const unsigned char* ubytes, const short* halves,
                      const unsigned short* uhalves, int* sums, signed char* bytes_out,
                      short* halves_out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  sums[i] = bytes[i] + ubytes[i] * 3 + halves[i] * 5 + uhalves[i] * 7;
  bytes_out[i] = static_cast<signed char>(bytes[i] ^ 0x55);
  halves_out[i] = static_cast<short>(halves[i] - 1);
}

__global__ void Unaligned(const Packed* in, Packed* out, int count) {
  __shared__ Packed local[64];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    local[threadIdx.x] = in[i];
    local[threadIdx.x].word += 1;
    local[threadIdx.x].wide *= -3;
  }
  __syncthreads();
  if (i < count) {
    const int last =
        count - blockIdx.x * blockDim.x < 64 ? count - blockIdx.x * blockDim.x - 1 : 63;
    out[i] = local[last - threadIdx.x];
    out[i].real = in[i].real * 2;
  }
}

namespace {

void RunVectors(int count) {
  std::vector<float4> in4(count);
  std::vector<float3> in3(count);
  std::vector<double2> in2(count);
  for (int i = 0; i < count; ++i) {
    const float f = static_cast<float>(i);
    in4[i] = make_float4(f, f + 0.25f, f + 0.5f, f + 0.75f);
    in3[i] = make_float3(f, f * 2, f * 3);
    in2[i] = make_double2(f * 0.5, f * 4);
  }
  float4 *a = program::NewDevice(in4), *a_out = program::NewDevice<float4>(count);
  float3 *b = program::NewDevice(in3), *b_out = program::NewDevice<float3>(count);
  double2 *c = program::NewDevice(in2), *c_out = program::NewDevice<double2>(count);
  LAUNCH(Vectors, (count + 63) / 64, 64, 0, nullptr, a, b, c, a_out, b_out, c_out, count);
  HIP_CALL(hipDeviceSynchronize());
  const std::vector<float4> got4 = program::Download(a_out, count);
  const std::vector<float3> got3 = program::Download(b_out, count);
  const std::vector<double2> got2 = program::Download(c_out, count);
  for (int i = 0; i < count; ++i) {
    CHECK(got4[i].x == in4[i].w && got4[i].y == in4[i].z && got4[i].z == in4[i].y &&
              got4[i].w == in4[i].x,
          "float4 %d is wrong", i);
    CHECK(got3[i].x == in3[i].z + 1 && got3[i].y == in3[i].x + 2 && got3[i].z == in3[i].y + 3,
          "float3 %d is wrong", i);
    CHECK(got2[i].x == in2[i].y - in2[i].x && got2[i].y == in2[i].x + in2[i].y,
          "double2 %d is wrong", i);
  }
  for (void* pointer :
       {static_cast<void*>(a), static_cast<void*>(a_out), static_cast<void*>(b),
        static_cast<void*>(b_out), static_cast<void*>(c), static_cast<void*>(c_out)}) {
    program::Free(pointer);
  }
}

void RunSmall(int count) {
  std::vector<signed char> bytes(count);
  std::vector<unsigned char> ubytes(count);
  std::vector<short> halves(count);
  std::vector<unsigned short> uhalves(count);
  for (int i = 0; i < count; ++i) {
    bytes[i] = static_cast<signed char>(i * 7);
    ubytes[i] = static_cast<unsigned char>(i * 11);
    halves[i] = static_cast<short>(i * 777);
    uhalves[i] = static_cast<unsigned short>(i * 1111);
  }
  signed char *a = program::NewDevice(bytes), *a_out = program::NewDevice<signed char>(count);
  unsigned char* b = program::NewDevice(ubytes);
  short *c = program::NewDevice(halves), *c_out = program::NewDevice<short>(count);
  unsigned short* d = program::NewDevice(uhalves);
  int* sums = program::NewDevice<int>(count);
  LAUNCH(Small, (count + 63) / 64, 64, 0, nullptr, a, b, c, d, sums, a_out, c_out, count);
  HIP_CALL(hipDeviceSynchronize());
  const std::vector<int> got = program::Download(sums, count);
  const std::vector<signed char> got_bytes = program::Download(a_out, count);
  const std::vector<short> got_halves = program::Download(c_out, count);
  for (int i = 0; i < count; ++i) {
    CHECK(got[i] == bytes[i] + ubytes[i] * 3 + halves[i] * 5 + uhalves[i] * 7, "sum %d is %d", i,
          got[i]);
    CHECK(got_bytes[i] == static_cast<signed char>(bytes[i] ^ 0x55), "byte %d is %d", i,
          got_bytes[i]);
    CHECK(got_halves[i] == static_cast<short>(halves[i] - 1), "short %d is %d", i, got_halves[i]);
  }
  for (void* pointer : {static_cast<void*>(a), static_cast<void*>(a_out), static_cast<void*>(b),
                        static_cast<void*>(c), static_cast<void*>(c_out), static_cast<void*>(d),
                        static_cast<void*>(sums)}) {
    program::Free(pointer);
  }
}

void RunUnaligned(int count) {
  std::vector<Packed> in(count);
  for (int i = 0; i < count; ++i) {
    in[i] = {static_cast<char>(i), i * 65537, static_cast<short>(-i), i * 0x123456789ll, i * 0.5f};
  }
  Packed* device_in = program::NewDevice(in);
  Packed* device_out = program::NewDevice<Packed>(count);
  LAUNCH(Unaligned, (count + 63) / 64, 64, 0, nullptr, device_in, device_out, count);
  HIP_CALL(hipDeviceSynchronize());
  const std::vector<Packed> out = program::Download(device_out, count);
  for (int i = 0; i < count; ++i) {
    const int first = i / 64 * 64, last = first + 63 < count ? first + 63 : count - 1;
    const Packed& from = in[last - (i - first)];
    CHECK(out[i].tag == from.tag && out[i].word == from.word + 1 && out[i].half == from.half &&
              out[i].wide == from.wide * -3 && out[i].real == in[i].real * 2,
          "packed struct %d is wrong", i);
  }
  program::Free(device_in);
  program::Free(device_out);
}

}  // namespace

int main() {
  program::Begin("wide_loads");
  RunVectors(300);
  RunSmall(301);
  RunUnaligned(150);
  return program::Pass();
}
