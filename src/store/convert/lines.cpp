// SPDX-License-Identifier: MIT
#include "store/convert/lines.h"

namespace rochound::store {

void AppendCallLine(std::string* out, const CallLine& line) {
  const trace::CallEvent& event = line.event;
  const CallArguments arguments{event.words, event.texts};
  out->append("{\"timestamp\":");
  AppendNumber(
      out, static_cast<int64_t>(event.begin_ns + static_cast<uint64_t>(line.realtime_offset_ns)));
  out->append(",\"function\":");
  AppendJsonText(out, line.function.name);
  out->append(",\"arguments\":");
  AppendArgumentsJson(out, line.function, arguments);
  out->append(",\"result\":");
  if (line.returned)
    AppendResultJson(out, line.function, arguments, event.result);
  else
    out->append("null");
  out->append(",\"thread\":");
  AppendNumber(out, event.thread.tid);
  out->append(",\"pid\":");
  AppendNumber(out, line.pid);
  out->append(",\"device\":");
  if (line.device)
    AppendNumber(out, *line.device);
  else
    out->append("null");
  out->append(",\"duration\":");
  AppendNumber(out, static_cast<int64_t>(event.end_ns - event.begin_ns));
  out->append(line.returned ? "}\n" : ",\"returned\":false}\n");
}

void AppendDurationLine(std::string* out, std::string_view kernel, uint64_t dispatch,
                        uint64_t begin_ns, uint64_t end_ns) {
  const bool quote = kernel.find_first_of(",\"\n") != std::string_view::npos;
  if (quote) out->push_back('"');
  for (const char c : kernel) out->append(c == '"' ? 2 : 1, c);
  if (quote) out->push_back('"');
  for (const uint64_t number : {dispatch, begin_ns, end_ns}) {
    out->push_back(',');
    AppendNumber(out, static_cast<int64_t>(number));
  }
  out->push_back('\n');
}

}  // namespace rochound::store
