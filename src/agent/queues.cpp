// SPDX-License-Identifier: MIT
#include "agent/queues.h"

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <x86intrin.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <utility>

#include "agent/anchors.h"
#include "agent/blit_copies.h"
#include "agent/capture.h"
#include "agent/faults.h"
#include "agent/new_packets.h"
#include "agent/own_memory.h"
#include "agent/pending.h"
#include "agent/probe.h"
#include "agent/queue.h"
#include "agent/queue_list.h"
#include "agent/runtime.h"
#include "agent/session.h"
#include "agent/signal_changes.h"
#include "agent/signal_pool.h"
#include "agent/state.h"
#include "agent/swap.h"
#include "agent/symbols.h"
#include "agent/thread_state.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace rochound::agent {
namespace {

constinit SpinLock following;  // who follows a queue by its doorbell
constinit SpinLock listening;  // who adds a listener

void RecordQueue(const Queue& queue) {
  ThreadState* thread = CurrentThread();
  if (thread == nullptr) return;
  if (auto* record = thread->log->Reserve<trace::Queue>()) {
    record->hsa_id = queue.hsa_id;
    record->packets = queue.packets;
    record->now_tsc = trace::ReadTsc();
    thread->log->Commit(record, queue.agent, queue.index);
  }
}

bool IsDoorbellByKind(hsa_signal_t signal) {
  return signal.handle != 0 && reinterpret_cast<const amd_signal_t*>(signal.handle)->kind < 0;
}

// A queue through which another profiler sees the packets has a doorbell that looks like any
// signal.
constinit std::atomic<bool> has_plain_doorbells{false};

bool IsDoorbell(hsa_signal_t signal) {
  return IsDoorbellByKind(signal) || (has_plain_doorbells.load(std::memory_order_relaxed) &&
                                      FindQueue(signal.handle) != nullptr);
}

// A place for the dispatch of this packet; null: none.
Pending* NextPending(Queue& queue, uint64_t index) ROCHOUND_REQUIRES(queue.submitting) {
  const uint64_t tail = queue.pending_tail.load(std::memory_order_relaxed);
  const auto full = [&] {
    return tail - queue.pending_head.load(std::memory_order_acquire) > queue.pending_mask;
  };
  if (full()) HarvestQueue(queue, Harvest::kAll);
  // Twice as many as the ring has packets: the oldest has long left the ring.
  if (full()) HarvestQueue(queue, Harvest::kGiveUpOldest);
  if (full()) return nullptr;
  ROCHOUND_DCHECK(queue.pending != nullptr);
  Pending& pending = queue.pending[tail & queue.pending_mask];
  ROCHOUND_DCHECK(pending.phase.load(std::memory_order_relaxed) == Pending::kFree);
  pending.work = Work::kKernel;
  pending.agent = queue.agent;
  pending.queue = queue.index;
  pending.id = trace::DispatchNumber(queue.index, index);
  pending.barrier = pending.given_up = false;
  return &pending;
}

bool Noting() { return Recording() && settings().kernels; }
// Packets are looked at to be recorded, to have their kernels swapped, and for probes.
bool Looking() { return Noting() || SwapRequested() || ProbeWatchesWrites(); }

// Before its doorbell is rung.
void ShowToProbe(const Queue& queue, const hsa_kernel_dispatch_packet_t& packet) {
  CopyKernel copies = CopyKernel::kNone;
  KernelId(packet.kernel_object, queue.agent, &copies);
  ProbeSeesDispatch(packet, copies);
}

void CountNotSeen(uint64_t packets) {
  if (trace::Writer* log = Noting() ? Log() : nullptr)
    log->CountDropped(trace::DropReason::kNotSeen, packets);
}

void CountUntimed() {
  if (trace::Writer* log = Log()) log->CountDropped(trace::DropReason::kNoSignal);
}

// Writes the record of one dispatch packet. False: there is no room.
bool RecordDispatch(Queue& queue, ThreadState* thread, const hsa_kernel_dispatch_packet_t* packet,
                    uint16_t header, uint64_t index, uint64_t now_tsc) {
  const uint64_t dispatch = trace::DispatchNumber(queue.index, index);
  CopyKernel copies = CopyKernel::kNone;
  const uint32_t kernel =
      KernelId(packet->kernel_object, queue.agent, &copies);  // may write a record itself
  if ((copies == CopyKernel::kLinear || copies == CopyKernel::kRectangle) && settings().copies)
    RecordBlitCopy(thread, copies, *packet, queue.agent, dispatch, now_tsc);
  auto* record = thread->log->Reserve<trace::KernelDispatch>();
  if (record == nullptr) return false;
  record->correlation = thread->correlation;
  record->dispatch = dispatch;
  record->submit_tsc = now_tsc;
  record->kernel = kernel;
  record->grid[0] = packet->grid_size_x;
  record->grid[1] = packet->grid_size_y;
  record->grid[2] = packet->grid_size_z;
  record->workgroup[0] = packet->workgroup_size_x;
  record->workgroup[1] = packet->workgroup_size_y;
  record->workgroup[2] = packet->workgroup_size_z;
  record->dimensions = packet->setup & 3;
  record->group_bytes = packet->group_segment_size;
  record->private_bytes = packet->private_segment_size;
  thread->log->Commit(record, header, queue.index);
  return true;
}

// Records one dispatch packet, before its doorbell is rung.
void RecordAndTimeDispatch(Queue& queue, ThreadState* thread, hsa_kernel_dispatch_packet_t* packet,
                           uint16_t header, uint64_t index, uint64_t now_tsc)
    ROCHOUND_REQUIRES(queue.submitting) {
  if (!RecordDispatch(queue, thread, packet, header, index, now_tsc)) return;
  Pending* const place = NextPending(queue, index);
  if (place == nullptr) return CountUntimed();
  Pending& pending = *place;
  pending.barrier = (header >> HSA_PACKET_HEADER_BARRIER & 1) != 0;
  pending.ours = packet->completion_signal.handle == 0;
  if (pending.ours) {
    pending.signal = BorrowSignal(&queue.lent);
    if (pending.signal == 0) return CountUntimed();
    pending.done_at = 0;
    pending.phase.store(Pending::kWaiting, std::memory_order_release);
    packet->completion_signal.handle = pending.signal;
    ROCHOUND_DCHECK(queue.lent_in != nullptr);
    queue.lent_in[index & (queue.packets - 1)] = pending.signal;
    queue.lent_end = index + queue.packets + 1;
  } else {
    pending.signal = packet->completion_signal.handle;
    WaitOnProgramSignal(&pending);
  }
  queue.pending_tail.fetch_add(1, std::memory_order_release);
}

// The GPU took a packet before its doorbell, which it may when the queue was taken off the GPU and
// put back. Its type is gone, but what else it says is there until the slot is used again: a kernel
// is one that somebody asked the runtime about. It has no signal of ours, so that it is in flight
// until something later shows that it has ended.
void RecordTakenDispatch(Queue& queue, ThreadState* thread, uint64_t index, uint64_t now_tsc)
    ROCHOUND_REQUIRES(queue.submitting) {
  const hsa_kernel_dispatch_packet_t packet = *queue.Packet(index);
  if (Real().core.hsa_queue_load_write_index_scacquire_fn(queue.queue) - index > queue.packets ||
      !IsKnownKernel(packet.kernel_object))
    return;
  if (CaptureRequested()) CaptureMisses(KernelId(packet.kernel_object, queue.agent), packet);
  if (!RecordDispatch(queue, thread, &packet, HSA_PACKET_TYPE_KERNEL_DISPATCH, index, now_tsc))
    return;
  Pending* const pending = NextPending(queue, index);
  if (pending == nullptr) return CountUntimed();
  pending->ours = true;
  pending->signal = 0;
  pending->phase.store(Pending::kWaiting, std::memory_order_release);
  queue.pending_tail.fetch_add(1, std::memory_order_release);
}

// A queue through which another profiler sees the packets: ROCr takes packets from it as soon as
// they are there, whether they were rung for or not, and shows each to us first.
void SeePackets(const void* packets, uint64_t count, uint64_t index, void* data,
                hsa_amd_queue_intercept_packet_writer writer) {
  Queue& queue = *static_cast<Queue*>(data);
  if (IsBusy()) return writer(packets, count);
  ThreadState* const thread = Noting() ? CurrentThread() : nullptr;
  if (thread == nullptr && !Looking()) return writer(packets, count);
  const auto* const first = static_cast<const hsa_kernel_dispatch_packet_t*>(packets);
  for (uint64_t i = 0; i < count; ++i) {
    alignas(64) hsa_kernel_dispatch_packet_t packet = first[i];
    if ((packet.header >> HSA_PACKET_HEADER_TYPE & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH) {
      const Busy busy;
      const base::Lock lock(queue.submitting);
      if (SwapRequested()) SwapPacket(queue, &packet, nullptr);
      if (ProbeWatchesWrites()) ShowToProbe(queue, packet);
      if (thread != nullptr)
        RecordAndTimeDispatch(queue, thread, &packet, packet.header, index + i, trace::ReadTsc());
    } else {
      CountIfNew(&packet);
    }
    writer(&packet, 1);
  }
}

// A launch that is captured alone has to be held at the doorbell.
void WatchToo(Queue& queue) {
  const auto watch = Real().amd.hsa_amd_queue_intercept_register_fn;
  queue.shown = !CaptureRequested() && !SwapVerifies() && watch != nullptr &&
                watch(queue.queue, SeePackets, &queue) == HSA_STATUS_SUCCESS;
  if (!queue.shown) has_plain_doorbells.store(true);
}

// Makes the object one of this queue, whatever it was before.
void Begin(Queue& queue, hsa_queue_t* handle, uint64_t next, uint64_t room)
    ROCHOUND_REQUIRES(queue.submitting, queue.harvesting) {
  queue.queue = handle;
  queue.hsa_id = handle->id;
  queue.packets = handle->size;
  queue.shown = queue.failed = queue.holds_next = false;
  queue.rung = queue.wanted = queue.next = next;
  queue.room_end = queue.lent_end = 0;
  queue.pending_mask = room - 1;
  queue.pending_head = queue.pending_tail = queue.stuck_head = 0;
  queue.barrier = queue.ended_before = queue.watched_barrier = queue.barrier_passed_ns = 0;
  queue.late_since_tsc = queue.looked_at_all_tsc = queue.last_end_ticks = 0;
  queue.seen_read = queue.seen_head = queue.front_since_ns = 0;
  queue.doorbell = handle->doorbell_signal.handle;
}

// next: the first packet that may be ours to look at.
void FollowQueue(hsa_agent_t agent, hsa_queue_t* handle, uint64_t next) {
  Real().amd.hsa_amd_profiling_set_profiler_enabled_fn(handle, 1);
  const uint64_t room = 2ull * handle->size;  // sizes are powers of two
  auto pending = std::make_unique<Pending[]>(room);
  auto lent_in = std::make_unique<uint64_t[]>(handle->size);
  const uint16_t agent_index = AgentIndex(agent);
  PrepareSignals();
  const auto begin = [&](Queue& queue) {
    queue.submitting.AssertHeld();
    queue.harvesting.AssertHeld();
    queue.agent = agent_index;
    queue.pending = std::move(pending);
    queue.lent_in = std::move(lent_in);
    Begin(queue, handle, next, room);
  };
  const auto describe = [&](Queue& queue) {
    RecordQueue(queue);
    if (!IsDoorbellByKind(handle->doorbell_signal)) WatchToo(queue);
  };
  AddQueue(handle->doorbell_signal.handle, begin, describe);
}

// The agent of a queue, by the runtime's own word where it has one. ROCm 5 has not, nor the names:
// HSA_AMD_QUEUE_INFO_AGENT is the first of its kind.
template <typename Attribute>
bool AskForAgent(hsa_status_t (*ask)(hsa_queue_t*, Attribute, void*), hsa_queue_t* queue,
                 hsa_agent_t* agent) {
  return ask != nullptr && ask(queue, static_cast<Attribute>(0), agent) == HSA_STATUS_SUCCESS;
}

template <typename Table>
bool AgentOf(const Table& amd, hsa_queue_t* queue, hsa_agent_t* agent) {
  if constexpr (requires { amd.hsa_amd_queue_get_info_fn; })
    if (AskForAgent(amd.hsa_amd_queue_get_info_fn, queue, agent)) return IsGpu(AgentIndex(*agent));
  uint16_t gpus = 0;
  for (uint16_t index = 0; index < AgentCount(); ++index)
    if (IsGpu(index) && ++gpus == 1) *agent = AgentHandle(index);
  return gpus == 1;
}

// A queue that was created by a function that we do not know (ROCm 10 has one): its doorbell says
// which it is when it is rung first. Null: it does not, and that is counted.
Queue* FollowByDoorbell(hsa_signal_t doorbell) {
  if (CurrentState() == State::kDisabled || IsBusy()) return nullptr;
  const Busy busy;
  const base::Lock lock(following);
  if (Queue* const queue = FindQueue(doorbell.handle)) return queue;
  auto* const handle = reinterpret_cast<hsa_queue_t*>(
      reinterpret_cast<const amd_signal_t*>(doorbell.handle)->queue_ptr);
  hsa_queue_t content;
  hsa_agent_t agent{};
  if (ReadOwnMemory(reinterpret_cast<uint64_t>(handle), &content, sizeof content) &&
      content.doorbell_signal.handle == doorbell.handle && AgentOf(Real().amd, handle, &agent))
    Guarded("no memory for a queue", [&] {
      FollowQueue(agent, handle, Real().core.hsa_queue_load_read_index_scacquire_fn(handle));
    });
  Queue* const queue = FindQueue(doorbell.handle);
  if (queue == nullptr && Recording() && settings().kernels) CountUnknownDoorbell();
  return queue;
}

void RingFor(Queue& queue, uint64_t count, hsa_signal_t doorbell, StoreFunction store)
    ROCHOUND_REQUIRES(queue.submitting) {
  if (count <= queue.rung) return;
  queue.rung = count;
  // A ring in the GPU's memory is write-combined: our changes leave before the doorbell does.
  _mm_sfence();
  store(doorbell, static_cast<hsa_signal_value_t>(count - 1));
}

// A dispatch that is to be captured runs now, and alone. False: it does not, and is one like
// others.
template <typename Capturing>
bool RunCaptured(Queue& queue, ThreadState* thread, uint64_t at, hsa_signal_t doorbell,
                 StoreFunction store, Capturing capture) ROCHOUND_REQUIRES(queue.submitting) {
  RingFor(queue, at, doorbell, store);
  const Inside inside(thread);
  bool noted = false;
  const LaunchOutcome outcome = capture([&](uint16_t header) {
    queue.submitting.AssertHeld();
    RecordAndTimeDispatch(queue, thread, queue.Packet(at), header, at, trace::ReadTsc());
    noted = true;
  });
  if (outcome.launched && !noted && !outcome.passed)
    RecordTakenDispatch(queue, thread, at, trace::ReadTsc());
  return outcome.launched;
}

bool CaptureHere(Queue& queue, ThreadState* thread, uint64_t at, hsa_signal_t doorbell,
                 StoreFunction store) ROCHOUND_REQUIRES(queue.submitting) {
  const hsa_kernel_dispatch_packet_t* packet = queue.Packet(at);
  return CaptureWants(KernelId(packet->kernel_object, queue.agent), *packet) &&
         RunCaptured(queue, thread, at, doorbell, store,
                     [&](const auto& note) { return Capture(queue, at, doorbell, store, note); });
}

// Swaps a dispatch's kernel, or captures the dispatch as it is, to compare the two later. True: it
// was captured, and nothing is left to do. Only what was recorded is known to have ended, so
// nothing is captured while nothing is recorded (thread is null).
bool SwapHere(Queue& queue, ThreadState* thread, uint64_t at, hsa_signal_t doorbell,
              StoreFunction store) ROCHOUND_REQUIRES(queue.submitting) {
  SwapSample sample;
  SwapPacket(queue, queue.Packet(at), thread != nullptr ? &sample : nullptr);
  if (sample.swap == nullptr) return false;
  if (RunCaptured(queue, thread, at, doorbell, store, [&](const auto& note) {
        return CaptureSample(sample, queue, at, doorbell, store, note);
      }))
    return true;
  SwapPacket(queue, queue.Packet(at), nullptr);
  return false;
}

// Whether the packet can be in the ring: the one that was in its place has been read. The runtime
// is asked once per round.
bool HasRoom(Queue& queue, uint64_t at) ROCHOUND_REQUIRES(queue.submitting) {
  if (at < queue.room_end) return true;
  queue.room_end = Real().core.hsa_queue_load_read_index_scacquire_fn(queue.queue) + queue.packets;
  return at < queue.room_end;
}

// More than a round was rung for past us: packets that the GPU has read may have others in their
// places. Returns the first that it has not read.
uint64_t SkipRead(Queue& queue, uint64_t at) ROCHOUND_REQUIRES(queue.submitting) {
  const uint64_t read = Real().core.hsa_queue_load_read_index_scacquire_fn(queue.queue);
  ROCHOUND_DCHECK(at <= queue.wanted);
  const uint64_t first = std::clamp(read, at, queue.wanted);
  if (first != at) CountNotSeen(first - at);
  return first;
}

// A signal of ours from the last round is none of the program's.
void TakeBackSignal(Queue& queue, hsa_kernel_dispatch_packet_t* packet, uint64_t at)
    ROCHOUND_REQUIRES(queue.submitting) {
  const uint64_t signal = packet->completion_signal.handle;
  if (signal != 0 && signal == queue.lent_in[at & (queue.packets - 1)])
    packet->completion_signal.handle = 0;
}

// The same for packets that are not looked at.
void TakeBackSignals(Queue& queue, uint64_t at) ROCHOUND_REQUIRES(queue.submitting) {
  for (const uint64_t end = std::min(queue.wanted, queue.lent_end); at < end && HasRoom(queue, at);
       ++at) {
    const uint16_t header = __atomic_load_n(&queue.Packet(at)->header, __ATOMIC_ACQUIRE);
    if ((header >> HSA_PACKET_HEADER_TYPE & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH)
      TakeBackSignal(queue, queue.Packet(at), at);
  }
  _mm_sfence();
}

// Looks at a packet that is valid. True: it was captured and is with the GPU; the queue's lock was
// released meanwhile.
bool LookAt(Queue& queue, ThreadState* thread, uint16_t header, uint64_t at, uint64_t now_tsc,
            hsa_signal_t doorbell, StoreFunction store) ROCHOUND_REQUIRES(queue.submitting) {
  hsa_kernel_dispatch_packet_t* const packet = queue.Packet(at);
  if ((header >> HSA_PACKET_HEADER_BARRIER & 1) != 0)
    queue.barrier.store(at + 1, std::memory_order_relaxed);
  if ((header >> HSA_PACKET_HEADER_TYPE & 0xff) != HSA_PACKET_TYPE_KERNEL_DISPATCH) {
    CountIfNew(packet);
    return false;
  }
  TakeBackSignal(queue, packet, at);
  if (SwapRequested() && SwapHere(queue, thread, at, doorbell, store)) return true;
  if (ProbeWatchesWrites()) ShowToProbe(queue, *packet);
  if (thread == nullptr) return false;
  if (CaptureRequested() && CaptureHere(queue, thread, at, doorbell, store)) return true;
  RecordAndTimeDispatch(queue, thread, packet, header, at, now_tsc);
  return false;
}

// Looks at the packets up to `limit` (a count), and at those that others rang for, and rings for
// those that are there.
void Submit(Queue& queue, uint64_t limit, hsa_signal_t doorbell, StoreFunction store)
    ROCHOUND_REQUIRES(queue.submitting) {
  ThreadState* thread = Noting() ? CurrentThread() : nullptr;
  queue.wanted = std::max(queue.wanted, limit);
  const uint64_t now_tsc = trace::ReadTsc();
  const uint64_t first = queue.next.load(std::memory_order_relaxed);
  uint64_t at = queue.wanted > first + queue.packets ? SkipRead(queue, first) : first;
  for (; at < queue.wanted && HasRoom(queue, at); ++at) {
    const uint16_t header = __atomic_load_n(&queue.Packet(at)->header, __ATOMIC_ACQUIRE);
    if ((header >> HSA_PACKET_HEADER_TYPE & 0xff) == HSA_PACKET_TYPE_INVALID) {
      // Either it is yet to be written, or the GPU has it: the runtime rang for it itself, or the
      // GPU did not wait for a doorbell.
      if (Real().core.hsa_queue_load_read_index_scacquire_fn(queue.queue) <= at) break;
      if (thread != nullptr) RecordTakenDispatch(queue, thread, at, now_tsc);
      if (ProbeWatchesWrites()) ShowToProbe(queue, *queue.Packet(at));
      continue;
    }
    if (!LookAt(queue, thread, header, at, now_tsc, doorbell, store)) continue;
    if (queue.doorbell == 0) return;  // the runtime ended while the lock was released
    // Where recording was switched off meanwhile, all packets were rung for.
    at = std::max(at + 1, queue.next.load(std::memory_order_relaxed)) - 1;
  }
  ROCHOUND_DCHECK(at >= first && queue.wanted >= limit);
  queue.next.store(at, std::memory_order_relaxed);
  RingFor(queue, at, doorbell, store);
  const bool was_late = queue.late_since_tsc != 0;
  if (queue.wanted <= queue.rung)
    queue.late_since_tsc = 0;
  else if (!was_late || at != first)  // another packet is late now: its time starts anew
    queue.late_since_tsc = trace::ReadTsc();
  if (queue.late_since_tsc != 0 && !was_late) WakeDrainThread();
}

void RingForAllWanted(Queue& queue, hsa_signal_t doorbell, StoreFunction store)
    ROCHOUND_REQUIRES(queue.submitting) {
  const uint64_t next = queue.next.load(std::memory_order_relaxed);
  if (next < queue.lent_end) TakeBackSignals(queue, next);
  if (queue.wanted > next) queue.next.store(queue.wanted, std::memory_order_relaxed);
  queue.rung = std::max(queue.rung, queue.wanted);
  queue.late_since_tsc = 0;
  store(doorbell, static_cast<hsa_signal_value_t>(queue.rung - 1));
}

void Ring(hsa_signal_t doorbell, hsa_signal_value_t value, StoreFunction store) {
  Queue* queue = FindQueue(doorbell.handle);
  if (queue == nullptr) queue = FollowByDoorbell(doorbell);
  if (queue == nullptr || queue->shown) return store(doorbell, value);
  const uint64_t limit = static_cast<uint64_t>(value) + 1;
  const bool interrupted = IsBusy();
  const Busy busy;
  if (interrupted) LeaveInterruptedLaunch();
  if (!queue->submitting.lock_in_hook(interrupted)) return store(doorbell, value);
  const base::Lock lock(queue->submitting, std::adopt_lock);
  if (queue->doorbell != doorbell.handle) return store(doorbell, value);  // destroyed meanwhile
  if (Looking() && !interrupted) return Submit(*queue, limit, doorbell, store);
  // Not recording: what was rung for is not ours to look at any more, and neither is what was held
  // back while we recorded.
  queue->wanted = std::max(queue->wanted, limit);
  RingForAllWanted(*queue, doorbell, store);
}

template <StoreFunction CoreApiTable::* kEntry>
void Store(hsa_signal_t signal, hsa_signal_value_t value) {
  const StoreFunction real = Real().core.*kEntry;
  if (IsDoorbell(signal)) return Ring(signal, value, real);
  BeforeSignalChanges(signal);
  real(signal, value);
}

// Kept for ever: the runtime may call back as long as it lives. One for all queues with the same
// callback and data.
using Listeners = std::map<std::pair<QueueCallback, void*>, QueueListener>;
Listeners& KeptListeners() ROCHOUND_REQUIRES(listening) {
  static auto* const kept = new Listeners;
  return *kept;
}

QueueListener* KeepListener(const QueueListener& listener) {
  QueueListener* added = nullptr;
  Guarded("no memory for a queue", [&] {
    const base::Lock lock(listening);
    added = &KeptListeners().try_emplace({listener.program, listener.data}, listener).first->second;
  });
  return added;
}

hsa_status_t QueueCreate(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                         void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data,
                         uint32_t private_bytes, uint32_t group_bytes, hsa_queue_t** queue) {
  // Without a callback of the program's the runtime has one of its own, which we cannot call.
  const bool follow = CurrentState() != State::kDisabled && !IsBusy();
  QueueListener* const listener =
      callback != nullptr && follow ? KeepListener({callback, data}) : nullptr;
  const bool listen = listener != nullptr;
  const hsa_status_t status =
      Real().core.hsa_queue_create_fn(agent, size, type, listen ? OnQueueError : callback,
                                      listen ? listener : data, private_bytes, group_bytes, queue);
  if (status == HSA_STATUS_SUCCESS && follow && IsGpu(AgentIndex(agent)))
    Guarded("no memory for a queue", [&] {
      FollowQueue(agent, *queue, Real().core.hsa_queue_load_write_index_relaxed_fn(*queue));
    });
  return status;
}

// A tool that comes after us makes its queues this way, so that it is shown their packets; so are
// we.
hsa_status_t WatchedQueueCreate(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                                void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data,
                                uint32_t private_bytes, uint32_t group_bytes, hsa_queue_t** queue) {
  const hsa_status_t status = Real().amd.hsa_amd_queue_intercept_create_fn(
      agent, size, type, callback, data, private_bytes, group_bytes, queue);
  if (status == HSA_STATUS_SUCCESS && CurrentState() != State::kDisabled && !IsBusy() &&
      IsGpu(AgentIndex(agent)))
    Guarded("no memory for a queue", [&] {
      FollowQueue(agent, *queue, Real().core.hsa_queue_load_write_index_relaxed_fn(*queue));
    });
  return status;
}

// What is still waiting will not finish, or not in a way that we would see.
void Abandon(Queue& queue) ROCHOUND_REQUIRES(queue.submitting) {
  HarvestQueue(queue, Harvest::kAll);
  const base::Lock lock(queue.harvesting);
  ROCHOUND_DCHECK(queue.pending_head <= queue.pending_tail);
  SignalBatch used;
  for (uint64_t at = queue.pending_head; at != queue.pending_tail; ++at) {
    Pending& one = queue.pending[at & queue.pending_mask];
    GiveUp(&one);
    if (one.phase.load(std::memory_order_relaxed) == Pending::kTaken && one.ours && one.signal != 0)
      ReturnSignal(&used, one.signal);
    one.phase.store(Pending::kFree, std::memory_order_relaxed);
  }
  queue.pending_head.store(queue.pending_tail);
  queue.pending.reset();
  queue.lent_in.reset();
  ReturnBatch(&used);
  ReturnBatch(&queue.lent);
}

hsa_status_t QueueDestroy(hsa_queue_t* handle) {
  Queue* queue = handle != nullptr ? FindQueue(handle->doorbell_signal.handle) : nullptr;
  if (queue != nullptr && IsBusy()) queue->LeaveInterrupted();
  if (queue == nullptr || IsBusy()) return Real().core.hsa_queue_destroy_fn(handle);
  {
    const Busy busy;
    const base::Lock lock(queue->submitting);
    const base::Lock nobody_looks(queue->harvesting);
    queue->doorbell.store(0);
  }
  const hsa_status_t status = Real().core.hsa_queue_destroy_fn(handle);
  const Busy busy;
  {
    // Others may be giving the signals back that were lent to it (GiveBackSignals).
    const base::Lock lock(queue->submitting);
    Abandon(*queue);
  }
  RemoveQueue(*queue, status == HSA_STATUS_SUCCESS);
  return status;
}

// The entry is over; its signal can be lent again, unless the GPU may still write to it.
void End(Pending* one, SignalBatch* used) {
  ROCHOUND_DCHECK(one->phase.load(std::memory_order_relaxed) == Pending::kTaken);
  const bool lent = one->ours && one->signal != 0;
  if (lent && one->given_up)
    RetireSignal(one->signal);
  else if (lent)
    ReturnSignal(used, one->signal);
  one->phase.store(Pending::kFree, std::memory_order_relaxed);
}

hsa_status_t ProfilerEnabled(hsa_queue_t* queue, int enable) {
  // A program that switches time stamps off goes without; switching them off under us would lose
  // ours. Also while nothing is recorded: recording may start again.
  const bool followed = queue != nullptr && FindQueue(queue->doorbell_signal.handle) != nullptr &&
                        CurrentState() != State::kDisabled;
  return Real().amd.hsa_amd_profiling_set_profiler_enabled_fn(queue, followed ? 1 : enable);
}

// Looks how far the read index has come: it passes a packet with the barrier bit when everything
// before that has ended. A completion is written on a way of its own and may be seen later, so
// another thing is returned: kernels before this packet ended so long ago that their completions
// must have come.
uint64_t EndedLongAgo(Queue& queue, uint64_t oldest_packet) ROCHOUND_REQUIRES(queue.harvesting) {
  constexpr uint64_t kGraceNs = 1'000'000'000;
  const uint64_t last = queue.barrier.load(std::memory_order_relaxed);
  // One that is after what waits, and then the same until its time has come: there may always be
  // a later one.
  if (queue.watched_barrier <= oldest_packet + 1) {
    queue.watched_barrier = last;
    queue.barrier_passed_ns = 0;
  }
  if (last <= oldest_packet + 1 || queue.doorbell == 0) return 0;
  ROCHOUND_DCHECK(queue.watched_barrier != 0);
  const uint64_t read = Real().core.hsa_queue_load_read_index_scacquire_fn(queue.queue);
  if (read < queue.watched_barrier) return 0;
  const uint64_t ended = (read >= last ? last : queue.watched_barrier) - 1;
  if (ended > queue.ended_before) queue.ended_before = ended;
  const uint64_t now_ns = base::ClockNs(CLOCK_MONOTONIC);
  if (queue.barrier_passed_ns == 0) queue.barrier_passed_ns = now_ns;
  return now_ns - queue.barrier_passed_ns >= kGraceNs ? queue.watched_barrier - 1 : 0;
}

}  // namespace

size_t HarvestQueue(Queue& queue, Harvest how) {
  constexpr uint64_t kLookAhead = 64;
  constexpr uint64_t kLookAtAllTsc = 50'000'000;
  if (how != Harvest::kSome)
    queue.harvesting.lock();
  else if (!queue.harvesting.try_lock())
    return queue.pending_tail - queue.pending_head;
  const uint64_t tail = queue.pending_tail.load(std::memory_order_acquire);
  uint64_t head = queue.pending_head.load(std::memory_order_relaxed);
  ROCHOUND_DCHECK(head <= tail && tail - head <= queue.pending_mask + 1);
  ROCHOUND_DCHECK(head == tail || queue.pending != nullptr);
  if (how == Harvest::kGiveUpOldest && head != tail) {
    Pending& oldest = queue.pending[head & queue.pending_mask];
    if (!TakeIfFinished(&oldest)) GiveUp(&oldest);
  }
  // Kernels without a barrier bit finish in any order, so a look goes some way past the first that
  // runs, and now and then over all of them.
  bool all = how != Harvest::kSome;
  if (!all && head == queue.stuck_head &&
      trace::ReadTsc() - queue.looked_at_all_tsc > kLookAtAllTsc) {
    all = true;
    queue.looked_at_all_tsc = trace::ReadTsc();
  }
  const uint64_t long_ago =
      head != tail ? EndedLongAgo(queue, PacketIndex(queue.pending[head & queue.pending_mask])) : 0;
  uint64_t running = 0;
  SignalBatch used;
  for (uint64_t at = head; at != tail && (all || running < kLookAhead); ++at) {
    Pending& one = queue.pending[at & queue.pending_mask];
    if (one.phase.load(std::memory_order_acquire) == Pending::kWaiting && !TakeIfFinished(&one)) {
      // Nothing can come for one that was taken before we lent it a signal.
      const bool none_comes = one.ours && one.signal == 0;
      if (PacketIndex(one) >= (none_comes ? queue.ended_before.load() : long_ago)) {
        ++running;
        continue;
      }
      GiveUp(&one);
    }
    if (one.phase.load(std::memory_order_relaxed) != Pending::kTaken) continue;
    if (one.end_ticks != 0) queue.last_end_ticks.store(one.end_ticks, std::memory_order_relaxed);
    // What was before a barrier has ended, whatever its signal says: that completion was lost.
    if (one.barrier && !one.given_up && running != 0) {
      for (uint64_t before = head; before != at; ++before) {
        Pending& lost = queue.pending[before & queue.pending_mask];
        if (lost.phase.load(std::memory_order_acquire) != Pending::kWaiting) continue;
        if (!TakeIfFinished(&lost)) GiveUp(&lost);
        End(&lost, &used);
      }
      running = 0;
    }
    End(&one, &used);
  }
  for (; head != tail; ++head)
    if (queue.pending[head & queue.pending_mask].phase.load(std::memory_order_acquire) !=
        Pending::kFree)
      break;
  ROCHOUND_DCHECK(head >= queue.pending_head && head <= tail);
  queue.pending_head.store(head, std::memory_order_release);
  queue.stuck_head = head;
  if (used.count != 0) ReturnBatch(&used);
  const uint64_t left = tail - head;
  queue.harvesting.unlock();
  return left;
}

void HookQueues(CoreApiTable* core, AmdExtTable* amd) {
  HookSignalChanges(core);
  core->hsa_queue_create_fn = QueueCreate;
  core->hsa_queue_destroy_fn = QueueDestroy;
  core->hsa_signal_store_relaxed_fn = Store<&CoreApiTable::hsa_signal_store_relaxed_fn>;
  core->hsa_signal_store_screlease_fn = Store<&CoreApiTable::hsa_signal_store_screlease_fn>;
  core->hsa_signal_silent_store_relaxed_fn =
      Store<&CoreApiTable::hsa_signal_silent_store_relaxed_fn>;
  core->hsa_signal_silent_store_screlease_fn =
      Store<&CoreApiTable::hsa_signal_silent_store_screlease_fn>;
  amd->hsa_amd_profiling_set_profiler_enabled_fn = ProfilerEnabled;
  if (amd->hsa_amd_queue_intercept_create_fn != nullptr)
    amd->hsa_amd_queue_intercept_create_fn = WatchedQueueCreate;
}

size_t HarvestDispatches() {
  size_t running = 0;
  bool first_news = false;
  ForEachQueue([&](Queue& queue) {
    if (queue.pending_head == queue.pending_tail) return;
    running += HarvestQueue(queue);
    if (const uint64_t ticks = queue.last_end_ticks.load(std::memory_order_relaxed))
      first_news = SawTicks(queue.agent, ticks) || first_news;
  });
  // At once: a program may end in the next moment, and in any way.
  if (first_news) RecordAnchors();
  return running;
}

bool ServeLateDoorbells() {
  // While the packet it waits for is missing the GPU could not go on either, so holding a doorbell
  // back costs nothing; unless the packet is over already and the read index does not say so yet.
  // Then it is stepped over, after longer than a thread takes between two stores even on a machine
  // with far more threads than cores. The other core's counter may be a little ahead of this one's.
  constexpr int64_t kPatienceTsc = 200'000'000;
  bool any = false;
  ForEachQueue([&](Queue& queue) {
    if (!queue.submitting.try_lock()) return;
    if (queue.late_since_tsc != 0 && queue.doorbell != 0 && !Looking()) {
      RingForAllWanted(queue, hsa_signal_t{queue.doorbell},
                       Real().core.hsa_signal_store_screlease_fn);
    } else if (queue.late_since_tsc != 0 && queue.doorbell != 0) {
      const auto submit = [&]() ROCHOUND_REQUIRES(queue.submitting) {
        Submit(queue, queue.wanted, hsa_signal_t{queue.doorbell},
               Real().core.hsa_signal_store_screlease_fn);
      };
      submit();
      const auto late_tsc = static_cast<int64_t>(trace::ReadTsc() - queue.late_since_tsc);
      if (queue.late_since_tsc != 0 && queue.doorbell != 0 && !queue.holds_next &&
          late_tsc > kPatienceTsc) {
        queue.late_since_tsc = 0;
        if (HasRoom(queue, queue.next)) {
          queue.next.fetch_add(1, std::memory_order_relaxed);
          CountNotSeen(1);
        } else {  // nobody can have written it
          RingFor(queue, queue.wanted, hsa_signal_t{queue.doorbell},
                  Real().core.hsa_signal_store_screlease_fn);
        }
        submit();
      }
      any = any || queue.late_since_tsc != 0;
    }
    queue.submitting.unlock();
  });
  return any;
}

bool RingHeldDoorbells() {
  bool left = false;
  ForEachDoorbell([&](Queue& queue) {
    if (!queue.submitting.lock_soon()) {
      left = true;
      return;
    }
    if (queue.wanted > queue.rung && queue.doorbell != 0)
      RingForAllWanted(queue, hsa_signal_t{queue.doorbell},
                       Real().core.hsa_signal_store_screlease_fn);
    queue.submitting.unlock();
  });
  return left;
}

void GiveBackSignals() {
  ForEachQueue([](Queue& queue) {
    if (!queue.submitting.lock_soon()) return;
    ReturnBatch(&queue.lent);
    // The program may get signals with the same handles.
    if (queue.doorbell != 0) std::fill_n(queue.lent_in.get(), queue.packets, 0);
    queue.submitting.unlock();
  });
  DestroySignals();
}

void RecordQueues() {
  ForEachQueue([](Queue& queue) {
    if (queue.doorbell != 0) RecordQueue(queue);
  });
}

void ForgetQueuesAfterFork() ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
  ForgetQueueListAfterFork();
  new (&following) SpinLock;
  new (&listening) SpinLock;
  // Not cleared: another thread of the parent may have been changing it.
  new (&KeptListeners()) Listeners;
  ForgetPendingAfterFork();
  ForgetSignalsAfterFork();
}

void ForgetQueues() {
  ForEachQueue([](Queue& queue) {
    // Who holds the lock is in the middle of it, and keeps what it uses.
    if (!queue.submitting.lock_soon()) return;
    queue.doorbell.store(0);
    Abandon(queue);
    queue.submitting.unlock();
    RemoveQueue(queue, !queue.shown);
  });
  DestroySignals();
}

}  // namespace rochound::agent
