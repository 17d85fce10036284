// SPDX-License-Identifier: MIT
//
// The lines of `--jsonl` and `--durations`. Pure functions, any thread; each appends a whole line
// with its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "store/convert/functions.h"
#include "trace/reader.h"

namespace rochound::store {

// One JSON object: timestamp (nanoseconds since 1970), function, arguments, result, thread, pid,
// device (null: none known) and duration (nanoseconds). A call that never came back has result null
// and "returned":false.
struct CallLine {
  const trace::CallEvent& event;
  const Function& function;
  int64_t realtime_offset_ns;
  int64_t pid;
  std::optional<int64_t> device;
  bool returned;
};
void AppendCallLine(std::string* out, const CallLine& line);

// logduration's: kernel,dispatch,startNs,endNs. A name with commas in it, as templates have, is
// quoted.
inline constexpr std::string_view kDurationsHeader = "kernel,dispatch,startNs,endNs\n";
void AppendDurationLine(std::string* out, std::string_view kernel, uint64_t dispatch,
                        uint64_t begin_ns, uint64_t end_ns);

}  // namespace rochound::store
