// SPDX-License-Identifier: MIT
//
// A flight log as text, for people and for tests: one line per record, and the tables of
// docs/formats/flight-log.md. Both follow the descriptions in records.h, so a new kind of record
// shows up in them by itself. Used by `rochound log`, one thread per object, no failure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/reader.h"
#include "trace/records.h"

namespace rochound::trace {

class RecordText {
 public:
  explicit RecordText(const ProcessLog& log) : log_(log), start_ns_(log.first_ns()) {}

  // "1234/3 call function=hipMalloc result=0 begin_tsc=+1.000002345 ...": the system's thread id
  // and the log's, then the record. Times are seconds since the process's first record. No newline.
  void AppendLine(const Thread& thread, const Head& head, const char* record, std::string* line);

  // The same as a JSON object; times are nanoseconds of CLOCK_MONOTONIC.
  void AppendJson(const Thread& thread, const Head& head, const char* record, std::string* line);

 private:
  void AppendValue(const Description& description, const Field& field, const char* record,
                   uint32_t index, bool json, std::string* line);
  void AppendField(const Description& description, const Field& field, const char* record,
                   bool json, std::string* line);
  void AppendTime(uint64_t ns, bool json, std::string* line) const;

  const ProcessLog& log_;
  uint64_t start_ns_;
  size_t host_hint_ = 0;
};

// What a value of an enumeration is called in the dump; null: not known.
const char* CopyKindName(uint64_t kind);
const char* RangeKindName(uint64_t kind);
const char* DropReasonName(uint64_t reason);

// The tables of all record kinds, in Markdown.
std::string DescribeRecords();

// A JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
void AppendJsonString(std::string_view text, std::string* line);

}  // namespace rochound::trace
