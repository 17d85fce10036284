// SPDX-License-Identifier: MIT
#include "capture/replay/read_ahead.h"

#include <algorithm>

#include "base/check.h"
#include "base/mutex.h"

namespace rochound::capture::replay {
namespace {

constexpr size_t kFewChunks = 4;
constexpr size_t kThreads = 8;

}  // namespace

ReadAhead::ReadAhead(const Bundle& bundle, Phase phase, std::vector<Chunk> chunks)
    : bundle_(bundle), phase_(phase), chunks_(std::move(chunks)) {
  const size_t threads = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kThreads);
  if (chunks_.size() <= kFewChunks || threads == 1) {
    slots_.resize(1);
    return;
  }
  slots_.resize(std::min(2 * threads, chunks_.size()));
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

ReadAhead::~ReadAhead() {
  {
    const base::Lock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

base::Result<void> ReadAhead::Read(const Chunk& chunk, std::vector<std::byte>* bytes) const {
  bytes->resize(chunk.size);
  return phase_ == Phase::kBefore ? bundle_.ReadBefore(chunk.region, chunk.offset, *bytes)
                                  : bundle_.ReadAfter(chunk.region, chunk.offset, *bytes);
}

void ReadAhead::Work() {
  base::UniqueLock lock(mutex_);
  for (;;) {
    // The slot of the chunk that was given last is still looked at.
    while (!stop_ && claimed_ != chunks_.size() &&
           claimed_ + 1 >= std::max<size_t>(given_, 1) + slots_.size())
      changed_.Wait(mutex_);
    if (stop_ || claimed_ == chunks_.size()) return;
    const size_t chunk = claimed_++;
    ROCHOUND_DCHECK(chunk < chunks_.size());
    Slot& slot = slots_[chunk % slots_.size()];
    slot.ready = false;
    lock.unlock();
    auto result = Read(chunks_[chunk], &slot.bytes);
    lock.lock();
    slot.result = std::move(result);
    slot.ready = true;
    changed_.notify_all();
  }
}

base::Result<std::span<std::byte>> ReadAhead::Next() {
  const base::Lock lock(mutex_);
  const size_t chunk = given_++;
  ROCHOUND_DCHECK(chunk < chunks_.size());
  if (threads_.empty()) {
    ROCHOUND_CHECK(Read(chunks_[chunk], &slots_[0].bytes));
    return std::span<std::byte>(slots_[0].bytes);
  }
  changed_.notify_all();
  Slot& slot = slots_[chunk % slots_.size()];
  while (claimed_ <= chunk || !slot.ready) changed_.Wait(mutex_);
  ROCHOUND_CHECK(slot.result);
  return std::span<std::byte>(slot.bytes);
}

}  // namespace rochound::capture::replay
