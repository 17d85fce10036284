// SPDX-License-Identifier: MIT
//
// Arbitrary bytes as the files of a process's log. To get behind the magic numbers, the input is
// laid into well-formed headers and record heads; its first byte chooses which. For the fuzzers
// of the reader and of the conversion; one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "fuzz/folder.h"
#include "trace/layout.h"
#include "trace/records.h"

namespace rochound::fuzz {

inline constexpr uint32_t kLogChunkBytes = 4096;
inline constexpr size_t kMaxLogInput = size_t{3} * kLogChunkBytes;

// The input as records with good heads, so that what is in them gets tried too.
inline std::string LogRecords(std::string_view input) {
  using namespace trace;
  std::string records;
  while (input.size() >= 8) {
    Head head;
    memcpy(&head, input.data(), sizeof head);
    head.kind = static_cast<Kind>(static_cast<size_t>(head.kind) % (kKinds + 1));
    if (records.size() % (kLogChunkBytes - sizeof(ChunkHeader)) == 0) head.kind = Kind::kThreadHere;
    const Description* description = Describe(head.kind);
    const size_t bytes = description == nullptr ? 32 : description->size;
    head.units = static_cast<uint8_t>(bytes / 32);
    std::string record(input.substr(0, bytes));
    input.remove_prefix(record.size());
    record.resize(bytes);
    memcpy(record.data(), &head, sizeof head);
    records += record;
  }
  return records;
}

// Into Folder() / `folder`, which is there. False: there is too little or too much of it.
inline bool WriteLog(const uint8_t* data, size_t size, const std::filesystem::path& folder = {}) {
  using namespace trace;
  if (size < 2 || size > kMaxLogInput) return false;
  const uint8_t choice = data[0];
  const auto write = [&](const char* name, std::string_view bytes) {
    Write((folder / name).c_str(), bytes);
  };
  std::string input(reinterpret_cast<const char*>(data) + 1, size - 1);
  if ((choice & 64) == 0) input = LogRecords(input);

  std::string segment(kSegmentHeaderBytes, '\0');
  if ((choice & 1) == 0) {
    SegmentHeader header{};
    header.magic = kSegmentMagic;
    header.version = kLogVersion;
    header.header_bytes = kSegmentHeaderBytes;
    header.chunk_bytes = kLogChunkBytes;
    header.chunk_count = 16;
    memcpy(segment.data(), &header, sizeof header);
    for (size_t at = 0; at < input.size(); at += kLogChunkBytes - sizeof(ChunkHeader)) {
      ChunkHeader chunk{};
      chunk.magic = kChunkMagic;
      chunk.state = (choice & 2) == 0 ? ChunkState::kWriting : ChunkState::kClosed;
      chunk.order = static_cast<uint32_t>(100 - at / kLogChunkBytes);
      chunk.open_calls[0].call = 1;
      segment.append(reinterpret_cast<const char*>(&chunk), sizeof chunk);
      segment += input.substr(at, kLogChunkBytes - sizeof(ChunkHeader));
    }
    if ((choice & 4) == 0)
      segment.resize((segment.size() + kLogChunkBytes - 1) / kLogChunkBytes * kLogChunkBytes);
  } else {
    segment = input;
    segment.resize(std::max<size_t>(segment.size(), kSegmentHeaderBytes));
    memcpy(segment.data(), &kSegmentMagic, sizeof kSegmentMagic);
  }
  write("segment-000000", segment);

  std::string strings(sizeof(StringsHeader), '\0');
  memcpy(strings.data(), &kStringsMagic, sizeof kStringsMagic);
  memcpy(strings.data() + offsetof(StringsHeader, version), &kLogVersion, sizeof kLogVersion);
  if ((choice & 8) == 0) strings += input;
  write("strings", strings);
  write("info", (choice & 16) == 0 ? input : "pid=1\ntsc_hz=3000000000\n");
  write("functions", (choice & 32) == 0 ? input : "1\thip\thipMalloc\ti32\tp:ptr\n");
  return true;
}

}  // namespace rochound::fuzz
