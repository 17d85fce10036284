// SPDX-License-Identifier: MIT
//
// What a software GPU counts of launches (docs/softgpu-counters.md), read in this process, launch
// by launch, so that builds that run by turns can be told apart. Used on the main thread, after the
// runtime was started. On a real GPU there are no counts.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace rochound::capture::replay {

class Counts {
 public:
  // Once the runtime was started.
  static bool OnSoftwareGpu();
  // False: this is no software GPU.
  static bool Start();
  static void Stop();
  // The record of the last launch of this kernel since the last call, as JSON; none: there was none
  // that ended well. All records so far are gone then.
  static std::optional<nlohmann::ordered_json> Take(const std::string& kernel);
};

}  // namespace rochound::capture::replay
