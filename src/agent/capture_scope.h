// SPDX-License-Identifier: MIT
//
// Marks what a thread does for a capture, so that a test can make any one of its allocations fail
// (memory.cpp) and see that the program does not notice. Costs nothing elsewhere.
#pragma once

namespace rochound::agent {

inline constinit thread_local int capture_depth = 0;

class CaptureScope {
 public:
  CaptureScope() { ++capture_depth; }
  ~CaptureScope() { --capture_depth; }
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;
};

}  // namespace rochound::agent
