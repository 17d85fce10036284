// SPDX-License-Identifier: MIT
#include "trace/follower.h"

#include <sys/stat.h>

#include <algorithm>
#include <system_error>

#include "base/files.h"

namespace rochound::trace {
namespace {

namespace fs = std::filesystem;

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

base::Result<void> Follower::ListSegments() {
  segments_.clear();
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    if (!it->path().filename().string().starts_with("segment-")) continue;
    auto segment = ChunkReader::OpenSegment(it->path(), open_);
    // One that is being made, or was removed since, has nothing for us.
    if (segment.ok() && segment.value() != nullptr) segments_.push_back(*segment.value());
  }
  if (error) return base::ErrnoError("cannot list", folder_, error.value());
  for (const SegmentFile& segment : segments_)
    if (segment.header.number == 0) header_ = segment.header;
  return {};
}

base::Result<Follower::Progress> Follower::Poll(const Visit& visit) {
  ROCHOUND_CHECK(ListSegments());
  Progress progress;
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
  ChunkReader reader(&segments_, open_);
  std::set<Place> there;
  struct Fresh {
    ChunkPlace place;
    Place key;
    bool closed;
  };
  std::vector<Fresh> fresh;
  for (uint32_t index = 0; index < segments_.size(); ++index) {
    const SegmentFile& file = segments_[index];
    const uint64_t made = std::min<uint64_t>(
        (file.bytes - kSegmentHeaderBytes + file.header.chunk_bytes - 1) / file.header.chunk_bytes,
        kMaxSegmentChunks);
    for (uint32_t number = 0; number < made; ++number) {
      ChunkHeader header;
      if (!reader.Peek(index, number, &header) || header.state == ChunkState::kUnused ||
          header.state == ChunkState::kRecycling)
        continue;
      const Place key{file.header.number, number};
      const auto known = cursors_.find(key);
      if (known != cursors_.end() && known->second.order == header.order) {
        there.insert(key);
        if (known->second.closed) continue;
      }
      ChunkPlace place;
      if (!reader.Find(index, number, &place)) {
        if (!reader.damage().empty()) ++progress.damaged_chunks;
        continue;
      }
      fresh.push_back({place, key, header.state == ChunkState::kClosed});
    }
  }
  std::sort(fresh.begin(), fresh.end(),
            [](const Fresh& a, const Fresh& b) { return a.place.order < b.place.order; });
  // Chunks that are gone: recycled, their records copied or counted by the recorder.
  std::erase_if(cursors_, [&](const auto& entry) {
    if (there.contains(entry.first)) return false;
    if (!entry.second.closed) ++progress.lost_chunks;
    return true;
  });
  if (first_) {
    first_ = false;
    // What was recycled before we came is not ours to miss.
    if (!fresh.empty()) seen_ = fresh.front().place.order - 1;
  }
  for (const Fresh& one : fresh) {
    if (!reader.Read(one.place)) continue;  // recycled just now: its order will be missing
    ChunkCursor& cursor = cursors_[one.key];
    if (cursor.order != one.place.order)
      cursor = {one.key.first, one.key.second, one.place.order, sizeof(ChunkHeader), false};
    uint32_t at = sizeof(ChunkHeader);
    reader.ForEach([&](const Head& head, const char* record) {
      const bool given = at < cursor.used;
      at += head.units * 32u;
      if (given) return;
      visit(head, record);
      ++progress.records;
    });
    if (!one.closed)
      for (const CallInFlight& call : reader.CallsInFlight()) calls_in_flight_.push_back(call);
    cursor.used = std::max(cursor.used, at);
    cursor.closed = one.closed;
    if (one.place.order > seen_) {
      for (uint32_t order = seen_ + 1; order < one.place.order; ++order)
        missing_.insert(missing_.end(), order);
      seen_ = one.place.order;
    }
    missing_.erase(one.place.order);
  }
  // Still missing: a chunk that is looked at early may be taken before a later one is.
  for (const uint32_t order : suspects) progress.lost_chunks += missing_.erase(order);
  progress.finished = finished;
  return progress;
}

std::optional<std::string_view> Follower::String(uint32_t id) {
  if (id == 0) return std::nullopt;
  if (const auto found = strings_.Find(id)) return found;
  struct stat status{};
  const fs::path path = folder_ / "strings";
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  strings_.Load(path, open_);
  return strings_.Find(id);
}

}  // namespace rochound::trace
