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

template <typename T = int>
T* Allocate(size_t count) {
  T* memory = nullptr;
  CHECK(hipMalloc(&memory, count * sizeof(T)));
  return memory;
}

}  // namespace truth
