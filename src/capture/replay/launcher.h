// SPDX-License-Identifier: MIT
//
// Loads kernels with the runtime's own loader and launches them, one at a time, on a queue of its
// own. Used on the main thread. A launch that faults or does not end leaves the GPU's queue
// unusable: the caller says what it knows and ends the process.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "capture/replay/runtime.h"

namespace rochound::capture::replay {

struct LoadedKernel {
  uint64_t object = 0;  // address of the descriptor
  uint32_t group_bytes = 0, private_bytes = 0, kernarg_bytes = 0;
  bool dynamic_stack = false;
  // Where its image is: loaded address = ELF address + delta.
  uint64_t base = 0, size = 0, delta = 0;
};

struct Packet {
  uint16_t setup = 0;
  std::array<uint32_t, 3> grid{}, workgroup{};
  uint32_t group_bytes = 0, private_bytes = 0;
  uint64_t object = 0, kernarg = 0;
};

struct LaunchResult {
  enum class State : uint8_t { kDone, kFault, kTimeout };
  State state = State::kDone;
  double gpu_ns = 0, wall_ns = 0;
  Fault fault;
};

class Launcher {
 public:
  static base::Result<std::unique_ptr<Launcher>> Create(const Gpu& gpu, double timeout_seconds);

  // symbol: of the descriptor, with .kd. The bytes are copied by the runtime; they must stay until
  // the process ends all the same, since debuggers look at them. variables: name and address of
  // those that it leaves to others.
  base::Result<LoadedKernel> Load(
      std::span<const std::byte> code_object, const std::string& symbol,
      const std::vector<std::pair<std::string, uint64_t>>& variables = {});

  // Makes the queue. It gets scratch when a kernel first needs it, as HIP's queues do.
  // cooperative: the one that may use GWS (capture/gws.h).
  base::Result<void> MakeQueue(bool cooperative = false);
  uint64_t queue_address() const;  // of what hidden_queue_ptr points to
  // What kernels may read of the queue: that, and its packets.
  std::pair<Range, Range> queue_memory() const;

  LaunchResult Launch(const Packet& packet);
  double timeout_seconds() const { return timeout_seconds_; }
  void set_timeout(double seconds) { timeout_seconds_ = seconds; }

 private:
  Launcher(const Gpu& gpu, double timeout_seconds) : gpu_(gpu), timeout_seconds_(timeout_seconds) {}

  Gpu gpu_;
  double timeout_seconds_;
  hsa_queue_t* queue_ = nullptr;
  hsa_signal_t done_{};
  double tick_ns_ = 1;
};

}  // namespace rochound::capture::replay
