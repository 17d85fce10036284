// SPDX-License-Identifier: MIT
//
// The question `overlap`: how much of the time each GPU computed, copied and communicated, alone
// and at the same time. Operations are swept in the order they started; for each kind of work only
// the time until which it goes on is kept. A GPU's states add up to the window. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/questions.h"
#include "analysis/window.h"
#include "base/result.h"
#include "store/open/duck.h"

namespace rochound::analysis {

enum class Work : uint8_t { kCompute, kCopy, kCommunication };
inline constexpr size_t kWorks = 3;

// By what the trace calls an operation and its type.
Work WorkOf(std::string_view name, std::string_view type);

class OverlapSweep {
 public:
  struct Gpu {
    int64_t gpu = 0;
    // By the kinds of work in flight: bit 1 << Work. 0: idle.
    std::array<int64_t, size_t{1} << kWorks> ns{};
  };

  explicit OverlapSweep(const Window& window) : window_(window) {}

  // In the order of gpu, start.
  void Add(int64_t gpu, int64_t start, int64_t end, Work work);
  void Finish();

  const std::vector<Gpu>& gpus() const { return gpus_; }

 private:
  void Advance(int64_t time);

  Window window_;
  std::vector<Gpu> gpus_;
  int64_t now_ = 0;
  std::array<int64_t, kWorks> until_{};
};

struct Overlap {
  Window window;
  std::vector<OverlapSweep::Gpu> gpus;
};
base::Result<Overlap> AnalyzeOverlap(store::duck::Connection& connection);

base::Result<Answer> AskOverlap(store::TraceDatabase& trace, const AskOptions& options);

}  // namespace rochound::analysis
