// SPDX-License-Identifier: MIT
//
// Finds out when memory was given back. Threads' chunks come one after the other, so a release may
// be seen before its allocation, and the next allocation at an address before the last one's
// release: times decide. Used by the joiner, one thread. Memory: what is allocated at one
// time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "trace/records.h"

namespace rochound::store {

class AllocationPairs {
 public:
  struct Allocation {
    trace::Allocation record;
    uint64_t begin_ns;
  };

  // Each returns true when that made a pair, which is then in `allocation` and `end_ns`.
  bool Allocate(const trace::Allocation& record, uint64_t now_ns) {
    allocation = {record, now_ns};
    Place& place = places_[record.address];
    auto first = place.released.end();
    for (auto at = place.released.begin(); at != place.released.end(); ++at)
      if (*at >= now_ns && (first == place.released.end() || *at < *first)) first = at;
    if (first == place.released.end()) {
      place.live.push_back(allocation);
      return false;
    }
    end_ns = *first;
    place.released.erase(first);
    Forget(record.address, place);
    return true;
  }

  bool Release(uint64_t address, uint64_t now_ns) {
    Place& place = places_[address];
    auto last = place.live.end();
    for (auto at = place.live.begin(); at != place.live.end(); ++at) {
      if (at->begin_ns <= now_ns && (last == place.live.end() || at->begin_ns > last->begin_ns))
        last = at;
    }
    if (last == place.live.end()) {
      // Older than the recording, or told later; one place is not given back often meanwhile.
      if (place.released.size() >= kMostReleases) place.released.erase(place.released.begin());
      place.released.push_back(now_ns);
      return false;
    }
    allocation = *last;
    end_ns = now_ns;
    place.live.erase(last);
    Forget(address, place);
    return true;
  }

  // Those without an end, oldest first.
  std::vector<Allocation> Live() const {
    std::vector<Allocation> live;
    for (const auto& [address, place] : places_)
      live.insert(live.end(), place.live.begin(), place.live.end());
    std::sort(live.begin(), live.end(), [](const Allocation& a, const Allocation& b) {
      return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns
                                      : a.record.address < b.record.address;
    });
    return live;
  }

  Allocation allocation{};
  uint64_t end_ns = 0;

 private:
  static constexpr size_t kMostReleases = 64;
  struct Place {
    std::vector<Allocation> live;
    std::vector<uint64_t> released;  // at these times, allocation not seen yet
  };

  void Forget(uint64_t address, const Place& place) {
    if (place.live.empty() && place.released.empty()) places_.erase(address);
  }

  std::unordered_map<uint64_t, Place> places_;  // by address
};

}  // namespace rochound::store
