// SPDX-License-Identifier: MIT
//
// What the programs here share: a kernel that takes time, clocks, ranges, and the truth that a
// program prints about itself: one line, TRUTH and a JSON object of numbers and strings, which
// ../truth_case.py hands to the check.
#pragma once

#include <hip/hip_runtime.h>
#include <rochound/rochound.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace truth {

#define CHECK(call)                                                                            \
  do {                                                                                         \
    const hipError_t error_ = (call);                                                          \
    if (error_ != hipSuccess) {                                                                \
      fprintf(stderr, "%s:%d %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(error_)); \
      exit(9);                                                                                 \
    }                                                                                          \
  } while (0)

inline double NowMs() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline void SleepMs(double ms) { usleep(static_cast<useconds_t>(ms * 1000)); }

// Host work: the CPU is busy for so long.
inline void WorkMs(double ms) {
  const double end = NowMs() + ms;
  while (NowMs() < end) {
  }
}

// The same by CPU time, so that a busy machine makes it longer, not less.
inline void WorkCpuMs(double ms) {
  timespec from, now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
  do {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while (static_cast<double>(now.tv_sec - from.tv_sec) * 1e3 +
               static_cast<double>(now.tv_nsec - from.tv_nsec) / 1e6 <
           ms);
}

// A range of the program on this thread, seen by the recorder.
class Range {
 public:
  explicit Range(const char* name) { rochound_range_push(name); }
  explicit Range(const std::string& name) : Range(name.c_str()) {}
  ~Range() { rochound_range_pop(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

// What the program says about itself.
class Truth {
 public:
  Truth& Add(const std::string& name, double number) {
    char text[64];
    snprintf(text, sizeof text, "%.6f", number);
    return AddText(name, text);
  }
  Truth& Add(const std::string& name, const std::string& text) {
    return AddText(name, "\"" + text + "\"");
  }
  // The rule whose finding comes first, and its time.
  static Truth Finding(const std::string& rule, double ms) {
    Truth truth;
    return truth.Add("rule", rule).Add("ms", ms);
  }
  void Print() const {
    printf("TRUTH {%s}\n", text_.c_str());
    fflush(stdout);
  }

 private:
  Truth& AddText(const std::string& name, const std::string& value) {
    text_ += (text_.empty() ? "\"" : ", \"") + name + "\": " + value;
    return *this;
  }
  std::string text_;
};

// How long the program was in the runtime, and how long outside of it between its calls.
class Calls {
 public:
  // Makes a call, and returns how long it took.
  template <typename Call>
  double operator()(const Call& call) {
    const double begin = NowMs();
    call();
    last_ = NowMs();
    if (inside_ == 0) first_ = begin;
    inside_ += last_ - begin;
    return last_ - begin;
  }
  double OutsideMs() const { return last_ - first_ - inside_; }

 private:
  double first_ = 0, last_ = 0, inside_ = 0;
};

// Takes time in proportion to `rounds`; every thread stores into its own element.
template <int kName>
__global__ void Spin(int* out, int rounds) {
  int value = static_cast<int>(threadIdx.x) + kName;
  for (int i = 0; i < rounds; ++i) value = value * 1664525 + 1013904223 + (value >> 3);
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

// A kernel that takes a known time on any machine: the first of its workgroups waits until so many
// ticks have passed, the others end at once. It notes when it began and ended.
struct BusyTimes {
  unsigned long long begin, end;
};
template <int kName>
__global__ void Busy(BusyTimes* times, unsigned long long ticks) {
  if (threadIdx.x != 0) return;
  const unsigned long long begin = wall_clock64();
  if (atomicCAS(&times->begin, 0ull, begin) == 0)
    while (wall_clock64() - begin < ticks) {
    }
  atomicMax(&times->end, wall_clock64());
}

// Launches Busy kernels on a GPU, and knows how long they took.
class BusyKernels {
 public:
  explicit BusyKernels(int most = 4096, int device = 0) : most_(most) {
    CHECK(hipSetDevice(device));
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, device));
    // HIP counts pairs of compute units from gfx10 on.
    units_ = properties.multiProcessorCount * (properties.gcnArchName[3] == '9' ? 1 : 2);
    CHECK(hipMalloc(&times_, sizeof(BusyTimes) * most));
    CHECK(hipMemset(times_, 0, sizeof(BusyTimes) * most));
    int khz = 0;
    CHECK(hipDeviceGetAttribute(&khz, hipDeviceAttributeWallClockRate, device));
    ticks_per_ms_ = khz;
    const double from = NowMs();
    Launch<0>(0.01);
    first_launch_ms_ = NowMs() - from;
    CHECK(hipDeviceSynchronize());
  }

  int units() const { return units_; }
  double ticks_per_ms() const { return ticks_per_ms_; }
  // The first launch loads this program's code.
  double first_launch_ms() const { return first_launch_ms_; }

  // workgroups 0: one for each compute unit, so that no part of the GPU is left out.
  template <int kName = 0>
  void Launch(double ms, hipStream_t stream = nullptr, int workgroups = 0, int threads = 64,
              int lds = 0) {
    if (next_ == most_) {
      fprintf(stderr, "more kernels than were planned\n");
      exit(9);
    }
    Busy<kName><<<workgroups == 0 ? units_ : workgroups, threads, lds, stream>>>(
        times_ + next_++, static_cast<unsigned long long>(ms * ticks_per_ms_));
    CHECK(hipGetLastError());
  }

  int launched() const { return next_; }

  // What the kernels from this one on took, or every step-th of them, by their own clocks; they
  // must be over.
  double Milliseconds(int first = 1, int step = 1) const {
    std::vector<BusyTimes> times(next_);
    CHECK(hipMemcpy(times.data(), times_, sizeof(BusyTimes) * next_, hipMemcpyDeviceToHost));
    unsigned long long ticks = 0;
    for (int i = first; i < next_; i += step) ticks += times[i].end - times[i].begin;
    return static_cast<double>(ticks) / ticks_per_ms_;
  }

 private:
  const int most_;
  int next_ = 0;
  int units_ = 0;
  double ticks_per_ms_ = 0;
  double first_launch_ms_ = 0;
  BusyTimes* times_ = nullptr;
};

template <typename T = int>
T* Allocate(size_t count) {
  T* memory = nullptr;
  CHECK(hipMalloc(&memory, count * sizeof(T)));
  return memory;
}

}  // namespace truth
