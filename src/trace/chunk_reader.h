// SPDX-License-Identifier: MIT
//
// Copies chunks out of a process's segment files and steps through their records. Works on files
// that are being written, were left by a killed process, or are damaged: everything is copied
// before it is looked at, and nothing that was read is trusted. One reader per thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "trace/layout.h"
#include "trace/open_file.h"
#include "trace/records.h"

namespace rochound::trace {

// One file.
struct SegmentFile {
  std::filesystem::path path;
  SegmentHeader header;
  uint64_t bytes;
};

// Where a chunk is, and how much of it counts.
struct ChunkPlace {
  uint32_t order;
  uint32_t used;     // bytes from the chunk's start to the end of its last record
  uint32_t segment;  // index of the SegmentFile
  uint32_t number;   // in that file
};

// A call that has not returned.
struct CallInFlight {
  uint32_t thread;  // index in the log
  uint32_t tid;
  uint16_t function;
  uint64_t begin_tsc;
  uint64_t correlation;
};

class ChunkReader {
 public:
  explicit ChunkReader(const std::vector<SegmentFile>* segments,
                       OpenFile open = base::OpenRegularFile)
      : segments_(segments), open_(std::move(open)) {}
  ~ChunkReader();
  ChunkReader(const ChunkReader&) = delete;
  ChunkReader& operator=(const ChunkReader&) = delete;

  // Reads and checks the segment's header. Null: the file is still being made, or empty.
  static base::Result<std::unique_ptr<SegmentFile>> OpenSegment(
      const std::filesystem::path& path, const OpenFile& open = base::OpenRegularFile);

  // The chunk's header alone. False: it is not there, or cannot be read.
  bool Peek(uint32_t segment, uint32_t number, ChunkHeader* header);
  // Copies the chunk and finds its end. False: it holds nothing (any more), or cannot be read.
  bool Find(uint32_t segment, uint32_t number, ChunkPlace* place);
  // Copies what counts of a chunk found before. False: it was recycled since, or cannot be read.
  bool Read(const ChunkPlace& place);

  // Of the chunk copied last.
  const ChunkHeader& header() const { return *reinterpret_cast<const ChunkHeader*>(Data()); }
  // Why its records end before the data does; empty: they do not.
  const std::string& damage() const { return damage_; }

  // Copied so far, by all calls.
  uint64_t bytes_read() const { return bytes_read_; }

  // Of its thread, outermost first. Only the chunk that a thread writes in knows them.
  std::vector<CallInFlight> CallsInFlight() const;

  // Calls visit(const Head&, const char* record) for each record of the chunk copied last. A record
  // of a known kind has that kind's size.
  template <typename Visit>
  void ForEach(Visit visit) const {
    const char* data = Data();
    for (uint32_t at = sizeof(ChunkHeader); at < used_;) {
      const Head& head = *reinterpret_cast<const Head*>(data + at);
      visit(head, data + at);
      at += head.units * 32u;
    }
  }

 private:
  char* Data() const { return reinterpret_cast<char*>(buffer_.get()); }
  bool Copy(uint32_t segment, uint32_t number, uint32_t bytes);
  bool Pread(char* to, uint32_t bytes, uint64_t offset);
  uint32_t End(uint32_t bytes);

  const std::vector<SegmentFile>* segments_;
  OpenFile open_;
  struct Line {
    alignas(64) char bytes[64];
  };
  std::unique_ptr<Line[]> buffer_;
  uint32_t buffer_bytes_ = 0;
  uint32_t used_ = 0;
  uint64_t bytes_read_ = 0;
  int fd_ = -1;
  uint32_t fd_segment_ = 0;
  std::string damage_;
};

}  // namespace rochound::trace
