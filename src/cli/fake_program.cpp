// SPDX-License-Identifier: MIT
//
// A program for the tests of `rochound run`: loads the tools as the HSA runtime does, then does
// what its arguments say, one after the other.
//
//   hsa          load the tools of HSA_TOOLS_LIB
//   kfd          use a GPU for a while as the software GPU's driver does, and load no tools
//   env NAME     print the variable, or (unset)
//   print TEXT   on stdout
//   wait FILE    make the file, then sleep until a signal comes
//   trap FILE    as wait, but a SIGTERM is caught: exit code 33
//   signal N     end by this signal
//   daemon       load them in a child that goes on in the background for a while
//   exit N       end
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

void LoadTools() {
  const char* const list = getenv("HSA_TOOLS_LIB");
  if (list == nullptr) return;
  std::string name;
  const auto load = [&] {
    if (name.empty()) return;
    void* const library = dlopen(name.c_str(), RTLD_NOW);
    if (library == nullptr) {
      printf("cannot load %s\n", name.c_str());
    } else if (void* const entry = dlsym(library, "OnLoad")) {
      reinterpret_cast<bool (*)(void*, uint64_t, uint64_t, const char* const*)>(entry)(nullptr, 0,
                                                                                       0, nullptr);
    }
    name.clear();
  };
  for (const char* at = list; *at != '\0'; ++at) {
    if (*at == '\\' && at[1] != '\0')
      name.push_back(*++at);
    else if (*at == ' ')
      load();
    else
      name.push_back(*at);
  }
  load();
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const char* const word = argv[i];
    const char* const next = i + 1 < argc ? argv[i + 1] : "";
    const auto is = [&](const char* name) { return strcmp(word, name) == 0; };
    if (is("hsa")) {
      LoadTools();
      continue;
    }
    if (is("kfd")) {
      const int driver = memfd_create("rochound-softgpu-kfd", MFD_CLOEXEC);
      if (driver < 0) return 98;
      usleep(400'000);
      close(driver);
      continue;
    }
    if (is("daemon")) {
      int ends[2];
      if (pipe(ends) != 0) return 98;
      char byte = 0;
      if (fork() != 0) {
        if (read(ends[0], &byte, 1) != 1) return 98;
        continue;
      }
      close(STDOUT_FILENO);
      close(STDERR_FILENO);
      LoadTools();
      if (write(ends[1], &byte, 1) != 1) _exit(98);
      sleep(3);
      _exit(0);
    }
    ++i;
    if (is("env")) {
      const char* const value = getenv(next);
      printf("%s\n", value != nullptr ? value : "(unset)");
    } else if (is("print")) {
      printf("%s\n", next);
    } else if (is("wait") || is("trap")) {
      if (is("trap")) signal(SIGTERM, [](int) { _exit(33); });
      fflush(nullptr);
      close(open(next, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
      for (;;) pause();
    } else if (is("signal")) {
      fflush(nullptr);
      raise(atoi(next));
    } else if (is("exit")) {
      return atoi(next);
    }
  }
  return 0;
}
