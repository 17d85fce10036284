// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "neighbour.h"

// First, for the types that the next one uses without including them.
#include <hip/amd_detail/hip_prof_str.h>

#include <hip/amd_detail/hip_api_trace.hpp>

#include "../recorder/watched_queues.h"

#define EXPORTED __attribute__((visibility("default")))

namespace {

// --- HIP: every function of both tables, counted where the program calls it

enum Function {
#define ROCHOUND_HIP_FUNCTION(table, function, names, outs) k_##function,
#include "hip_functions.inc"
#undef ROCHOUND_HIP_FUNCTION
  kFunctions
};

const char* const kNames[] = {
#define ROCHOUND_HIP_FUNCTION(table, function, names, outs) #function,
#include "hip_functions.inc"
#undef ROCHOUND_HIP_FUNCTION
};

constinit std::atomic<uint64_t> calls[kFunctions] = {};
constinit std::atomic<uint64_t> nested{
    0};  // calls that HIP, or somebody in it, makes inside another
constinit std::atomic<uint32_t> tables_taken{0};
thread_local int depth = 0;

struct Depth {
  Depth() { ++depth; }
  ~Depth() { --depth; }
};

template <auto kMember, int kFunction>
struct Counter;

template <typename Table, typename R, typename... A, R (*Table::*kMember)(A...), int kFunction>
struct Counter<kMember, kFunction> {
  inline static constinit R (*next)(A...) = nullptr;
  static R Enter(A... arguments) {
    (depth == 0 ? calls[kFunction] : nested).fetch_add(1, std::memory_order_relaxed);
    const Depth inside;
    return next(arguments...);
  }
  static void Install(Table* table) {
    const auto offset =
        reinterpret_cast<char*>(&(table->*kMember)) - reinterpret_cast<char*>(table);
    if (static_cast<size_t>(offset) + sizeof(void*) > table->size) return;
    if (table->*kMember == nullptr || table->*kMember == &Enter) return;
    next = table->*kMember;
    table->*kMember = &Enter;
  }
};

template <typename Table>
void TakeHip(Table* table) {
#define ROCHOUND_HIP_FUNCTION(type, function, names, outs) \
  if constexpr (std::is_same_v<Table, type>)               \
    Counter<&type::function##_fn, k_##function>::Install(table);
#include "hip_functions.inc"
#undef ROCHOUND_HIP_FUNCTION
}

// --- HSA

void TakeHsa(HsaApiTable* table) {
  if (getenv("NEIGHBOUR_PLAIN_QUEUES") == nullptr) watched_queues::Take(table);
}

// --- its life

void WriteCounts() {
  const char* const start = getenv("NEIGHBOUR_COUNTS");
  if (start == nullptr) return;
  FILE* const file = fopen((std::string(start) + "." + std::to_string(getpid())).c_str(), "we");
  if (file == nullptr) return;
  fprintf(file, "counts process=neighbour tables=%u queues=%u dispatches=%llu nested=%llu\n",
          tables_taken.load(), watched_queues::queues.load(),
          static_cast<unsigned long long>(watched_queues::dispatches.load()),
          static_cast<unsigned long long>(nested.load()));
  fprintf(file, "counts-calls process=neighbour");
  for (int i = 0; i < kFunctions; ++i)
    if (const uint64_t count = calls[i].load())
      fprintf(file, " %s=%llu", kNames[i], static_cast<unsigned long long>(count));
  fprintf(file, "\n");
  fclose(file);
}

// As the SDK does, for its own process; what that process starts inherits them.
void SetVariables() {
  const char* const leave = getenv("ROCPROFILER_SET_ROCPROFILER_REGISTER_LIBRARY");
  Dl_info self;
  if ((leave == nullptr || strcmp(leave, "0") != 0) &&
      dladdr(reinterpret_cast<void*>(&SetVariables), &self) != 0)
    setenv("ROCPROFILER_REGISTER_LIBRARY", self.dli_fname, 1);
  setenv("HSA_TOOLS_ROCPROFILER_V1_TOOLS", "0", 0);
}

void Begin() {
  static const bool begun = [] {
    SetVariables();
    atexit(WriteCounts);
    return true;
  }();
  (void)begun;
}

}  // namespace

extern "C" {

EXPORTED int rocprofiler_set_api_table(const char* name, uint64_t, uint64_t, void** tables,
                                       uint64_t count) {
  if (name == nullptr || count == 0) return 1;
  if (getenv("NEIGHBOUR_REFUSES") != nullptr) return 1;
  Begin();
  tables_taken.fetch_add(1);
  const std::string_view library(name);
  if (library == "hip") TakeHip(static_cast<HipDispatchTable*>(tables[0]));
  if (library == "hip_compiler") TakeHip(static_cast<HipCompilerDispatchTable*>(tables[0]));
  if (library == "hsa") TakeHsa(static_cast<HsaApiTable*>(tables[0]));
  return 0;
}

EXPORTED int neighbour_force_configure() {
  setenv("ROCPROFILER_REGISTER_FORCE_LOAD", "1", 1);
  Begin();
  using Again = int (*)();
  void* const library = dlopen("librocprofiler-register.so.0", RTLD_LAZY | RTLD_NOLOAD);
  const auto again = library == nullptr
                         ? nullptr
                         : reinterpret_cast<Again>(
                               dlsym(library, "rocprofiler_register_invoke_all_registrations"));
  return again != nullptr ? again() : -1;
}
}
