// SPDX-License-Identifier: MIT
//
// An HSA runtime as small as the agent's tests need it: queues whose packets a thread consumes as a
// GPU would, signals in plain memory, and a table of functions that the agent hooks. Calls go
// through the table, as a program's calls go through the real one. Where the real runtime can be
// used (whole programs on the software GPU), the tests use that; this one makes the rare orders of
// events happen on purpose, and runs under the sanitizers.
#pragma once

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace rochound::agent {

class FakeQueue {
 public:
  explicit FakeQueue(uint32_t packets);
  ~FakeQueue();

  hsa_queue_t* handle() { return &structure_.hsa_queue; }
  void TellByDoorbell() {
    doorbell_signal_->queue_ptr = reinterpret_cast<decltype(doorbell_signal_->queue_ptr)>(handle());
  }
  uint64_t Reserve(uint64_t count = 1) { return write_.fetch_add(count); }
  hsa_kernel_dispatch_packet_t* Packet(uint64_t index) { return &ring_[index % ring_.size()]; }
  // Fills a packet in and makes it valid, the header last.
  void Write(uint64_t index, uint64_t kernel, hsa_signal_t signal, bool barrier = false);
  // The GPU stops consuming between the two.
  void Hold() { held_ = true; }
  void Go() { held_ = false; }
  // The GPU asks for scratch memory, for the packet at the read index.
  void AskForScratch() { __atomic_store_n(&inactive_signal_->value, 1, __ATOMIC_RELEASE); }
  void GiveScratch() { __atomic_store_n(&inactive_signal_->value, 0, __ATOMIC_RELEASE); }
  // The GPU forgets to signal the packet with this index.
  void LoseCompletionOf(uint64_t index) { lost_ = index; }
  // It signals it only now, with the times at which it ran: its end, in ticks.
  uint64_t CompleteLost();
  // Whether completed packets leave their times in their signals. As on a GPU, they do not unless
  // somebody asked for it.
  void KeepTimes(bool keep);
  uint64_t consumed() const { return read_.load(); }
  bool WaitUntilConsumed(uint64_t count);

  std::atomic<uint64_t> doorbell{0};  // highest value stored, plus one
  std::atomic<uint64_t> write_{0};
  std::atomic<uint64_t> read_{0};

 private:
  void Consume();
  void Complete(hsa_signal_t signal, uint64_t begin, uint64_t end) const;

  amd_queue_t structure_{};
  std::vector<hsa_kernel_dispatch_packet_t> ring_;
  std::unique_ptr<amd_signal_t> doorbell_signal_;
  std::unique_ptr<amd_signal_t> inactive_signal_;
  std::atomic<bool> held_{false};
  std::atomic<uint64_t> lost_{~0ull};
  std::atomic<uint64_t> lost_signal_{0};  // of that packet, and when it began
  std::atomic<uint64_t> lost_begin_{0};
  std::atomic<bool> stop_{false};
  std::thread gpu_;
};

class FakeRuntime {
 public:
  FakeRuntime();
  ~FakeRuntime();

  HsaApiTable* table() { return &table_; }
  const CoreApiTable& core() const { return core_; }
  const AmdExtTable& amd() const { return amd_; }

  hsa_queue_t* CreateQueue(uint32_t packets);
  // By a function that is in no table. tells: whether its doorbell says which queue it is.
  static hsa_queue_t* CreateQueueElsewhere(uint32_t packets, bool tells);
  static FakeQueue& Of(hsa_queue_t* queue);
  hsa_signal_t CreateSignal(int64_t value);
  // Asked as a program asks, which is how the agent learns of the kernel.
  uint64_t KernelObject(uint64_t symbol) const {
    uint64_t object = 0;
    core_.hsa_executable_symbol_get_info_fn({symbol}, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
                                            &object);
    return object;
  }
  void Ring(hsa_queue_t* queue, uint64_t index) {
    core_.hsa_signal_store_screlease_fn(queue->doorbell_signal,
                                        static_cast<hsa_signal_value_t>(index));
  }

  static std::atomic<int> live_signals;
  static std::atomic<uintptr_t> last_callback;  // of the queue that was created last
  static std::atomic<void*> last_callback_data;
  // Called once, in the middle of the next function of the runtime's that this thread calls: what a
  // signal handler would do there.
  static thread_local void (*interruption)();

 private:
  CoreApiTable core_{};
  AmdExtTable amd_{};
  HsaApiTable table_{};
};

}  // namespace rochound::agent
