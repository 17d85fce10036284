// SPDX-License-Identifier: MIT
//
// The steps of `rochound selftest` for one program, each in child processes of this rochound. On
// main's thread.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace rochound::cli {

enum class Outcome : uint8_t {
  kSame,         // as on the software GPU
  kDifferent,    // not so: `why` says how
  kNotPossible,  // this GPU or this release cannot do it: `why` says what
};

struct StepResult {
  std::string step;  // runs, recorded, replayed
  Outcome outcome = Outcome::kSame;
  std::string why;
};

struct SelftestSettings {
  std::filesystem::path rochound;
  std::filesystem::path scratch;  // a folder for traces and bundles
  std::string softgpu;            // empty: the GPU that is here
  std::chrono::milliseconds limit;
  std::function<void(const std::string& what)> progress;
};

// All steps; those after one that failed are left out.
std::vector<StepResult> Selftest(const std::filesystem::path& program,
                                 const SelftestSettings& settings);

}  // namespace rochound::cli
