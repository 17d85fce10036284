// SPDX-License-Identifier: MIT
//
// How far something is, as a line on the terminal that is written over again, from the third second
// on; nothing where stderr is no terminal. Gone when the object goes. One thread.
#pragma once

#include <chrono>
#include <string>

namespace rochound::base {

class ProgressBar {
 public:
  explicit ProgressBar(std::string what);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // part: 0 to 1.
  void Show(double part);
  // The same bar for the next step of the work.
  void set_what(const std::string& what) { what_ = what; }

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  const bool terminal_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
  bool shown_ = false;
};

}  // namespace rochound::base
