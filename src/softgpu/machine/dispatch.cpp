// SPDX-License-Identifier: MIT
#include "softgpu/machine/dispatch.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/mutex.h"
#include "softgpu/machine/activity.h"
#include "softgpu/machine/lost_pages.h"

namespace rochound::softgpu {
namespace {

// Waking a helper costs about as much as this many instructions.
constexpr uint64_t kHelpThreshold = 2000;

// Workgroups this thread may reuse.
std::vector<std::unique_ptr<Workgroup>>& IdleWorkgroups() {
  thread_local std::vector<std::unique_ptr<Workgroup>> idle;
  return idle;
}
constexpr size_t kMaxIdleWorkgroups = 64;

std::unique_ptr<Workgroup> NewWorkgroup() {
  auto& idle = IdleWorkgroups();
  if (idle.empty()) return std::make_unique<Workgroup>();
  std::unique_ptr<Workgroup> group = std::move(idle.back());
  idle.pop_back();
  return group;
}

void Recycle(std::unique_ptr<Workgroup> group) {
  auto& idle = IdleWorkgroups();
  if (idle.size() < kMaxIdleWorkgroups) idle.push_back(std::move(group));
}

// As many as there are wave slots and LDS for.
uint64_t MaxResidentWaves(const Kernel& kernel, const DeviceConfig& device,
                          const Architecture& architecture, uint64_t units) {
  const uint64_t slots = units * device.simds_per_compute_unit * device.max_waves_per_simd;
  if (kernel.group_bytes == 0) return slots;
  const uint64_t granules =
      (kernel.group_bytes + architecture.lds_granule - 1) / architecture.lds_granule;
  const uint64_t shared_by = kernel.on_unit_pairs ? 2 : 1;
  const uint64_t groups_per_place =
      shared_by * device.lds_bytes / (granules * architecture.lds_granule);
  return std::min(slots, units / shared_by * groups_per_place * kernel.waves_per_group);
}

std::string Hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string_view AccessName(uint8_t access) {
  return access & kWrite ? "write to" : access & kExecute ? "instruction fetch from" : "read from";
}

std::string DescribeStop(const Wave& wave) {
  switch (wave.stop) {
    case StopReason::kMemoryFault:
      return "memory fault: " + std::string(AccessName(wave.fault.access)) + " " +
             Hex(wave.fault.address) +
             (wave.fault.mapped ? " (mapped, not for this access)" : " (not mapped)");
    case StopReason::kApertureViolation:
      return "aperture violation at " + Hex(wave.fault.address);
    case StopReason::kMemoryViolation:
      return "misaligned access at " + Hex(wave.fault.address);
    case StopReason::kIllegalInstruction:
      return "illegal instruction: " + wave.fault.detail;
    default:
      return "trap";
  }
}

}  // namespace

Dispatch::Dispatch(Parameters parameters)
    : parameters_(std::move(parameters)), group_count_(parameters_.kernel->group_count) {
  max_resident_waves_ = std::max<uint64_t>(
      MaxResidentWaves(*parameters_.kernel, *parameters_.device, *parameters_.architecture,
                       parameters_.placement->unit_count()),
      parameters_.kernel->waves_per_group);
  for (uint32_t slot = parameters_.scratch_wave_slots; slot > 0; --slot)
    free_scratch_.push_back(slot - 1);
}

bool Dispatch::Cancelled() const {
  return cancelled_.load(std::memory_order_relaxed) ||
         parameters_.queue_stopping->load(std::memory_order_relaxed);
}

void Dispatch::Run(const std::shared_ptr<Dispatch>& self, AddressSpace::Reader& memory) {
  entry_ = parameters_.code->At(memory, parameters_.kernel->entry);
  Participate(memory, &self);
  base::UniqueLock lock(mutex_);
  // A helper that only now comes across the offer must not join: the kernel and the queue are the
  // caller's and may be gone.
  over_.store(true, std::memory_order_relaxed);
  if (helpers_ == 0) return;
  lock.unlock();
  memory.Leave();  // a helper's last workgroup may take long
  lock.lock();
  while (helpers_ != 0) idle_.Wait(mutex_);
  lock.unlock();
  memory.Enter();
}

bool Dispatch::WantsHelp() const {
  return !over_.load(std::memory_order_relaxed) && !cancelled_.load(std::memory_order_relaxed) &&
         next_group_.load(std::memory_order_relaxed) < group_count_;
}

void Dispatch::Help(AddressSpace::Reader& memory) {
  {
    const base::Lock lock(mutex_);
    if (!WantsHelp()) return;
    ++helpers_;
  }
  LostPageWatch watch(memory);
  memory.Enter();
  Participate(memory, nullptr);
  memory.Leave();
  const base::Lock lock(mutex_);
  ROCHOUND_DCHECK(helpers_ != 0);
  if (--helpers_ == 0) idle_.notify_all();
}

bool Dispatch::TakeScratch(ScratchSlots* scratch) {
  if (parameters_.scratch_base == 0) return true;
  unsigned waves = parameters_.kernel->waves_per_group;
  const base::Lock lock(mutex_);
  if (free_scratch_.size() < waves) return false;
  scratch->base = parameters_.scratch_base;
  scratch->bytes_per_wave = parameters_.scratch_bytes_per_wave;
  scratch->slots.assign(free_scratch_.end() - waves, free_scratch_.end());
  ROCHOUND_DCHECK(scratch->slots.size() == waves);
  free_scratch_.resize(free_scratch_.size() - waves);
  return true;
}

void Dispatch::GiveScratch(const ScratchSlots& scratch) {
  if (scratch.slots.empty()) return;
  const base::Lock lock(mutex_);
  free_scratch_.insert(free_scratch_.end(), scratch.slots.begin(), scratch.slots.end());
  ROCHOUND_DCHECK(free_scratch_.size() <= parameters_.scratch_wave_slots);
}

bool Dispatch::Begin(AddressSpace::Reader& memory, Workgroup* group, bool is_first,
                     const CountInto& counting) {
  const Kernel& kernel = *parameters_.kernel;
  if (next_group_.load(std::memory_order_relaxed) >= kernel.group_count) return false;
  if (!is_first && resident_waves_.load(std::memory_order_relaxed) + kernel.waves_per_group >
                       max_resident_waves_)
    return false;
  ScratchSlots scratch;
  if (!TakeScratch(&scratch)) return false;
  uint64_t id = next_group_.fetch_add(1, std::memory_order_relaxed);
  if (id >= kernel.group_count) {
    GiveScratch(scratch);
    return false;
  }
  resident_waves_.fetch_add(kernel.waves_per_group, std::memory_order_relaxed);
  group->Start(kernel, id, *parameters_.architecture, entry_, parameters_.code.get(), &memory, this,
               scratch, parameters_.placement->Of(id), parameters_.device->simds_per_compute_unit,
               counting);
  return true;
}

void Dispatch::Participate(AddressSpace::Reader& memory, const std::shared_ptr<Dispatch>* offer) {
  const uint64_t waves_per_group = parameters_.kernel->waves_per_group;
  std::vector<std::unique_ptr<Workgroup>> resident;
  std::unique_ptr<Workgroup> spare = NewWorkgroup();
  uint64_t ran = 0;
  size_t turn = 0;
  size_t unfinished = 0;  // turns in a row that did not end a workgroup
  size_t waiting = 0;     // turns in a row whose workgroup waits for somebody else
  Activity::Waiter pause;
  std::optional<Sums> sums;
  std::optional<AccessWriter> accesses;
  CountInto counting;
  if (parameters_.counters != nullptr) [[unlikely]] {
    counting = {&parameters_.counters->rules(), &sums.emplace(), nullptr};
    sums->by_address = parameters_.counters->by_address();
    sums->caches = parameters_.counters->caches();
    if (parameters_.accesses != nullptr)
      counting.accesses = &accesses.emplace(*parameters_.accesses);
  }
  while (!Cancelled()) {
    if (resident.empty() || unfinished >= resident.size()) {
      const bool all_wait = waiting >= resident.size();
      if (Begin(memory, spare.get(), resident.empty(), counting)) {
        resident.push_back(std::move(spare));
        spare = NewWorkgroup();
        turn = resident.size() - 1;
        // Those that wait get no turn before each workgroup that begins: that would make the square
        // of their number.
        unfinished = all_wait ? resident.size() - 1 : 0;
      } else if (all_wait && !resident.empty()) {
        // They wait for another participant, another queue, or the host. Only here the processor is
        // given away: on a busy machine it comes back milliseconds later.
        sched_yield();
      }
    }
    if (resident.empty()) {
      if (!WantsHelp()) break;
      // Scratch for the next workgroup is with another participant, who will go on with it.
      if (offer == nullptr) break;
      memory.Leave();
      pause.Pause();
      memory.Enter();
      continue;
    }
    turn %= resident.size();
    Workgroup& group = *resident[turn];
    uint64_t before = group.instructions();
    Workgroup::Turn result = group.Run(cancelled_);
    ran += group.instructions() - before;
    if (const std::optional<MemoryFault> lost = TakeLostPage()) {
      FailLost(*lost, memory);
      break;
    }
    if (result == Workgroup::Turn::kFailed) {
      Fail(group, memory);
      break;
    }
    if (result == Workgroup::Turn::kFinished) {
      resident_waves_.fetch_sub(waves_per_group, std::memory_order_relaxed);
      GiveScratch(group.scratch());
      std::swap(resident[turn], resident.back());
      Recycle(std::move(spare));
      spare = std::move(resident.back());
      resident.pop_back();
      unfinished = waiting = 0;
      pause.Reset();
    } else {
      ++turn;
      ++unfinished;
      waiting = result == Workgroup::Turn::kWaiting ? waiting + 1 : 0;
    }
    const bool alone = sums && sums->caches != nullptr;
    if (offer != nullptr && ran >= kHelpThreshold && !alone && WantsHelp()) {
      HelperThreads::Instance().Offer(*offer);
      offer = nullptr;
    }
  }
  for (std::unique_ptr<Workgroup>& group : resident) Recycle(std::move(group));
  Recycle(std::move(spare));
  instructions_.fetch_add(ran, std::memory_order_relaxed);
  if (sums) parameters_.counters->Add(*sums);
}

void Dispatch::Fail(const Workgroup& group, AddressSpace::Reader& memory) {
  cancelled_.store(true, std::memory_order_relaxed);
  const Wave& wave = group.failed_wave();
  const Op* op = wave.next;
  std::string what = DescribeStop(wave) + "; instruction '" + op->source->text + "' at " +
                     Hex(op->address()) + " (entry + " +
                     Hex(op->address() - parameters_.kernel->entry) + ") of kernel " +
                     KernelName(memory, parameters_.kernel->object) + " on " +
                     parameters_.device->name + " (" + parameters_.device->target + ")";
  const base::Lock lock(mutex_);
  if (failure_) return;
  failure_ = DispatchFailure{
      wave.stop, {wave.fault.address, wave.fault.access, wave.fault.mapped}, std::move(what)};
}

void Dispatch::FailLost(const MemoryFault& fault, AddressSpace::Reader& memory) {
  cancelled_.store(true, std::memory_order_relaxed);
  std::string what = "memory fault: " + std::string(AccessName(fault.access)) + " " +
                     Hex(fault.address) +
                     (fault.mapped ? " (the program has made its memory there read-only)"
                                   : " (the program has freed its memory there)") +
                     " in kernel " + KernelName(memory, parameters_.kernel->object) + " on " +
                     parameters_.device->name + " (" + parameters_.device->target + ")";
  const base::Lock lock(mutex_);
  if (!failure_) failure_ = DispatchFailure{StopReason::kMemoryFault, fault, std::move(what)};
}

void Dispatch::SendInterrupt(uint32_t context) {
  parameters_.callbacks->OnInterrupt(parameters_.device->gpu_id, context & 0xFFFFFF);
}

bool Dispatch::GlobalWaveSync(Wave& wave, const Op* op, uint32_t value) {
  softgpu::GlobalWaveSync& sync = *parameters_.global_wave_sync;
  unsigned resource =
      ((wave.sgpr[kM0] >> 16 & 0x3F) + static_cast<unsigned>(op->modifiers().offset)) %
      softgpu::GlobalWaveSync::kResources;
  if (op->row->mnemonic == "ds_gws_init") {
    sync.Init(resource, value);
    return true;
  }
  if (op->row->mnemonic != "ds_gws_barrier") return false;
  if (wave.sync_ticket == 0) sync.Arrive(resource, value, &wave.sync_ticket);
  if (sync.Passed(resource, wave.sync_ticket)) {
    wave.sync_ticket = 0;
  } else {
    wave.Stop(StopReason::kYield, op);
  }
  return true;
}

HelperThreads& HelperThreads::Instance() {
  static HelperThreads* threads = new HelperThreads;  // outlives static destructors
  return *threads;
}

void HelperThreads::SetParallelism(unsigned threads) {
  const base::Lock lock(mutex_);
  if (started_ == 0) parallelism_ = threads;
}

void HelperThreads::Offer(const std::shared_ptr<Dispatch>& dispatch) {
  const base::Lock lock(mutex_);
  if (parallelism_ == 0) parallelism_ = std::max(1u, std::thread::hardware_concurrency());
  if (parallelism_ == 1) return;
  while (started_ + 1 < parallelism_) {
    ++started_;
    // The program's signals are for the program's threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    std::thread([this] {
      pthread_setname_np(pthread_self(), "softgpu");
      Main();
    }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  offers_.push_back(dispatch);
  work_.notify_all();
}

void HelperThreads::Main() {
  // One Reader per device; devices live for ever.
  std::map<AddressSpace*, std::unique_ptr<AddressSpace::Reader>> readers;
  base::UniqueLock lock(mutex_);
  for (;;) {
    std::erase_if(offers_, [](const auto& dispatch) { return !dispatch->WantsHelp(); });
    if (offers_.empty()) {
      work_.Wait(mutex_);
      continue;
    }
    std::shared_ptr<Dispatch> dispatch = offers_[turn_++ % offers_.size()];
    lock.unlock();
    std::unique_ptr<AddressSpace::Reader>& reader = readers[&dispatch->address_space()];
    if (reader == nullptr)
      reader = std::make_unique<AddressSpace::Reader>(dispatch->address_space());
    dispatch->Help(*reader);
    dispatch.reset();
    sched_yield();  // what is left may need scratch that others hold
    lock.lock();
  }
}

void HelperThreads::AbandonAfterFork() ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
  // Only the forking thread lives on in the child; the mutex may have been held by another.
  new (&mutex_) base::Mutex;
  new (&work_) base::Condition;
  new (&offers_) std::vector<std::shared_ptr<Dispatch>>;
  started_ = 0;
}

}  // namespace rochound::softgpu
