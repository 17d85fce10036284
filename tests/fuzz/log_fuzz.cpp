// SPDX-License-Identifier: MIT
//
// Feeds arbitrary bytes to the reader as the files of a process's log: opening and streaming must
// end, with an error, problems told or events, never in a crash. To get behind the magic numbers,
// the input is laid into well-formed headers and record heads; its first byte chooses which.
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "trace/layout.h"
#include "trace/reader.h"

namespace {

namespace fs = std::filesystem;
using namespace rochound::trace;

constexpr uint32_t kChunkBytes = 4096;
constexpr size_t kMaxInput = 3 * kChunkBytes;

struct EndsSomewhere : Visitor {
  void OnCall(const CallEvent& call) override {
    for (const uint64_t word : call.words) sum += word;
    for (const uint64_t frame : call.frames) sum += frame;
    for (const TextArgument& text : call.texts) sum += text.text.size();
    sum += call.begin_ns + call.end_ns;
  }
  void OnKernelTime(const Event<KernelTime>& event) override { sum += event.end_ns; }
  void OnRange(const Event<Range>& event) override { sum += event.record.head.wide; }
  uint64_t sum = 0;
};

// One folder for all inputs, in memory if possible.
const fs::path& Folder() {
  static const fs::path folder = [] {
    std::string name = (fs::is_directory("/dev/shm") ? "/dev/shm" : "/tmp");
    name += "/rochound-fuzz-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) abort();
    static const std::string made = name;
    atexit([] { fs::remove_all(made); });
    return fs::path(made);
  }();
  return folder;
}

// The input as records with good heads, so that what is in them gets tried too.
std::string Records(std::string_view input) {
  std::string records;
  while (input.size() >= 8) {
    Head head;
    memcpy(&head, input.data(), sizeof head);
    head.kind = static_cast<Kind>(static_cast<size_t>(head.kind) % (kKinds + 1));
    if (records.size() % (kChunkBytes - sizeof(ChunkHeader)) == 0) head.kind = Kind::kThreadHere;
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

void Write(const char* name, const std::string& bytes) {
  std::ofstream(Folder() / name, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2 || size > kMaxInput) return 0;
  const uint8_t choice = data[0];
  std::string input(reinterpret_cast<const char*>(data) + 1, size - 1);
  if ((choice & 64) == 0) input = Records(input);

  std::string segment(kSegmentHeaderBytes, '\0');
  if ((choice & 1) == 0) {
    SegmentHeader header{};
    header.magic = kSegmentMagic;
    header.version = kLogVersion;
    header.header_bytes = kSegmentHeaderBytes;
    header.chunk_bytes = kChunkBytes;
    header.chunk_count = 16;
    memcpy(segment.data(), &header, sizeof header);
    for (size_t at = 0; at < input.size(); at += kChunkBytes - sizeof(ChunkHeader)) {
      ChunkHeader chunk{};
      chunk.magic = kChunkMagic;
      chunk.state = (choice & 2) == 0 ? ChunkState::kWriting : ChunkState::kClosed;
      chunk.order = static_cast<uint32_t>(100 - at / kChunkBytes);
      chunk.open_calls[0].call = 1;
      segment.append(reinterpret_cast<const char*>(&chunk), sizeof chunk);
      segment += input.substr(at, kChunkBytes - sizeof(ChunkHeader));
    }
    if ((choice & 4) == 0)
      segment.resize((segment.size() + kChunkBytes - 1) / kChunkBytes * kChunkBytes);
  } else {
    segment = input;
    segment.resize(std::max<size_t>(segment.size(), kSegmentHeaderBytes));
    memcpy(segment.data(), &kSegmentMagic, sizeof kSegmentMagic);
  }
  Write("segment-000000", segment);

  std::string strings(sizeof(StringsHeader), '\0');
  memcpy(strings.data(), &kStringsMagic, sizeof kStringsMagic);
  memcpy(strings.data() + offsetof(StringsHeader, version), &kLogVersion, sizeof kLogVersion);
  if ((choice & 8) == 0) strings += input;
  Write("strings", strings);
  Write("info", (choice & 16) == 0 ? input : "pid=1\ntsc_hz=3000000000\n");
  Write("functions", (choice & 32) == 0 ? input : "1\thip\thipMalloc\ti32\tp:ptr\n");

  const auto log = ProcessLog::Open(Folder());
  if (!log.ok()) return 0;
  EndsSomewhere visitor;
  (void)log.value()->Visit(visitor).ok();
  for (uint32_t id = 0; id < 200; ++id) (void)log.value()->String(id);
  return 0;
}
