// SPDX-License-Identifier: MIT
//
// What every program in this folder shares: checked HIP calls, exact counts of them, and the lines
// that the drivers (run_program.py, run_faults.py) and the recorder's tests read. Included by each
// program once; counting is safe on any thread. A failed call or check prints `FAIL name: why` and
// ends the process with exit code 1 at once, without running destructors (the GPU may be hung).
//
// What is counted. Only what this program itself asks for, by the macros below; whatever the
// runtime does on its own account (blit kernels for copies and fills, staging, hostcall, lazy
// set-up) is not.
//
//   kernels    kernels that reached a GPU queue: one per LAUNCH, per LAUNCH_CALL, and per kernel
//   node
//              of a graph at each launch of that graph (CountKernels). A launch that is captured
//              into a graph (CAPTURE) is HIP calls, not a kernel.
//   copies     one per copy call, or copy node at each graph launch, whatever number of packets the
//              runtime makes of it; bytes = the bytes it moves (width * height * depth for 2D and
//              3D). h2d, d2h, d2d (same GPU), h2h (both ends in host memory, no GPU need be
//              involved) and p2p (two GPUs). hipMemcpyToSymbol is h2d, hipMemcpyFromSymbol d2h.
//              Pinned, registered and managed memory that the program treats as host memory counts
//              as host.
//   memsets    one per fill call or fill node at each graph launch; bytes likewise.
//   hip_calls  every call of the HIP runtime API that is in the program, by the name of the C
//              function that is called (hipGetDeviceProperties is hipGetDevicePropertiesR0600 since
//              ROCm 6). A `<<<>>>` is three: __hipPushCallConfiguration, __hipPopCallConfiguration
//              and hipLaunchKernel; LAUNCH and CAPTURE add the hipGetLastError they check with.
//              Not counted: hiprtc*, hsa_*, the registration calls that the compiler adds
//              (__hipRegisterFatBinary and the like), and HIP calls that the runtime makes inside
//              another one (in 7.2 hipMemcpyFromSymbolAsync calls hipMemcpyAsync).
//
// Output at the end, each line in a fixed order, equal from run to run:
//   counts process=main kernels=3 copies=2 memsets=0 hip_calls=17 h2d=1 d2h=1 d2d=0 h2h=0 p2p=0
//          h2d_bytes=... d2h_bytes=... d2d_bytes=0 h2h_bytes=0 p2p_bytes=0 memset_bytes=0   (one
//          line)
//   counts-calls process=main hipFree=1 hipMalloc=1 ...
//   counts-kernels process=main VectorAdd=1 ...
//   PASS name
// A program that a device cannot run prints `SKIP name: why` and exits with 77.

#pragma once

#include <dirent.h>
#include <hip/hip_runtime.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cctype>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace program {

enum CopyKind { kH2D, kD2H, kD2D, kH2H, kP2P, kCopyKinds };

struct Tally {
  std::mutex mutex;
  std::string name = "unnamed";
  std::string process = "main";
  uint64_t kernels = 0;
  uint64_t hip_calls = 0;
  uint64_t memsets = 0;
  uint64_t memset_bytes = 0;
  uint64_t copies[kCopyKinds] = {};
  uint64_t copy_bytes[kCopyKinds] = {};
  std::map<std::string, uint64_t> calls;
  std::map<std::string, uint64_t> kernels_by_name;
};

// Never destroyed: threads and exit handlers may still count.
inline Tally& State() {
  static Tally* tally = new Tally;
  return *tally;
}

// To be called first; `process` tells the processes of one program apart.
inline void Begin(const char* name, const char* process = "main") {
  State().name = name;
  State().process = process;
}

[[noreturn]] inline void Stop(const char* verdict, int code, const char* format, va_list args) {
  char why[1024];
  vsnprintf(why, sizeof(why), format, args);
  printf("%s %s: %s\n", verdict, State().name.c_str(), why);
  fflush(stdout);
  _exit(code);
}

[[noreturn]] inline void Fail(const char* format, ...) {
  va_list args;
  va_start(args, format);
  Stop("FAIL", 1, format, args);
}

[[noreturn]] inline void Skip(const char* format, ...) {
  va_list args;
  va_start(args, format);
  Stop("SKIP", 77, format, args);
}

// The identifier that a call or kernel expression starts with: "(Fill<int>)" gives "Fill".
inline std::string LeadingName(const char* text) {
  while (*text == '(' || *text == ':' || *text == ' ') ++text;
  const char* end = text;
  while (*end == '_' || isalnum(static_cast<unsigned char>(*end))) ++end;
  return std::string(text, end);
}

inline void CountCall(const char* name) {
  std::lock_guard<std::mutex> lock(State().mutex);
  State().calls[name] += 1;
  State().hip_calls += 1;
}

inline void CountKernels(const char* kernel, uint64_t times) {
  std::lock_guard<std::mutex> lock(State().mutex);
  State().kernels_by_name[LeadingName(kernel)] += times;
  State().kernels += times;
}

inline void CountCopies(CopyKind kind, uint64_t bytes, uint64_t times) {
  std::lock_guard<std::mutex> lock(State().mutex);
  State().copies[kind] += times;
  State().copy_bytes[kind] += bytes * times;
}

inline void CountMemsets(uint64_t bytes, uint64_t times) {
  std::lock_guard<std::mutex> lock(State().mutex);
  State().memsets += times;
  State().memset_bytes += bytes * times;
}

// `text` is the call after macro expansion, so its first word is the function really called.
inline void CheckCall(hipError_t want, hipError_t got, const char* text, const char* file,
                      int line) {
  CountCall(LeadingName(text).c_str());
  if (got == want) return;
  const char* slash = strrchr(file, '/');
  Fail("%s:%d: %.200s gave %d (%s), wanted %d", slash ? slash + 1 : file, line, text,
       static_cast<int>(got), hipGetErrorName(got), static_cast<int>(want));
}

inline void CountLaunchCalls(const char* file, int line) {
  CountCall("__hipPushCallConfiguration");
  CountCall("__hipPopCallConfiguration");
  CountCall("hipLaunchKernel");
  CheckCall(hipSuccess, hipGetLastError(), "hipGetLastError", file, line);
}

inline void PrintCounts() {
  static const char* const kNames[kCopyKinds] = {"h2d", "d2h", "d2d", "h2h", "p2p"};
  Tally& tally = State();
  std::lock_guard<std::mutex> lock(tally.mutex);
  const auto print = [](const char* key, const char* suffix, uint64_t value) {
    printf(" %s%s=%llu", key, suffix, static_cast<unsigned long long>(value));
  };
  uint64_t copies = 0;
  for (uint64_t count : tally.copies) copies += count;
  printf("counts process=%s", tally.process.c_str());
  print("kernels", "", tally.kernels);
  print("copies", "", copies);
  print("memsets", "", tally.memsets);
  print("hip_calls", "", tally.hip_calls);
  for (int kind = 0; kind < kCopyKinds; ++kind) print(kNames[kind], "", tally.copies[kind]);
  for (int kind = 0; kind < kCopyKinds; ++kind)
    print(kNames[kind], "_bytes", tally.copy_bytes[kind]);
  print("memset_bytes", "", tally.memset_bytes);
  printf("\ncounts-calls process=%s", tally.process.c_str());
  for (const auto& call : tally.calls) print(call.first.c_str(), "", call.second);
  printf("\ncounts-kernels process=%s", tally.process.c_str());
  for (const auto& kernel : tally.kernels_by_name) print(kernel.first.c_str(), "", kernel.second);
  printf("\n");
}

// Waits until every other thread of the process sleeps, twice in a row, but at most two seconds.
// HIP 7.2 does not join its completion thread: a program that ends while that thread still tidies
// up after its last command dies in the runtime's clean-up (seen once in 3,000 runs of a program
// with host functions: "double free or corruption" after main).
inline void WaitForSleepingThreads() {
  const auto all_sleep = [] {
    DIR* tasks = opendir("/proc/self/task");
    if (tasks == nullptr) return true;
    bool sleeping = true;
    const std::string own = std::to_string(syscall(SYS_gettid));
    while (const dirent* task = readdir(tasks)) {
      if (task->d_name[0] == '.' || own == task->d_name) continue;
      std::ifstream stat("/proc/self/task/" + std::string(task->d_name) + "/stat");
      std::string text;
      std::getline(stat, text);
      const size_t name_end = text.rfind(')');
      if (name_end != std::string::npos && text[name_end + 2] == 'R') sleeping = false;
    }
    closedir(tasks);
    return sleeping;
  };
  for (int look = 0, quiet = 0; look < 2000 && quiet < 2; ++look) {
    quiet = all_sleep() ? quiet + 1 : 0;
    usleep(1000);
  }
}

// The last thing main does: `return program::Pass();`
inline int Pass() {
  WaitForSleepingThreads();
  PrintCounts();
  printf("PASS %s\n", State().name.c_str());
  fflush(stdout);
  return 0;
}

}  // namespace program

// Checks that the call returns hipSuccess (or the error named) and counts it.
// Files are named without their folder: these programs are in packages, which are the same bytes
// wherever they are built.
#define HIP_CALL(...) PROGRAM_CALL_(hipSuccess, __VA_ARGS__)
#define HIP_CALL_GIVES(error, ...) PROGRAM_CALL_(error, __VA_ARGS__)
#define PROGRAM_CALL_(want, ...) \
  ::program::CheckCall(want, (__VA_ARGS__), #__VA_ARGS__, __FILE_NAME__, __LINE__)

// A HIP call that copies `bytes` bytes, respectively fills them.
#define HIP_COPY(kind, bytes, ...)                       \
  do {                                                   \
    PROGRAM_CALL_(hipSuccess, __VA_ARGS__);              \
    ::program::CountCopies(::program::kind, (bytes), 1); \
  } while (0)
#define HIP_MEMSET(bytes, ...)              \
  do {                                      \
    PROGRAM_CALL_(hipSuccess, __VA_ARGS__); \
    ::program::CountMemsets((bytes), 1);    \
  } while (0)

// Launches with <<<>>>. A template kernel with commas is put in parentheses.
#define LAUNCH(kernel, grid, block, lds, stream, ...)       \
  do {                                                      \
    CAPTURE(kernel, grid, block, lds, stream, __VA_ARGS__); \
    ::program::CountKernels(#kernel, 1);                    \
  } while (0)

// The same on a stream that is being captured: HIP calls, but no kernel yet.
#define CAPTURE(kernel, grid, block, lds, stream, ...)                 \
  do {                                                                 \
    kernel<<<dim3(grid), dim3(block), (lds), (stream)>>>(__VA_ARGS__); \
    ::program::CountLaunchCalls(__FILE_NAME__, __LINE__);              \
  } while (0)

// A launch by a function of the API (hipModuleLaunchKernel, hipLaunchCooperativeKernel, ...).
#define LAUNCH_CALL(kernel, ...)            \
  do {                                      \
    PROGRAM_CALL_(hipSuccess, __VA_ARGS__); \
    ::program::CountKernels(#kernel, 1);    \
  } while (0)

#define CHECK(condition, ...)                       \
  do {                                              \
    if (!(condition)) ::program::Fail(__VA_ARGS__); \
  } while (0)

namespace program {

// Device memory and plain copies, for programs whose subject is something else.
template <typename T>
T* NewDevice(size_t count) {
  T* pointer = nullptr;
  HIP_CALL(hipMalloc(&pointer, count * sizeof(T)));
  return pointer;
}

template <typename T>
void Upload(T* device, const std::vector<T>& host) {
  const size_t bytes = host.size() * sizeof(T);
  HIP_COPY(kH2D, bytes, hipMemcpy(device, host.data(), bytes, hipMemcpyHostToDevice));
}

template <typename T>
T* NewDevice(const std::vector<T>& host) {
  T* pointer = NewDevice<T>(host.size());
  Upload(pointer, host);
  return pointer;
}

template <typename T>
std::vector<T> Download(const T* device, size_t count) {
  std::vector<T> host(count);
  const size_t bytes = count * sizeof(T);
  HIP_COPY(kD2H, bytes, hipMemcpy(host.data(), device, bytes, hipMemcpyDeviceToHost));
  return host;
}

inline void Free(void* device) { HIP_CALL(hipFree(device)); }

// A repeatable stream of numbers, the same on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 1) {}
  uint64_t Next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545F4914F6CDD1Dull;
  }
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(Next() >> 32) % limit; }

 private:
  uint64_t state_;
};

// Equal within a relative and an absolute tolerance; NaN equals NaN, infinities equal themselves.
inline bool Near(double got, double want, double relative, double absolute) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return want == got;
  return std::fabs(got - want) <= absolute + relative * std::fabs(want);
}

// The file `name` beside this program.
inline std::string Sibling(const char* name) {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
  if (length <= 0) Fail("cannot read /proc/self/exe");
  const std::string path(self, static_cast<size_t>(length));
  return path.substr(0, path.rfind('/') + 1) + name;
}

}  // namespace program
