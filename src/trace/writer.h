// SPDX-License-Identifier: MIT
//
// Writes a process's part of a flight log: memory-mapped segment files cut into chunks, each chunk
// written by one thread at a time. Used by the agent only, inside somebody else's program: no
// exceptions, no allocator, no locks and no system calls on the hot path (ThreadLog), everything
// else on the agent's drain thread or at set-up. The memory is MAP_SHARED and its blocks are
// allocated before they are handed out, so a killed process loses nothing that was committed and a
// full disk cannot raise SIGBUS; without a prepared chunk a record is dropped and counted. On a
// file system that copies on write the log ends when the disk is full (WatchRoom).
//
//   DIR/process-<pid>-<start>/  info (text)  functions (text)  strings  segment-000000 ...
//   segment = SegmentHeader (4096 bytes) + chunks;  chunk = ChunkHeader (64 bytes) + records
//
// Threads: Attach, Detach, Intern, CountDropped, WriteText: any. Maintain: one at a time, usually
// the drain thread; others wait. Neither the writer nor a ThreadLog is ever freed: threads may end,
// or go on calling, at any time.
//
// After fork the child's writer and thread logs are dead: records are dropped, Attach gives null.
// The kernel sees to that (MADV_WIPEONFORK), however the child was made. The child opens a writer
// of its own.
#pragma once

#include <limits.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/mutex.h"
#include "trace/chunk_list.h"
#include "trace/layout.h"
#include "trace/records.h"
#include "trace/string_table.h"

namespace rochound::trace {

class Writer;

// One thread's place in the log. Only that thread calls it, and not from a signal handler that
// interrupted such a call.
class ThreadLog {
 public:
  // Room for a record of type T, or null: dropped and counted. Fill in all but the head, then
  // Commit; a record that was written to but not committed spoils the next one.
  template <typename T>
  T* Reserve() {
    ROCHOUND_DCHECK(cursor_ <= end_);
    if (__builtin_expect(end_ - cursor_ < static_cast<ptrdiff_t>(sizeof(T)), 0) && !MakeRoom()) {
      return nullptr;
    }
    return reinterpret_cast<T*>(cursor_);
  }

  // The record just reserved is complete from here on, whatever happens to the process.
  template <typename T>
  void Commit(T* record, uint16_t small = 0, uint32_t wide = 0) {
    ROCHOUND_DCHECK(reinterpret_cast<char*>(record) == cursor_);
    ROCHOUND_DCHECK(end_ - cursor_ >= static_cast<ptrdiff_t>(sizeof(T)));
    const Head head = HeadOf<T>(small, wide);
    std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(&record->head))
        .store(__builtin_bit_cast(uint64_t, head), std::memory_order_release);
    cursor_ += sizeof(T);
  }

  uint64_t NextCorrelation() { return correlation_++; }
  uint32_t index() const { return static_cast<uint32_t>(correlation_ >> 40); }

  // Which call is in flight, for a reader of a killed process's log. Calls nest; the outermost
  // kOpenCallSlots are noted.
  void OpenCall(uint16_t function, uint64_t begin_tsc, uint64_t correlation) {
    const uint32_t depth = depth_++;
    if (depth >= kOpenCallSlots) return;
    if (__builtin_expect(chunk_ == nullptr, 0) && !NextChunk()) return;
    OpenCallSlot& slot = chunk_->open_calls[depth];
    std::atomic_ref<uint64_t>(slot.begin_tsc).store(begin_tsc, std::memory_order_relaxed);
    std::atomic_ref<uint64_t>(slot.call).store(
        uint64_t{function} << 48 | (correlation & kCallCountMask), std::memory_order_release);
  }
  void CloseCall() {
    if (depth_ == 0 || --depth_ >= kOpenCallSlots || chunk_ == nullptr) return;
    std::atomic_ref<uint64_t>(chunk_->open_calls[depth_].call).store(0, std::memory_order_release);
  }

 private:
  friend class Writer;
  static constexpr uint64_t kCallCountMask = (uint64_t{1} << 40) - 1;

  bool MakeRoom();   // NextChunk, or counts a dropped record
  bool NextChunk();  // false: none is ready

  // All zero in a forked child: then there is no room, no chunk and no writer.
  char* cursor_ = nullptr;
  char* end_ = nullptr;
  ChunkHeader* chunk_ = nullptr;
  uint64_t correlation_ = 0;
  uint32_t depth_ = 0;
  uint32_t id_ = 0;  // of the chunk in the writer's table
  Writer* writer_ = nullptr;
  uint32_t tid_ = 0;
  uint32_t sequence_ = 0;
  ThreadLog* next_free_ = nullptr;
};

class Writer {
 public:
  struct Options {
    std::string_view directory = {};  // the run's; made if it does not exist
    uint64_t max_bytes = 0;           // of this process's segments; 0: no limit
    uint64_t keep_ns = 0;  // flight-recorder mode: drop closed chunks older than this; 0: keep all
    bool recycle = false;  // at max_bytes: drop the oldest closed chunks instead of new records
    uint32_t chunk_bytes = 256 * 1024;  // a multiple of 4096; the first segment's are smaller
    uint32_t segment_chunks = 16;
    // Called on a writing thread when `hurry` becomes set, at most once between two turns of
    // Maintain: wakes the drain thread.
    void (*wake)() = nullptr;
  };

  // Null and a reason on failure; nothing is left behind then.
  static Writer* Open(const Options& options, char* error, size_t error_bytes);
  static Writer* Open(const Options& options, std::string* error) {
    char text[512] = "";
    Writer* writer = Open(options, text, sizeof text);
    if (error != nullptr && writer == nullptr) *error = text;
    return writer;
  }

  // The calling thread's log. Null: no memory. Detach gives the rest of its chunk to the next
  // thread; the log must not be used afterwards.
  ThreadLog* Attach();
  void Detach(ThreadLog* log);

  // The string's id, the same for equal strings; 0 when there is no room (counted). Takes a lock on
  // first sight of a string; callers on a hot path keep their own cache.
  uint32_t Intern(std::string_view text);

  // The drain thread's turn: prepares chunks ahead of demand, recycles old ones, writes HostAnchor
  // and Dropped records. Call it every 10 ms or so while recording, and soon when `hurry` is set:
  // less than half of what should be prepared is left.
  void Maintain();
  bool hurry() const { return hurry_.load(std::memory_order_relaxed); }

  // Takes room for what threads may write next, and ends the log where there is none, on a file
  // system where a write to a full disk would raise SIGBUS. Call it before anything is written in a
  // turn of the drain thread.
  void WatchRoom();

  // Text files of the process folder, replaced at once. False: not written, errno tells why.
  bool WriteText(const char* name, std::string_view content);

  // Records that were lost elsewhere, for instance for want of a signal.
  void CountDropped(DropReason reason, uint64_t records = 1);

  // Orderly end: no more chunks are prepared, the unused ones are given back to the file system.
  // What threads still write goes into the room they have.
  void Finish();

  const char* process_directory() const { return directory_; }
  uint64_t committed_bytes() const;  // handed out to threads so far, in whole chunks
  uint64_t dropped() const;          // records, all reasons but kRecycled
  uint32_t threads();                // that have written here so far

 private:
  friend class ThreadLog;

  // In memory that a forked child finds zeroed.
  struct Life {
    std::atomic<uint32_t> alive;
  };
  struct Segment {
    uint32_t number;
    uint16_t made;      // chunks
    uint16_t released;  // of those
    bool used;
    bool complete;  // no more chunks will be made in it
  };

  static constexpr uint32_t kMaxDescriptors = 64 * 1024;
  static constexpr uint32_t kMaxSegments = 16 * 1024;
  static constexpr uint32_t kMaxLastingIds = 1 << 20;

  Writer() = default;
  ~Writer() = default;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  bool alive() const { return life_->alive.load(std::memory_order_relaxed) != 0; }
  bool Start(const Options& options, const char** failed);
  bool MakeDirectory(std::string_view run);
  void RemoveFiles();
  void SegmentPath(uint32_t number, char* path) const;

  uint32_t TakeReady();
  void Hurry();
  void Ready(uint32_t id);
  void Close(uint32_t id);

  void End() ROCHOUND_REQUIRES(maintain_mutex_);
  bool HasRoom() ROCHOUND_REQUIRES(maintain_mutex_);
  void LeaveFiles() ROCHOUND_REQUIRES(maintain_mutex_);
  void CollectClosed(uint64_t now) ROCHOUND_REQUIRES(maintain_mutex_);
  void AdaptTarget(uint64_t now) ROCHOUND_REQUIRES(maintain_mutex_);
  void Prepare(uint64_t now) ROCHOUND_REQUIRES(maintain_mutex_);
  bool Grow(uint64_t bytes) ROCHOUND_REQUIRES(maintain_mutex_);
  bool StartSegments() ROCHOUND_REQUIRES(maintain_mutex_);
  bool OpenSegment() ROCHOUND_REQUIRES(maintain_mutex_);
  void UnlinkIfReleased(uint32_t number) ROCHOUND_REQUIRES(maintain_mutex_);
  Segment* SegmentOf(uint32_t number) ROCHOUND_REQUIRES(maintain_mutex_);
  uint32_t NewDescriptor() ROCHOUND_REQUIRES(maintain_mutex_);
  void FreeDescriptor(uint32_t id) ROCHOUND_REQUIRES(maintain_mutex_);
  bool MayRecycle(uint64_t now, bool needed) const ROCHOUND_REQUIRES(maintain_mutex_);
  void Recycle(bool reuse) ROCHOUND_REQUIRES(maintain_mutex_);
  void Release(uint32_t id) ROCHOUND_REQUIRES(maintain_mutex_);
  uint64_t KeepLasting(const Chunk& chunk) ROCHOUND_REQUIRES(maintain_mutex_);
  template <typename T>
  bool CopyRecord(ThreadLog* log, const char* place) ROCHOUND_REQUIRES(maintain_mutex_);
  template <typename T>
  void CopyLasting(const char* place, uint8_t* kept) ROCHOUND_REQUIRES(maintain_mutex_);
  void WriteAnchor(uint64_t now) ROCHOUND_REQUIRES(maintain_mutex_);
  void WriteDropped(uint64_t now) ROCHOUND_REQUIRES(maintain_mutex_);
  void WriteAliveTime() ROCHOUND_REQUIRES(maintain_mutex_);

  Life* life_ = nullptr;
  SegmentHeader* header_ = nullptr;  // of segment 0; mapped for good
  Chunk* chunks_ = nullptr;
  Segment* segments_ ROCHOUND_POINTEE_GUARDED_BY(maintain_mutex_) = nullptr;
  Options options_;
  uint64_t min_ready_bytes_ = 0;

  // Shared with the threads.
  alignas(64) ChunkList ready_;
  ChunkList left_;  // partly filled, by threads that ended
  ChunkList closed_;
  std::atomic<int64_t> ready_bytes_{0};
  std::atomic<uint64_t> taken_bytes_{0};
  std::atomic<uint32_t> order_{0};
  std::atomic<int64_t> low_water_{0};
  std::atomic<bool> hurry_{false};
  std::atomic<bool> full_{false};  // preparing more is not possible now: no reason to hurry

  base::Mutex threads_mutex_;
  uint32_t threads_ ROCHOUND_GUARDED_BY(threads_mutex_) = 0;
  ThreadLog* free_logs_ ROCHOUND_GUARDED_BY(threads_mutex_) = nullptr;

  // The drain thread's, and that of whoever opens and ends the log.
  base::Mutex maintain_mutex_;
  ThreadLog* own_ ROCHOUND_GUARDED_BY(maintain_mutex_) = nullptr;  // anchors and counts
  // What must outlive its recycled chunk.
  ThreadLog* lasting_ ROCHOUND_GUARDED_BY(maintain_mutex_) = nullptr;
  // Bits: queues, then kernels that are there already.
  uint8_t* kept_ids_ ROCHOUND_GUARDED_BY(maintain_mutex_) = nullptr;
  // Closed chunks, oldest first, linked by `next`.
  uint32_t first_kept_ ROCHOUND_GUARDED_BY(maintain_mutex_) = 0;
  uint32_t last_kept_ ROCHOUND_GUARDED_BY(maintain_mutex_) = 0;
  uint32_t free_descriptors_ ROCHOUND_GUARDED_BY(maintain_mutex_) = 0;
  uint32_t spare_descriptors_ ROCHOUND_GUARDED_BY(maintain_mutex_) = 0;  // length of that list
  uint32_t descriptors_ ROCHOUND_GUARDED_BY(maintain_mutex_) = 0;        // ever used
  uint32_t segments_made_ ROCHOUND_GUARDED_BY(maintain_mutex_) = 0;
  uint32_t segment_ ROCHOUND_GUARDED_BY(maintain_mutex_) = 0;  // the one that grows
  uint32_t segment_chunk_bytes_ ROCHOUND_GUARDED_BY(maintain_mutex_) = 0;
  uint32_t segment_chunk_count_ ROCHOUND_GUARDED_BY(maintain_mutex_) = 0;
  uint64_t allocated_bytes_ ROCHOUND_GUARDED_BY(maintain_mutex_) = 0;
  uint64_t target_bytes_ ROCHOUND_GUARDED_BY(maintain_mutex_) = 0;  // to have ready
  uint64_t window_start_ns_ ROCHOUND_GUARDED_BY(maintain_mutex_) = 0;
  uint64_t last_taken_ ROCHOUND_GUARDED_BY(maintain_mutex_) = 0;
  uint64_t last_turn_ns_ ROCHOUND_GUARDED_BY(maintain_mutex_) = 0;
  uint64_t longest_turn_ns_ ROCHOUND_GUARDED_BY(maintain_mutex_) = 0;
  uint64_t bytes_per_second_ ROCHOUND_GUARDED_BY(maintain_mutex_) = 0;
  uint64_t retry_ns_ ROCHOUND_GUARDED_BY(maintain_mutex_) = 0;
  uint64_t next_anchor_ns_ ROCHOUND_GUARDED_BY(maintain_mutex_) = 0;
  uint64_t next_recycled_ns_ ROCHOUND_GUARDED_BY(maintain_mutex_) = 0;
  uint64_t anchor_step_ns_ ROCHOUND_GUARDED_BY(maintain_mutex_) = 0;
  uint64_t reported_[kDropReasons] ROCHOUND_GUARDED_BY(maintain_mutex_) = {};
  bool finished_ ROCHOUND_GUARDED_BY(maintain_mutex_) = false;
  bool needs_room_to_write_ = false;  // also to what is allocated: the file system copies on write
  bool made_run_directory_ = false;

  char directory_[PATH_MAX - 32] = "";
  char strings_path_[PATH_MAX] = "";
  StringTable strings_;
};

}  // namespace rochound::trace
