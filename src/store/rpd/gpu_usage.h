// SPDX-License-Identifier: MIT
//
// "Is my GPU used?": one sentence with a figure, the same wherever it is told.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace rochound::store {

// The length of the union of spans that come in any order. Memory grows with the gaps between them.
class CoveredTime {
 public:
  void Add(int64_t begin, int64_t end);
  int64_t ns();

 private:
  void Merge();

  std::vector<std::pair<int64_t, int64_t>> spans_;
  size_t merge_at_ = size_t{1} << 16;
};

// When each GPU had a kernel or a copy.
using GpusBusy = std::map<int64_t, CoveredTime>;

// "GPU 0 was busy 8.9% of 1.20 s", of the busiest one; empty: none did anything.
std::string UsageSentence(int64_t gpu, int64_t gpus, int64_t busy_ns, int64_t wall_ns);
std::string UsageSentence(GpusBusy& gpus, int64_t wall_ns);

}  // namespace rochound::store
