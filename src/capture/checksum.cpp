// SPDX-License-Identifier: MIT
#include "capture/checksum.h"

// Everything inline and static: nothing is linked, and nothing clashes with a program's own xxHash.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rochound::capture {

struct RunningChecksum::State {
  XXH3_state_t xxh;
};

uint64_t Checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

RunningChecksum::RunningChecksum() : state_(std::make_unique<State>()) { Reset(); }
RunningChecksum::~RunningChecksum() = default;

void RunningChecksum::Reset() { XXH3_64bits_reset(&state_->xxh); }

void RunningChecksum::Add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(&state_->xxh, bytes.data(), bytes.size());
}

uint64_t RunningChecksum::Value() const { return XXH3_64bits_digest(&state_->xxh); }

}  // namespace rochound::capture
