// SPDX-License-Identifier: MIT
#include "report/timeline_pack.h"

#include <zlib.h>

#include <new>

namespace rochound::report {
namespace {

using analysis::TimelineEvent;

void Put(std::string& bytes, uint64_t value) {
  while (value >= 0x80) {
    bytes.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  bytes.push_back(static_cast<char>(value));
}

void PutSigned(std::string& bytes, int64_t value) {
  const uint64_t twice = static_cast<uint64_t>(value) << 1;
  Put(bytes, value < 0 ? ~twice : twice);
}

}  // namespace

std::string PackColumns(const analysis::Timeline& timeline) {
  const std::vector<TimelineEvent>& events = timeline.events;
  std::string bytes;
  bytes.reserve(events.size() * 9);
  size_t at = 0;
  for (const analysis::TimelineTrack& track : timeline.tracks) {
    for (const uint64_t row : track.rows) {
      int64_t reached = 0;
      for (const size_t end = at + row; at < end; ++at) {
        Put(bytes, static_cast<uint64_t>(events[at].start - reached));
        reached = events[at].end;
      }
    }
  }
  for (const TimelineEvent& event : events)
    Put(bytes, static_cast<uint64_t>(event.end - event.start));
  for (const TimelineEvent& event : events) Put(bytes, event.name);
  int64_t before = 0;
  for (const TimelineEvent& event : events) {
    PutSigned(bytes, event.id - before);
    before = event.id;
  }
  for (const TimelineEvent& event : events) Put(bytes, event.merged - 1);
  before = 0;
  for (const TimelineEvent& event : events) {
    PutSigned(bytes, event.launch + 1 - before);
    before = event.launch + 1;
  }
  for (const TimelineEvent& event : events) Put(bytes, event.shape);
  return bytes;
}

std::string Deflate(std::string_view bytes) {
  uLongf size = compressBound(bytes.size());
  std::string packed(size, '\0');
  const int state = compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                              reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), 6);
  if (state != Z_OK) throw std::bad_alloc();  // the only thing that can go wrong
  packed.resize(size);
  return packed;
}

std::string Base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t there = std::min<size_t>(3, bytes.size() - i);
    uint32_t three = 0;
    for (size_t j = 0; j < 3; ++j)
      three = three << 8 | (j < there ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    for (size_t j = 0; j < 4; ++j)
      text.push_back(j <= there ? kDigits[three >> (18 - 6 * j) & 63] : '=');
  }
  return text;
}

}  // namespace rochound::report
