// SPDX-License-Identifier: MIT
//
// Which collective operations of different ranks were one and the same. A collective ends on no
// rank before it has begun on all of them, so parts of one run at the same time: a part joins the
// oldest meeting of its name that its rank is not part of and of which no part has ended yet. So
// ranks that never meet (other communicators), and collectives that one rank has more, do not
// shift the others. Pure; parts come in the order of their starts.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rochound::analysis {

struct CollectivePart {
  int64_t rank = 0;
  int64_t start = 0, end = 0;
};

struct Meeting {
  std::string name;
  std::vector<CollectivePart> parts;  // by start: the last one is who the others waited for
  int64_t bytes = -1;                 // of a rank; -1: not known

  int64_t Spread() const { return parts.back().start - parts.front().start; }
};

class Meetings {
 public:
  // Clocks of two processes are related with this precision, in nanoseconds.
  static constexpr int64_t kClockTolerance = 20'000;

  void Add(const std::string& name, const CollectivePart& part);
  // One of which it is known who took part.
  void AddKnown(Meeting meeting) { all_.push_back(std::move(meeting)); }

  // Those of one part met nobody.
  const std::vector<Meeting>& all() const { return all_; }

 private:
  struct Open {
    size_t meeting;        // in all_
    int64_t earliest_end;  // of its parts
  };

  std::vector<Meeting> all_;
  std::unordered_map<std::string, std::vector<Open>> open_;  // by name, oldest first
};

}  // namespace rochound::analysis
