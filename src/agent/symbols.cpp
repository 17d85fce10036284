// SPDX-License-Identifier: MIT
#include "agent/symbols.h"

#include <atomic>
#include <cstdio>
#include <map>
#include <new>
#include <string>
#include <string_view>

#include "agent/capture.h"
#include "agent/code_objects.h"
#include "agent/object_table.h"
#include "agent/runtime.h"
#include "agent/session.h"
#include "agent/state.h"
#include "agent/swap.h"
#include "agent/thread_state.h"
#include "base/check.h"
#include "base/mutex.h"

namespace rochound::agent {
namespace {

constinit base::Mutex filling;

struct Kernel {
  std::atomic<uint32_t> id{0};
  std::atomic<CopyKernel> copies{CopyKernel::kNone};
  uint32_t name ROCHOUND_GUARDED_BY(filling) = 0;  // string id
  // Counted by the executable that was loaded; 0: not known.
  uint32_t code_object ROCHOUND_GUARDED_BY(filling) = 0;
};
constinit ObjectTable<Kernel, 16> kernels;
uint32_t last_id ROCHOUND_GUARDED_BY(filling) = 0;
uint32_t last_executable ROCHOUND_GUARDED_BY(filling) = 0;

void RecordKernel(uint32_t id, uint64_t object, uint32_t name, uint32_t code_object, uint16_t agent,
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

std::map<uint64_t, uint32_t>& ExecutableCounts() ROCHOUND_REQUIRES(filling) {
  static auto* const counts = new std::map<uint64_t, uint32_t>;
  return *counts;
}

// Counts executables in the order in which their first kernels were seen; 0 if it is none.
uint32_t CountExecutable(hsa_executable_t executable) ROCHOUND_REQUIRES(filling) {
  if (executable.handle == 0) return 0;
  const auto [count, fresh] = ExecutableCounts().try_emplace(executable.handle, 0);
  if (fresh) {
    count->second = ++last_executable;
    AddCodeObject(count->second, executable);
  }
  return count->second;
}

// The object's id under this name; a new one if the object is new, was called otherwise before, or
// was of another code object.
// 0: there are too many; it is recorded without a name.
uint32_t Enter(uint64_t object, std::string_view name, hsa_executable_t executable, uint16_t agent,
               uint64_t kernarg_bytes) {
  const uint32_t text = Intern(name);
  const base::Lock lock(filling);
  uint32_t id = 0;
  kernels.Put(object, [&](Kernel& kernel, bool fresh) {
    filling.AssertHeld();
    id = kernel.id.load(std::memory_order_relaxed);
    const uint32_t code_object = CountExecutable(executable);
    if (!fresh && kernel.name == text && kernel.code_object == code_object) return;
    id = ++last_id;
    kernel.code_object = code_object;
    RecordKernel(id, object, text, kernel.code_object, agent, kernarg_bytes);
    CaptureLearnsKernel(id, name, kernarg_bytes);
    kernel.name = text;
    kernel.copies.store(CopyKernelOf(name, kernarg_bytes), std::memory_order_relaxed);
    kernel.id.store(id, std::memory_order_release);
  });
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
      CurrentState() == State::kDisabled || IsBusy())
    return status;
  Guarded("no memory for a kernel's name", [&] { Learn(symbol, *static_cast<uint64_t*>(value)); });
  return status;
}

}  // namespace

void HookSymbols(CoreApiTable* core) { core->hsa_executable_symbol_get_info_fn = SymbolGetInfo; }

uint32_t KernelId(uint64_t kernel_object, uint16_t agent, CopyKernel* copies) {
  if (const Kernel* const known = kernels.Find(kernel_object)) {
    if (copies != nullptr) *copies = known->copies.load(std::memory_order_relaxed);
    return known->id.load(std::memory_order_acquire);
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

void ForgetExecutable(hsa_executable_t executable) {
  const base::Lock lock(filling);
  ExecutableCounts().erase(executable.handle);
}

bool IsKnownKernel(uint64_t kernel_object) {
  return kernel_object != 0 && kernels.Find(kernel_object) != nullptr;
}

void RecordSymbols() {
  const base::Lock lock(filling);
  kernels.ForEach([](uint64_t object, const Kernel& kernel) {
    filling.AssertHeld();
    RecordKernel(kernel.id.load(std::memory_order_relaxed), object, kernel.name, kernel.code_object,
                 trace::kNoAgent, 0);
  });
}

void ForgetSymbolsAfterFork() ROCHOUND_NO_THREAD_SAFETY_ANALYSIS {
  new (&filling) base::Mutex;
  new (&ExecutableCounts()) std::map<uint64_t, uint32_t>;
}

}  // namespace rochound::agent
