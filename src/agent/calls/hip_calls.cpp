// SPDX-License-Identifier: MIT
#include "agent/calls/hip_calls.h"

#include <dlfcn.h>
#include <hip/hip_version.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "agent/calls/hip_override.h"
#include "agent/calls/hip_table_finder.h"
#include "agent/calls/hip_tables.h"
#include "agent/calls/hip_tracer.h"
#include "agent/calls/libraries.h"
#include "agent/calls/registered.h"
#include "agent/override.h"
#include "agent/session.h"
#include "base/clock.h"

namespace rochound::agent {

namespace {

// For the info file: how HIP's calls are recorded, since it decides what is known of them.
const char* Describe(bool tables, TracerKind tracer) {
  switch (tracer) {
    case TracerKind::kFull:
      return tables ? "tables,tracer" : "tracer";
    case TracerKind::kNoArguments:
      return tables ? "tables,tracer-no-arguments" : "tracer-no-arguments";
    case TracerKind::kBeginsOnly:
      return tables ? "tables,tracer-begins" : "tracer-begins";
    case TracerKind::kNone:
      break;
  }
  return tables ? "tables" : "none";
}

// The HIP whose tables are ours, as far as they are there.
struct FirstHip {
  Library library;
  void* handle = nullptr;
  bool has_profiler = false;  // another one's functions was in its table before ours
};
FirstHip* first_hip = nullptr;

// The runtime's table is made when a function of HIP is first called, whichever; this one does
// nothing but look a name up, so it can be called while HIP initialises itself. Not while it makes
// that very table, though: C++ ends a program that enters a static variable's initialisation again.
void MakeRuntimeTable(void* handle) {
  using NameOf = const char* (*)(uint32_t);
  if (const auto name = reinterpret_cast<NameOf>(dlsym(handle, "hipApiName"))) name(1);
}

bool HasEntry(const char* function, const void* context) {
  for (const HipEntryAt& at : static_cast<const HipTableLayout*>(context)->known)
    if (at.moved == 0 && strcmp(at.entry->function, function) == 0) return true;
  return false;
}

void Install(const HipTableLayout& layout, HipTable kind, void* table) {
  // Underneath the recorders, so that the trace shows what the program gets.
  if (kind == HipTable::kRuntime) OverrideHipTable(table, HasEntry, &layout);
  for (const HipEntryAt& at : layout.known) at.entry->install(static_cast<char*>(table) + at.moved);
  CountNewFunctions(NewIn::kHip, table, layout.unknown);
}

size_t SizeOf(const void* table) { return *static_cast<const size_t*>(table); }

// Installs our recorders in the tables that are there by now. The compiler's may come later, with
// the first code that was compiled with kernels in it.
void Take(const FoundHipTables& found) {
  for (const HipTable kind : {HipTable::kRuntime, HipTable::kCompiler}) {
    void* table = kind == HipTable::kRuntime ? found.runtime : found.compiler;
    if (table == nullptr || HasHipTable(kind)) continue;
    const HipTableLayout layout =
        ReadHipTable(first_hip->library, first_hip->handle, kind, SizeOf(table));
    if (!layout.known.empty() && ClaimHipTable(kind)) Install(layout, kind, table);
  }
}

void TakeFoundTables(const std::vector<Library>& loaded) {
  Take(FindHipTables(first_hip->library, loaded));
}

// HIP's set-up was in progress when we first looked.
bool look_again = false;

void TakeTables(const std::vector<Library>& loaded) {
  FoundHipTables found = FindHipTables(first_hip->library, loaded);
  look_again = found.being_handed_over;
  if (found.runtime == nullptr && !found.being_handed_over) {
    MakeRuntimeTable(first_hip->handle);
    found = FindHipTables(first_hip->library, loaded);
  }
  first_hip->has_profiler = found.has_profiler;
  Take(found);
}

// When the tracer was attached beside tables, so that it has no further use soon; 0: it was not, or
// is no more.
uint64_t tracer_ends_ns = 0;

// roctracer registers itself with HIP when the program starts its profiler.
bool HasRoctracer(const std::vector<Library>& libraries) {
  return std::any_of(libraries.begin(), libraries.end(),
                     [](const Library& one) { return one.IsFile("libroctracer64.so"); });
}

// Calls that are in flight when we are loaded have passed HIP's initialisation by then, or wait for
// it.
constexpr uint64_t kTracerLivesNs = 2'000'000'000;

}  // namespace

bool AttachHip(const std::vector<Library>& libraries) {
  static auto* const seen = new std::vector<uintptr_t>;  // outlives static destructors
  if (first_hip != nullptr && !HasHipTable(HipTable::kCompiler)) TakeFoundTables(libraries);
  bool changed = false;
  for (const Library& library : libraries) {
    if (!library.IsFile("libamdhip64.so")) continue;
    if (std::find(seen->begin(), seen->end(), library.base) != seen->end()) continue;
    seen->push_back(library.base);
    void* handle = HandleOf(library);
    if (handle == nullptr) continue;
    AddInfo("hip_library", library.path);
    AddInfo("hip_version", VersionOf(library.path));
    if (HandsOverTables(handle)) {
      AddInfo("hip_calls", "registered");
      continue;
    }
    // The tracer last: it sees the call that is in flight now, which the tables no longer can.
    if (first_hip == nullptr) {
      first_hip = new FirstHip{library, handle};
      TakeTables(libraries);
    }
    const bool tables = handle == first_hip->handle && HasHipTable(HipTable::kRuntime);
    // HIP has room for one tracer. Where another tool has it, we do without: the call that is under
    // way now is then not recorded.
    const TracerKind tracer = AttachHipTracer(handle, /*quietly=*/first_hip->has_profiler,
                                              /*roctracer=*/HasRoctracer(libraries));
    if (tables && tracer != TracerKind::kNone)
      tracer_ends_ns = base::ClockNs(CLOCK_MONOTONIC) + kTracerLivesNs;
    if (!tables && !(tracer == TracerKind::kFull && CorrectsTracedAnswers()))
      WarnThatHipIsNotCorrected();
    AddInfo("hip_calls", Describe(tables, tracer));
    changed = true;
  }
  return changed;
}

void TakeHipTable(HipTable kind, uint64_t version, void* table) {
  if (HasHipTable(kind)) return;
  HipTableLayout layout;
  Dl_info owner;
  if (dladdr(static_cast<void**>(table)[1], &owner) != 0)
    for (const Library& library : LoadedLibraries())
      if (library.base == reinterpret_cast<uintptr_t>(owner.dli_fbase))
        layout = ReadHipTable(library, HandleOf(library), kind, SizeOf(table));
  // The contract says that entries are only ever added; another major version may break it.
  if (!layout.readable && version / 10000 == HIP_VERSION_MAJOR)
    for (const HipTableEntry& entry : KnownHipEntries())
      if (entry.table == kind && entry.offset + sizeof(void*) <= SizeOf(table))
        layout.known.push_back({&entry, 0});
  if (!layout.known.empty() && ClaimHipTable(kind)) Install(layout, kind, table);
}

void FinishHipSetUp() {
  if (look_again) {
    TakeFoundTables(LoadedLibraries());
    look_again = !HasHipTable(HipTable::kRuntime);
  }
  if (tracer_ends_ns == 0 || base::ClockNs(CLOCK_MONOTONIC) < tracer_ends_ns) return;
  tracer_ends_ns = 0;
  DetachHipTracers();
}

bool HasNewHipFunctions() { return MetTracedFunctions(); }

void AppendHipFunctions(std::string* text) {
  AppendHipTableFunctions(text);
  AppendTracedFunctions(text);
}

}  // namespace rochound::agent
