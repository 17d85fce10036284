// SPDX-License-Identifier: MIT
#include "capture/replay/virtual_memory.h"

#include <dlfcn.h>

#include <string>

namespace rochound::capture::replay {
namespace {

template <typename Function>
bool Look(const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));  // NOLINT: dlsym's way
  return *function != nullptr;
}

}  // namespace

base::Result<VirtualMemory> VirtualMemory::Find() {
  VirtualMemory calls;
  if (Look("hsa_amd_vmem_address_reserve", &calls.reserve) &&
      Look("hsa_amd_vmem_address_free", &calls.free) &&
      Look("hsa_amd_vmem_handle_create", &calls.create) && Look("hsa_amd_vmem_map", &calls.map) &&
      Look("hsa_amd_vmem_set_access", &calls.set_access))
    return calls;
  return base::Error{
      "this HSA runtime cannot put memory at a chosen address (it has no hsa_amd_vmem_* calls); "
      "replay on ROCm 6 or later"};
}

}  // namespace rochound::capture::replay
