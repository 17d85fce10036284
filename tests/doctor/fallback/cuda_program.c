/* SPDX-License-Identifier: MIT
 *
 * Uses CUDA's driver interface and nothing else; knows nothing of HIP. Adds 2 * x + 100 to y with
 * the kernel Saxpy of the code object that it is given.
 */
#include <stdio.h>

int cuInit(unsigned flags);
int cuMemAlloc_v2(unsigned long long* address, size_t bytes);
int cuMemFree_v2(unsigned long long address);
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes);
int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes);
int cuModuleLoad(void** module, const char* path);
int cuModuleGetFunction(void** function, void* module, const char* name);
int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   void* stream, void** arguments, void** extra);

enum { kCount = 256 };

static void check(int error, const char* what) {
  if (error == 0) return;
  printf("FAIL cuda_program: %s gave %d\n", what, error);
  fflush(stdout);
  __builtin_trap();
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  float x[kCount], y[kCount];
  for (int i = 0; i < kCount; ++i) x[i] = (float)i, y[i] = 1;
  unsigned long long from = 0, to = 0;
  void *module = NULL, *function = NULL;
  check(cuInit(0), "cuInit");
  check(cuMemAlloc_v2(&from, sizeof x), "cuMemAlloc");
  check(cuMemAlloc_v2(&to, sizeof y), "cuMemAlloc");
  check(cuMemcpyHtoD_v2(from, x, sizeof x), "cuMemcpyHtoD");
  check(cuMemcpyHtoD_v2(to, y, sizeof y), "cuMemcpyHtoD");
  check(cuModuleLoad(&module, argv[1]), "cuModuleLoad");
  check(cuModuleGetFunction(&function, module, "Saxpy"), "cuModuleGetFunction");
  float factor = 2;
  int count = kCount;
  void* arguments[] = {&to, &from, &factor, &count};
  check(cuLaunchKernel(function, kCount / 64, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL),
        "cuLaunchKernel");
  check(cuMemcpyDtoH_v2(y, to, sizeof y), "cuMemcpyDtoH");
  for (int i = 0; i < kCount; ++i)
    if (y[i] != (float)(2 * i + 101)) check(i + 1, "the kernel");
  check(cuMemFree_v2(from), "cuMemFree");
  check(cuMemFree_v2(to), "cuMemFree");
  printf("PASS cuda_program\n");
  return 0;
}
