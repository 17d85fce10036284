// SPDX-License-Identifier: MIT
//
// Set-up of a process's log, and what threads call. The drain thread's part is maintain.cpp.
#include "trace/writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "base/check.h"
#include "base/file_limit.h"
#include "base/mutex.h"
#include "trace/mapped_file.h"
#include "trace/tsc.h"

namespace rochound::trace {
namespace {

constexpr uint32_t kMaxThreads = (1u << 24) - 1;
constexpr uint32_t kLogsPerBlock = 64;
constexpr ptrdiff_t kWorthKeeping = 1024;  // bytes left in an ended thread's chunk
constexpr uint64_t kMinReadyBytes = 4u << 20;
constexpr uint64_t kMaxStringBytes = 1u << 30;

template <typename T>
std::atomic_ref<T> Atomic(T& value) {
  return std::atomic_ref<T>(value);
}

// When this process started, in the kernel's ticks: tells apart processes that had the same id.
uint64_t ProcessStart() {
  char text[1024];
  const int fd = base::UnlessScarce(open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
  if (fd < 0) return 0;
  const ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return 0;
  text[length] = 0;
  // The program's name, in parentheses, may hold anything; after it comes field 3.
  const char* field = strrchr(text, ')');
  for (int i = 2; field != nullptr && i < 22; ++i) field = strchr(field + 1, ' ');
  return field == nullptr ? 0 : strtoull(field + 1, nullptr, 10);
}

}  // namespace

bool ThreadLog::MakeRoom() {
  if (NextChunk()) return true;
  if (writer_ != nullptr) writer_->CountDropped(DropReason::kNoChunk);
  return false;
}

bool ThreadLog::NextChunk() {
  Writer* writer = writer_;
  if (writer == nullptr) return false;
  // Only a thread's first chunk may be another thread's rest: so chunks in the order they were
  // taken hold each thread's records in the order they were written.
  uint32_t id = sequence_ == 0 ? writer->left_.Pop(writer->chunks_) : 0;
  const bool fresh = id == 0;
  if (fresh) id = writer->TakeReady();
  if (id == 0) return false;

  const Chunk& next = writer->chunks_[id];
  ROCHOUND_DCHECK(next.memory != nullptr);
  ROCHOUND_DCHECK(next.cursor >= next.memory + sizeof(ChunkHeader));
  ROCHOUND_DCHECK(next.memory + next.bytes - next.cursor >=
                  static_cast<ptrdiff_t>(sizeof(ThreadHere)));
  auto* header = reinterpret_cast<ChunkHeader*>(next.memory);
  auto* here = reinterpret_cast<ThreadHere*>(next.cursor);
  here->now_tsc = ReadTsc();
  here->tid = tid_;
  here->sequence = sequence_++;
  here->reserved = 0;
  Atomic(header->thread).store(index(), std::memory_order_relaxed);
  if (chunk_ != nullptr) {
    memcpy(header->open_calls, chunk_->open_calls, sizeof header->open_calls);
  }
  cursor_ = next.cursor;
  end_ = next.memory + next.bytes;
  Commit(here, 0, index());
  if (fresh) {
    header->magic = kChunkMagic;
    header->order = writer->order_.fetch_add(1, std::memory_order_relaxed) + 1;
    Atomic(header->state).store(ChunkState::kWriting, std::memory_order_release);
  }
  if (chunk_ != nullptr) writer->Close(id_);
  chunk_ = header;
  id_ = id;
  return true;
}

Writer* Writer::Open(const Options& options, char* error, size_t error_bytes) {
  void* memory = MapMemory(sizeof(Writer));
  if (memory == nullptr) {
    snprintf(error, error_bytes, "no memory for the flight log's writer");
    return nullptr;
  }
  auto* writer = new (memory) Writer;
  const char* failed = "";
  if (writer->Start(options, &failed)) return writer;

  const int reason = errno;
  char run[200];
  const size_t length = options.directory.copy(run, sizeof run - 1);
  run[length] = 0;
  snprintf(error, error_bytes, "cannot make the flight log's %s in '%s': %s", failed, run,
           strerror(reason));
  writer->RemoveFiles();
  munmap(memory, sizeof(Writer));
  return nullptr;
}

bool Writer::Start(const Options& options, const char** failed) {
  const base::Lock lock(maintain_mutex_);
  HostAnchor started{};
  ReadHostClocks(&started);
  options_ = options;
  options_.directory = {};
  options_.chunk_bytes = std::clamp(options_.chunk_bytes, kMinChunkBytes, kMaxChunkBytes);
  if (options_.max_bytes != 0) {
    const uint64_t part = std::max<uint64_t>(options_.max_bytes / 16, kMinChunkBytes);
    options_.chunk_bytes = static_cast<uint32_t>(std::min<uint64_t>(options_.chunk_bytes, part));
  }
  options_.chunk_bytes = options_.chunk_bytes / kMinChunkBytes * kMinChunkBytes;
  options_.segment_chunks = std::clamp(options_.segment_chunks, 1u, kMaxSegmentChunks);
  min_ready_bytes_ = options_.max_bytes == 0
                         ? kMinReadyBytes
                         : std::min<uint64_t>(kMinReadyBytes, options_.max_bytes / 8);

  ROCHOUND_DCHECK(options_.chunk_bytes >= kMinChunkBytes &&
                  options_.chunk_bytes % kMinChunkBytes == 0);
  ROCHOUND_DCHECK(options_.segment_chunks != 0);
  *failed = "memory";
  life_ = static_cast<Life*>(MapMemory(kMinChunkBytes, true));
  chunks_ = static_cast<Chunk*>(MapMemory(sizeof(Chunk) * kMaxDescriptors));
  segments_ = static_cast<Segment*>(MapMemory(sizeof(Segment) * kMaxSegments));
  kept_ids_ = static_cast<uint8_t*>(MapMemory(2 * kMaxLastingIds / 8));
  if (life_ == nullptr || chunks_ == nullptr || segments_ == nullptr || kept_ids_ == nullptr) {
    return false;
  }
  *failed = "folder";
  if (sysconf(_SC_PAGESIZE) != kSegmentHeaderBytes) {
    errno = ENOTSUP;
    return false;
  }
  if (!MakeDirectory(options.directory)) return false;
  needs_room_to_write_ = CopiesOnWrite(directory_);
  *failed = "strings file";
  snprintf(strings_path_, sizeof strings_path_, "%s/strings", directory_);
  if (!strings_.Open(strings_path_, kMaxStringBytes)) return false;
  *failed = "first segment";
  life_->alive.store(1, std::memory_order_relaxed);
  own_ = Attach();
  lasting_ = Attach();
  if (own_ == nullptr || lasting_ == nullptr || !StartSegments()) return false;
  own_->tid_ = 0;
  lasting_->tid_ = 0;
  // Two from the start: even the log of a process that is killed at once tells the clock's speed.
  if (auto* anchor = own_->Reserve<HostAnchor>()) {
    *anchor = started;
    own_->Commit(anchor);
  }
  WriteAnchor(started.monotonic_ns);
  return true;
}

bool Writer::MakeDirectory(std::string_view run) {
  if (run.empty()) {
    errno = ENOENT;
    return false;
  }
  char path[PATH_MAX] = "";
  if (run[0] != '/' && getcwd(path, sizeof path) == nullptr) return false;
  size_t length = strlen(path);
  if (length + run.size() + 64 >= sizeof directory_) {
    errno = ENAMETOOLONG;
    return false;
  }
  if (length != 0) path[length++] = '/';
  length += run.copy(path + length, run.size());
  path[length] = 0;
  while (length > 1 && path[length - 1] == '/') path[--length] = 0;
  for (size_t i = 1; i <= length; ++i) {
    if (path[i] != '/' && path[i] != 0) continue;
    const char here = path[i];
    path[i] = 0;
    made_run_directory_ = mkdir(path, 0700) == 0;
    const int reason = errno;
    struct stat status{};
    if (!made_run_directory_ && stat(path, &status) != 0) {
      errno = reason;
      return false;
    }
    path[i] = here;
  }
  // A program that another one became by exec has its id and start; it gets a folder of its own.
  for (int again = 0; again < 10000; ++again) {
    const int end =
        snprintf(directory_, sizeof directory_, "%s/process-%d-%llu", path,
                 static_cast<int>(getpid()), static_cast<unsigned long long>(ProcessStart()));
    if (again > 0) {
      snprintf(directory_ + end, sizeof directory_ - static_cast<size_t>(end), "-%d", again);
    }
    if (mkdir(directory_, 0700) == 0) return true;
    if (errno != EEXIST) break;
  }
  const int reason = errno;
  directory_[0] = 0;
  if (made_run_directory_) rmdir(path);
  errno = reason;
  return false;
}

void Writer::RemoveFiles() {
  if (directory_[0] == 0) return;
  char path[PATH_MAX];
  SegmentPath(0, path);
  unlink(path);
  unlink(strings_path_);
  rmdir(directory_);
  if (!made_run_directory_) return;
  *strrchr(directory_, '/') = 0;
  rmdir(directory_);
}

void Writer::SegmentPath(uint32_t number, char* path) const {
  snprintf(path, PATH_MAX, "%s/segment-%06u", directory_, number);
}

ThreadLog* Writer::Attach() {
  if (!alive()) return nullptr;
  const base::Lock lock(threads_mutex_);
  if (threads_ >= kMaxThreads) return nullptr;
  if (free_logs_ == nullptr) {
    auto* block = static_cast<ThreadLog*>(MapMemory(sizeof(ThreadLog) * kLogsPerBlock, true));
    if (block == nullptr) return nullptr;
    for (uint32_t i = 0; i < kLogsPerBlock; ++i) {
      block[i].next_free_ = free_logs_;
      free_logs_ = &block[i];
    }
  }
  ThreadLog* log = free_logs_;
  free_logs_ = log->next_free_;
  ROCHOUND_DCHECK(log->writer_ == nullptr && log->chunk_ == nullptr);
  *log = ThreadLog();
  log->correlation_ = uint64_t{++threads_} << 40 | 1;
  log->tid_ = static_cast<uint32_t>(syscall(SYS_gettid));
  log->writer_ = this;
  return log;
}

void Writer::Detach(ThreadLog* log) {
  if (!alive() || log->writer_ != this) return;
  if (log->chunk_ != nullptr) {
    ROCHOUND_DCHECK(log->id_ != 0 && log->id_ < kMaxDescriptors);
    if (auto* end = log->Reserve<ThreadEnd>()) {
      end->now_tsc = ReadTsc();
      end->reserved[0] = end->reserved[1] = 0;
      log->Commit(end);
    }
    for (OpenCallSlot& slot : log->chunk_->open_calls) {
      Atomic(slot.call).store(0, std::memory_order_release);
    }
    ROCHOUND_DCHECK(log->cursor_ <= log->end_);
    if (log->end_ - log->cursor_ < kWorthKeeping) {
      Close(log->id_);
    } else {
      chunks_[log->id_].cursor = log->cursor_;
      left_.Push(chunks_, log->id_);
    }
  }
  const base::Lock lock(threads_mutex_);
  *log = ThreadLog();
  log->next_free_ = free_logs_;
  free_logs_ = log;
}

uint32_t Writer::threads() {
  if (!alive()) return 0;
  const base::Lock lock(threads_mutex_);
  return threads_;
}

uint32_t Writer::Intern(std::string_view text) {
  if (!alive()) return 0;
  const uint32_t id = strings_.Intern(text);
  if (id == 0) CountDropped(DropReason::kNoString);
  return id;
}

bool Writer::WriteText(const char* name, std::string_view content) {
  if (!alive()) {
    errno = ESTALE;  // a forked child: the folder is its parent's
    return false;
  }
  char path[PATH_MAX];
  const int length = snprintf(path, sizeof path, "%s/%s", directory_, name);
  if (length < 0 || static_cast<size_t>(length) >= sizeof path) {
    errno = ENAMETOOLONG;
    return false;
  }
  return WriteWholeFile(path, content.data(), content.size());
}

void Writer::CountDropped(DropReason reason, uint64_t records) {
  const auto index = static_cast<uint32_t>(reason);
  if (!alive() || index >= kDropReasons) return;
  Atomic(header_->dropped[index]).fetch_add(records, std::memory_order_relaxed);
}

uint64_t Writer::committed_bytes() const { return taken_bytes_.load(std::memory_order_relaxed); }

uint64_t Writer::dropped() const {
  if (!alive()) return 0;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < kDropReasons; ++i) {
    if (i == static_cast<uint32_t>(DropReason::kRecycled)) continue;
    sum += Atomic(header_->dropped[i]).load(std::memory_order_relaxed);
  }
  return sum;
}

uint32_t Writer::TakeReady() {
  const uint32_t id = ready_.Pop(chunks_);
  if (id == 0) {
    if (!full_.load(std::memory_order_relaxed)) Hurry();
    return 0;
  }
  const int64_t bytes = chunks_[id].bytes;
  ROCHOUND_DCHECK(id < kMaxDescriptors);
  ROCHOUND_DCHECK(bytes >= kMinChunkBytes);
  taken_bytes_.fetch_add(static_cast<uint64_t>(bytes), std::memory_order_relaxed);
  const int64_t left = ready_bytes_.fetch_sub(bytes, std::memory_order_relaxed) - bytes;
  ROCHOUND_DCHECK(left >= 0);
  if (left < low_water_.load(std::memory_order_relaxed) && !full_.load(std::memory_order_relaxed))
    Hurry();
  return id;
}

void Writer::Hurry() {
  if (hurry_.load(std::memory_order_relaxed) || hurry_.exchange(true)) return;
  if (options_.wake != nullptr) options_.wake();
}

void Writer::Close(uint32_t id) {
  ROCHOUND_DCHECK(id != 0 && chunks_[id].memory != nullptr);
  auto* header = reinterpret_cast<ChunkHeader*>(chunks_[id].memory);
  Atomic(header->state).store(ChunkState::kClosed, std::memory_order_release);
  closed_.Push(chunks_, id);
}

}  // namespace rochound::trace
