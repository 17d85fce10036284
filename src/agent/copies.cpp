// SPDX-License-Identifier: MIT
#include "agent/copies.h"

#include <atomic>
#include <memory>
#include <new>
#include <vector>

#include "agent/allocations.h"
#include "agent/pending.h"
#include "agent/probe.h"
#include "agent/runtime.h"
#include "agent/session.h"
#include "agent/state.h"
#include "agent/thread_state.h"
#include "base/check.h"
#include "base/mutex.h"

namespace rochound::agent {
namespace {

constinit std::atomic<uint64_t> last_copy{0};
constinit base::Mutex changing;

std::vector<std::unique_ptr<Pending>>& InFlight() ROCHOUND_REQUIRES(changing) {
  static auto* const copies = new std::vector<std::unique_ptr<Pending>>;
  return *copies;
}

struct CopyRequest {
  trace::CopyKind kind = trace::CopyKind::kCopy;
  uint16_t from = trace::kNoAgent;
  uint16_t to = trace::kNoAgent;
  uint64_t bytes = 0;
  const void* destination = nullptr;
  uint64_t source = 0;
  uint32_t width = 0;
  uint32_t height = 0;
};

CopyRequest BetweenAgents(void* dst, hsa_agent_t dst_agent, const void* src, hsa_agent_t src_agent,
                          size_t size) {
  return {.from = AgentIndex(src_agent),
          .to = AgentIndex(dst_agent),
          .bytes = size,
          .destination = dst,
          .source = reinterpret_cast<uint64_t>(src)};
}

void RecordCopy(ThreadState* thread, uint64_t number, const CopyRequest& request,
                uint64_t submit_tsc) {
  auto* record = thread->log->Reserve<trace::Copy>();
  if (record == nullptr) return;
  record->correlation = thread->correlation;
  record->copy = number;
  record->submit_tsc = submit_tsc;
  record->bytes = request.bytes;
  record->destination = reinterpret_cast<uint64_t>(request.destination);
  record->source = request.source;
  record->width = request.width;
  record->height = request.height;
  thread->log->Commit(record, static_cast<uint16_t>(request.kind),
                      static_cast<uint32_t>(request.from) << 16 | request.to);
}

ThreadState* RecordingThread() {
  if (!Recording() || !settings().copies || IsBusy()) return nullptr;
  ThreadState* thread = CurrentThread();
  return thread == nullptr || thread->inside ? nullptr : thread;
}

// Of a rectangle the rows are told where it is asked for.
void TellProbe(const CopyRequest& request) {
  if (!ProbeWatchesWrites() || IsBusy()) return;
  const auto to = reinterpret_cast<uint64_t>(request.destination);
  if (request.kind == trace::CopyKind::kFill)
    ProbeMemoryWritten(to, request.bytes);
  else if (request.kind != trace::CopyKind::kCopyRectangle)
    ProbeMemoryCopied(to, request.source, request.bytes);
}

void TellProbeRows(const hsa_pitched_ptr_t& to, const hsa_dim3_t& at, const hsa_dim3_t& size) {
  constexpr uint64_t kMost = 1 << 12;  // more are not told apart
  if (!ProbeWatchesWrites() || IsBusy()) return;
  const auto base = reinterpret_cast<uint64_t>(to.base);
  if (uint64_t{size.y} * size.z > kMost) return ProbeMemoryWritten(base, 0);
  for (uint64_t z = 0; z < size.z; ++z)
    for (uint64_t y = 0; y < size.y; ++y)
      ProbeMemoryWritten(base + (at.z + z) * to.slice + (at.y + y) * to.pitch + at.x, size.x);
}

// The runtime refused the copy. Its entry may be gone: a signal that counts other work as well may
// have said that the copy is over.
void CancelCopy(uint64_t number) {
  const Busy busy;
  const base::Lock lock(changing);
  for (const auto& one : InFlight())
    if (one->id == number) return Cancel(one.get());
}

// A copy whose end the program's signal tells. `call` asks the runtime.
template <typename Call>
hsa_status_t Asynchronous(const CopyRequest& request, hsa_signal_t signal, Call call) {
  TellProbe(request);
  ThreadState* thread = RecordingThread();
  if (thread == nullptr || signal.handle == 0) return call();
  uint64_t number = 0;  // 0: it is not followed
  Guarded("no memory for a copy", [&] {
    auto fresh = std::make_unique<Pending>();
    fresh->work = Work::kCopy;
    fresh->signal = signal.handle;
    fresh->id = last_copy.fetch_add(1) + 1;
    const base::Lock lock(changing);
    InFlight().push_back(std::move(fresh));
    number = InFlight().back()->id;
    ROCHOUND_DCHECK(number != 0);
    // Before the call: the signal may fire before it returns. Still under the lock, or a harvest
    // would take an entry that waits on nothing yet for one that is over.
    WaitOnProgramSignal(InFlight().back().get());
  });
  if (number == 0) return call();
  const uint64_t submit_tsc = trace::ReadTsc();
  const hsa_status_t status = call();
  // One that was refused is none: HIP then copies with another engine or with a kernel.
  if (status == HSA_STATUS_SUCCESS)
    RecordCopy(thread, number, request, submit_tsc);
  else
    CancelCopy(number);
  return status;
}

// A copy or fill that is over when the runtime returns.
template <typename Call>
hsa_status_t Blocking(const CopyRequest& request, Call call) {
  TellProbe(request);
  ThreadState* thread = RecordingThread();
  if (thread == nullptr) return call();
  const uint64_t number = last_copy.fetch_add(1) + 1;
  const uint64_t begin = trace::ReadTsc();
  RecordCopy(thread, number, request, begin);
  const hsa_status_t status = call();
  if (auto* record = thread->log->Reserve<trace::CopyTime>()) {
    record->copy = number;
    record->begin_ticks = begin;
    record->end_ticks = trace::ReadTsc();
    thread->log->Commit(record, trace::kNoAgent);
  }
  return status;
}

hsa_status_t AsyncCopy(void* dst, hsa_agent_t dst_agent, const void* src, hsa_agent_t src_agent,
                       size_t size, uint32_t count, const hsa_signal_t* after,
                       hsa_signal_t signal) {
  return Asynchronous(BetweenAgents(dst, dst_agent, src, src_agent, size), signal, [&] {
    return Real().amd.hsa_amd_memory_async_copy_fn(dst, dst_agent, src, src_agent, size, count,
                                                   after, signal);
  });
}

hsa_status_t AsyncCopyRectangle(const hsa_pitched_ptr_t* dst, const hsa_dim3_t* dst_offset,
                                const hsa_pitched_ptr_t* src, const hsa_dim3_t* src_offset,
                                const hsa_dim3_t* range, hsa_agent_t agent,
                                hsa_amd_copy_direction_t direction, uint32_t count,
                                const hsa_signal_t* after, hsa_signal_t signal) {
  CopyRequest request{.kind = trace::CopyKind::kCopyRectangle};
  if (range != nullptr && dst != nullptr && src != nullptr) {
    request.bytes = static_cast<uint64_t>(range->x) * range->y * range->z;
    request.destination = dst->base;
    request.source = reinterpret_cast<uint64_t>(src->base);
    request.width = range->x;
    request.height = range->y;
    if (dst_offset != nullptr) TellProbeRows(*dst, *dst_offset, *range);
  }
  const uint16_t gpu = AgentIndex(agent);
  if (direction == hsaHostToDevice || direction == hsaDeviceToDevice) request.to = gpu;
  if (direction == hsaDeviceToHost || direction == hsaDeviceToDevice) request.from = gpu;
  return Asynchronous(request, signal, [&] {
    return Real().amd.hsa_amd_memory_async_copy_rect_fn(dst, dst_offset, src, src_offset, range,
                                                        agent, direction, count, after, signal);
  });
}

hsa_status_t MemoryCopy(void* dst, const void* src, size_t size) {
  const CopyRequest request{.kind = trace::CopyKind::kCopyBlocking,
                            .from = OwnerOf(reinterpret_cast<uint64_t>(src), trace::kNoAgent),
                            .to = OwnerOf(reinterpret_cast<uint64_t>(dst), trace::kNoAgent),
                            .bytes = size,
                            .destination = dst,
                            .source = reinterpret_cast<uint64_t>(src)};
  return Blocking(request, [&] { return Real().core.hsa_memory_copy_fn(dst, src, size); });
}

hsa_status_t Fill(void* memory, uint32_t value, size_t count) {
  const CopyRequest request{.kind = trace::CopyKind::kFill,
                            .bytes = count * sizeof(uint32_t),
                            .destination = memory,
                            .source = value};
  return Blocking(request, [&] { return Real().amd.hsa_amd_memory_fill_fn(memory, value, count); });
}

void RecordAllocation(const void* address, uint64_t bytes, uint32_t flags, uint16_t owner) {
  ThreadState* thread = RecordingThread();
  if (thread == nullptr) return;
  if (auto* record = thread->log->Reserve<trace::Allocation>()) {
    record->address = reinterpret_cast<uint64_t>(address);
    record->bytes = bytes;
    record->now_tsc = trace::ReadTsc();
    thread->log->Commit(record, owner, flags);
  }
}

void RecordRelease(const void* address) {
  ThreadState* thread = RecordingThread();
  if (thread == nullptr || address == nullptr) return;
  if (auto* record = thread->log->Reserve<trace::Release>()) {
    record->address = reinterpret_cast<uint64_t>(address);
    record->now_tsc = trace::ReadTsc();
    record->correlation = thread->correlation;
    thread->log->Commit(record);
  }
}

hsa_status_t PoolAllocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void** memory) {
  const hsa_status_t status = Real().amd.hsa_amd_memory_pool_allocate_fn(pool, size, flags, memory);
  if (status == HSA_STATUS_SUCCESS) {
    const uint16_t owner = PoolOwner(pool.handle);
    RecordAllocation(*memory, size, flags, owner);
    MemoryAppears(*memory, size, MemoryKind::kPool, nullptr, owner);
  }
  return status;
}

hsa_status_t PoolFree(void* memory) {
  RecordRelease(memory);
  MemoryGoes(memory);
  return Real().amd.hsa_amd_memory_pool_free_fn(memory);
}

hsa_status_t RegionAllocate(hsa_region_t region, size_t size, void** memory) {
  const hsa_status_t status = Real().core.hsa_memory_allocate_fn(region, size, memory);
  if (status == HSA_STATUS_SUCCESS) {
    const uint16_t owner = PoolOwner(region.handle);
    RecordAllocation(*memory, size, 0, owner);
    MemoryAppears(*memory, size, MemoryKind::kPool, nullptr, owner);
  }
  return status;
}

hsa_status_t RegionFree(void* memory) {
  RecordRelease(memory);
  MemoryGoes(memory);
  return Real().core.hsa_memory_free_fn(memory);
}

// The entry came with ROCm 5.3; what a table without it does not have is not instantiated.
template <typename Table>
struct OnEngine {
  template <typename... Rest>
  static hsa_status_t Copy(void* dst, hsa_agent_t dst_agent, const void* src, hsa_agent_t src_agent,
                           size_t size, uint32_t count, const hsa_signal_t* after,
                           hsa_signal_t signal, Rest... rest) {
    return Asynchronous(BetweenAgents(dst, dst_agent, src, src_agent, size), signal, [&] {
      const Table& real = Real().amd;
      return real.hsa_amd_memory_async_copy_on_engine_fn(dst, dst_agent, src, src_agent, size,
                                                         count, after, signal, rest...);
    });
  }

  static void Hook(Table* table) {
    if constexpr (requires { table->hsa_amd_memory_async_copy_on_engine_fn; }) {
      const Table& real = Real().amd;
      if (real.hsa_amd_memory_async_copy_on_engine_fn != nullptr)
        table->hsa_amd_memory_async_copy_on_engine_fn = Copy;
    }
  }
};

}  // namespace

void HookCopies(CoreApiTable* core, AmdExtTable* amd) {
  core->hsa_memory_copy_fn = MemoryCopy;
  core->hsa_memory_allocate_fn = RegionAllocate;
  core->hsa_memory_free_fn = RegionFree;
  amd->hsa_amd_memory_async_copy_fn = AsyncCopy;
  amd->hsa_amd_memory_async_copy_rect_fn = AsyncCopyRectangle;
  amd->hsa_amd_memory_fill_fn = Fill;
  amd->hsa_amd_memory_pool_allocate_fn = PoolAllocate;
  amd->hsa_amd_memory_pool_free_fn = PoolFree;
  OnEngine<AmdExtTable>::Hook(amd);
}

std::vector<uint64_t> CopySignals() {
  std::vector<uint64_t> signals;
  const base::Lock lock(changing);
  for (const auto& one : InFlight())
    if (one->phase.load(std::memory_order_acquire) == Pending::kWaiting)
      signals.push_back(one->signal);
  return signals;
}

size_t HarvestCopies() {
  // Never waits: a program may exit in a signal handler, on the thread that holds the lock.
  if (!changing.try_lock()) return 1;
  const base::Lock lock(changing, std::adopt_lock);
  std::erase_if(InFlight(),
                [](const std::unique_ptr<Pending>& one) { return TakeIfFinished(one.get()); });
  return InFlight().size();
}

void ForgetCopies() {
  HarvestCopies();
  const base::Lock lock(changing);
  for (const auto& one : InFlight()) GiveUp(one.get());
  InFlight().clear();
}

void ForgetCopiesAfterFork() ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
  new (&changing) base::Mutex;
  new (&InFlight()) std::vector<std::unique_ptr<Pending>>;
}

}  // namespace rochound::agent
