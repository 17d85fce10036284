// SPDX-License-Identifier: MIT
//
// One way in which a process lives and ends, so often; cases.cpp has them. They are in a library,
// so that a process can also let the whole runtime go again.
//
//   recorder_life LIBRARY CASE ROUNDS KERNEL.hsaco
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const bool unload = strcmp(argv[2], "dlclose") == 0;
  int result = 0;
  for (int left = unload ? atoi(argv[3]) : 1; left != 0 && result == 0; --left) {
    void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      fprintf(stderr, "%s\n", dlerror());
      return 2;
    }
    const auto run = reinterpret_cast<int (*)(char**)>(dlsym(library, "RunCase"));
    result = run(argv);
    if (unload) dlclose(library);
  }
  if (result == 0) printf("PASS %s\n", argv[2]);
  return result;
}
