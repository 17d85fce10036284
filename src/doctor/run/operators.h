// SPDX-License-Identifier: MIT
//
// Operators: the ranges that a program pushes and pops around its pieces of work (roctx, autograd,
// our C interface), and whether a kernel was launched in each. Filled by ReadRun (facts.h) with one
// thread's ranges, launches and calls in any order; no failure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace rochound::doctor {

// All ranges of one name below ranges of one name.
struct Operator {
  std::string name;
  std::string parent;  // empty: outermost
  int64_t with = 0;    // a kernel was launched in so many
  int64_t without = 0;
  int64_t without_ns = 0;        // how long those took
  int64_t host_ns = 0;           // of that, outside of HIP
  int64_t first_without_ns = 0;  // when, in the trace's clock
  int64_t round_trips = 0;       // of those without, which copied to the host and back
  int64_t others_with = 0;       // ranges of the same name elsewhere with a kernel
  int64_t siblings_with = 0;     // ranges of other names below the same parent with a kernel
};

class OperatorFinder {
 public:
  void AddRange(int64_t pid, int64_t tid, int64_t start, int64_t end, std::string name);
  // After all ranges.
  void Arrange();
  void AddCall(int64_t pid, int64_t tid, int64_t start, int64_t end);
  void AddLaunch(int64_t pid, int64_t tid, int64_t start);
  // In the order of time.
  void AddCopy(int64_t pid, int64_t tid, int64_t start, bool to_host);
  // Nobody knows whose: it counts for every thread of the process.
  void AddStrayLaunch(int64_t pid, int64_t start);

  bool empty() const { return threads_.empty(); }
  // Only those with a range that no kernel was launched in.
  std::vector<Operator> Find() const;

 private:
  struct Range {
    int64_t start, end;
    int32_t parent;  // in the same thread; -1: none
    uint32_t name;
    bool launched = false;
    bool to_host = false;     // a copy went there
    bool round_trip = false;  // and one came back
    int64_t in_calls = 0;
  };
  using Thread = std::vector<Range>;

  static int32_t Innermost(const Thread& thread, int64_t time);
  static void Mark(Thread& thread, int64_t time);

  std::map<std::pair<int64_t, int64_t>, Thread> threads_;
  std::vector<std::string> names_;
  std::map<std::string, uint32_t> name_ids_;
};

}  // namespace rochound::doctor
