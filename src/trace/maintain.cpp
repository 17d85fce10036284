// SPDX-License-Identifier: MIT
//
// The drain thread's part of the writer: chunks are made ahead of demand, old ones recycled.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "base/check.h"
#include "base/mutex.h"
#include "trace/mapped_file.h"
#include "trace/tsc.h"
#include "trace/writer.h"

namespace rochound::trace {
namespace {

constexpr uint64_t kMillisecond = 1000000;
constexpr uint64_t kSecond = 1000 * kMillisecond;
constexpr uint32_t kFirstChunkBytes = 64 * 1024;
constexpr uint32_t kFirstChunks = 16;
constexpr uint32_t kFirstFaulted = 4;  // chunks, so that 64 idle processes take little memory
constexpr uint64_t kMaxReadyBytes = 64u << 20;
constexpr uint64_t kRateWindowNs = 10 * kMillisecond;
constexpr uint64_t kRateFadesNs = 2 * kSecond;
constexpr uint64_t kMinAheadNs = 200 * kMillisecond;  // a busy machine lets the drain thread wait
constexpr uint64_t kMaxTurnNs = 250 * kMillisecond;
constexpr uint64_t kRetryNs = 200 * kMillisecond;

uint64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kSecond + static_cast<uint64_t>(now.tv_nsec);
}

ChunkHeader* HeaderOf(const Chunk& chunk) { return reinterpret_cast<ChunkHeader*>(chunk.memory); }

uint64_t OffsetOf(const Chunk& chunk) {
  return kSegmentHeaderBytes + uint64_t{chunk.number} * chunk.bytes;
}

}  // namespace

bool Writer::StartSegments() {
  if (!OpenSegment()) return false;
  const uint64_t bytes = uint64_t{segment_chunk_bytes_} * segment_chunk_count_;
  return Grow(bytes);
}

void Writer::Maintain() {
  if (!alive()) return;
  const base::Lock lock(maintain_mutex_);
  hurry_.store(false, std::memory_order_relaxed);
  const uint64_t now = NowNs();
  CollectClosed(now);
  if (!finished_) {
    AdaptTarget(now);
    Prepare(now);
    WriteAnchor(now);
  }
  WriteDropped(now);
  WriteAliveTime();
}

// For a reader that wants to know how long a killed process lived.
void Writer::WriteAliveTime() {
  std::atomic_ref<uint64_t>(header_->alive_tsc).store(ReadTsc(), std::memory_order_relaxed);
}

void Writer::Finish() {
  if (!alive()) return;
  const base::Lock lock(maintain_mutex_);
  End();
}

void Writer::End() {
  if (finished_) return;
  next_anchor_ns_ = 0;
  WriteAnchor(NowNs());
  next_recycled_ns_ = 0;
  WriteDropped(NowNs());
  finished_ = true;
  full_.store(true, std::memory_order_relaxed);
  while (const uint32_t id = ready_.Pop(chunks_)) {
    ready_bytes_.fetch_sub(chunks_[id].bytes, std::memory_order_relaxed);
    Release(id);
  }
  WriteAliveTime();
  std::atomic_ref<uint64_t>(header_->finished_tsc).store(ReadTsc(), std::memory_order_release);
}

void Writer::WatchRoom() {
  if (!needs_room_to_write_ || !alive()) return;
  const base::Lock lock(maintain_mutex_);
  if (!finished_ && !HasRoom()) LeaveFiles();
}

bool Writer::HasRoom() {
  if (!CanWrite(reinterpret_cast<char*>(header_), kSegmentHeaderBytes) || !strings_.HasRoom())
    return false;
  for (uint32_t id = 1; id <= descriptors_; ++id) {
    const Chunk& chunk = chunks_[id];
    if (chunk.memory == nullptr) continue;
    const auto state = std::atomic_ref<ChunkState>(HeaderOf(chunk)->state).load();
    if (state != ChunkState::kClosed && !CanWrite(chunk.memory, chunk.bytes)) return false;
  }
  return true;
}

// Threads may hold chunks and write to them at any time: their memory stays, but is no longer the
// file's. What is written from now on is lost, and the log looks like that of a killed process.
void Writer::LeaveFiles() {
  for (uint32_t id = 1; id <= descriptors_; ++id)
    if (chunks_[id].memory != nullptr) MakePrivate(chunks_[id].memory, chunks_[id].bytes);
  MakePrivate(reinterpret_cast<char*>(header_), kSegmentHeaderBytes);
  strings_.LeaveFile();
  End();
}

void Writer::CollectClosed(uint64_t now) {
  uint32_t first = 0;
  for (uint32_t id = closed_.TakeAll(); id != 0;) {  // latest first: turn round
    const uint32_t next = chunks_[id].next.load(std::memory_order_relaxed);
    chunks_[id].next.store(first, std::memory_order_relaxed);
    first = id;
    id = next;
  }
  const bool recycling = options_.keep_ns != 0 || options_.recycle;
  while (first != 0) {
    const uint32_t id = first;
    Chunk& chunk = chunks_[id];
    ROCHOUND_DCHECK(chunk.memory != nullptr);
    first = chunk.next.load(std::memory_order_relaxed);
    chunk.next.store(0, std::memory_order_relaxed);
    if (!recycling || chunk.lasting) {
      // On disk for good; we need neither the mapping nor the descriptor any more.
      munmap(chunk.memory, chunk.bytes);
      FreeDescriptor(id);
      continue;
    }
    chunk.closed_ns = now;
    ROCHOUND_DCHECK((first_kept_ == 0) == (last_kept_ == 0));
    if (last_kept_ != 0) {
      chunks_[last_kept_].next.store(id, std::memory_order_relaxed);
    } else {
      first_kept_ = id;
    }
    last_kept_ = id;
  }
}

// What should lie ready is what the threads take while the drain thread is away.
void Writer::AdaptTarget(uint64_t now) {
  const uint64_t taken = taken_bytes_.load(std::memory_order_relaxed);
  if (last_turn_ns_ == 0) window_start_ns_ = last_turn_ns_ = now;
  ROCHOUND_DCHECK(now >= last_turn_ns_ && now >= window_start_ns_);
  const uint64_t turn = std::min(now - last_turn_ns_, kMaxTurnNs);
  last_turn_ns_ = now;
  longest_turn_ns_ = std::max(turn, longest_turn_ns_ - longest_turn_ns_ / 64);
  if (const uint64_t window = now - window_start_ns_; window >= kRateWindowNs) {
    ROCHOUND_DCHECK(taken >= last_taken_);
    const uint64_t rate = (taken - last_taken_) * 1000 / (window / kMillisecond);
    if (rate >= bytes_per_second_) {
      bytes_per_second_ = rate;
    } else {
      const uint64_t fades = std::min(window, kRateFadesNs) / kMillisecond;
      bytes_per_second_ -= (bytes_per_second_ - rate) * fades / (kRateFadesNs / kMillisecond);
    }
    window_start_ns_ = now;
    last_taken_ = taken;
  }
  const uint64_t ahead_ms = std::max(kMinAheadNs, 2 * longest_turn_ns_) / kMillisecond;
  uint64_t target =
      std::clamp(bytes_per_second_ / 1000 * ahead_ms, min_ready_bytes_, kMaxReadyBytes);
  if (options_.max_bytes != 0) target = std::min(target, options_.max_bytes / 4);
  target_bytes_ = std::max<uint64_t>(target, options_.chunk_bytes);
  low_water_.store(static_cast<int64_t>(target_bytes_ / 2), std::memory_order_relaxed);
}

void Writer::Prepare(uint64_t now) {
  bool full = false;
  for (;;) {
    const int64_t ready = ready_bytes_.load(std::memory_order_relaxed);
    const int64_t missing = static_cast<int64_t>(target_bytes_) - ready;
    if (missing <= 0) break;
    const bool may_grow = !MayRecycle(now, false) && now >= retry_ns_;
    if (may_grow && Grow(static_cast<uint64_t>(missing))) continue;
    if (MayRecycle(now, true)) {
      Recycle(true);
      continue;
    }
    // A failing file system call may be slow, and the next one will hardly do better.
    if (may_grow) retry_ns_ = now + kRetryNs;
    full = true;
    break;
  }
  full_.store(full, std::memory_order_relaxed);
  while (MayRecycle(now, false)) Recycle(false);
  // What a burst had needed. A limited log has set the space aside anyway.
  while (options_.max_bytes == 0 &&
         ready_bytes_.load(std::memory_order_relaxed) > 2 * static_cast<int64_t>(target_bytes_)) {
    const uint32_t id = ready_.Pop(chunks_);
    if (id == 0) break;
    ROCHOUND_DCHECK(ready_bytes_.load(std::memory_order_relaxed) >= chunks_[id].bytes);
    ready_bytes_.fetch_sub(chunks_[id].bytes, std::memory_order_relaxed);
    Release(id);
  }
}

bool Writer::Grow(uint64_t bytes) {
  Segment* segment = SegmentOf(segment_);
  ROCHOUND_DCHECK(segment->number == segment_ && segment->made <= segment_chunk_count_);
  const bool limited = options_.max_bytes != 0;
  const auto room = [&]() ROCHOUND_REQUIRES(maintain_mutex_) {
    return allocated_bytes_ < options_.max_bytes ? options_.max_bytes - allocated_bytes_ : 0;
  };
  if (segment->made == segment_chunk_count_) {
    if (limited && room() < options_.chunk_bytes + kSegmentHeaderBytes) return false;
    const uint32_t before = segment_;
    if (!OpenSegment()) return false;
    SegmentOf(before)->complete = true;
    UnlinkIfReleased(before);
    segment = SegmentOf(segment_);
  }
  const uint32_t size = segment_chunk_bytes_;
  uint64_t count =
      std::clamp<uint64_t>((bytes + size - 1) / size, 1, segment_chunk_count_ - segment->made);
  if (limited) count = std::min(count, room() / size);
  count = std::min<uint64_t>(count, spare_descriptors_ + kMaxDescriptors - 1 - descriptors_);
  if (count == 0) return false;

  char path[PATH_MAX];
  SegmentPath(segment_, path);
  const uint64_t offset = kSegmentHeaderBytes + uint64_t{segment->made} * size;
  char* memory = ExtendAndMap(path, offset, count * size);
  if (memory == nullptr && count > 1) {
    count = 1;
    memory = ExtendAndMap(path, offset, size);
  }
  if (memory == nullptr) return false;

  allocated_bytes_ += count * size;
  ROCHOUND_DCHECK(!limited || segment_ == 0 || allocated_bytes_ <= options_.max_bytes);
  const uint64_t faulted = bytes_per_second_ != 0 ? count
                           : segment_ == 0        ? std::min<uint64_t>(count, kFirstFaulted)
                                                  : 0;
  if (faulted != 0) Prefault(memory, faulted * size);
  for (uint64_t i = count; i-- > 0;) {  // the first one is taken first
    const uint32_t id = NewDescriptor();
    Chunk& chunk = chunks_[id];
    chunk.bytes = size;
    chunk.memory = memory + i * size;
    chunk.segment = segment_;
    chunk.number = segment->made + static_cast<uint32_t>(i);
    Ready(id);
  }
  segment->made = static_cast<uint16_t>(segment->made + count);
  ROCHOUND_DCHECK(segment->made <= segment_chunk_count_);
  return true;
}

bool Writer::OpenSegment() {
  uint32_t number = segments_made_;
  while (SegmentOf(number)->used) {
    if (++number - segments_made_ >= kMaxSegments) return false;
  }
  const bool first = number == 0;
  uint32_t chunk_bytes = options_.chunk_bytes;
  uint32_t chunk_count = options_.segment_chunks;
  if (first) {
    chunk_bytes = std::min(chunk_bytes, kFirstChunkBytes);
    chunk_count = kFirstChunks;
  }
  char path[PATH_MAX];
  SegmentPath(number, path);
  char* memory = ExtendAndMap(path, 0, kSegmentHeaderBytes);
  if (memory == nullptr) return false;
  auto* header = reinterpret_cast<SegmentHeader*>(memory);
  header->version = kLogVersion;
  header->header_bytes = kSegmentHeaderBytes;
  header->chunk_bytes = chunk_bytes;
  header->chunk_count = chunk_count;
  header->number = number;
  header->pid = static_cast<uint32_t>(getpid());
  header->created_tsc = ReadTsc();
  std::atomic_ref<uint64_t>(header->magic).store(kSegmentMagic, std::memory_order_release);
  if (first) {
    header_ = header;
  } else {
    munmap(memory, kSegmentHeaderBytes);
  }
  *SegmentOf(number) =
      Segment{.number = number, .made = 0, .released = 0, .used = true, .complete = false};
  segment_ = number;
  segments_made_ = number + 1;
  segment_chunk_bytes_ = chunk_bytes;
  segment_chunk_count_ = chunk_count;
  allocated_bytes_ += kSegmentHeaderBytes;
  return true;
}

Writer::Segment* Writer::SegmentOf(uint32_t number) { return &segments_[number % kMaxSegments]; }

void Writer::UnlinkIfReleased(uint32_t number) {
  Segment* segment = SegmentOf(number);
  ROCHOUND_DCHECK(segment->released <= segment->made);
  if (number == 0 || !segment->complete || segment->released != segment->made) return;
  char path[PATH_MAX];
  SegmentPath(number, path);
  if (unlink(path) == 0) allocated_bytes_ -= kSegmentHeaderBytes;
  segment->used = false;
}

uint32_t Writer::NewDescriptor() {
  uint32_t id = free_descriptors_;
  if (id != 0) {
    free_descriptors_ = chunks_[id].next.load(std::memory_order_relaxed);
    ROCHOUND_DCHECK(spare_descriptors_ != 0);
    --spare_descriptors_;
  } else {
    id = ++descriptors_;
  }
  ROCHOUND_DCHECK(id < kMaxDescriptors && chunks_[id].memory == nullptr);
  chunks_[id].lasting = false;
  return id;
}

void Writer::FreeDescriptor(uint32_t id) {
  ROCHOUND_DCHECK(id != 0 && id <= descriptors_);
  ROCHOUND_DCHECK(spare_descriptors_ < descriptors_);
  chunks_[id].memory = nullptr;
  chunks_[id].next.store(free_descriptors_, std::memory_order_relaxed);
  free_descriptors_ = id;
  ++spare_descriptors_;
}

void Writer::Ready(uint32_t id) {
  Chunk& chunk = chunks_[id];
  ROCHOUND_DCHECK(chunk.memory != nullptr && chunk.bytes > sizeof(ChunkHeader));
  chunk.cursor = chunk.memory + sizeof(ChunkHeader);
  ready_bytes_.fetch_add(chunk.bytes, std::memory_order_relaxed);
  ready_.Push(chunks_, id);
}

// Whether the oldest closed chunk may go: it is too old, or, when room is needed, in any case.
bool Writer::MayRecycle(uint64_t now, bool needed) const {
  if (first_kept_ == 0) return false;
  if (needed && options_.recycle) return true;
  return options_.keep_ns != 0 && now - chunks_[first_kept_].closed_ns > options_.keep_ns;
}

// Takes the oldest closed chunk: for new records, or back to the file system.
void Writer::Recycle(bool reuse) {
  const uint32_t id = first_kept_;
  ROCHOUND_DCHECK(id != 0 && last_kept_ != 0);
  Chunk& chunk = chunks_[id];
  first_kept_ = chunk.next.load(std::memory_order_relaxed);
  if (first_kept_ == 0) last_kept_ = 0;
  CountDropped(DropReason::kRecycled, KeepLasting(chunk));
  ChunkHeader* header = HeaderOf(chunk);
  std::atomic_ref<ChunkState>(header->state)
      .store(ChunkState::kRecycling, std::memory_order_release);
  if (!reuse) {
    Release(id);
    return;
  }
  std::atomic_thread_fence(std::memory_order_release);
  memset(chunk.memory + sizeof(ChunkHeader), 0, chunk.bytes - sizeof(ChunkHeader));
  memset(static_cast<void*>(header), 0, sizeof *header);
  Ready(id);
}

void Writer::Release(uint32_t id) {
  const Chunk& chunk = chunks_[id];
  char path[PATH_MAX];
  SegmentPath(chunk.segment, path);
  ROCHOUND_DCHECK(allocated_bytes_ >= chunk.bytes);
  if (PunchHole(path, OffsetOf(chunk), chunk.bytes)) allocated_bytes_ -= chunk.bytes;
  munmap(chunk.memory, chunk.bytes);
  const uint32_t number = chunk.segment;
  ROCHOUND_DCHECK(SegmentOf(number)->number == number);
  ++SegmentOf(number)->released;
  FreeDescriptor(id);
  UnlinkIfReleased(number);
}

namespace {

// When what a record tells happened; 0: it has no time stamp of the host.
uint64_t TimeOf(const Head& head, const char* record) {
  switch (head.kind) {
    case Kind::kApiCall:
      return reinterpret_cast<const ApiCall*>(record)->end_tsc;
    case Kind::kKernelDispatch:
      return reinterpret_cast<const KernelDispatch*>(record)->submit_tsc;
    case Kind::kCopy:
      return reinterpret_cast<const Copy*>(record)->submit_tsc;
    case Kind::kRange:
      return reinterpret_cast<const Range*>(record)->now_tsc;
    default:
      return 0;
  }
}

}  // namespace

// Copies what other records need, and returns how many of those that do not count as such there
// are.
uint64_t Writer::KeepLasting(const Chunk& chunk) {
  constexpr uint16_t kMaxAgents = 64;
  // First and last anchors of the chunk: of the host, then of each agent.
  const char* anchors[1 + kMaxAgents][2] = {};
  const auto anchor = [&](size_t clock, const char* place) {
    if (anchors[clock][0] == nullptr) anchors[clock][0] = place;
    anchors[clock][1] = place;
  };
  const char* state = nullptr;  // the last one: what the recorder did from then on
  uint64_t lost = 0;
  uint64_t latest = std::atomic_ref<uint64_t>(header_->recycled_tsc).load();
  const char* end = chunk.memory + chunk.bytes;
  for (const char* place = chunk.memory + sizeof(ChunkHeader);
       end - place >= static_cast<ptrdiff_t>(sizeof(ApiCall));) {
    Head head;
    memcpy(&head, place, sizeof head);
    if (head.kind == Kind::kEnd || head.units == 0) break;
    switch (head.kind) {
      case Kind::kQueue:
        CopyLasting<Queue>(place, kept_ids_);
        break;
      case Kind::kKernelSymbol:
        CopyLasting<KernelSymbol>(place, kept_ids_ + kMaxLastingIds / 8);
        break;
      case Kind::kHostAnchor:
        anchor(0, place);
        break;
      case Kind::kGpuAnchor:
        if (head.small < kMaxAgents) anchor(1 + head.small, place);
        break;
      case Kind::kStateChange:
        state = place;
        break;
      case Kind::kThreadHere:
      case Kind::kThreadEnd:
      case Kind::kDropped:
      case Kind::kSwap:
        // Of use only beside what goes with them; the sums are in the header, and swaps are written
        // again by the recorder.
        break;
      default:
        ++lost;
        latest = std::max(latest, TimeOf(head, place));
    }
    place += head.units * 32;
  }
  std::atomic_ref<uint64_t>(header_->recycled_tsc).store(latest, std::memory_order_relaxed);
  if (state != nullptr) CopyRecord<StateChange>(own_, state);
  for (size_t clock = 0; clock <= kMaxAgents; ++clock) {
    for (int i = 0; i < 2; ++i) {
      const char* place = anchors[clock][i];
      if (place == nullptr || (i == 1 && place == anchors[clock][0])) continue;
      clock == 0 ? CopyRecord<HostAnchor>(own_, place) : CopyRecord<GpuAnchor>(own_, place);
    }
  }
  return lost;
}

template <typename T>
bool Writer::CopyRecord(ThreadLog* log, const char* place) {
  T* record = log->Reserve<T>();
  if (record == nullptr) return false;
  Head head;
  memcpy(&head, place, sizeof head);
  memcpy(reinterpret_cast<char*>(record) + sizeof head, place + sizeof head,
         sizeof(T) - sizeof head);
  log->Commit(record, head.small, head.wide);
  return true;
}

// Once for each id: an agent may say the same thing again and again.
template <typename T>
void Writer::CopyLasting(const char* place, uint8_t* kept) {
  Head head;
  memcpy(&head, place, sizeof head);
  if (head.wide >= kMaxLastingIds) return;
  uint8_t& bits = kept[head.wide / 8];
  const auto bit = static_cast<uint8_t>(1u << head.wide % 8);
  if ((bits & bit) != 0 || !CopyRecord<T>(lasting_, place)) return;
  chunks_[lasting_->id_].lasting = true;
  bits |= bit;
}

// Close together at first, so that the log of a short life can be converted too.
void Writer::WriteAnchor(uint64_t now) {
  if (now < next_anchor_ns_) return;
  auto* anchor = own_->Reserve<HostAnchor>();
  if (anchor == nullptr) return;
  ReadHostClocks(anchor);
  own_->Commit(anchor);
  anchor_step_ns_ = std::clamp(anchor_step_ns_ * 10, kMillisecond, kSecond);
  next_anchor_ns_ = anchor->monotonic_ns + anchor_step_ns_;
}

void Writer::WriteDropped(uint64_t now) {
  for (uint16_t i = 0; i < kDropReasons; ++i) {
    const uint64_t total =
        std::atomic_ref<uint64_t>(header_->dropped[i]).load(std::memory_order_relaxed);
    if (total == reported_[i]) continue;
    if (i == static_cast<uint16_t>(DropReason::kRecycled)) {
      // That goes on all the time, and its records would fill the log.
      if (now < next_recycled_ns_) continue;
      next_recycled_ns_ = now + kSecond;
    }
    auto* dropped = own_->Reserve<Dropped>();
    if (dropped == nullptr) return;
    dropped->records = total - reported_[i];
    dropped->now_tsc = ReadTsc();
    dropped->reserved = 0;
    own_->Commit(dropped, i);
    reported_[i] = total;
  }
}

}  // namespace rochound::trace
