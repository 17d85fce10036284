// SPDX-License-Identifier: MIT
#include "fleet/daemon/window.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

#include "base/files.h"
#include "fleet/daemon/owner_files.h"
#include "trace/chunk_reader.h"
#include "trace/reader.h"

namespace rochound::fleet {
namespace {

namespace fs = std::filesystem;
using trace::Kind;

// A window of minutes has megabytes. Who writes a log chooses how large it is, and the copy takes
// the room of somebody else.
constexpr uint64_t kMostBytes = uint64_t{4} << 30;

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

// A file that was not there: links and files that somebody has put into our way are an Error.
base::Result<int> MakeFile(const fs::path& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return base::ErrnoError("cannot make", path, errno);
  return file;
}

// The chunks that the span needs, at their places. What is not copied stays zero, as in a chunk that
// was never used; the file ends with the last chunk that was copied.
base::Result<void> CopyChunks(const trace::ProcessLog& log, trace::ChunkReader& reader,
                              const trace::SegmentFile& segment, uint32_t index, uint64_t from,
                              uint64_t until, const fs::path& path, WindowSize* size) {
  ROCHOUND_TRY(const int file, MakeFile(path));
  bool good =
      WriteAt(file, reinterpret_cast<const char*>(&segment.header), sizeof segment.header, 0);
  const uint64_t chunk_bytes = segment.header.chunk_bytes;
  const uint64_t made = std::min<uint64_t>(
      (segment.bytes - trace::kSegmentHeaderBytes + chunk_bytes - 1) / chunk_bytes,
      trace::kMaxSegmentChunks);
  uint64_t end = trace::kSegmentHeaderBytes;
  for (uint32_t number = 0; good && number < made && size->bytes <= kMostBytes; ++number) {
    trace::ChunkPlace place;
    if (!reader.Find(index, number, &place)) continue;
    const ChunkContent content = Look(log, reader);
    if (!content.needed && (content.last < from || content.first > until)) continue;
    const uint64_t at = trace::kSegmentHeaderBytes + number * chunk_bytes;
    good = WriteAt(file, reinterpret_cast<const char*>(&reader.header()), place.used, at);
    end = at + chunk_bytes;
    ++size->chunks;
    size->bytes += place.used;
  }
  good = good && ftruncate(file, static_cast<off_t>(end)) == 0;
  const int problem = errno;
  close(file);
  if (!good) return base::ErrnoError("cannot write", path, problem);
  return {};
}

base::Result<void> CopyText(const std::string& content, const fs::path& path) {
  ROCHOUND_TRY(const int file, MakeFile(path));
  const bool good = WriteAt(file, content.data(), content.size(), 0);
  const int problem = errno;
  close(file);
  if (!good) return base::ErrnoError("cannot write", path, problem);
  return {};
}

}  // namespace

base::Result<WindowSize> CopyWindow(const fs::path& folder, uint64_t from_ns, uint64_t to_ns,
                                    const fs::path& to) {
  const trace::OpenFile open = OpenerOf(folder);
  ROCHOUND_TRY(const auto log, trace::ProcessLog::Open(folder, open));
  const auto monotonic = [&](uint64_t realtime) {
    // Who asks may name any time, and the log any offset.
    return realtime - static_cast<uint64_t>(log->realtime_offset_ns());
  };
  const uint64_t from = monotonic(from_ns), until = monotonic(to_ns);
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  if (error) return base::ErrnoError("cannot make", to.parent_path(), error.value());
  // A folder that is there may be somebody else's, or the log itself.
  if (mkdir(to.c_str(), 0777) != 0) return base::ErrnoError("cannot make", to, errno);
  std::vector<trace::SegmentFile> segments;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!it->path().filename().string().starts_with("segment-")) continue;
    auto segment = trace::ChunkReader::OpenSegment(it->path(), open);
    if (segment.ok() && segment.value() != nullptr) segments.push_back(*segment.value());
  }
  if (error) return base::ErrnoError("cannot list", folder, error.value());
  WindowSize size;
  const base::Error too_large{"the window has more than " + std::to_string(kMostBytes) +
                              " bytes; ask for a shorter span"};
  trace::ChunkReader reader(&segments, open);
  for (uint32_t index = 0; index < segments.size(); ++index) {
    const trace::SegmentFile& segment = segments[index];
    ROCHOUND_CHECK(
        CopyChunks(*log, reader, segment, index, from, until, to / segment.path.filename(), &size));
    if (size.bytes > kMostBytes) return too_large;
  }
  // After the segments: strings are written before the records that name them.
  for (const char* name : {"info", "functions", "strings", "facts", "code_objects", "maps"}) {
    const auto content = trace::ReadFileBy(open, folder / name, base::kMostText);
    if (!content.ok()) continue;
    ROCHOUND_CHECK(CopyText(content.value(), to / name));
    size.bytes += content.value().size();
  }
  if (log->recycled_ns() != 0)
    size.complete_from_ns = log->recycled_ns() + static_cast<uint64_t>(log->realtime_offset_ns());
  return size;
}

}  // namespace rochound::fleet
