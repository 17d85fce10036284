// SPDX-License-Identifier: MIT
#include "store/open/json_splitter.h"

#include <algorithm>

namespace rochound::store {
namespace {

// How the events of Kineto and of PyTorch's older profiler begin; what a lost splitter looks for.
constexpr std::string_view kBeginnings[] = {"{\"ph\"", "{\"name\""};

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// Bytes in a value that mean something to the splitter.
bool Matters(char c) {
  return c == '"' || c == '\\' || c == '{' || c == '}' || c == '[' || c == ']' || c == '\n';
}

}  // namespace

void JsonSplitter::Feed(std::string_view piece) {
  size_t at = 0;
  while (at < piece.size()) {
    // The bulk of a trace is plain bytes inside events: take them in runs.
    if (state_ == State::kEvent && !escaped_) {
      size_t end = at;
      while (end < piece.size() && !Matters(piece[end])) ++end;
      if (end > at) {
        if (piece_.size() + (end - at) > kMaxPiece) {
          Lose();
          continue;
        }
        piece_.append(piece, at, end - at);
        at = end;
        continue;
      }
    }
    Byte(piece[at++]);
  }
}

void JsonSplitter::Byte(char c) {
  switch (state_) {
    case State::kBegin:
      if (c == '[') {
        bare_array_ = found_events_ = true;
        state_ = State::kEvents;
      } else if (c == '{') {
        state_ = State::kMemberName;
      } else if (!IsSpace(c) &&
                 static_cast<unsigned char>(c) < 0x80) {  // a byte order mark is fine
        state_ = State::kEnd;
      }
      return;
    case State::kMemberName:
      if (c == '"') {
        name_.clear();
        state_ = State::kInMemberName;
      } else if (c == '}') {
        state_ = State::kEnd;
      }
      return;
    case State::kInMemberName:
      if (c == '"' && !escaped_) {
        state_ = State::kMemberColon;
      } else {
        escaped_ = c == '\\' && !escaped_;
        if (name_.size() < 256) name_.push_back(c);
      }
      return;
    case State::kMemberColon:
      if (c == ':') {
        state_ = State::kMemberValue;
        piece_.clear();
        too_long_ = in_string_ = escaped_ = false;
        depth_ = 0;
      }
      return;
    case State::kMemberValue:
      if (piece_.empty() && IsSpace(c)) return;
      if (piece_.empty() && c == '[' && name_ == "traceEvents") {
        found_events_ = true;
        state_ = State::kEvents;
        return;
      }
      InValue(c);
      return;
    case State::kEvents:
      if (c == '{') {
        state_ = State::kEvent;
        piece_.assign(1, c);
        depth_ = 1;
        in_string_ = escaped_ = false;
      } else if (c == ']') {
        state_ = bare_array_ ? State::kEnd : State::kMemberName;
      } else if (!IsSpace(c) && c != ',') {
        Lose();
      }
      return;
    case State::kEvent:
      if (piece_.size() >= kMaxPiece || (in_string_ && c == '\n')) {
        Lose();  // a string of JSON has no line break: a quote was missing or too many
        return;
      }
      piece_.push_back(c);
      if (in_string_) {
        if (escaped_) {
          escaped_ = false;
        } else if (c == '\\') {
          escaped_ = true;
        } else if (c == '"') {
          in_string_ = false;
        }
        return;
      }
      if (c == '"') {
        in_string_ = true;
      } else if (c == '{' || c == '[') {
        ++depth_;
      } else if ((c == '}' || c == ']') && --depth_ == 0) {
        state_ = State::kEvents;
        on_event_(piece_);
      }
      return;
    case State::kLost: {
      if (IsSpace(c)) return;
      tail_.push_back(c);
      const auto begins = [this](std::string_view beginning) { return tail_.ends_with(beginning); };
      const auto* found = std::find_if(std::begin(kBeginnings), std::end(kBeginnings), begins);
      if (found != std::end(kBeginnings)) {
        state_ = State::kEvent;
        piece_ = *found;
        depth_ = 1;
        in_string_ = escaped_ = false;
      } else if (tail_.size() > 64) {
        tail_.erase(0, tail_.size() - 16);
      }
      return;
    }
    case State::kEnd:
      return;
  }
}

void JsonSplitter::InValue(char c) {
  if (!in_string_ && depth_ == 0 && (c == ',' || c == '}')) {
    EndMember();
    state_ = c == '}' ? State::kEnd : State::kMemberName;
    return;
  }
  if (in_string_) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
    }
  } else if (c == '"') {
    in_string_ = true;
  } else if (c == '{' || c == '[') {
    ++depth_;
  } else if ((c == '}' || c == ']') && depth_ > 0) {
    --depth_;
  }
  if (piece_.size() >= kMaxPiece) {
    too_long_ = true;
  } else {
    piece_.push_back(c);
  }
}

void JsonSplitter::EndMember() {
  while (!piece_.empty() && IsSpace(piece_.back())) piece_.pop_back();
  if (!too_long_ && !piece_.empty()) on_member_(name_, piece_);
}

void JsonSplitter::Lose() {
  ++malformed_;
  piece_.clear();
  tail_.clear();
  state_ = State::kLost;
}

void JsonSplitter::End() {
  // PyTorch's older profiler, and Chrome itself, leave the bracket of a bare array open.
  cut_off_ = state_ == State::kEvent || (state_ == State::kEvents && !bare_array_);
  if (state_ == State::kEvent) ++malformed_;
  state_ = State::kEnd;
}

}  // namespace rochound::store
