// SPDX-License-Identifier: MIT
//
// Where to look in a space of parameters when only a part of it can be measured: a few points by
// chance, then along one parameter after the other from the best point so far, whose neighbours are
// asked first. Knows numbers only; whoever asks measures. One thread; the same seed gives the same
// points for the same answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace rochound::optimize {

// A file of --tune. Each parameter has values in an order in which neighbours are alike.
struct Space {
  struct Parameter {
    std::string name;  // "TILE": -DTILE=value; "flags": the value itself
    std::vector<std::string> values;
  };
  std::filesystem::path source;  // of the candidates
  std::vector<std::string> flags;
  std::vector<Parameter> parameters;

  size_t points() const;
};
using Point = std::vector<size_t>;  // an index for each parameter

base::Result<Space> ReadSpace(const std::filesystem::path& file);
// For the compiler, beside space.flags.
std::vector<std::string> FlagsOf(const Space& space, const Point& point);

class Tuner {
 public:
  // counts: of each parameter's values.
  Tuner(std::vector<size_t> counts, uint64_t seed, size_t most);

  // None: all was measured that may be, or that there is.
  std::optional<Point> Next();
  // cost: none if the point is wrong or impossible. measured: it counts.
  void Report(const Point& point, std::optional<double> cost, bool measured = true);

  size_t measured() const { return measured_; }
  // Those with a cost, the best first.
  std::vector<std::pair<Point, double>> Best() const;

 private:
  std::optional<Point> ByChance();
  std::optional<Point> Around(const Point& point);
  uint64_t Random();

  std::vector<size_t> counts_;
  uint64_t state_;
  size_t most_, starts_;
  size_t measured_ = 0;
  std::map<Point, std::optional<double>> known_;
};

}  // namespace rochound::optimize
