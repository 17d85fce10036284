// SPDX-License-Identifier: MIT
#include "agent/calls/hip_tracer.h"

#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstring>

#include "agent/calls/call.h"
#include "agent/calls/functions.h"
#include "agent/calls/hip_override.h"
#include "agent/calls/hip_traced_functions.h"
#include "agent/calls/libraries.h"
#include "agent/calls/tracer_slot.h"

namespace rochound::agent {

namespace {

// A tracer's domain of HIP calls; others are HIP's own commands, which the queues tell us about.
constexpr uint32_t kHipApiDomain = 3;

// HIP's answer for a number that no function has.
bool IsFunctionName(const char* name) {
  return name != nullptr && *name != '\0' && std::strcmp(name, "unknown") != 0;
}

using NameOf = const char* (*)(uint32_t);
constinit std::atomic<NameOf> name_of{nullptr};

// HIP 5 keeps every call's result where hipPeekAtLastError finds it, and finds it only. Later ones
// keep errors, which is something else, or reset what they tell: there this is null, and the result
// is not known.
constinit std::atomic<hipError_t (*)()> peek_at_last_error{nullptr};

void ResultsAreLastErrors(void* handle) {
  peek_at_last_error.store(reinterpret_cast<hipError_t (*)()>(dlsym(handle, "hipPeekAtLastError")));
}

bool ResultIsKnown() { return peek_at_last_error.load(std::memory_order_relaxed) != nullptr; }

hipError_t ResultOf(ThreadState* thread) {
  const auto peek = peek_at_last_error.load(std::memory_order_relaxed);
  if (peek == nullptr) return hipSuccess;
  const Inside inside(thread);
  return peek();
}

// --- a call, whichever way HIP reports it

// The call that HIP reports on this thread; there is one at a time, since nested ones are not
// wanted.
struct TracedCall {
  Call call;
  bool open;
};
__thread TracedCall traced_call __attribute__((tls_model("initial-exec"))) = {};

bool Wanted() {
  if (!Recording() || call_state.hip_depth != 0) return false;
  const ThreadState* thread = CurrentThread();
  return thread != nullptr && !thread->inside;
}

void Begin(uint32_t id) {
  traced_call.open =
      BeginCall<Domain::kHip>(&traced_call.call, static_cast<uint16_t>(kFirstTracedFunction + id));
}

void Entered(uint32_t id, const hip_api_data_t& data) {
  Begin(id);
  const TracedFunction& function = Traced(id);
  if (!traced_call.open || function.texts == nullptr) return;
  function.texts(data, traced_call.call);
}

void Left(uint32_t id, const hip_api_data_t& data) {
  if (!traced_call.open) return;
  traced_call.open = false;
  const uint64_t end = trace::ReadTsc();
  OverrideTracedAnswer(id, data);
  const hipError_t result = ResultOf(traced_call.call.thread);
  const TracedFunction& function = Traced(id);
  uint64_t words[kMaxTracedWords];
  // Where the result is not known, nothing may be read through a pointer.
  function.put(data, words, ResultIsKnown() && result == hipSuccess);
  WriteWords(traced_call.call, words, function.words);
  EndCall(traced_call.call, end, static_cast<uint32_t>(result));
}

// --- HIP 5.3 and later

// What the callback's data points to: memory of HIP's frame that we are to fill in.
struct TracerData {
  hip_api_data_t api;
  uint64_t phase_enter_timestamp;
  uint64_t phase_data;
  void (*phase_enter)(uint32_t id, TracerData* data);
  void (*phase_exit)(uint32_t id, TracerData* data);
};

// What we attached, in the word that a copy of HIP keeps it in.
struct Attached {
  std::atomic<bool> claimed;
  std::atomic<const void*> callback;
  TracerSlot slot;
};
constexpr size_t kMaxTracers = 8;  // copies of HIP in one process
constinit Attached tracers[kMaxTracers] = {};

// False: another tool's tracer is there, or it is not known how to see whether one is.
bool AttachTracer(const void* store, const void* callback) {
  const TracerSlot slot(store);
  for (Attached& tracer : tracers) {
    if (!slot.found() || tracer.claimed.exchange(true)) continue;
    tracer.slot = slot;
    tracer.callback.store(callback, std::memory_order_release);
    if (slot.Take(callback)) return true;
    tracer.callback.store(nullptr);
    tracer.claimed.store(false);
    return false;
  }
  return false;
}

// The functions about graphs, by HIP's own names; noted at set-up, when calling HIP is not
// recorded.
constexpr uint32_t kMostIds = 4096;
constinit std::atomic<bool> is_graph_function[kMostIds] = {};

void FindGraphFunctions(NameOf name) {
  for (uint32_t id = 1; id < kMostIds; ++id) {
    const char* text = name(id);
    if (text != nullptr && std::strncmp(text, "hipGraph", 8) == 0)
      is_graph_function[id].store(true, std::memory_order_relaxed);
  }
}

// Names of functions that were met, where asking for all names would show in somebody's profile.
constinit std::atomic<bool> ask_when_met{false};
constinit std::atomic<bool> met_another{false};
constinit std::atomic<const char*> met[kMostIds] = {};

void Meet(uint32_t id) {
  if (id >= kMostIds || met[id].load(std::memory_order_relaxed) != nullptr) return;
  ThreadState* const thread = CurrentThread();
  if (thread == nullptr || thread->inside) return;
  const Inside inside(thread);
  const char* const name = name_of.load()(id);
  if (!IsFunctionName(name)) return;
  if (std::strncmp(name, "hipGraph", 8) == 0) is_graph_function[id].store(true);
  met[id].store(name, std::memory_order_release);
  met_another.store(true);
}

// HIP runs, or may soon run, a graph.
bool IsGraphFunction(uint32_t id) {
  if (ask_when_met.load(std::memory_order_relaxed)) Meet(id);
  return id < kMostIds && is_graph_function[id].load(std::memory_order_relaxed);
}

// Returns 0 to have the phase functions called.
int Report(uint32_t domain, uint32_t id, void* data) {
  if (domain != kHipApiDomain || id == 0 || id > kLastTracedId) return 1;
  if (IsGraphFunction(id)) DetachHipTracers();
  if (!Wanted()) return 1;
  auto* tracer = static_cast<TracerData*>(data);
  tracer->api.correlation_id = 0;
  tracer->phase_enter = [](uint32_t id, TracerData* data) { Entered(id, data->api); };
  tracer->phase_exit = [](uint32_t id, TracerData* data) { Left(id, data->api); };
  return 0;
}

// Work that the call causes is attributed to it until the next call begins on this thread.
int ReportBegin(uint32_t domain, uint32_t id, void*) {
  if (domain != kHipApiDomain || id > UINT16_MAX - kFirstTracedFunction) return 1;
  if (IsGraphFunction(id)) DetachHipTracers();
  if (!Wanted()) return 1;
  Call call;
  if (!BeginCall<Domain::kHip>(&call, static_cast<uint16_t>(kFirstTracedFunction + id))) return 1;
  EndCall(call, call.begin_tsc, 0);
  call.thread->correlation = call.correlation;
  return 1;
}

// --- HIP before 5.3

constexpr size_t kOldSlots = 256;       // threads that are inside HIP at once
constexpr size_t kOldDataBytes = 4096;  // more than such a release puts there for any function
static_assert(sizeof(hip_api_data_t) <= kOldDataBytes);
struct OldSlot {
  std::atomic<bool> used;
  alignas(hip_api_data_t) char data[kOldDataBytes];
};
constinit OldSlot old_slots[kOldSlots] = {};
__thread OldSlot* old_slot __attribute__((tls_model("initial-exec"))) = nullptr;

// Called first, with no argument, for the memory to put the arguments in, null: not wanted; and
// last.
void* OldActivity(uint32_t, void*, const void*, void* argument) {
  if (argument != nullptr) {
    if (old_slot != nullptr) old_slot->used.store(false, std::memory_order_release);
    old_slot = nullptr;
    return nullptr;
  }
  if (!Wanted() || old_slot != nullptr) return nullptr;
  static std::atomic<uint32_t> start{0};
  const uint32_t first = start.fetch_add(1, std::memory_order_relaxed);
  for (uint32_t i = 0; i < kOldSlots; ++i) {
    OldSlot& slot = old_slots[(first + i) % kOldSlots];
    bool free = false;
    if (!slot.used.compare_exchange_strong(free, true, std::memory_order_acquire)) continue;
    auto* const data = reinterpret_cast<hip_api_data_t*>(slot.data);
    data->phase = 0;
    old_slot = &slot;
    return data;
  }
  return nullptr;
}

// Called twice in between.
void OldCallback(uint32_t, uint32_t id, const void* data, void*) {
  const auto* api = static_cast<const hip_api_data_t*>(data);
  if (api == nullptr) return;
  if (api->phase == 0)
    Entered(id, *api);
  else
    Left(id, *api);
}

// The same for a HIP that was made with another header. The phase has its place in all of them.
void OldCallbackWithoutArguments(uint32_t, uint32_t id, const void* data, void*) {
  const auto* api = static_cast<const hip_api_data_t*>(data);
  if (api == nullptr) return;
  if (api->phase == 0) {
    Begin(id);
  } else if (traced_call.open) {
    traced_call.open = false;
    const uint64_t end = trace::ReadTsc();
    EndCall(traced_call.call, end, static_cast<uint32_t>(ResultOf(traced_call.call.thread)));
  }
}

bool AttachOldTracer(void* handle, NameOf name, bool same) {
  using Register = hipError_t (*)(uint32_t id, void* function, void* argument);
  const auto api = reinterpret_cast<Register>(dlsym(handle, "hipRegisterApiCallback"));
  const auto activity = reinterpret_cast<Register>(dlsym(handle, "hipRegisterActivityCallback"));
  if (api == nullptr || activity == nullptr) return false;
  ResultsAreLastErrors(handle);
  static char argument;
  const auto callback = same ? &OldCallback : &OldCallbackWithoutArguments;
  for (uint32_t id = 1; id < (same ? kLastTracedId + 1 : kMostIds); ++id) {
    if (!IsFunctionName(name(id))) continue;
    if (api(id, reinterpret_cast<void*>(callback), nullptr) != hipSuccess ||
        activity(id, reinterpret_cast<void*>(&OldActivity), &argument) != hipSuccess)
      return false;
  }
  return true;
}

// The same functions with the same numbers: HIP was made with the header that we were built with.
bool SameFunctions(NameOf name) {
  for (uint32_t id = 1; id <= kLastTracedId; ++id) {
    const char* known = Traced(id).name;
    const char* now = name(id);
    if (known == nullptr ? IsFunctionName(now) : now == nullptr || std::strcmp(known, now) != 0)
      return false;
  }
  return !IsFunctionName(name(kLastTracedId + 1));
}

}  // namespace

TracerKind AttachHipTracer(void* handle, bool quietly, bool roctracer) {
  const auto name = reinterpret_cast<NameOf>(dlsym(handle, "hipApiName"));
  if (name == nullptr) return TracerKind::kNone;
  NameOf none = nullptr;
  name_of.compare_exchange_strong(none, name);
  if (quietly)
    ask_when_met.store(true);
  else
    FindGraphFunctions(name);
  const bool same = !quietly && SameFunctions(name);
  if (HIP_VERSION_MAJOR < 6 && same) ResultsAreLastErrors(handle);
  if (const void* store = dlsym(handle, "hipRegisterTracerCallback")) {
    if (!AttachTracer(store, reinterpret_cast<const void*>(same ? &Report : &ReportBegin)))
      return TracerKind::kNone;
    return same ? TracerKind::kFull : TracerKind::kBeginsOnly;
  }
  if (quietly || roctracer) return TracerKind::kNone;
  // HIP 5.2 that has a tracer never calls the function of a hipStreamAddCallback, and the stream
  // waits for it for ever, whatever the tracer does.
  if (AnybodyImports("hipStreamAddCallback")) {
    WriteToStderr(
        "rochound: HIP calls are not recorded: this HIP hangs in hipStreamAddCallback, which the "
        "program may call, if anybody traces its calls. Kernels and copies are recorded.\n");
    return TracerKind::kNone;
  }
  if (!AttachOldTracer(handle, name, same)) return TracerKind::kNone;
  return same ? TracerKind::kFull : TracerKind::kNoArguments;
}

void DetachHipTracers() {
  for (Attached& tracer : tracers) {
    const void* const callback = tracer.callback.exchange(nullptr, std::memory_order_acquire);
    if (callback == nullptr) continue;
    tracer.slot.Release(callback);
    tracer.claimed.store(false);
  }
}

bool MetTracedFunctions() { return met_another.exchange(false); }

void AppendTracedFunctions(std::string* text) {
  const NameOf name = name_of.load();
  const char* result = ResultIsKnown() ? "enum" : "-";
  if (ask_when_met.load()) {
    for (uint32_t id = 1; id < kMostIds; ++id)
      if (const char* const known = met[id].load(std::memory_order_acquire))
        AppendRow(text, {static_cast<uint16_t>(kFirstTracedFunction + id), "hip", known, "",
                         nullptr, 0, internal::Named(result, ""), false});
    return;
  }
  const bool same = name == nullptr || SameFunctions(name);
  for (uint32_t id = 1; id <= kLastTracedId || !same; ++id) {
    FunctionRow row{static_cast<uint16_t>(kFirstTracedFunction + id),
                    "hip",
                    nullptr,
                    "",
                    nullptr,
                    0,
                    internal::Named(result, ""),
                    false};
    if (same) {
      const TracedFunction& function = Traced(id);
      row.name = function.name;
      row.arguments = function.arguments;
      row.types = function.types;
      row.count = function.count;
    } else {
      row.name = name(id);
      if (id > kLastTracedId && !IsFunctionName(row.name)) break;
    }
    if (IsFunctionName(row.name)) AppendRow(text, row);
  }
}

}  // namespace rochound::agent
