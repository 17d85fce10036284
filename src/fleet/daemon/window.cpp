// SPDX-License-Identifier: MIT
#include "fleet/daemon/window.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "base/files.h"
#include "trace/chunk_reader.h"
#include "trace/reader.h"

namespace rochound::fleet {
namespace {

namespace fs = std::filesystem;
using trace::Kind;

template <typename T>
const T& As(const char* record) {
  return *reinterpret_cast<const T*>(record);
}

// When a chunk's records were, in nanoseconds of CLOCK_MONOTONIC, and whether it has some that
// others need: clocks, queues and kernels.
struct ChunkContent {
  uint64_t first = UINT64_MAX;
  uint64_t last = 0;
  bool needed = false;
};

ChunkContent Look(const trace::ProcessLog& log, const trace::ChunkReader& reader) {
  ChunkContent content;
  const auto host = [&](uint64_t begin, uint64_t end) {
    content.first = std::min(content.first, log.host_clock().At(begin));
    content.last = std::max(content.last, log.host_clock().At(end));
  };
  const auto gpu = [&](uint16_t agent, uint64_t begin, uint64_t end) {
    if (begin == 0 && end == 0) return;
    content.first = std::min(content.first, log.ClockOf(agent).At(begin));
    content.last = std::max(content.last, log.ClockOf(agent).At(end));
  };
  reader.ForEach([&](const trace::Head& head, const char* record) {
    switch (head.kind) {
      case Kind::kApiCall:
        host(As<trace::ApiCall>(record).begin_tsc, As<trace::ApiCall>(record).end_tsc);
        break;
      case Kind::kKernelDispatch:
        host(As<trace::KernelDispatch>(record).submit_tsc,
             As<trace::KernelDispatch>(record).submit_tsc);
        break;
      case Kind::kCopy:
        host(As<trace::Copy>(record).submit_tsc, As<trace::Copy>(record).submit_tsc);
        break;
      case Kind::kRange:
        host(As<trace::Range>(record).now_tsc, As<trace::Range>(record).now_tsc);
        break;
      case Kind::kAllocation:
        host(As<trace::Allocation>(record).now_tsc, As<trace::Allocation>(record).now_tsc);
        break;
      case Kind::kRelease:
        host(As<trace::Release>(record).now_tsc, As<trace::Release>(record).now_tsc);
        break;
      case Kind::kKernelTime:
        gpu(head.small, As<trace::KernelTime>(record).begin_ticks,
            As<trace::KernelTime>(record).end_ticks);
        break;
      case Kind::kCopyTime:
        gpu(head.small, As<trace::CopyTime>(record).begin_ticks,
            As<trace::CopyTime>(record).end_ticks);
        break;
      case Kind::kHostAnchor:
      case Kind::kGpuAnchor:
      case Kind::kQueue:
      case Kind::kKernelSymbol:
      case Kind::kStateChange:
        content.needed = true;
        break;
      default:
        break;
    }
  });
  return content;
}

bool WriteAt(int file, const char* from, size_t bytes, uint64_t offset) {
  while (bytes > 0) {
    const ssize_t done = pwrite(file, from, bytes, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    from += done;
    offset += static_cast<uint64_t>(done);
    bytes -= static_cast<size_t>(done);
  }
  return true;
}

}  // namespace

base::Result<WindowSize> CopyWindow(const fs::path& folder, uint64_t from_ns, uint64_t to_ns,
                                    const fs::path& to) {
  ROCHOUND_TRY(const auto log, trace::ProcessLog::Open(folder));
  const auto monotonic = [&](uint64_t realtime) {
    return static_cast<uint64_t>(static_cast<int64_t>(realtime) - log->realtime_offset_ns());
  };
  const uint64_t from = monotonic(from_ns), until = monotonic(to_ns);
  std::error_code error;
  fs::create_directories(to, error);
  if (error) return base::ErrnoError("cannot make", to, error.value());
  std::vector<trace::SegmentFile> segments;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!it->path().filename().string().starts_with("segment-")) continue;
    auto segment = trace::ChunkReader::OpenSegment(it->path());
    if (segment.ok() && segment.value() != nullptr) segments.push_back(*segment.value());
  }
  if (error) return base::ErrnoError("cannot list", folder, error.value());
  WindowSize size;
  trace::ChunkReader reader(&segments);
  for (uint32_t index = 0; index < segments.size(); ++index) {
    const trace::SegmentFile& segment = segments[index];
    const fs::path path = to / segment.path.filename();
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) return base::ErrnoError("cannot make", path, errno);
    bool good =
        WriteAt(file, reinterpret_cast<const char*>(&segment.header), sizeof segment.header, 0);
    const uint64_t made = std::min<uint64_t>(
        (segment.bytes - trace::kSegmentHeaderBytes + segment.header.chunk_bytes - 1) /
            segment.header.chunk_bytes,
        trace::kMaxSegmentChunks);
    for (uint32_t number = 0; good && number < made; ++number) {
      trace::ChunkPlace place;
      if (!reader.Find(index, number, &place)) continue;
      const ChunkContent content = Look(*log, reader);
      if (!content.needed && (content.last < from || content.first > until)) continue;
      // What is not copied stays zero, as in a chunk that was never used.
      good = WriteAt(file, reinterpret_cast<const char*>(&reader.header()), place.used,
                     trace::kSegmentHeaderBytes + uint64_t{number} * segment.header.chunk_bytes);
      ++size.chunks;
      size.bytes += place.used;
    }
    // A segment ends with a whole chunk.
    good = good && ftruncate(file, static_cast<off_t>(trace::kSegmentHeaderBytes +
                                                      made * segment.header.chunk_bytes)) == 0;
    const int problem = errno;
    close(file);
    if (!good) return base::ErrnoError("cannot write", path, problem);
  }
  // After the segments: strings are written before the records that name them.
  for (const char* name : {"info", "functions", "strings", "facts", "code_objects", "maps"}) {
    fs::copy_file(folder / name, to / name, fs::copy_options::overwrite_existing, error);
    if (!error) size.bytes += fs::file_size(to / name, error);
  }
  if (log->recycled_ns() != 0)
    size.complete_from_ns =
        static_cast<uint64_t>(static_cast<int64_t>(log->recycled_ns()) + log->realtime_offset_ns());
  return size;
}

}  // namespace rochound::fleet
