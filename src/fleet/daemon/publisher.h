// SPDX-License-Identifier: MIT
//
// Brings spooled messages to the bus, oldest first, on a thread of its own: a message leaves the
// spool when it was acknowledged, and is resent with growing pauses until then. The id that it
// carries lets the bus and the lake see that it is the same one. Beats go out beside, unspooled.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "fleet/bus/bus.h"
#include "fleet/daemon/spool.h"

namespace rochound::fleet {

class Publisher {
 public:
  struct Options {
    std::string tenant, host, epoch;
    int replicas = 1;
  };
  // Both outlive the publisher.
  Publisher(Bus* bus, Spool* spool, Options options);
  ~Publisher();

  void Wake();
  // Waits until the spool is empty, or time is up.
  void Drain(std::chrono::milliseconds patience);

  uint64_t acknowledged() const { return acknowledged_; }
  uint64_t duplicates() const { return duplicates_; }
  uint64_t failures() const { return failures_; }

 private:
  void Run();
  bool SendOne(const Spool::Message& message);

  Bus* const bus_;
  Spool* const spool_;
  const Options options_;
  base::Mutex mutex_;
  base::Condition changed_;
  bool stop_ ROCHOUND_GUARDED_BY(mutex_) = false;
  bool woken_ ROCHOUND_GUARDED_BY(mutex_) = false;
  std::atomic<uint64_t> acknowledged_{0}, duplicates_{0}, failures_{0};
  std::thread thread_;
};

}  // namespace rochound::fleet
