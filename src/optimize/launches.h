// SPDX-License-Identifier: MIT
//
// Which launches of a kernel are captured for the judge, by what a recorded trace says about them:
// shapes that take most time come first, and every second launch is held out of the search. Reads
// a trace.rpd; the rest are pure functions. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace rochound::optimize {

// All launches of a kernel with the same grid and workgroup, in work-items.
struct LaunchShape {
  std::array<uint32_t, 3> grid = {}, workgroup = {};
  uint64_t launches = 0;
  int64_t total_ns = 0;
};

struct KernelLaunches {
  std::string kernel;               // its symbol
  std::vector<LaunchShape> shapes;  // most time first
};

struct ChosenLaunch {
  LaunchShape shape;
  uint64_t nth = 1;       // of the launches of this shape
  bool held_out = false;  // the search does not see it
  double share = 0;       // of the kernel's time, what launches of this shape take
};

// What is kept in a search's folder: a run that goes on captures the same launches, whatever times
// a program has that day.
struct LaunchChoice {
  std::string kernel;
  std::vector<ChosenLaunch> launches;
};

// Of the kernels whose symbol or C++ name the pattern matches, the one with most time.
base::Result<KernelLaunches> ReadLaunches(const std::filesystem::path& rpd,
                                          const std::string& pattern);

// The first launch of each shape, then a later one of each, up to `most`. Every second one is held
// out; a single launch is not.
LaunchChoice ChooseLaunches(const KernelLaunches& launches, size_t most);

// "grid 1024x1x1 in workgroups of 256x1x1, launch 1 of 8 (61% of the kernel's time)".
std::string DescribeLaunch(const ChosenLaunch& launch);
// As rochound capture --shape takes it.
std::string ShapeOption(const LaunchShape& shape);

std::string LaunchChoiceJson(const LaunchChoice& choice);
base::Result<LaunchChoice> ParseLaunchChoice(const std::string& json);

}  // namespace rochound::optimize
