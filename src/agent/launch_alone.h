// SPDX-License-Identifier: MIT
//
// Runs one launch with nothing else in flight on its GPU, so that memory can be looked at before
// and after. On the thread that rang the doorbell, which holds its queue's lock; for that time the
// doorbells of the GPU's other queues wait. Never for long: what does not become quiet, or does
// not end, is left alone, and the program goes on.
//
//   the packet:    not valid until its time: a GPU may look past its doorbell
//   this queue:    earlier packets finish. The lock is released meanwhile: the thread that has to
//                  write one of them may be waiting for it
//   other queues:  locked; running kernels finish. One that is at a barrier waits for
//                  something, perhaps for this launch, and counts as quiet. So does, after a
//                  second, one that is at a packet that was rung for and is not written
//   copies:        finish, or stand noted
//   before()       memory is read; done again if another queue moved meanwhile
//   the launch:    with a completion signal of ours; the program's fires only after
//   after()        memory is read again; or unfinished(), if the GPU fails, or after a minute
#pragma once

#include <hsa/hsa.h>

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>

#include "agent/queue.h"

namespace rochound::agent {

// Notes a dispatch in the log. Refers to a function that outlives it and allocates nothing: it is
// made on the program's thread, where nothing of ours may throw.
class LaunchNote {
 public:
  LaunchNote() = default;
  template <typename Function>
    requires(!std::is_same_v<std::remove_cvref_t<Function>, LaunchNote>)
  LaunchNote(Function&& function)  // NOLINT: implicit by design
      : function_(&function), call_([](const void* what, uint16_t header) {
          (*static_cast<const std::remove_reference_t<Function>*>(what))(header);
        }) {}
  void operator()(uint16_t header) const { call_(function_, header); }

 private:
  const void* function_ = nullptr;
  void (*call_)(const void*, uint16_t) = nullptr;
};

// Why a launch could not be held.
inline constexpr const char* kTakenEarly =
    "the GPU had begun it before its doorbell was rung; run the program again";

struct LaunchWatch {
  // Memory as the launch will find it. False: leave it. May be called again.
  std::function<bool()> before;
  // The packet is as the GPU will see it, but for its header; for whoever notes dispatches.
  LaunchNote noted;
  // The launch is over and took so long (0: not known).
  std::function<void(uint64_t nanoseconds)> after;
  // Or it has not ended, and nobody waits for it any more.
  std::function<void(const char* why)> unfinished;
  // Something a reader of the capture has to know.
  std::function<void(std::string)> remark;
};

struct LaunchOutcome {
  bool launched = false;  // the packet was handed to the GPU; otherwise it still has to be
  std::string problem;    // empty: before and after were both called
  bool passed = false;    // another thread has dealt with the packet: it is not ours to note
};

// A packet that the program made valid and that the GPU must not take yet: not valid as long as
// this lives, unless it was handed over.
class HeldPacket {
 public:
  explicit HeldPacket(hsa_kernel_dispatch_packet_t* packet);
  ~HeldPacket() { HandOver(); }
  HeldPacket(const HeldPacket&) = delete;
  HeldPacket& operator=(const HeldPacket&) = delete;

  // False: the GPU was faster.
  bool held() const;
  // As the program wrote it.
  hsa_kernel_dispatch_packet_t Contents() const;
  hsa_kernel_dispatch_packet_t* packet() const { return packet_; }
  void HandOver();
  bool over() const { return over_; }  // handed over, or forgotten
  // The GPU has it, or had: its slot is no longer ours to write to.
  void Forget() { over_ = true; }

 private:
  hsa_kernel_dispatch_packet_t* packet_;
  uint16_t header_;
  bool over_ = false;
};

// The packet at index `at`, everything before it having been rung for.
LaunchOutcome LaunchAlone(Queue& queue, uint64_t at, HeldPacket& held, hsa_signal_t doorbell,
                          StoreFunction store, const LaunchWatch& watch)
    ROCHOUND_REQUIRES(queue.submitting);

// In a handler that has interrupted this thread, which may be holding a launch and will not go on if
// the handler calls exit: what waits for that launch must not wait for ever.
void LeaveInterruptedLaunch();

// The drain thread: completes the program's signals of launches that took longer than we waited.
bool ServeLateLaunches();

// In a forked child: what another thread of the parent held or was changing is made anew.
void ForgetLateLaunchesAfterFork();

}  // namespace rochound::agent
