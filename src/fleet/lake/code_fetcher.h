// SPDX-License-Identifier: MIT
//
// Brings code objects into the lake, each once: asks one host that ran it, and believes nothing but
// the hash of what it got. Owned by the aggregator's command, on its one thread. A host that does
// not answer is asked again when the hash is seen again, after a pause that grows; nothing waits
// for it but the time of one request.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>

#include "base/result.h"
#include "fleet/bus/bus.h"
#include "fleet/lake/lake.h"

namespace rochound::fleet {

class CodeFetcher {
 public:
  static constexpr uint64_t kMostBytes = uint64_t{256} << 20;

  // Both outlive it.
  CodeFetcher(Bus* bus, Lake* lake, std::string tenant)
      : bus_(bus), lake_(lake), tenant_(std::move(tenant)) {}

  // What the lake has already.
  base::Result<void> Start();
  // A host ran this code object.
  void See(const std::string& host, const std::string& hash);
  // Fetches at most one. True: there may be more to fetch now.
  base::Result<bool> Step();

  uint64_t fetched() const { return fetched_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Wanted {
    std::string host;  // the last that ran it
    Clock::time_point next{};
    std::chrono::seconds pause{5};
  };
  base::Result<Lake::Code> Fetch(const std::string& host, const std::string& hash);

  Bus* const bus_;
  Lake* const lake_;
  const std::string tenant_;
  std::set<std::string> kept_;
  std::map<std::string, Wanted> wanted_;
  uint64_t fetched_ = 0;
};

}  // namespace rochound::fleet
