// SPDX-License-Identifier: MIT
//
// What the programs of this folder share: checks that say what was wrong, a count of what was
// compared, and the last line that CTest looks for. One thread. A failed call of a library ends the
// process with 1; wrong results are counted, the first of them printed, and end it with 1 at the
// end. 77 is a skip, as elsewhere.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace library_test {

inline uint64_t g_cases = 0;
inline uint64_t g_values = 0;
inline uint64_t g_wrong = 0;

[[noreturn]] inline void Fail(const std::string& why) {
  std::printf("FAIL %s\n", why.c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

[[noreturn]] inline void Skip(const std::string& why) {
  std::printf("SKIP %s\n", why.c_str());
  std::fflush(stdout);
  std::_Exit(77);
}

#define EXPECT_OK(call, good)                                                            \
  do {                                                                                   \
    auto status_ = (call);                                                               \
    if (status_ != (good))                                                               \
      library_test::Fail(std::string(#call) + " gave " + std::to_string((long)status_)); \
  } while (0)

// Equal, or within `tolerance`. What the values are is for the caller to say.
inline void Compare(const std::string& what, const std::vector<double>& got,
                    const std::vector<double>& want, double tolerance = 0) {
  ++g_cases;
  uint64_t wrong = 0;
  if (got.size() != want.size()) Fail(what + ": as many values were not expected");
  for (size_t i = 0; i < got.size(); ++i) {
    double difference = got[i] > want[i] ? got[i] - want[i] : want[i] - got[i];
    ++g_values;
    if (difference <= tolerance) continue;  // false for NaN
    if (wrong++ == 0 && g_wrong < 100)
      std::printf("wrong: %s, value %zu of %zu: %.17g, expected %.17g\n", what.c_str(), i,
                  got.size(), got[i], want[i]);
  }
  if (wrong > 1 && g_wrong < 100) std::printf("  and %lu more of this case\n", wrong - 1);
  g_wrong += wrong;
}

// Small whole numbers: their products and sums are exact in every format, in any order.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  uint64_t Next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  int Small(int largest) {
    return static_cast<int>(Next() >> 20) % (largest + 1) * (Next() & 1 ? 1 : -1);
  }
  double Unit() { return static_cast<double>(Next() >> 11) / 9007199254740992.0 * 2 - 1; }

 private:
  uint64_t state_;
};

inline int Finish(const char* name) {
  if (g_wrong != 0) {
    std::printf("FAIL %s: %lu of %lu values are wrong\n", name, g_wrong, g_values);
    return 1;
  }
  if (g_cases == 0) Fail("nothing was compared");
  std::printf("PASS %s: %lu cases, %lu values\n", name, g_cases, g_values);
  return 0;
}

}  // namespace library_test
