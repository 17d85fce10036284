// SPDX-License-Identifier: MIT
//
// Bytes of the code objects that ran on this host, in the daemon's state folder, until an aggregator
// asks for them: it does so once per hash in the whole fleet. Bounded: the oldest go first. The
// daemon's thread keeps, the bus's threads answer. Failure: what cannot be kept is not there.
//
// A request is {"hash": H, "offset": N}; the answer is a line {"size": BYTES, "origin": URI} and up
// to kPiece bytes from there on. No answer: this host does not have it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/result.h"
#include "fleet/bus/bus.h"

namespace rochound::fleet {

class CodeStore {
 public:
  static constexpr size_t kPiece = 512 << 10;

  CodeStore(std::filesystem::path folder, uint64_t most_bytes)
      : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  bool Has(const std::string& hash) const;
  void Keep(const std::string& hash, std::string_view bytes, std::string_view origin);
  std::optional<std::string> Answer(std::string_view request) const;
  base::Result<void> Serve(Bus& bus, const std::string& tenant, const std::string& host);

 private:
  void Bound(uint64_t coming) ROCHOUND_REQUIRES(mutex_);

  const std::filesystem::path folder_;
  const uint64_t most_bytes_;
  mutable base::Mutex mutex_;
};

}  // namespace rochound::fleet
