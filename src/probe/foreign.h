// SPDX-License-Identifier: MIT
//
// What kernels that omniprobe instrumented have said, as dh_comms writes it: one header per
// message, the lanes' ids, their addresses. A part of the stream's reader; one thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "probe/stream.h"

namespace rochound::probe {

// All dispatches of it are one: messages do not say which they are of.
struct ForeignKernel {
  Dispatch dispatch;
  bool fresh = true;  // nothing was said yet
  bool chosen = true;
  std::set<std::pair<uint64_t, uint64_t>> waves;  // workgroup and number
};

struct ForeignAccess {
  ForeignKernel* kernel;
  std::array<uint32_t, 3> group;
  uint64_t group_number;
  uint64_t wave;
  const Site* site;
  const char* space;
  uint64_t mask;
  std::vector<uint64_t> addresses;
};

class ForeignReader {
 public:
  void AddKernel(const std::vector<uint64_t>& words, uint64_t process);
  // Nothing: it is no access, or damaged.
  std::optional<ForeignAccess> Read(const std::vector<uint64_t>& words);

 private:
  const Site& SiteFor(const ForeignKernel& kernel, uint64_t file, uint32_t line, uint32_t column,
                      uint32_t what);

  std::map<uint64_t, ForeignKernel> kernels_;
  using Key = std::tuple<const ForeignKernel*, uint64_t, uint32_t, uint32_t, uint32_t>;
  std::map<Key, std::unique_ptr<Site>> sites_;
};

}  // namespace rochound::probe
