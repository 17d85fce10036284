// SPDX-License-Identifier: MIT
//
// Runs random kernels on the GPU and by their model on the host, and compares what they left in
// memory bit by bit. Called by run_random.py; built once.
//
//   random_runner MODEL.so GENERATION CODE... [-- CODE:KERNEL...]
//
// MODEL.so is a generated file compiled for the host, GENERATION the GPU's (9 for gfx942), each
// CODE the same file compiled for the GPU at some level. Runs all kernels of all CODE files, or
// those named after `--`, by positions. Prints, per kernel, `RUN code kernel` before and `PASS
// code kernel` after it, or up to three lines
//   DIFF code kernel seed=... place=... expected=... got=...
// With ROCHOUND_FAULT set, faults are tried instead: see TryFaults.
// Exit code 0: all equal; 1: a difference; 2: HIP failed, or the arguments make no sense.
#include <dlfcn.h>
#include <hip/hip_runtime_api.h>
#include <link.h>
#include <sys/time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model.h"

namespace {

using namespace model;

struct Random {
  u64 state;
  u64 Next() {
    state += 0x9e3779b97f4a7c15ull;
    u64 z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
};

// Every kind of number: near zero, near the limits, near a power of two, anything.
u64 RandomInteger(Random& random) {
  const u64 bits = random.Next();
  switch (random.Next() % 6) {
    case 0:
      return bits % 33;
    case 1:
      return 0 - bits % 33;
    case 2:
      return (u64{1} << (bits & 63)) + (bits >> 8 & 7) - 3;
    case 3:
      return bits >> (bits & 63);
    default:
      return bits;
  }
}

template <typename T>
T RandomReal(Random& random, int mantissa, int bias) {
  const u64 sign = random.Next() & 1, top = sizeof(T) * 8 - 1;
  const u64 fraction = random.Next() & ((u64{1} << mantissa) - 1);
  const u64 special[] = {0,
                         1,
                         (u64{1} << mantissa) - 1,
                         u64{1} << mantissa,
                         u64(2 * bias) << mantissa,
                         u64(2 * bias + 1) << mantissa,
                         (u64(2 * bias + 1) << mantissa) | u64{1} << (mantissa - 1)};
  u64 bits;
  switch (random.Next() % 8) {
    case 0:
      bits = special[random.Next() % 7];
      break;
    case 1:
      bits = fraction;
      break;
    case 2:
      bits = (random.Next() % u64(2 * bias) << mantissa) | fraction;
      break;
    case 3:
      return T(i64(random.Next() % 41) - 20);
    case 4:
      return T((i64(random.Next() % 81) - 40) / 4.0);
    default:
      bits = ((bias - 6 + random.Next() % 13) << mantissa) | fraction;
      break;
  }
  return OfBits<T>(bits | sign << top);
}

#define HIP_MUST(call)                                           \
  do {                                                           \
    const hipError_t error_ = (call);                            \
    if (error_ != hipSuccess) {                                  \
      printf("FAIL %s: %s\n", #call, hipGetErrorString(error_)); \
      fflush(stdout);                                            \
      _Exit(2);                                                  \
    }                                                            \
  } while (0)

// Everything that one kernel starts from, and what the model makes of it.
struct Trial {
  Args args{};
  std::vector<u8> input = std::vector<u8>(kInput);
  std::vector<u8> before, expected;
  size_t memory_at = 0, cells_at = 0;

  Trial(const Kernel& kernel, u32 wave_size, u32 generation) {
    Random random{0};
    for (const char* c = kernel.seed; *c; ++c) {
      random.state = random.state * 131 + static_cast<u8>(*c);
    }
    for (int i = 0; i < 256; ++i) {
      Put(input, 8 * i, RandomInteger(random));
      Put(input, 2048 + 8 * i, RandomReal<f64>(random, 52, 1023));
      Put(input, 4096 + 4 * i, RandomReal<f32>(random, 23, 127));
      Put(input, 5120 + 2 * i, RandomReal<f16>(random, 10, 15));
    }
    memcpy(args.shape, kernel.shape, sizeof(args.shape));
    args.group_size = args.shape[0] * args.shape[1] * args.shape[2];
    args.threads = args.group_size * kernel.groups;
    for (u64& number : args.integers) number = RandomInteger(random);
    for (f64& number : args.doubles) number = RandomReal<f64>(random, 52, 1023);
    for (f32& number : args.singles) number = RandomReal<f32>(random, 23, 127);
    memory_at = sizeof(u64) * kOutputs * args.threads;
    cells_at = memory_at + size_t{kMemory} * args.threads;
    before.assign(cells_at + sizeof(Cells), 0xA5);
    // What a thread may change is its own numbers: atomics on them need some to start from.
    for (size_t at = memory_at; at < cells_at; at += 4) {
      Put(before, at, static_cast<u32>(random.Next() >> 20) & 0x3fff);
    }
    Cells cells{};
    for (int i = 0; i < kCells; ++i) {
      cells.u32s[i] = static_cast<u32>(random.Next());
      cells.u64s[i] = random.Next();
    }
    memcpy(&before[cells_at], &cells, sizeof(cells));
    expected = before;
    Aim(input.data(), expected.data());
    kernel.run(args, wave_size, generation);
  }

  template <typename T>
  static void Put(std::vector<u8>& bytes, size_t at, T value) {
    memcpy(&bytes[at], &value, sizeof(value));
  }
  void Aim(const u8* in, u8* out) {
    args.in = in;
    args.out = reinterpret_cast<u64*>(out);
    args.memory = out + memory_at;
    args.cells = reinterpret_cast<Cells*>(out + cells_at);
  }
};

// Room on the GPU, made larger when a kernel needs more.
struct Room {
  u8* at = nullptr;
  size_t size = 0;
  u8* Of(size_t wanted) {
    if (wanted > size) {
      if (at) HIP_MUST(hipFree(at));
      size = wanted + (256 << 10);
      HIP_MUST(hipMalloc(&at, size));
    }
    return at;
  }
};

bool Compare(const Trial& trial, const std::vector<u8>& got, const char* seed, int code,
             int position) {
  int shown = 0;
  for (size_t at = 0; at < got.size() && shown < 3; at += at < trial.memory_at ? 8 : 1) {
    char place[80];
    u64 expected = trial.expected[at], found = got[at];
    if (at < trial.memory_at) {
      memcpy(&expected, &trial.expected[at], 8);
      memcpy(&found, &got[at], 8);
      snprintf(place, sizeof(place), "out[%zu].thread[%zu]", at / 8 / trial.args.threads,
               at / 8 % trial.args.threads);
    } else if (at < trial.cells_at) {
      snprintf(place, sizeof(place), "memory[%zu].thread[%zu]", (at - trial.memory_at) % kMemory,
               (at - trial.memory_at) / kMemory);
    } else {
      snprintf(place, sizeof(place), "cells[byte%zu]", at - trial.cells_at);
    }
    if (expected == found) continue;
    printf("DIFF %d %d seed=%s place=%s expected=%#llx got=%#llx\n", code, position, seed, place,
           static_cast<unsigned long long>(expected), static_cast<unsigned long long>(found));
    ++shown;
  }
  if (shown == 0) printf("PASS %d %d\n", code, position);
  fflush(stdout);
  return shown == 0;
}

// A model and its code on the GPU.
class Session {
 public:
  Session(const Kernel* kernels, u32 generation, const std::vector<const char*>& codes)
      : kernels_(kernels), generation_(generation), modules_(codes.size()) {
    hipDeviceProp_t properties;
    HIP_MUST(hipGetDeviceProperties(&properties, 0));
    wave_size_ = static_cast<u32>(properties.warpSize);
    // What calls by pointer and recursion need cannot be known to the compiler; at -O0 their
    // frames are large.
    HIP_MUST(hipDeviceSetLimit(hipLimitStackSize, 24 << 10));
    for (size_t i = 0; i < codes.size(); ++i) HIP_MUST(hipModuleLoad(&modules_[i], codes[i]));
    while (kernels_[count_].seed) ++count_;
    trials_.resize(static_cast<size_t>(count_));
  }

  int count() const { return count_; }
  int codes() const { return static_cast<int>(modules_.size()); }

  // While the kernel runs, *fault is `number`.
  bool Run(int code, int position, int* fault = nullptr, int number = 0) {
    const Kernel& kernel = kernels_[position];
    std::unique_ptr<Trial>& trial = trials_[static_cast<size_t>(position)];
    if (!trial) trial = std::make_unique<Trial>(kernel, wave_size_, generation_);
    hipFunction_t function;
    const std::string name = "Kernel" + std::to_string(position);
    HIP_MUST(hipModuleGetFunction(&function, modules_[static_cast<size_t>(code)], name.c_str()));
    u8* in = in_.Of(kInput);
    u8* out = out_.Of(trial->before.size());
    HIP_MUST(hipMemcpy(in, trial->input.data(), kInput, hipMemcpyHostToDevice));
    HIP_MUST(hipMemcpy(out, trial->before.data(), trial->before.size(), hipMemcpyHostToDevice));
    trial->Aim(in, out);
    printf("RUN %d %d\n", code, position);
    fflush(stdout);
    if (fault) *fault = number;
    void* parameters[] = {&trial->args};
    HIP_MUST(hipModuleLaunchKernel(function, kernel.groups, 1, 1, kernel.shape[0], kernel.shape[1],
                                   kernel.shape[2], 0, nullptr, parameters, nullptr));
    HIP_MUST(hipDeviceSynchronize());
    if (fault) *fault = 0;
    std::vector<u8> got(trial->before.size());
    HIP_MUST(hipMemcpy(got.data(), out, got.size(), hipMemcpyDeviceToHost));
    return Compare(*trial, got, kernel.seed, code, position);
  }

 private:
  const Kernel* kernels_;
  u32 generation_, wave_size_ = 0;
  int count_ = 0;
  std::vector<hipModule_t> modules_;
  std::vector<std::unique_ptr<Trial>> trials_;
  Room in_, out_;
};

// For mutate.py: tries faults of an interpreter that has the number of the one to make in a
// variable, so many bytes from where the interpreter is loaded.
int TryFaults(Session& session, const std::vector<int>& numbers, const char* offset) {
  struct Place {
    uintptr_t offset;
    int* found;
  } place{strtoull(offset, nullptr, 16), nullptr};
  dl_iterate_phdr(
      [](dl_phdr_info* library, size_t, void* data) {
        Place* wanted = static_cast<Place*>(data);
        if (strstr(library->dlpi_name, "librochound_softgpu_core"))
          wanted->found = reinterpret_cast<int*>(library->dlpi_addr + wanted->offset);
        return 0;
      },
      &place);
  if (!place.found) {
    fprintf(stderr, "the interpreter is not in this process\n");
    return 2;
  }
  for (int number : numbers) {
    printf("FAULT %d\n", number);
    fflush(stdout);
    // Some never end. The signal ends the program.
    const itimerval limit{{0, 0}, {4, 0}};
    setitimer(ITIMER_PROF, &limit, nullptr);
    bool equal = true;
    for (int position = 0; equal && position < session.count(); ++position) {
      for (int code = 0; equal && code < session.codes(); ++code) {
        equal = session.Run(code, position, place.found, number);
      }
    }
    printf("%s %d\n", equal ? "MISSED" : "FOUND", number);
    fflush(stdout);
  }
  return 0;
}

int Main(int argc, char** argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: random_runner MODEL.so GENERATION CODE... [-- CODE:KERNEL...]\n");
    return 2;
  }
  void* library = dlopen(argv[1], RTLD_NOW);
  const auto get =
      library ? reinterpret_cast<const Kernel* (*)()>(dlsym(library, "RandomModel")) : nullptr;
  if (!get) {
    fprintf(stderr, "%s is no model: %s\n", argv[1], dlerror());
    return 2;
  }
  std::vector<const char*> codes;
  std::set<std::pair<int, int>> only;
  std::vector<int> faults;
  bool behind = false;
  for (int i = 3; i < argc; ++i) {
    int code, kernel;
    if (strcmp(argv[i], "--") == 0) {
      behind = true;
    } else if (!behind) {
      codes.push_back(argv[i]);
    } else if (sscanf(argv[i], "%d:%d", &code, &kernel) == 2) {
      only.emplace(code, kernel);
    } else {
      faults.push_back(atoi(argv[i]));
    }
  }
  Session session(get(), static_cast<u32>(atoi(argv[2])), codes);
  if (const char* offset = getenv("ROCHOUND_FAULT")) return TryFaults(session, faults, offset);
  bool equal = true;
  for (int position = 0; position < session.count(); ++position) {
    for (int code = 0; code < session.codes(); ++code) {
      if (!behind || only.count({code, position})) equal &= session.Run(code, position);
    }
  }
  return equal ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return Main(argc, argv); }
