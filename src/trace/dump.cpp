// SPDX-License-Identifier: MIT
#include "trace/dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>
#include <vector>

#include "base/printable.h"
#include "base/utf8.h"

namespace rochound::trace {
namespace {

uint64_t Load(const char* record, const Field& field, uint32_t index) {
  uint64_t value = 0;
  memcpy(&value, record + field.offset + index * field.size, field.size);
  return value;
}

const Field* FindField(const Description& description, std::string_view name) {
  for (size_t i = 0; i < description.field_count; ++i) {
    if (description.fields[i].name == name) return &description.fields[i];
  }
  return nullptr;
}

template <size_t kCount>
const char* NameIn(const char* const (&names)[kCount], uint64_t value) {
  return value < kCount ? names[value] : nullptr;
}

}  // namespace

const char* CopyKindName(uint64_t kind) {
  static constexpr const char* kNames[] = {nullptr, "copy",     "rectangle",
                                           "fill",  "blocking", "kernel"};
  return NameIn(kNames, kind);
}

const char* RangeKindName(uint64_t kind) {
  static constexpr const char* kNames[] = {nullptr, "push", "pop", "mark", "start", "stop"};
  return NameIn(kNames, kind);
}

const char* DropReasonName(uint64_t reason) {
  static constexpr const char* kNames[] = {nullptr,    "no_room",   "no_signal",
                                           "recycled", "no_string", "not_seen"};
  return NameIn(kNames, reason);
}

void AppendJsonString(std::string_view text, std::string* line) {
  line->push_back('"');
  while (!text.empty()) {
    const size_t bytes = base::Utf8Length(text);
    const char c = text[0];
    if (bytes == 0) {
      line->append("\xef\xbf\xbd");
    } else if (c == '"' || c == '\\') {
      line->append({'\\', c});
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      fmt::format_to(std::back_inserter(*line), "\\u{:04x}", static_cast<unsigned>(c));
    } else if (bytes == 2 && c == '\xc2' && static_cast<unsigned char>(text[1]) < 0xa0) {
      // U+0080 to U+009F steer terminals, too.
      fmt::format_to(std::back_inserter(*line), "\\u{:04x}", static_cast<unsigned char>(text[1]));
    } else {
      line->append(text.substr(0, bytes));
    }
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  line->push_back('"');
}

void RecordText::AppendTime(uint64_t ns, bool json, std::string* line) const {
  const auto out = std::back_inserter(*line);
  if (json) {
    fmt::format_to(out, "{}", ns);
    return;
  }
  const uint64_t distance = ns < start_ns_ ? start_ns_ - ns : ns - start_ns_;
  fmt::format_to(out, "{}{}.{:09}", ns < start_ns_ ? '-' : '+', distance / 1000000000,
                 distance % 1000000000);
}

void RecordText::AppendValue(const Description& description, const Field& field, const char* record,
                             uint32_t index, bool json, std::string* line) {
  const uint64_t value = Load(record, field, index);
  const auto out = std::back_inserter(*line);
  const auto name = [&](const char* text) {
    if (text == nullptr) {
      fmt::format_to(out, "{}", value);
    } else if (json) {
      AppendJsonString(text, line);
    } else {
      line->append(base::Printable(text));
    }
  };
  switch (field.show) {
    case Show::kNumber:
    case Show::kNanoseconds:
    case Show::kText:  // shown whole, by the caller
      fmt::format_to(out, "{}", value);
      break;
    case Show::kHex:
      json ? fmt::format_to(out, "{}", value) : fmt::format_to(out, "{:#x}", value);
      break;
    case Show::kTsc:
      AppendTime(log_.host_clock().At(value, &host_hint_), json, line);
      break;
    case Show::kTicks: {
      const Field* agent = FindField(description, "agent");
      if (value == 0 || agent == nullptr) {
        line->append(json ? "null" : "lost");
      } else {
        const auto index_of_agent = static_cast<uint16_t>(Load(record, *agent, 0));
        AppendTime(log_.ClockOf(index_of_agent).At(value), json, line);
      }
      break;
    }
    case Show::kString: {
      const auto text = log_.String(static_cast<uint32_t>(value));
      if (text.has_value()) {
        AppendJsonString(*text, line);
      } else {
        line->append(json ? "null" : value == 0 ? "none" : "missing");
      }
      break;
    }
    case Show::kCorrelation:
      json ? fmt::format_to(out, "{}", value)
           : fmt::format_to(out, "{}:{}", value >> 40, value & ((uint64_t{1} << 40) - 1));
      break;
    case Show::kFunction: {
      const Function* function = log_.FindFunction(static_cast<uint16_t>(value));
      name(function == nullptr ? nullptr : function->name.c_str());
      break;
    }
    case Show::kCopyKind:
      name(CopyKindName(value));
      break;
    case Show::kRangeKind:
      name(RangeKindName(value));
      break;
    case Show::kDropReason:
      name(DropReasonName(value));
      break;
    case Show::kState:
      name(NameIn(kRecorderStateNames, value));
      break;
  }
}

void RecordText::AppendField(const Description& description, const Field& field, const char* record,
                             bool json, std::string* line) {
  if (field.show == Show::kText) {
    const Field* bytes = FindField(description, "bytes");
    const uint64_t length = bytes == nullptr ? field.count : Load(record, *bytes, 0);
    AppendJsonString({record + field.offset, std::min<uint64_t>(length, field.count)}, line);
    return;
  }
  if (field.count == 1) {
    AppendValue(description, field, record, 0, json, line);
    return;
  }
  const Field* count = FindField(description, "count");
  const uint64_t length = count == nullptr ? field.count : Load(record, *count, 0);
  if (json) line->push_back('[');
  for (uint32_t i = 0; i < std::min<uint64_t>(length, field.count); ++i) {
    if (i != 0) line->push_back(',');
    AppendValue(description, field, record, i, json, line);
  }
  if (json) line->push_back(']');
}

void RecordText::AppendLine(const Thread& thread, const Head& head, const char* record,
                            std::string* line) {
  const Description* description = Describe(head.kind);
  const auto out = std::back_inserter(*line);
  fmt::format_to(out, "{}/{} ", thread.tid, thread.index);
  if (description == nullptr) {
    fmt::format_to(out, "kind_{} bytes={}", static_cast<unsigned>(head.kind), head.units * 32);
    return;
  }
  line->append(description->name);
  for (size_t i = 0; i < description->field_count; ++i) {
    fmt::format_to(out, " {}=", description->fields[i].name);
    AppendField(*description, description->fields[i], record, false, line);
  }
}

void RecordText::AppendJson(const Thread& thread, const Head& head, const char* record,
                            std::string* line) {
  const Description* description = Describe(head.kind);
  const auto out = std::back_inserter(*line);
  fmt::format_to(out, "{{\"pid\":{},\"tid\":{},\"thread_index\":{},\"record\":", log_.pid(),
                 thread.tid, thread.index);
  if (description == nullptr) {
    fmt::format_to(out, "\"kind_{}\"}}", static_cast<unsigned>(head.kind));
    return;
  }
  fmt::format_to(out, "\"{}\"", description->name);
  for (size_t i = 0; i < description->field_count; ++i) {
    // A thread record's own is the one that is first already.
    if (std::string_view(description->fields[i].name) == "tid") continue;
    fmt::format_to(out, ",\"{}\":", description->fields[i].name);
    AppendField(*description, description->fields[i], record, true, line);
  }
  line->push_back('}');
}

std::string DescribeRecords() {
  std::string text;
  const auto out = std::back_inserter(text);
  for (const Description* description : kDescriptions) {
    if (description == nullptr) continue;
    if (!text.empty()) text += "\n";
    fmt::format_to(out, "### {}: {}\n\n{} {} bytes.\n\n", static_cast<unsigned>(description->kind),
                   description->name, description->meaning, description->size);
    text += "| offset | bytes | field | meaning |\n|---|---|---|---|\n";
    // In the order they are in the record, whatever order they are shown in.
    std::vector<const Field*> fields;
    for (size_t i = 0; i < description->field_count; ++i) fields.push_back(&description->fields[i]);
    std::sort(fields.begin(), fields.end(),
              [](const Field* a, const Field* b) { return a->offset < b->offset; });
    for (const Field* field : fields) {
      const std::string bytes = field->count == 1
                                    ? std::to_string(field->size)
                                    : fmt::format("{} x {}", field->count, field->size);
      fmt::format_to(out, "| {} | {} | {} | {} |\n", field->offset, bytes, field->name,
                     field->meaning);
    }
  }
  return text;
}

}  // namespace rochound::trace
