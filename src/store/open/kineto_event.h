// SPDX-License-Identifier: MIT
//
// One event of a Chrome trace, as PyTorch's profiler (Kineto) writes it, parsed from the text that
// JsonSplitter cut out. Called by the Kineto reader, one parser per thread. Times are decimal
// microseconds in the text and exact nanoseconds here: a double would round what is longer than 53
// bits. An event that is no JSON is refused, never guessed at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rochound::store {

struct KinetoEvent {
  struct Argument {
    std::string name;
    // A text without its quotes, anything else as JSON with one blank after each comma.
    std::string value;
  };

  char phase = 0;
  std::string category;
  std::string name;
  // Kineto's own rows have texts ("Spans") where others have numbers; then `pid` is empty.
  std::optional<int64_t> pid;
  std::optional<int64_t> tid;
  std::string pid_text;
  std::optional<int64_t> start;     // ns
  std::optional<int64_t> duration;  // ns
  std::optional<int64_t> id;
  // The first `argument_count` are this event's; the others are kept for their memory.
  std::vector<Argument> arguments;
  size_t argument_count = 0;

  const std::string* Find(std::string_view argument) const;
  std::optional<int64_t> Number(std::string_view argument) const;
  // "[1, 2, 3]"; missing dimensions are 1.
  bool Dimensions(std::string_view argument, int64_t (&dimensions)[3]) const;
};

class KinetoParser {
 public:
  KinetoParser();
  ~KinetoParser();

  bool Parse(std::string_view object, KinetoEvent* event);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Microseconds in decimal, "12.345", as nanoseconds; what is below a nanosecond is cut off. Empty:
// no number, or one that nanoseconds of 64 bits do not hold.
std::optional<int64_t> NanosecondsOfMicroseconds(std::string_view text);

}  // namespace rochound::store
