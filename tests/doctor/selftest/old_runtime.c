// SPDX-License-Identifier: MIT
//
// Preloaded, it hides what ROCr before 5.7 does not have from those who look it up by name.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

__attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) {
  static void* (*next)(void*, const char*);
  if (next == NULL) next = (void* (*)(void*, const char*))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  return strncmp(name, "hsa_amd_vmem_", 13) == 0 ? NULL : next(handle, name);
}
