// SPDX-License-Identifier: MIT
//
// Messages that wait on disk until the bus has acknowledged them: one file each, named by its
// number. The daemon's thread adds, its publisher takes out; both own nothing else here. Numbers
// only grow. A message may be sent once the daemon's state that goes with it is on disk (Commit);
// files above that number are of a daemon that was killed in between, and are made again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/result.h"

namespace rochound::fleet {

class Spool {
 public:
  // Forgets files above `committed`. The folder is made if it is not there. May be called again.
  base::Result<void> Open(const std::filesystem::path& folder, uint64_t committed);

  base::Result<void> Add(uint64_t number, std::string_view message);
  void Commit(uint64_t number);

  // The oldest message that may be sent; nothing: there is none.
  struct Message {
    uint64_t number;
    std::string text;
  };
  std::optional<Message> Oldest();
  // Those that may be sent, oldest first, until `visit` says false.
  void ForEach(const std::function<bool(const Message&)>& visit) const;
  void Remove(uint64_t number);

  uint64_t bytes() const;
  size_t size() const;

 private:
  std::filesystem::path Path(uint64_t number) const ROCHOUND_EXCLUDES(mutex_);

  mutable base::Mutex mutex_;
  std::filesystem::path folder_ ROCHOUND_GUARDED_BY(mutex_);
  std::map<uint64_t, uint64_t> sizes_ ROCHOUND_GUARDED_BY(mutex_);  // by number
  uint64_t bytes_ ROCHOUND_GUARDED_BY(mutex_) = 0;
  uint64_t committed_ ROCHOUND_GUARDED_BY(mutex_) = 0;
};

}  // namespace rochound::fleet
