// SPDX-License-Identifier: MIT
//
// Reads a process's flight log while it is written: each call of Poll gives the records that were
// committed since the last one, each exactly once. The process need not answer; it may be stopped,
// stuck or dead. Used by the fleet's daemon, one thread per object. Its position is a list of
// cursors, which a later Follower can be given to go on from there.
//
// In flight-recorder mode chunks may be recycled before they are read: those are counted. Failure:
// a folder that is gone or is no log is an Error; damage inside a log is left out and counted. Who
// writes the log may mean harm: memory, and the work of one Poll, are bounded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "trace/chunk_reader.h"
#include "trace/open_file.h"
#include "trace/records.h"

namespace rochound::trace {

// How far a chunk has been read.
struct ChunkCursor {
  uint32_t segment = 0;  // as in the file's name
  uint32_t chunk = 0;    // in that segment
  uint32_t order = 0;
  uint32_t used = 0;    // bytes from the chunk's start
  bool closed = false;  // nothing more will be written to it
};

struct FollowerPosition {
  std::vector<ChunkCursor> cursors;
  // Orders from 1 to `seen` were read or given up, but for `missing`.
  uint32_t seen = 0;
  std::vector<uint32_t> missing;
};

class Follower {
 public:
  explicit Follower(std::filesystem::path folder, OpenFile open = base::OpenRegularFile)
      : folder_(std::move(folder)), open_(std::move(open)) {}

  // Before the first Poll.
  void Resume(const FollowerPosition& position);
  FollowerPosition Position() const;

  using Visit = std::function<void(const Head& head, const char* record)>;

  struct Progress {
    uint64_t records = 0;         // given to `visit`
    uint64_t lost_chunks = 0;     // recycled before they were read to their end
    uint64_t damaged_chunks = 0;  // also segments, and what is beyond the most that is followed
    bool more = false;            // it was too much for one Poll: the next one goes on
    bool finished = false;  // the recorder has ended in order; true only if all of it was read
  };
  base::Result<Progress> Poll(const Visit& visit);

  // That had not returned at the last Poll. By thread, outermost first.
  const std::vector<CallInFlight>& calls_in_flight() const { return calls_in_flight_; }

  const std::filesystem::path& folder() const { return folder_; }
  // Of segment 0, as it was at the last Poll.
  const SegmentHeader& header() const { return header_; }
  // Nothing: not known. Strings are written before the records that name them. Good until the next
  // call.
  std::optional<std::string_view> String(uint32_t id);

 private:
  using Place = std::pair<uint32_t, uint32_t>;  // segment's number, chunk

  // A chunk that may have something new.
  struct Fresh {
    uint32_t order;
    uint32_t segment;  // index of the SegmentFile
    Place key;
    bool closed;
  };

  base::Result<std::vector<SegmentFile>> ListSegments(Progress* progress);
  std::vector<Fresh> FindFresh(const std::vector<SegmentFile>& segments, ChunkReader& reader,
                               Progress* progress);
  void Give(const Fresh& chunk, const ChunkReader& reader, const Visit& visit, Progress* progress);
  void See(uint32_t order, Progress* progress);

  std::filesystem::path folder_;
  OpenFile open_;
  SegmentHeader header_{};
  std::map<Place, ChunkCursor> cursors_;
  bool first_ = true;
  uint32_t seen_ = 0;
  // Orders below `seen_` that no chunk had yet: taken while we looked, or recycled unread. The next
  // Poll tells.
  std::set<uint32_t> missing_;
  std::vector<CallInFlight> calls_in_flight_;
  std::map<uint32_t, std::string> strings_;  // that were asked for
  uint64_t string_bytes_ = 0;
};

}  // namespace rochound::trace
