// SPDX-License-Identifier: MIT
#include "trace/follower.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "trace/strings_file.h"

namespace rochound::trace {
namespace {

namespace fs = std::filesystem;

// As many segments and chunks as a recorder can have.
constexpr size_t kMostSegments = 16 * 1024;
constexpr uint64_t kMostChunks = 256 * 1024;
constexpr uint64_t kMostBytes = uint64_t{1} << 30;  // in one Poll
constexpr uint32_t kMostMissing = 4096;
constexpr size_t kMostCalls = 16 * 1024;
constexpr uint64_t kMostStringBytes = uint64_t{16} << 20;  // of strings that are remembered

}  // namespace

void Follower::Resume(const FollowerPosition& position) {
  first_ = false;
  seen_ = position.seen;
  missing_.insert(position.missing.begin(), position.missing.end());
  for (const ChunkCursor& cursor : position.cursors)
    cursors_[{cursor.segment, cursor.chunk}] = cursor;
}

FollowerPosition Follower::Position() const {
  FollowerPosition position;
  position.seen = seen_;
  position.missing.assign(missing_.begin(), missing_.end());
  for (const auto& [place, cursor] : cursors_) position.cursors.push_back(cursor);
  return position;
}

base::Result<std::vector<SegmentFile>> Follower::ListSegments(Progress* progress) {
  std::vector<SegmentFile> segments;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    if (!name.starts_with("segment-")) continue;
    auto segment = ChunkReader::OpenSegment(it->path(), open_);
    // One that is being made, or was removed since, has nothing for us.
    std::error_code gone;
    if (segment.ok() ? segment.value() == nullptr : !fs::exists(it->path(), gone)) continue;
    // One file under many names would be read as often.
    if (!segment.ok() || name != fmt::format("segment-{:06}", segment.value()->header.number) ||
        segments.size() >= kMostSegments) {
      if (++progress->damaged_chunks > kMostSegments) break;
      continue;
    }
    segments.push_back(*segment.value());
  }
  if (error) return base::ErrnoError("cannot list", folder_, error.value());
  for (const SegmentFile& segment : segments)
    if (segment.header.number == 0) header_ = segment.header;
  return segments;
}

// In the order in which they were taken. Cursors of chunks that are gone are forgotten.
std::vector<Follower::Fresh> Follower::FindFresh(const std::vector<SegmentFile>& segments,
                                                 ChunkReader& reader, Progress* progress) {
  std::set<Place> there;
  std::vector<Fresh> fresh;
  uint64_t left = kMostChunks;
  for (uint32_t index = 0; index < segments.size(); ++index) {
    const SegmentFile& file = segments[index];
    const uint64_t made = std::min<uint64_t>(
        (file.bytes - kSegmentHeaderBytes + file.header.chunk_bytes - 1) / file.header.chunk_bytes,
        kMaxSegmentChunks);
    if (made > left) progress->damaged_chunks += made - left;
    for (uint32_t number = 0; number < std::min(made, left); ++number) {
      ChunkHeader header;
      if (!reader.Peek(index, number, &header) || header.state == ChunkState::kUnused ||
          header.state == ChunkState::kRecycling)
        continue;
      const bool closed = header.state == ChunkState::kClosed;
      if (header.magic == 0) continue;  // it is just being taken
      if (header.magic != kChunkMagic || (!closed && header.state != ChunkState::kWriting)) {
        ++progress->damaged_chunks;
        continue;
      }
      const Place key{file.header.number, number};
      const auto known = cursors_.find(key);
      if (known != cursors_.end() && known->second.order == header.order) {
        there.insert(key);
        if (known->second.closed) continue;
      }
      fresh.push_back({header.order, index, key, closed});
    }
    left -= std::min(made, left);
  }
  // Chunks that are gone: recycled, their records copied or counted by the recorder.
  std::erase_if(cursors_, [&](const auto& entry) {
    if (there.contains(entry.first)) return false;
    if (!entry.second.closed) ++progress->lost_chunks;
    return true;
  });
  std::sort(fresh.begin(), fresh.end(),
            [](const Fresh& a, const Fresh& b) { return a.order < b.order; });
  return fresh;
}

// What is new in the chunk that `reader` has copied.
void Follower::Give(const Fresh& chunk, const ChunkReader& reader, const Visit& visit,
                    Progress* progress) {
  ChunkCursor& cursor = cursors_[chunk.key];
  if (cursor.order != chunk.order)
    cursor = {chunk.key.first, chunk.key.second, chunk.order, sizeof(ChunkHeader), false};
  uint32_t at = sizeof(ChunkHeader);
  reader.ForEach([&](const Head& head, const char* record) {
    const bool given = at < cursor.used;
    at += head.units * 32u;
    if (given) return;
    visit(head, record);
    ++progress->records;
  });
  if (!chunk.closed && calls_in_flight_.size() < kMostCalls)
    for (const CallInFlight& call : reader.CallsInFlight()) calls_in_flight_.push_back(call);
  cursor.used = std::max(cursor.used, at);
  cursor.closed = chunk.closed;
}

// Of a gap only the last orders are remembered: that many chunks are not taken while we look.
void Follower::See(uint32_t order, Progress* progress) {
  if (order > seen_) {
    const uint32_t gap = order - seen_ - 1;
    const uint32_t kept = std::min(gap, kMostMissing);
    progress->lost_chunks += gap - kept;
    for (uint32_t missing = order - kept; missing < order; ++missing)
      missing_.insert(missing_.end(), missing);
    for (; missing_.size() > kMostMissing; ++progress->lost_chunks)
      missing_.erase(missing_.begin());
    seen_ = order;
  }
  missing_.erase(order);
}

base::Result<Follower::Progress> Follower::Poll(const Visit& visit) {
  Progress progress;
  ROCHOUND_TRY(const std::vector<SegmentFile> segments, ListSegments(&progress));
  // What was missing when all chunks had been looked at, below a chunk that was closed then.
  std::vector<uint32_t> suspects;
  uint32_t closed = 0;
  for (const auto& [place, cursor] : cursors_)
    if (cursor.closed) closed = std::max(closed, cursor.order);
  for (const uint32_t order : missing_)
    if (order < closed) suspects.push_back(order);
  // Read before the chunks: whatever was written before it is seen below.
  const bool finished = header_.finished_tsc != 0;
  calls_in_flight_.clear();
  ChunkReader reader(&segments, open_);
  for (const Fresh& one : FindFresh(segments, reader, &progress)) {
    progress.more = reader.bytes_read() >= kMostBytes;
    if (progress.more) break;
    ChunkPlace place;
    if (!reader.Find(one.segment, one.key.second, &place)) {
      // A segment whose chunks were all recycled is removed.
      std::error_code gone;
      if (!reader.damage().empty() && fs::exists(segments[one.segment].path, gone))
        ++progress.damaged_chunks;
      continue;
    }
    if (place.order != one.order) continue;  // recycled just now: its order will be missing
    // What was recycled before we came is not ours to miss.
    if (first_) seen_ = one.order - 1;
    first_ = false;
    Give(one, reader, visit, &progress);
    See(one.order, &progress);
  }
  // Still missing: a chunk that is looked at early may be taken before a later one is.
  if (!progress.more)
    for (const uint32_t order : suspects) progress.lost_chunks += missing_.erase(order);
  progress.finished = finished && !progress.more;
  return progress;
}

std::optional<std::string_view> Follower::String(uint32_t id) {
  if (id == 0) return std::nullopt;
  if (const auto found = strings_.find(id); found != strings_.end()) return found->second;
  auto text = ReadString(folder_ / "strings", open_, id);
  if (!text) return std::nullopt;
  string_bytes_ += text->size();
  if (string_bytes_ > kMostStringBytes) {
    strings_.clear();
    string_bytes_ = text->size();
  }
  return strings_[id] = std::move(*text);
}

}  // namespace rochound::trace
