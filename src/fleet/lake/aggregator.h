// SPDX-License-Identifier: MIT
//
// Brings one stream of sketches into the lake. It keeps nothing of its own: its position is what
// the lake's files say, so it may be killed at any instant and started again anywhere. A message
// that came twice (same host, epoch and place in the shard) is stored once; places that are missing
// become a row that says so. One aggregator per stream at a time; one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/bus/bus.h"
#include "fleet/lake/lake.h"

namespace rochound::fleet {

class Aggregator {
 public:
  struct Options {
    std::string tenant = "default";
    uint32_t shard = 0;
    int replicas = 1;
    size_t most_messages = 5000;               // in one file
    std::chrono::milliseconds longest{60000};  // that a message waits for others
  };
  // Both outlive it.
  Aggregator(Bus* bus, Lake* lake, Options options)
      : bus_(bus), lake_(lake), options_(std::move(options)) {}

  // Finds out where to go on. Must have succeeded before Step.
  base::Result<void> Start();
  // Takes what the stream has; writes a file when enough has come or `flush`. True: there may be
  // more right now.
  base::Result<bool> Step(bool flush);

  // Is told of each row of a kernel whose code object is known: host, hash.
  using CodeSeen = std::function<void(const std::string&, const std::string&)>;
  void set_code_seen(CodeSeen seen) { code_seen_ = std::move(seen); }

  // Is told of all rows of a file that is in the lake.
  using Stored = std::function<void(const std::vector<nlohmann::json>&)>;
  void set_stored(Stored stored) { on_stored_ = std::move(stored); }

  uint64_t stored() const { return stored_; }          // messages
  uint64_t duplicates() const { return duplicates_; }  // messages
  uint64_t refused() const { return refused_; }        // messages
  size_t waiting() const { return messages_; }         // taken, not written

 private:
  base::Result<void> Write();
  void Take(const StoredMessage& message);
  void AddLoss(const StoredMessage& message, const char* what, uint64_t count);

  Bus* const bus_;
  Lake* const lake_;
  const Options options_;
  StreamOptions stream_;
  uint64_t created_ = 0;
  uint64_t next_ = 1;
  Lake::Numbers numbers_;
  CodeSeen code_seen_;
  Stored on_stored_;

  std::vector<nlohmann::json> rows_;  // of the file that is being collected
  size_t messages_ = 0;
  Stretch stretch_;
  std::chrono::steady_clock::time_point since_;
  uint64_t stored_ = 0;
  uint64_t duplicates_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace rochound::fleet
