// SPDX-License-Identifier: MIT
#include "agent/symbols.h"

#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <string_view>

#include "agent/capture.h"
#include "agent/code_objects.h"
#include "agent/runtime.h"
#include "agent/session.h"
#include "agent/state.h"
#include "agent/swap.h"
#include "agent/thread_state.h"

namespace rochound::agent {
namespace {

// Open addressing, filled under a lock, read without one: a reader sees a slot's object only after
// its id. Kernels are never removed; an object that was loaded anew under an old address replaces
// the id in place.
constexpr size_t kSlots = 1 << 16;
struct Slot {
  std::atomic<uint64_t> object{0};
  std::atomic<uint32_t> id{0};
  std::atomic<CopyKernel> copies{CopyKernel::kNone};
};
constinit Slot slots[kSlots];
constinit std::mutex filling;
uint32_t last_id = 0;  // with `filling` held
size_t filled = 0;     // with `filling` held
// Per slot, with `filling` held.
uint32_t names[kSlots];         // string id
uint32_t code_objects[kSlots];  // counted by the executable that was loaded; 0: not known

size_t Start(uint64_t object) { return (object >> 6) * 0x9e3779b97f4a7c15ull >> 48; }
static_assert(kSlots == 1u << 16, "Start takes sixteen bits");

Slot* Find(uint64_t object) {
  for (size_t at = Start(object), looked = 0; looked < kSlots; ++at, ++looked) {
    Slot& slot = slots[at % kSlots];
    const uint64_t there = slot.object.load(std::memory_order_acquire);
    if (there == object) return &slot;
    if (there == 0) return nullptr;
  }
  return nullptr;
}

void Note(uint32_t id, uint64_t object, uint32_t name, uint32_t code_object, uint16_t agent,
          uint64_t kernarg_bytes) {
  ThreadState* thread = CurrentThread();
  if (thread == nullptr) return;
  if (auto* record = thread->log->Reserve<trace::KernelSymbol>()) {
    record->kernel_object = object;
    record->name = name;
    record->code_object = code_object;
    record->kernarg_bytes = kernarg_bytes;
    thread->log->Commit(record, agent, id);
  }
}

std::map<uint64_t, uint32_t>& ExecutableCounts() {  // with `filling` held
  static auto* const counts = new std::map<uint64_t, uint32_t>;
  return *counts;
}

// Counts executables in the order in which their first kernels were seen; 0 if it is none. With
// `filling` held.
uint32_t CountExecutable(hsa_executable_t executable) {
  if (executable.handle == 0) return 0;
  auto& counts = ExecutableCounts();
  return counts.try_emplace(executable.handle, static_cast<uint32_t>(counts.size()) + 1)
      .first->second;
}

// The object's id under this name; a new one if the object is new or was called otherwise before.
uint32_t Enter(uint64_t object, std::string_view name, hsa_executable_t executable, uint16_t agent,
               uint64_t kernarg_bytes) {
  const uint32_t text = Intern(name);
  const std::lock_guard lock(filling);
  size_t at = Start(object) % kSlots;
  while (slots[at].object.load(std::memory_order_relaxed) != 0 &&
         slots[at].object.load(std::memory_order_relaxed) != object)
    at = (at + 1) % kSlots;
  Slot& slot = slots[at];
  const bool fresh = slot.object.load(std::memory_order_relaxed) == 0;
  if (!fresh && names[at] == text) return slot.id.load(std::memory_order_relaxed);
  if (fresh && filled >= kSlots * 3 / 4) return 0;  // unnamed from here on, but recorded
  if (fresh) ++filled;
  const uint32_t id = ++last_id;
  code_objects[at] = CountExecutable(executable);
  Note(id, object, text, code_objects[at], agent, kernarg_bytes);
  CaptureLearnsKernel(id, name, kernarg_bytes);
  names[at] = text;
  slot.copies.store(CopyKernelOf(name, kernarg_bytes), std::memory_order_relaxed);
  slot.id.store(id, std::memory_order_release);
  slot.object.store(object, std::memory_order_release);
  return id;
}

template <typename T>
T Ask(hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t what) {
  T value{};
  Real().core.hsa_executable_symbol_get_info_fn(symbol, what, &value);
  return value;
}

void Learn(hsa_executable_symbol_t symbol, uint64_t object) {
  const auto kind = Ask<hsa_symbol_kind_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE);
  if (kind != HSA_SYMBOL_KIND_KERNEL || object == 0) return;
  const auto length = Ask<uint32_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH);
  std::string name(length, '\0');
  if (Real().core.hsa_executable_symbol_get_info_fn(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME,
                                                    name.data()) != HSA_STATUS_SUCCESS)
    return;
  while (!name.empty() && name.back() == '\0') name.pop_back();
  std::string_view shown = name;
  if (shown.ends_with(".kd")) shown.remove_suffix(3);
  const auto agent = Ask<hsa_agent_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_AGENT);
  const auto bytes = Ask<uint32_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE);
  hsa_executable_t executable{};
  if (!FindExecutable(object, &executable)) executable = {};
  const uint32_t id = Enter(object, shown, executable, AgentIndex(agent), bytes);
  SwapLearnsKernel(id, object, shown, AgentIndex(agent));
}

hsa_status_t SymbolGetInfo(hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t what,
                           void* value) {
  const hsa_status_t status = Real().core.hsa_executable_symbol_get_info_fn(symbol, what, value);
  if (status != HSA_STATUS_SUCCESS || what != HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT ||
      CurrentState() == State::kDisabled)
    return status;
  Guarded("no memory for a kernel's name", [&] { Learn(symbol, *static_cast<uint64_t*>(value)); });
  return status;
}

}  // namespace

void HookSymbols(CoreApiTable* core) { core->hsa_executable_symbol_get_info_fn = SymbolGetInfo; }

uint32_t KernelId(uint64_t kernel_object, uint16_t agent, CopyKernel* copies) {
  if (const Slot* slot = Find(kernel_object)) {
    if (copies != nullptr) *copies = slot->copies.load(std::memory_order_relaxed);
    return slot->id.load(std::memory_order_acquire);
  }
  uint32_t id = 0;
  Guarded("no memory for a kernel's name", [&] {
    char name[32];
    snprintf(name, sizeof name, "kernel_object_0x%llx",
             static_cast<unsigned long long>(kernel_object));
    id = Enter(kernel_object, name, {}, agent, 0);
  });
  return id;
}

uint32_t AddKernel(uint64_t kernel_object, std::string_view name, hsa_executable_t executable,
                   uint16_t agent, uint64_t kernarg_bytes) {
  return Enter(kernel_object, name, executable, agent, kernarg_bytes);
}

bool IsKnownKernel(uint64_t kernel_object) {
  return kernel_object != 0 && Find(kernel_object) != nullptr;
}

void NoteSymbols() {
  const std::lock_guard lock(filling);
  for (size_t at = 0; at < kSlots; ++at)
    if (const uint64_t object = slots[at].object.load(std::memory_order_relaxed))
      Note(slots[at].id.load(std::memory_order_relaxed), object, names[at], code_objects[at],
           trace::kNoAgent, 0);
}

void ForgetSymbolsAfterFork() {
  new (&filling) std::mutex;
  new (&ExecutableCounts()) std::map<uint64_t, uint32_t>;
}

}  // namespace rochound::agent
