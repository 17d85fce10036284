// SPDX-License-Identifier: MIT
//
// Stands for libamdhip64 when a program of a portable installation is linked, and calls the one of
// the machine, whichever release it is: a program that is linked to libamdhip64.so.7 starts nowhere
// else. A function that a release does not have ends the program as a skipped test does, when it is
// called.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define FUNCTIONS(X)            \
  X(__hipPopCallConfiguration)  \
  X(__hipPushCallConfiguration) \
  X(__hipRegisterFatBinary)     \
  X(__hipRegisterFunction)      \
  X(__hipUnregisterFatBinary)   \
  X(hipDeviceSynchronize)       \
  X(hipFree)                    \
  X(hipGetErrorName)            \
  X(hipGetErrorString)          \
  X(hipGetLastError)            \
  X(hipLaunchKernel)            \
  X(hipMalloc)                  \
  X(hipMemcpy)                  \
  X(hipMemset)

static void missing(void) {
  puts("SKIP: this release of HIP does not have a function that the program calls");
  exit(77);
}

// Each function is a jump to where the machine's is.
#define JUMP(name)                                                             \
  void* any_hip_##name __attribute__((visibility("hidden"))) = (void*)missing; \
  __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name        \
          ":\n"                                                                \
          "  jmp *any_hip_" #name "(%rip)\n");
FUNCTIONS(JUMP)

// Before the program's own constructors, which register its kernels.
__attribute__((constructor(101))) static void find(void) {
  static const char* const kNames[] = {"libamdhip64.so.7",
                                       "libamdhip64.so.6",
                                       "libamdhip64.so.5",
                                       "/opt/rocm/lib/libamdhip64.so.7",
                                       "/opt/rocm/lib/libamdhip64.so.6",
                                       "/opt/rocm/lib/libamdhip64.so.5"};
  void* library = NULL;
  for (size_t i = 0; i < sizeof kNames / sizeof *kNames && library == NULL; ++i)
    library = dlopen(kNames[i], RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) {
    fprintf(stderr, "there is no HIP (libamdhip64.so.7, .6 or .5) here: %s\n", dlerror());
    exit(1);
  }
  void* found;
#define FIND(name) \
  if ((found = dlsym(library, #name)) != NULL) any_hip_##name = found;
  FUNCTIONS(FIND)
}
