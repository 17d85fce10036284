// SPDX-License-Identifier: MIT
//
// Device memory handed out as a dmabuf descriptor by ROCr and mapped again through it: a kernel
// writes through the second mapping, and the first one shows it.

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include "program.h"

__global__ void Ramp(int* data, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = i * 13 + 1;
}

namespace {

void Check(hsa_status_t status, const char* what) {
  CHECK(status == HSA_STATUS_SUCCESS, "%s gave 0x%x", what, static_cast<unsigned>(status));
}

hsa_status_t FirstGpu(hsa_agent_t agent, void* data) {
  hsa_device_type_t type;
  Check(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type), "hsa_agent_get_info");
  if (type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_SUCCESS;
  *static_cast<hsa_agent_t*>(data) = agent;
  return HSA_STATUS_INFO_BREAK;
}

}  // namespace

int main() {
  program::Begin("hsa_dmabuf");
  const int count = 8192;
  const size_t bytes = count * sizeof(int);
  int* buffer = program::NewDevice<int>(1 << 20);  // large enough to be a buffer object of its own
  HIP_MEMSET(bytes, hipMemset(buffer, 0, bytes));
  HIP_CALL(hipDeviceSynchronize());
  Check(hsa_init(), "hsa_init");
  hsa_agent_t gpu = {};
  CHECK(hsa_iterate_agents(FirstGpu, &gpu) == HSA_STATUS_INFO_BREAK, "no GPU agent");

  int descriptor = -1;
  uint64_t offset = 0;
  Check(hsa_amd_portable_export_dmabuf(buffer, bytes, &descriptor, &offset), "the export");
  CHECK(descriptor >= 0, "the descriptor is %d", descriptor);
  void* mapped = nullptr;
  size_t mapped_bytes = 0, metadata_bytes = 0;
  const void* metadata = nullptr;
  Check(hsa_amd_interop_map_buffer(1, &gpu, descriptor, 0, &mapped_bytes, &mapped, &metadata_bytes,
                                   &metadata),
        "the import");
  CHECK(mapped_bytes >= offset + bytes, "%zu bytes were mapped, wanted %zu", mapped_bytes, bytes);
  int* alias = reinterpret_cast<int*>(static_cast<char*>(mapped) + offset);
  LAUNCH(Ramp, (count + 255) / 256, 256, 0, nullptr, alias, count);
  HIP_CALL(hipDeviceSynchronize());
  const std::vector<int> got = program::Download(buffer, count);
  for (int i = 0; i < count; ++i)
    CHECK(got[i] == i * 13 + 1, "element %d is %d, wanted %d", i, got[i], i * 13 + 1);
  Check(hsa_amd_interop_unmap_buffer(mapped), "hsa_amd_interop_unmap_buffer");
  Check(hsa_amd_portable_close_dmabuf(descriptor), "hsa_amd_portable_close_dmabuf");
  Check(hsa_shut_down(), "hsa_shut_down");
  program::Free(buffer);
  return program::Pass();
}
