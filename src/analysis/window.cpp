// SPDX-License-Identifier: MIT
#include "analysis/window.h"

namespace rochound::analysis {

base::Result<std::vector<Window::Span>> LoadUnrecorded(store::duck::Connection& connection) {
  std::vector<Window::Span> spans;
  ROCHOUND_TRY(store::duck::Rows rows,
               connection.Query("SELECT start, \"end\" FROM rochound_unrecorded"
                                " WHERE \"end\" > start ORDER BY start, \"end\""));
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) break;
    if (!spans.empty() && rows.Int(0) <= spans.back().end) {
      spans.back().end = std::max(spans.back().end, rows.Int(1));
    } else {
      const int64_t before =
          spans.empty() ? 0 : spans.back().before + spans.back().end - spans.back().begin;
      spans.push_back({.begin = rows.Int(0), .end = rows.Int(1), .before = before});
    }
  }
  return spans;
}

}  // namespace rochound::analysis
