// SPDX-License-Identifier: MIT
//
// A regular expression, found anywhere in a text: the one matcher for names of kernels and calls,
// also inside of somebody's program. ECMAScript's syntax, with POSIX's classes in brackets
// ([[:alpha:]]), on bytes. All states are followed at once, so that neither time nor stack grows
// with what a pattern could try: time is pattern times text, a lookahead multiplies it by the text
// once more. For that reason \1 is refused. It says only whether there is a match, so that a
// non-greedy quantifier means what the greedy one does. A Pattern is immutable; any thread.
#pragma once

#include <bitset>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rochound::base {

class Pattern {
 public:
  // The error is what is wrong with the text: "a ) is missing".
  static Result<Pattern> Compile(std::string_view text);

  bool FoundIn(std::string_view text) const;

  // What a compiled pattern is made of; for pattern.cpp.
  enum class Op : uint8_t {
    kSet,
    kSplit,
    kJump,
    kBegin,
    kEnd,
    kWord,
    kNotWord,
    kAhead,
    kNotAhead,
    kMatch
  };
  struct Step {
    Op op;
    int32_t first = 0;   // kSet: index of the set; kSplit, kJump: steps forward; kAhead: its length
    int32_t second = 0;  // kSplit
  };
  using Set = std::bitset<256>;

 private:
  bool FoundFrom(size_t start, int32_t program, std::string_view text, bool anchored) const;

  std::vector<Step> steps_;
  std::vector<Set> sets_;
};

}  // namespace rochound::base
