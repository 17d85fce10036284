// SPDX-License-Identifier: MIT
//
// The strings file of a process, and the table that finds a string's id in it. A part of the
// writer, with its rules: any thread, no exceptions, no allocator. A string that is known is found
// without a lock; a new one takes the lock, and now and then a system call to extend the file.
// Failure: id 0. Never freed.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/mutex.h"
#include "trace/layout.h"

namespace rochound::trace {

class StringTable {
 public:
  static constexpr uint32_t kPieceBytes = 256 * 1024;
  static constexpr uint32_t kMaxPieces = 4096;

  // Makes the file. `path` must live as long as the table.
  bool Open(const char* path, uint64_t max_bytes);

  uint32_t Intern(std::string_view text);

  // Whether the file system has room for what is added next (CanWrite).
  bool HasRoom();
  // What is added from now on stays in memory.
  void LeaveFile();

 private:
  struct Index {
    Index* before;  // smaller tables, still being read by somebody perhaps
    uint32_t mask;
    std::atomic<uint64_t> entries[1];  // hash << 32 | id; more of them follow
  };

  static Index* MakeIndex(uint32_t entries);
  static uint32_t Hash(std::string_view text);
  std::string_view TextOf(uint32_t id) const;
  uint32_t Find(const Index* index, uint32_t hash, std::string_view text) const;
  static void Insert(Index* index, uint64_t entry);
  uint32_t Append(std::string_view text) ROCHOUND_REQUIRES(mutex_);
  bool NextPiece() ROCHOUND_REQUIRES(mutex_);

  const char* path_ = nullptr;
  base::Mutex mutex_;
  uint64_t max_bytes_ ROCHOUND_GUARDED_BY(mutex_) = 0;
  std::atomic<Index*> index_{nullptr};
  uint32_t used_ ROCHOUND_GUARDED_BY(mutex_) = 0;
  uint64_t end_ ROCHOUND_GUARDED_BY(mutex_) = 0;        // offset of the next entry in the file
  uint64_t allocated_ ROCHOUND_GUARDED_BY(mutex_) = 0;  // the file's size, in whole pieces
  std::atomic<char*> pieces_[kMaxPieces] = {};
};

}  // namespace rochound::trace
