// SPDX-License-Identifier: MIT
//
// Answers in pages. A command may answer with more than an assistant can read; the server keeps the
// whole answer and returns a part of it with a cursor for the next one, so that nothing is run
// twice. Cutting is pure; kept answers may be used by any thread.
//
// The lists of an answer are its arrays, as far as they are reached through objects and through
// arrays of one entry. A page holds so many entries of each list, from the same place on, and all
// that is not in a list.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "mcp/message.h"

namespace rochound::mcp {

inline constexpr size_t kUsualLimit = 50;
inline constexpr size_t kMostLimit = 500;
inline constexpr size_t kMostPage = size_t{32} << 10;  // bytes, as JSON

struct Page {
  Json content;
  size_t total = 0;  // entries of the longest list
  size_t next = 0;   // where the next page begins; 0: this is the last one
  bool cut = false;  // an entry was too large: inner lists and long texts of it were cut
};

// Fewer entries than limit where they would take more than kMostPage.
Page CutPage(const Json& whole, size_t offset, size_t limit);

// Of structuredContent, whatever the tool.
Json PageSchema();

// What a command said, before it is cut.
struct Answer {
  std::string tool;
  std::string arguments;  // of the call, without limit and cursor
  int exit_code = 0;
  std::string result;  // JSON; as text it takes a fraction of the memory
  Json messages = Json::array();
};

// The last answers. The oldest go when there are too many or they take too much room.
class KeptAnswers {
 public:
  static constexpr size_t kMostAnswers = 32;
  static constexpr size_t kMostBytes = size_t{16} << 20;

  // Its number, which is never that of another one.
  uint64_t Keep(const Answer& answer);
  std::optional<Answer> Find(uint64_t number) const;

 private:
  mutable base::Mutex mutex_;
  std::deque<std::pair<uint64_t, Answer>> answers_ ROCHOUND_GUARDED_BY(mutex_);
  size_t bytes_ ROCHOUND_GUARDED_BY(mutex_) = 0;
  uint64_t last_ ROCHOUND_GUARDED_BY(mutex_) = 0;
};

struct Cursor {
  uint64_t number = 0;
  size_t offset = 0;
};
std::string CursorText(const Cursor& cursor);
std::optional<Cursor> ParseCursor(const std::string& text);

}  // namespace rochound::mcp
