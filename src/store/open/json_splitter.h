// SPDX-License-Identifier: MIT
//
// Cuts a Chrome trace, which may be larger than memory, into its events while it streams by: an
// object with a `traceEvents` array and other members, or a bare array of events. It knows strings
// and brackets and nothing else of JSON; whoever takes the pieces parses them. Called by the Kineto
// reader, one thread. Tracers have written traces that are no JSON (a quote in a name that was not
// escaped) or that end in the middle: what cannot be an event is counted, and cutting goes on at
// the next thing that begins like one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace rochound::store {

class JsonSplitter {
 public:
  // Longer events, and longer values of other members, are not kept.
  static constexpr size_t kMaxPiece = 8 << 20;

  using OnEvent = std::function<void(std::string_view object)>;
  // Of the outermost object, without the events; the name is as it is between its quotes.
  using OnMember = std::function<void(std::string_view name, std::string_view value)>;

  JsonSplitter(OnEvent on_event, OnMember on_member)
      : on_event_(std::move(on_event)), on_member_(std::move(on_member)) {}

  void Feed(std::string_view piece);
  // Call once, after the last piece.
  void End();

  bool found_events() const { return found_events_; }
  // Pieces in the place of events that were none.
  uint64_t malformed() const { return malformed_; }
  // The text ended inside the events.
  bool cut_off() const { return cut_off_; }

 private:
  enum class State {
    kBegin,         // before the first bracket
    kMemberName,    // in the outermost object, before a name
    kInMemberName,  // in the name
    kMemberColon,   // after the name
    kMemberValue,   // in a value, collected in piece_
    kEvents,        // between events
    kEvent,         // in an event, collected in piece_
    kLost,          // looking for something that begins like an event
    kEnd,
  };

  void Byte(char c);
  void InValue(char c);
  void EndMember();
  void Lose();

  OnEvent on_event_;
  OnMember on_member_;
  State state_ = State::kBegin;
  bool bare_array_ = false;
  bool in_string_ = false;
  bool escaped_ = false;
  bool too_long_ = false;
  int64_t depth_ = 0;
  std::string piece_;
  std::string name_;
  std::string tail_;  // kLost: the last bytes, to tell how an event begins
  bool found_events_ = false;
  bool cut_off_ = false;
  uint64_t malformed_ = 0;
};

}  // namespace rochound::store
