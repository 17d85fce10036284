// SPDX-License-Identifier: MIT
#include "agent/calls/roctx.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "agent/calls/ranges.h"
#include "agent/calls/registered.h"
#include "agent/calls/table_finder.h"
#include "agent/calls/tracer_slot.h"
#include "agent/state.h"

namespace rochound::agent {

namespace {

using trace::RangeKind;

// --- libroctx64

constexpr uint32_t kRoctxDomain = 6;
enum : uint32_t { kMark = 0, kPush = 1, kPop = 2, kStart = 3, kStop = 4 };

struct RoctxData {
  const char* message;
  uint64_t id;  // start and stop only
};

int Report(uint32_t domain, uint32_t operation, void* data) {
  if (domain != kRoctxDomain) return 1;
  const auto* roctx = static_cast<const RoctxData*>(data);
  switch (operation) {
    case kMark:
      RecordRange(RangeKind::kMark, roctx->message, 0);
      break;
    case kPush:
      RecordRange(RangeKind::kPush, roctx->message, 0);
      break;
    case kPop:
      RecordRange(RangeKind::kPop, nullptr, 0);
      break;
    case kStart:
      RecordRange(RangeKind::kStart, roctx->message, roctx->id);
      break;
    case kStop:
      RecordRange(RangeKind::kStop, nullptr, roctx->id);
      break;
    default:
      break;
  }
  return 0;
}

// Unless another tool listens already: libroctx64 has room for one.
void Attach(void* handle) {
  TracerSlot(dlsym(handle, "roctxRegisterTracerCallback"))
      .Take(reinterpret_cast<const void*>(&Report));
}

// --- rocprofiler-sdk's roctx

struct RoctxTable {
  uint64_t size;  // in bytes
  void (*mark)(const char* message);
  int (*push)(const char* message);
  int (*pop)();
  uint64_t (*start)(const char* message);
  void (*stop)(uint64_t id);
};

constinit RoctxTable real_roctx = {};

struct RoctxControlTable {
  uint64_t size;  // in bytes
  int (*pause)(uint64_t thread);
  int (*resume)(uint64_t thread);
};

constinit RoctxControlTable real_control = {};

template <typename Function>
void Take(Function* entry, Function* real, Function ours) {
  if (*entry == nullptr) return;
  *real = *entry;
  __atomic_store_n(entry, ours, __ATOMIC_RELEASE);
}

// Its two tables follow each other.
constexpr size_t kCoreEntries = 6;
constexpr size_t kControlStart = (1 + kCoreEntries) * sizeof(void*);

struct RoctxEntry {
  const char* function;
  size_t offset;
};
constexpr RoctxEntry kRoctxEntries[] = {
    {"roctxMarkA", offsetof(RoctxTable, mark)},
    {"roctxRangePushA", offsetof(RoctxTable, push)},
    {"roctxRangePop", offsetof(RoctxTable, pop)},
    {"roctxRangeStartA", offsetof(RoctxTable, start)},
    {"roctxRangeStop", offsetof(RoctxTable, stop)},
    {"roctxProfilerPause", kControlStart + offsetof(RoctxControlTable, pause)},
    {"roctxProfilerResume", kControlStart + offsetof(RoctxControlTable, resume)}};

// Its first call makes the library fill in its tables; this one only tells a number.
void MakeRoctxTables(void* handle) {
  using ThreadId = int (*)(uint64_t*);
  uint64_t id = 0;
  if (auto* ask = reinterpret_cast<ThreadId>(dlsym(handle, "roctxGetThreadId"))) ask(&id);
}

// Where it hands its tables to another profiler, or to nobody.
void FindRoctxTables(const Library& library, const std::vector<Library>& loaded, void* handle) {
  constexpr TableSize kSize = {kCoreEntries, kCoreEntries};
  FoundTable found = FindTable(library, loaded, kSize);
  if (found.table == nullptr && found.in_use) {
    MakeRoctxTables(handle);
    found = FindTable(library, loaded, kSize);
  }
  if (found.table == nullptr || !found.in_use) return;
  for (const RoctxEntry& entry : kRoctxEntries)
    if (CheckTableEntry(library, handle, entry.function, entry.offset) != EntryCheck::kAgrees)
      return;
  TakeRoctxTable(found.table);
  TakeRoctxControlTable(static_cast<char*>(found.table) + kControlStart);
}

}  // namespace

void OpenRoctx() {
  // The name that programs are linked to; libroctx64.so without a number is for compilers.
  if (void* handle = dlopen("libroctx64.so.4", RTLD_LAZY | RTLD_LOCAL)) Attach(handle);
}

void AttachRoctx(const std::vector<Library>& libraries) {
  static auto* const seen = new std::vector<uintptr_t>;
  for (const Library& library : libraries) {
    const bool of_sdk = library.IsFile("librocprofiler-sdk-roctx");
    if (!of_sdk && !library.IsFile("libroctx64")) continue;
    if (std::find(seen->begin(), seen->end(), library.base) != seen->end()) continue;
    seen->push_back(library.base);
    void* const handle = HandleOf(library);
    if (handle == nullptr) continue;
    if (!of_sdk)
      Attach(handle);
    else if (!HandsOverTables(handle))
      FindRoctxTables(library, libraries, handle);
  }
}

void TakeRoctxTable(void* table) {
  auto* roctx = static_cast<RoctxTable*>(table);
  if (real_roctx.size != 0 || roctx->size < sizeof(RoctxTable)) return;
  real_roctx.size = roctx->size;
  Take(
      &roctx->mark, &real_roctx.mark, +[](const char* message) {
        RecordRange(RangeKind::kMark, message, 0);
        real_roctx.mark(message);
      });
  Take(
      &roctx->push, &real_roctx.push, +[](const char* message) {
        RecordRange(RangeKind::kPush, message, 0);
        return real_roctx.push(message);
      });
  Take(
      &roctx->pop, &real_roctx.pop, +[] {
        RecordRange(RangeKind::kPop, nullptr, 0);
        return real_roctx.pop();
      });
  Take(
      &roctx->start, &real_roctx.start, +[](const char* message) {
        const uint64_t id = real_roctx.start(message);
        RecordRange(RangeKind::kStart, message, id);
        return id;
      });
  Take(
      &roctx->stop, &real_roctx.stop, +[](uint64_t id) {
        RecordRange(RangeKind::kStop, nullptr, id);
        real_roctx.stop(id);
      });
}

// A pause may name one thread; here, as in rocprofv3, it is for the whole process.
void TakeRoctxControlTable(void* table) {
  auto* control = static_cast<RoctxControlTable*>(table);
  if (real_control.size != 0 || control->size < sizeof(RoctxControlTable)) return;
  real_control.size = control->size;
  Take(
      &control->pause, &real_control.pause, +[](uint64_t thread) {
        PauseByProgram(true);
        return real_control.pause(thread);
      });
  Take(
      &control->resume, &real_control.resume, +[](uint64_t thread) {
        const int result = real_control.resume(thread);
        PauseByProgram(false);
        return result;
      });
}

}  // namespace rochound::agent
