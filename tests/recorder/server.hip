// SPDX-License-Identifier: MIT
//
// A server as those for language models are: a parent that starts workers, some by fork alone and
// some as programs of their own, and works itself, too. Each has a thread that launches a graph
// over and over, and one that asks HIP small things. All note in a shared page what has returned to
// them; a recorder must have exactly that.
//
//   server PAGE FORKED SPAWNED [LIBRARY]   LIBRARY: loaded first, visible to all, as frameworks do
//                                          with a profiler
//
// SIGTERM at the parent ends all in order, with exit code 0. A worker ends in order when its parent
// is gone; a parent goes on without a worker that was killed.
#include <dlfcn.h>
#include <fcntl.h>
#include <hip/hip_runtime.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

extern char** environ;

__global__ void Step(int* value) { atomicAdd(value, 1); }

namespace {

constexpr int kKernels = 3;  // of the graph

// What server.py reads; the first is the parent's.
struct alignas(64) Process {
  std::atomic<uint64_t> pid;
  std::atomic<uint64_t> asked;     // hipGetDevice calls that have returned
  std::atomic<uint64_t> launched;  // hipGraphLaunch calls that have returned
  std::atomic<uint64_t> computed;  // kernels that the program knows to be over
  std::atomic<uint64_t> finished;  // 1: it ends in order
};

[[noreturn]] void Fail(const char* what) {
  perror(what);
  _exit(1);
}

void Check(hipError_t result, const char* what) {
  if (result == hipSuccess) return;
  fprintf(stderr, "%s: %s\n", what, hipGetErrorString(result));
  _exit(1);
}

volatile sig_atomic_t told_to_end = 0;

void Ask(Process* me, const std::atomic<bool>* end) {
  while (!end->load()) {
    int device = -1;
    Check(hipGetDevice(&device), "hipGetDevice");
    me->asked.fetch_add(1);
    usleep(500);
  }
}

hipGraphExec_t Capture(hipStream_t stream, int* value, int* host) {
  Check(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed), "hipStreamBeginCapture");
  for (int i = 0; i < kKernels; ++i) {
    void* arguments[] = {&value};
    Check(hipLaunchKernel(reinterpret_cast<const void*>(Step), dim3(1), dim3(64), arguments, 0,
                          stream),
          "hipLaunchKernel");
  }
  Check(hipMemcpyAsync(host, value, sizeof *host, hipMemcpyDeviceToHost, stream), "hipMemcpyAsync");
  hipGraph_t graph = nullptr;
  Check(hipStreamEndCapture(stream, &graph), "hipStreamEndCapture");
  hipGraphExec_t ready = nullptr;
  Check(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0), "hipGraphInstantiate");
  return ready;
}

void Serve(Process* me, pid_t parent) {
  me->pid.store(static_cast<uint64_t>(getpid()));
  int *value = nullptr, *host = nullptr;
  Check(hipMalloc(&value, sizeof(int)), "hipMalloc");
  Check(hipMemset(value, 0, sizeof(int)), "hipMemset");
  Check(hipHostMalloc(&host, sizeof(int), hipHostMallocDefault), "hipHostMalloc");
  hipStream_t stream = nullptr;
  Check(hipStreamCreate(&stream), "hipStreamCreate");
  const hipGraphExec_t graph = Capture(stream, value, host);
  std::atomic<bool> end{false};
  std::thread asks(Ask, me, &end);
  while (told_to_end == 0 && (parent == 0 || getppid() == parent)) {
    for (int i = 0; i < 4; ++i) {
      Check(hipGraphLaunch(graph, stream), "hipGraphLaunch");
      me->launched.fetch_add(1);
    }
    Check(hipStreamSynchronize(stream), "hipStreamSynchronize");
    me->computed.store(me->launched.load() * kKernels);
    usleep(1000);  // for the next request: five processes that never wait starve a small machine
  }
  end.store(true);
  asks.join();
  const auto wanted = static_cast<int>(me->computed.load() * 64);
  if (*host != wanted) {
    fprintf(stderr, "the GPU counted %d instead of %d\n", *host, wanted);
    _exit(1);
  }
  me->finished.store(1);
}

Process* Map(const char* path) {
  const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, 4096) != 0) Fail(path);
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) Fail("mmap");
  return static_cast<Process*>(memory);
}

void Load(const char* library) {
  if (dlopen(library, RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    fprintf(stderr, "%s\n", dlerror());
    _exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  struct sigaction action = {};
  action.sa_handler = [](int) { told_to_end = 1; };
  sigaction(SIGTERM, &action, nullptr);
  if (argc < 4) {
    fprintf(stderr, "usage: server PAGE FORKED SPAWNED [LIBRARY]\n");
    return 1;
  }
  Process* const processes = Map(argv[1]);
  if (argc > 4) Load(argv[4]);
  if (const char* worker = getenv("SERVER_WORKER")) {
    Serve(processes + atoi(worker), getppid());
    return 0;
  }
  const pid_t self = getpid();
  std::vector<pid_t> workers;
  int number = 1;
  for (int i = 0; i < atoi(argv[2]); ++i, ++number) {
    const pid_t pid = fork();
    if (pid == 0) {
      Serve(processes + number, self);
      exit(0);
    }
    workers.push_back(pid);
  }
  for (int i = 0; i < atoi(argv[3]); ++i, ++number) {
    setenv("SERVER_WORKER", std::to_string(number).c_str(), 1);
    pid_t pid = -1;
    if (posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, argv, environ) != 0)
      Fail("posix_spawn");
    workers.push_back(pid);
  }
  Serve(processes, 0);
  int failed = 0;
  for (const pid_t pid : workers) {
    if (pid > 0) kill(pid, SIGTERM);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0) {
    }
    failed += status != 0 && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  }
  if (failed == 0) printf("PASS server\n");
  return failed != 0;
}
