// SPDX-License-Identifier: MIT
//
// The analyzer `races`: memory that two waves of one workgroup access, at least one of them
// writing, without a barrier of the workgroup between the two. A wave's own accesses are in order,
// and so are atomics among each other. What atomics order (locks, flags) is not known here, and
// different workgroups are not compared.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "probe/analyzer.h"

namespace rochound::probe {

struct RacingPlace {
  std::string action;
  Location at;
  bool operator==(const RacingPlace& other) const;
};

struct Race {
  std::string kernel;
  bool lds = false;
  RacingPlace first, second;  // in the order of the source
  uint64_t dwords = 0;        // in how many of them, all workgroups together
  // One of them.
  uint64_t process = 0, dispatch = 0, group = 0;
  uint64_t waves[2] = {0, 0};  // of first and second
  uint64_t address = 0;
};

class RaceAnalyzer final : public Analyzer {
 public:
  explicit RaceAnalyzer(const AnalyzerOutput& output) : format_(output.format) {}
  void OnAccess(const AccessMessage& message) override;
  void OnBarrier(const BarrierMessage& message) override;
  std::string Answer(const StreamSummary& summary) override;
  std::vector<Race> Races() const;  // in most dwords first

 private:
  struct Access {
    uint32_t wave;
    uint32_t site;  // in sites_
    uint8_t bytes;  // of the dword
  };
  // Between two barriers. Dwords: twice their number, and one more in LDS.
  struct Interval {
    std::unordered_map<uint64_t, std::vector<Access>> dwords;
    std::set<std::tuple<uint64_t, uint32_t, uint32_t>> counted;  // dword and both sites
  };
  struct Group {
    std::map<uint64_t, uint64_t> barriers;  // of each wave: how many it has come to
    std::map<uint64_t, Interval> intervals;
    uint64_t last_message = 0;
  };
  struct KnownSite {
    RacingPlace place;
    bool writes = false;
    bool atomic = false;
    bool is_volatile = false;
  };

  Group& GroupOf(const Dispatch* dispatch, uint64_t number);
  uint32_t SiteOf(const Site* site);
  void ForgetOldGroups();
  void Count(const AccessMessage& message, uint64_t dword, const Access& one, const Access& other);

  AnswerFormat format_;
  std::map<std::pair<const Dispatch*, uint64_t>, Group> groups_;
  std::unordered_map<const Site*, uint32_t> site_numbers_;
  std::vector<KnownSite> sites_;  // one per place and action, though loops are unrolled
  std::map<std::tuple<std::string, bool, uint32_t, uint32_t>, Race> races_;
  uint64_t messages_ = 0;
};

}  // namespace rochound::probe
