// SPDX-License-Identifier: MIT
#include "agent/launch_alone.h"

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "agent/copies.h"
#include "agent/runtime.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace rochound::agent {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kDrainPatience = 10 * kSecond;
constexpr uint64_t kCopyPatience = 1 * kSecond;
constexpr uint64_t kUnseenPatience = 1 * kSecond;
constexpr uint64_t kUnwrittenPatience = 1 * kSecond;
constexpr uint64_t kLaunchPatience = 60 * kSecond;
constexpr uint64_t kRequestPatience = kSecond / 500;
constexpr int kTries = 3;

constexpr char kFailedBefore[] = "the GPU failed before it was launched";

uint64_t Now() { return base::ClockNs(CLOCK_MONOTONIC); }

template <typename Condition>
bool WaitUntil(uint64_t deadline, Condition condition) {
  while (!condition()) {
    if (Now() >= deadline) return false;
    usleep(100);
  }
  return true;
}

uint64_t ReadIndex(const Queue& queue) {
  return Real().core.hsa_queue_load_read_index_scacquire_fn(queue.queue);
}

// The GPU asks the runtime for scratch memory, for the packet at the read index.
bool AsksForScratch(const Queue& queue) {
  // The queue that the program sees is the first member of this.
  const auto* structure = reinterpret_cast<const amd_queue_t*>(queue.queue);
  const auto* request =
      reinterpret_cast<const amd_signal_t*>(structure->queue_inactive_signal.handle);
  return request != nullptr && __atomic_load_n(&request->value, __ATOMIC_ACQUIRE) != 0;
}

// Whether the GPU took a held packet before its doorbell. Once it has, this stays so.
class TakenEarly {
 public:
  TakenEarly(const Queue& queue, uint64_t at, HeldPacket& held)
      : queue_(queue), at_(at), held_(held) {}

  bool operator()() {
    if (held_.over()) return true;
    const uint64_t read = ReadIndex(queue_);
    if (read > at_) {
      held_.Forget();
    } else if (read == at_ && AsksForScratch(queue_)) {
      // The runtime is about to read the packet, and a build with assertions ends the program if it
      // is not valid.
      held_.HandOver();
    }
    return held_.over();
  }

  // The GPU may have read the packet just before it was held. A request for scratch memory must be
  // seen before the runtime's thread wakes up, so this does not sleep.
  bool OrSoon() {
    if (held_.packet()->private_segment_size == 0) return (*this)();
    const uint64_t end = Now() + kRequestPatience;
    while (!(*this)())
      if (Now() >= end) return false;
    return true;
  }

 private:
  const Queue& queue_;
  const uint64_t at_;
  HeldPacket& held_;
};

// Kernels that have not been seen to end. The end of one that the GPU took before we could lend it
// a signal is seen only when something after it has ended.
struct Waiting {
  bool with_signal = false;
  bool unseen = false;
};

Waiting WhatWaits(Queue& queue) {
  Waiting waiting;
  if (HarvestQueue(queue, Harvest::kAll) == 0) return waiting;
  for (uint64_t at = queue.pending_head; at != queue.pending_tail; ++at) {
    const Pending& one = queue.pending[at & queue.pending_mask];
    if (one.phase.load(std::memory_order_acquire) != Pending::kWaiting) continue;
    (one.ours && one.signal == 0 ? waiting.unseen : waiting.with_signal) = true;
  }
  return waiting;
}

bool Drained(Queue& queue, uint64_t up_to) {
  return ReadIndex(queue) >= up_to && !WhatWaits(queue).with_signal;
}

// The packet that the GPU stops at. Kernels before it are over; those after it have not begun.
enum class StandsAt {
  kNothing,
  kBarrier,    // waits, or the GPU is about to step over it
  kUnwritten,  // its producer rang for a later one; or a kernel that we do not record runs
};

StandsAt WhereItStands(Queue& queue) {
  const uint64_t read = ReadIndex(queue);
  const uint16_t header = __atomic_load_n(&queue.Packet(read)->header, __ATOMIC_ACQUIRE);
  const uint16_t type = header >> HSA_PACKET_HEADER_TYPE & 0xff;
  const bool barrier = type == HSA_PACKET_TYPE_BARRIER_AND || type == HSA_PACKET_TYPE_BARRIER_OR;
  if (!barrier && type != HSA_PACKET_TYPE_INVALID) return StandsAt::kNothing;
  HarvestQueue(queue, Harvest::kAll);
  for (uint64_t at = queue.pending_head; at != queue.pending_tail; ++at) {
    const Pending& one = queue.pending[at & queue.pending_mask];
    const bool unseen = one.ours && one.signal == 0;
    // A kernel that runs has no valid packet any more, and the read index may still point at it.
    if (one.phase.load(std::memory_order_acquire) == Pending::kWaiting && !unseen &&
        PacketIndex(one) <= read)
      return StandsAt::kNothing;
  }
  return barrier ? StandsAt::kBarrier : StandsAt::kUnwritten;
}

bool Quiet(Queue& queue, bool unwritten_is_quiet) ROCHOUND_REQUIRES(queue.submitting) {
  if (queue.doorbell == 0 || Drained(queue, queue.rung)) return true;
  const StandsAt place = WhereItStands(queue);
  return place == StandsAt::kBarrier || (unwritten_is_quiet && place == StandsAt::kUnwritten);
}

// The other queues of one GPU, their doorbells held: which ones is known at run time only.
class OtherQueues {
 public:
  // By way of the other constructor, so that the queues are released if there is no memory for the
  // next one.
  explicit OtherQueues(const Queue& mine) : OtherQueues() {
    ForEachQueue([&](Queue& queue) ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
      if (&queue == &mine || queue.agent != mine.agent || queue.doorbell == 0) return;
      held_.reserve(held_.size() + 1);
      queue.submitting.lock();
      held_.push_back(&queue);
    });
  }
  ~OtherQueues() { Release(); }
  OtherQueues(const OtherQueues&) = delete;
  OtherQueues& operator=(const OtherQueues&) = delete;

  void Release() ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
    for (Queue* queue : held_) queue->submitting.unlock();
    held_.clear();
  }
  bool AllQuiet(bool unwritten_is_quiet) const {
    for (Queue* queue : held_) {
      queue->submitting.AssertHeld();
      if (!Quiet(*queue, unwritten_is_quiet)) return false;
    }
    return true;
  }
  bool AnyUnseen() const {
    for (Queue* queue : held_)
      if (queue->doorbell != 0 && WhatWaits(*queue).unseen) return true;
    return false;
  }
  std::vector<uint64_t> Marks() const {
    std::vector<uint64_t> marks;
    for (const Queue* queue : held_) marks.push_back(queue->doorbell != 0 ? ReadIndex(*queue) : 0);
    return marks;
  }

 private:
  OtherQueues() = default;

  std::vector<Queue*> held_;
};

struct Late {
  hsa_signal_t ours;
  hsa_signal_t theirs;
};
constinit base::Mutex late_lock;

std::vector<Late>& LateLaunches() ROCHOUND_REQUIRES(late_lock) {
  static auto* const late = new std::vector<Late>;
  return *late;
}

// The program's signal gets what the GPU would have given it.
void Complete(const Late& launch) {
  BeforeSignalChanges(launch.ours);
  if (launch.theirs.handle != 0) {
    const auto* from = reinterpret_cast<const amd_signal_t*>(launch.ours.handle);
    auto* to = reinterpret_cast<amd_signal_t*>(launch.theirs.handle);
    to->start_ts = from->start_ts;
    to->end_ts = from->end_ts;
    Real().core.hsa_signal_subtract_screlease_fn(launch.theirs, 1);
  }
  Real().core.hsa_signal_destroy_fn(launch.ours);
}

// The launch that this thread holds, or waits for.
class Mine;
constinit thread_local Mine* mine_now = nullptr;

class Mine {
 public:
  Mine(Queue& queue, uint64_t at, HeldPacket& held, hsa_signal_t doorbell, StoreFunction store)
      : queue_(queue), at_(at), held_(held), doorbell_(doorbell), store_(store) {
    ROCHOUND_DCHECK(mine_now == nullptr);  // one launch at a time
    mine_now = this;
  }
  ~Mine() { mine_now = nullptr; }
  Mine(const Mine&) = delete;
  Mine& operator=(const Mine&) = delete;

  // The GPU has it, with our signal.
  void Launched(const Late& launch) { launch_ = launch; }
  // What has to be done when it is over is done here. False: a handler has seen to it.
  bool Finish() { return std::exchange(mine_now, nullptr) != nullptr; }

  // Nobody waits for it here any more: the GPU gets the packet, or the drain thread the rest.
  void Leave() ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
    if (!Finish()) return;
    if (launch_.ours.handle != 0) {
      const base::Lock lock(late_lock);
      LateLaunches().push_back(launch_);
      return;
    }
    // Between two looks at its own queue this thread does not hold the lock, and others may ring.
    const bool locked = !queue_.submitting.held_here() && queue_.submitting.lock_soon();
    held_.HandOver();
    queue_.rung = std::max(queue_.rung, at_ + 1);
    store_(doorbell_, static_cast<hsa_signal_value_t>(queue_.rung - 1));
    if (locked) queue_.submitting.unlock();
  }

 private:
  Queue& queue_;
  const uint64_t at_;
  HeldPacket& held_;
  const hsa_signal_t doorbell_;
  const StoreFunction store_;
  Late launch_{};
};

// The slot in the ring is the program's again. One that fills its ring once and later writes only
// headers would launch with a signal that is gone; another may be writing its next packet there.
void TakeBackSignal(hsa_kernel_dispatch_packet_t* packet, const Late& launch) {
  uint64_t expected = launch.ours.handle;
  __atomic_compare_exchange_n(&packet->completion_signal.handle, &expected, launch.theirs.handle,
                              false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

bool Over(hsa_signal_t ours) { return Real().core.hsa_signal_load_scacquire_fn(ours) < 1; }

uint64_t Duration(uint16_t agent, hsa_signal_t signal) {
  hsa_amd_profiling_dispatch_time_t time{};
  uint64_t frequency = 0;
  Real().core.hsa_system_get_info_fn(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency);
  if (frequency == 0 || Real().amd.hsa_amd_profiling_get_dispatch_time_fn(
                            AgentHandle(agent), signal, &time) != HSA_STATUS_SUCCESS)
    return 0;
  return static_cast<uint64_t>(static_cast<double>(time.end - time.start) * 1e9 /
                               static_cast<double>(frequency));
}

// Memory is read while nothing moves; false: `problem` says why not.
bool Look(Queue& mine, OtherQueues& others, TakenEarly& taken, const LaunchWatch& watch,
          std::string* problem) {
  const uint64_t begin = Now();
  bool unwritten_is_quiet = false;
  const auto quiet = [&] {
    // The thread that has to write it may be waiting for the lock that we hold.
    if (!unwritten_is_quiet && Now() > begin + kUnwrittenPatience && others.AllQuiet(true)) {
      unwritten_is_quiet = true;
      watch.remark("another queue of this GPU was at a packet that was not written yet");
    }
    return others.AllQuiet(unwritten_is_quiet);
  };
  for (int attempt = 1;; ++attempt) {
    if (!WaitUntil(begin + kDrainPatience, [&] { return taken() || mine.failed || quiet(); })) {
      *problem = "work on other queues of this GPU did not finish within 10 s";
      return false;
    }
    if (taken()) return false;
    if (mine.failed) {
      *problem = kFailedBefore;
      return false;
    }
    if (attempt == 1 && !WaitUntil(Now() + kUnseenPatience,
                                   [&] { return !WhatWaits(mine).unseen && !others.AnyUnseen(); }))
      watch.remark("a kernel that the GPU took early may have been in flight");
    if (!WaitUntil(Now() + kCopyPatience, [] { return HarvestCopies() == 0; }))
      watch.remark("copies were in flight while memory was read");
    const std::vector<uint64_t> marks = others.Marks();
    if (!watch.before()) {
      *problem = "memory could not be kept";
      return false;
    }
    if (others.Marks() == marks && quiet()) return true;
    if (attempt == kTries) {
      watch.remark("other queues of this GPU were not quiet while memory was read");
      return true;
    }
  }
}

}  // namespace

HeldPacket::HeldPacket(hsa_kernel_dispatch_packet_t* packet)
    : packet_(packet),
      header_(__atomic_exchange_n(&packet->header, uint16_t{HSA_PACKET_TYPE_INVALID},
                                  __ATOMIC_ACQ_REL)) {}

bool HeldPacket::held() const {
  return (header_ >> HSA_PACKET_HEADER_TYPE & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH;
}

hsa_kernel_dispatch_packet_t HeldPacket::Contents() const {
  hsa_kernel_dispatch_packet_t contents = *packet_;
  contents.header = header_;
  return contents;
}

void HeldPacket::HandOver() {
  if (over_) return;
  if (held()) __atomic_store_n(&packet_->header, header_, __ATOMIC_RELEASE);
  _mm_sfence();  // a ring in the GPU's memory is write-combined
  over_ = true;
}

// Waits for the packets before `at`, with the queue's lock released between two looks: the thread
// that has to write one of them may be waiting for that lock. Others stop at the held packet, which
// is not valid. False: it took too long.
bool DrainOwnQueue(Queue& queue, uint64_t at, TakenEarly& taken)
    ROCHOUND_REQUIRES(queue.submitting) {
  queue.next.store(at, std::memory_order_relaxed);
  ROCHOUND_DCHECK(!queue.holds_next);
  queue.holds_next = true;
  const bool drained = WaitUntil(Now() + kDrainPatience, [&]() ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
    if (queue.doorbell == 0 || queue.next > at || taken() || queue.failed || Drained(queue, at))
      return true;
    queue.submitting.unlock();
    usleep(100);
    queue.submitting.lock();
    return false;
  });
  queue.holds_next = false;
  return drained;
}

LaunchOutcome LaunchAlone(Queue& queue, uint64_t at, HeldPacket& held, hsa_signal_t doorbell,
                          StoreFunction store, const LaunchWatch& watch) {
  // Handlers that the program has registered before run after this one.
  [[maybe_unused]] static const int registered = atexit(LeaveInterruptedLaunch);
  TakenEarly taken(queue, at, held);
  if (!held.held() || taken.OrSoon()) return {true, kTakenEarly};
  Mine mine(queue, at, held, doorbell, store);
  // First without the others' locks: what this queue waits for may come from them.
  const bool drained = DrainOwnQueue(queue, at, taken);
  if (queue.doorbell == 0) {
    held.Forget();
    return {true, "the runtime ended before it was launched", true};
  }
  if (queue.next > at) {  // recording was switched off, or the GPU took it and somebody saw that
    if (taken()) return {true, kTakenEarly, true};
    held.HandOver();
    store(doorbell, static_cast<hsa_signal_value_t>(queue.rung - 1));
    return {true, "recording was stopped while earlier work on its queue finished", true};
  }
  if (taken()) return {true, kTakenEarly};
  if (queue.failed) return {.problem = kFailedBefore};
  if (!drained) return {.problem = "earlier work on its queue did not finish within 10 s"};
  OtherQueues others(queue);
  LaunchOutcome outcome;
  const bool looked = Look(queue, others, taken, watch, &outcome.problem);
  // It may have been in the GPU's hands all the time, and its slot is free by now.
  if (taken()) return {true, kTakenEarly};
  if (!looked) return outcome;

  // Once the GPU has the launch nothing of ours may fail any more.
  std::string too_long = "the launch did not end within 60 s";
  std::string failed = "the GPU failed while the launch ran";
  {
    const base::Lock lock(late_lock);
    LateLaunches().reserve(LateLaunches().size() + 1);
  }
  Late launch{};
  if (Real().core.hsa_signal_create_fn(1, 0, nullptr, &launch.ours) != HSA_STATUS_SUCCESS)
    return {.problem = "the runtime gave no signal"};
  hsa_kernel_dispatch_packet_t* packet = held.packet();
  launch.theirs = packet->completion_signal;
  packet->completion_signal = launch.ours;
  mine.Launched(launch);
  ROCHOUND_DCHECK(queue.submitting.held_here() && launch.ours.handle != 0);
  watch.noted(held.Contents().header);
  held.HandOver();
  outcome.launched = true;
  queue.next.store(at + 1, std::memory_order_relaxed);
  queue.rung = std::max(queue.rung, at + 1);
  store(doorbell, static_cast<hsa_signal_value_t>(queue.rung - 1));
  WaitUntil(Now() + kLaunchPatience, [&] { return Over(launch.ours) || queue.failed; });
  if (!Over(launch.ours)) {
    outcome.problem = std::move(queue.failed ? failed : too_long);
    watch.unfinished(outcome.problem.c_str());
    mine.Leave();
    return outcome;
  }
  watch.after(Duration(queue.agent, launch.ours));
  if (!mine.Finish()) return outcome;
  TakeBackSignal(packet, launch);
  Complete(launch);
  return outcome;
}

void LeaveInterruptedLaunch() {
  if (mine_now != nullptr) mine_now->Leave();
}

bool ServeLateLaunches() {
  const base::Lock lock(late_lock);
  std::erase_if(LateLaunches(), [](const Late& launch) {
    if (!Over(launch.ours)) return false;
    Complete(launch);
    return true;
  });
  return !LateLaunches().empty();
}

void ForgetLateLaunchesAfterFork() ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
  new (&late_lock) base::Mutex;
  new (&LateLaunches()) std::vector<Late>;
  mine_now = nullptr;
}

}  // namespace rochound::agent
