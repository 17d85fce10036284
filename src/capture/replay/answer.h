// SPDX-License-Identifier: MIT
//
// What the replay program says, as lines of JSON on one descriptor: any number of
// {"progress": "mapping", "part": 0.3}, which also say which candidate is being launched (so that
// whoever started us knows the guilty one if we die), then one {"answer": {...}} and the end of the
// process. Main thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "capture/replay/verdict.h"

namespace rochound::capture::replay {

class Answer {
 public:
  explicit Answer(int descriptor) : descriptor_(descriptor) {}

  nlohmann::ordered_json& json() { return json_; }
  void AddNote(const std::string& note);
  // At most a few per second, unless the step is another one.
  void Progress(const std::string& step, double part);
  // Never left out: what is said here is what somebody needs to know after our sudden end.
  void Launching(const std::string& candidate);

  // Says it and ends the process at once, without the runtime's own clean-up.
  [[noreturn]] void End(Verdict verdict, const std::string& message = {});

 private:
  void Line(const nlohmann::ordered_json& line) const;

  int descriptor_;
  nlohmann::ordered_json json_ = nlohmann::ordered_json::object();
  std::vector<std::string> notes_;
  std::string last_step_, last_candidate_;
  double last_time_ = 0;
};

}  // namespace rochound::capture::replay
