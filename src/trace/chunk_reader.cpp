// SPDX-License-Identifier: MIT
#include "trace/chunk_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/files.h"

namespace rochound::trace {
namespace {

using base::Error;

constexpr uint32_t kUnit = 32;  // of a record's size
constexpr uint32_t kFirstRead = 64 * 1024;

bool ReadAll(int fd, char* to, size_t bytes, uint64_t offset) {
  while (bytes > 0) {
    const ssize_t done = pread(fd, to, bytes, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    to += done;
    offset += static_cast<uint64_t>(done);
    bytes -= static_cast<size_t>(done);
  }
  return true;
}

uint64_t ChunkOffset(const SegmentFile& segment, uint32_t number) {
  return kSegmentHeaderBytes + uint64_t{number} * segment.header.chunk_bytes;
}

}  // namespace

base::Result<std::unique_ptr<SegmentFile>> ChunkReader::OpenSegment(
    const std::filesystem::path& path, const OpenFile& open) {
  auto segment = std::make_unique<SegmentFile>();
  segment->path = path;
  ROCHOUND_TRY(const int fd, open(path, &segment->bytes));
  const bool read = segment->bytes >= kSegmentHeaderBytes &&
                    ReadAll(fd, reinterpret_cast<char*>(&segment->header), kSegmentHeaderBytes, 0);
  close(fd);
  const SegmentHeader& header = segment->header;
  if (!read || header.magic == 0) return std::unique_ptr<SegmentFile>();
  if (header.magic != kSegmentMagic) return Error{"'" + path.string() + "' is not a log segment"};
  if (header.version != kLogVersion) {
    return Error{"'" + path.string() + "' has version " + std::to_string(header.version) +
                 " of the log format; this rochound reads version " + std::to_string(kLogVersion)};
  }
  if (header.header_bytes != kSegmentHeaderBytes || header.chunk_bytes < kMinChunkBytes ||
      header.chunk_bytes > kMaxChunkBytes || header.chunk_bytes % kMinChunkBytes != 0) {
    return Error{"the header of '" + path.string() + "' is damaged"};
  }
  return segment;
}

ChunkReader::~ChunkReader() {
  if (fd_ >= 0) close(fd_);
}

bool ChunkReader::Peek(uint32_t segment, uint32_t number, ChunkHeader* header) {
  const SegmentFile& file = (*segments_)[segment];
  if (ChunkOffset(file, number) + sizeof *header > file.bytes) return false;
  if (!Copy(segment, number, sizeof *header)) return false;
  *header = this->header();
  return true;
}

bool ChunkReader::Find(uint32_t segment, uint32_t number, ChunkPlace* place) {
  const uint64_t offset = ChunkOffset((*segments_)[segment], number);
  if (offset + sizeof(ChunkHeader) > (*segments_)[segment].bytes) return false;
  // Most chunks of a short run are unused: look at the header alone first.
  if (!Copy(segment, number, sizeof(ChunkHeader))) return false;
  const ChunkState state = header().state;
  const uint32_t order = header().order;
  if (state == ChunkState::kUnused || state == ChunkState::kRecycling) return false;
  const bool writing = state == ChunkState::kWriting;
  if (header().magic != kChunkMagic || (!writing && state != ChunkState::kClosed)) {
    damage_ = "a chunk's header is damaged";
    return false;
  }
  const SegmentFile& file = (*segments_)[segment];
  const uint64_t there = file.bytes - offset;
  const auto all = static_cast<uint32_t>(std::min<uint64_t>(file.header.chunk_bytes, there));
  // A chunk that is being written may have little in it.
  uint32_t bytes = writing ? std::min(all, kFirstRead) : all;
  uint32_t end = 0;
  for (;; bytes = std::min(all, 2 * bytes)) {
    if (!Copy(segment, number, bytes)) return false;
    end = End(bytes);
    if (bytes == all || (damage_.empty() && bytes - end >= kUnit)) break;
  }
  if (writing) {
    // Some of it may be older than the heads that say it is complete: copy that once more.
    if (!Copy(segment, number, end)) return false;
    end = End(end);
  }
  if (header().order != order) return false;
  if (all < file.header.chunk_bytes) damage_ = "the file ends within a chunk";
  *place = {order, end, segment, number};
  ChunkHeader again;
  if (!Pread(reinterpret_cast<char*>(&again), sizeof again, offset)) return false;
  return again.order == order && again.state != ChunkState::kRecycling;
}

bool ChunkReader::Read(const ChunkPlace& place) {
  if (!Copy(place.segment, place.number, place.used)) return false;
  used_ = End(place.used);
  ChunkHeader again;
  if (!Pread(reinterpret_cast<char*>(&again), sizeof again,
             ChunkOffset((*segments_)[place.segment], place.number))) {
    return false;
  }
  return header().order == place.order && again.order == place.order &&
         again.state != ChunkState::kRecycling;
}

bool ChunkReader::Copy(uint32_t segment, uint32_t number, uint32_t bytes) {
  used_ = 0;
  damage_.clear();
  if (fd_ < 0 || fd_segment_ != segment) {
    if (fd_ >= 0) close(fd_);
    const auto opened = open_((*segments_)[segment].path, nullptr);
    fd_ = opened.ok() ? opened.value() : -1;
    fd_segment_ = segment;
  }
  if (fd_ < 0) {
    damage_ = "the file cannot be opened";
    return false;
  }
  if (buffer_bytes_ < bytes) {
    buffer_bytes_ = (bytes + 63) / 64 * 64;
    buffer_ = std::make_unique_for_overwrite<Line[]>(buffer_bytes_ / 64);
  }
  if (Pread(Data(), bytes, ChunkOffset((*segments_)[segment], number))) return true;
  damage_ = "a chunk cannot be read";
  return false;
}

bool ChunkReader::Pread(char* to, uint32_t bytes, uint64_t offset) {
  bytes_read_ += bytes;
  return ReadAll(fd_, to, bytes, offset);
}

// Where the records end; sets what is known about them.
uint32_t ChunkReader::End(uint32_t bytes) {
  damage_.clear();
  uint32_t at = sizeof(ChunkHeader);
  while (bytes - at >= kUnit) {
    Head head;
    memcpy(&head, Data() + at, sizeof head);
    if (head.kind == Kind::kEnd) break;
    const Description* description = Describe(head.kind);
    const uint32_t size = head.units * 32u;
    if (size == 0 || (description != nullptr && size != description->size) || size > bytes - at) {
      damage_ = "a record's head is damaged";
      break;
    }
    if (at == sizeof(ChunkHeader) && head.kind != Kind::kThreadHere) {
      damage_ = "a chunk does not start with its thread";
      break;
    }
    at += size;
  }
  used_ = at;
  return at;
}

std::vector<CallInFlight> ChunkReader::CallsInFlight() const {
  std::vector<CallInFlight> calls;
  for (const OpenCallSlot& slot : header().open_calls)
    if (slot.call != 0)
      calls.push_back({header().thread, 0, static_cast<uint16_t>(slot.call >> 48), slot.begin_tsc,
                       uint64_t{header().thread} << 40 | (slot.call & ((uint64_t{1} << 40) - 1))});
  if (calls.empty()) return calls;
  uint32_t tid = 0;
  ForEach([&](const Head& head, const char* record) {
    if (head.kind == Kind::kThreadHere) tid = reinterpret_cast<const ThreadHere*>(record)->tid;
    // A call's record is written before its slot is cleared: it did return.
    if (head.kind == Kind::kApiCall)
      std::erase_if(calls, [&](const CallInFlight& call) {
        return call.correlation == reinterpret_cast<const ApiCall*>(record)->correlation;
      });
  });
  for (CallInFlight& call : calls) call.tid = tid;
  return calls;
}

}  // namespace rochound::trace
