// SPDX-License-Identifier: MIT
//
// The agent's side of the recorders: which of them are wanted, and when.
#include <vector>

#include "agent/calls.h"
#include "agent/calls/call.h"
#include "agent/calls/functions.h"
#include "agent/calls/hip_calls.h"
#include "agent/calls/hsa_calls.h"
#include "agent/calls/libraries.h"
#include "agent/calls/new_functions.h"
#include "agent/calls/rccl_calls.h"
#include "agent/calls/roctx.h"
#include "agent/calls/unwind_rules.h"
#include "agent/new_packets.h"
#include "agent/session.h"
#include "agent/state.h"
#include "base/mutex.h"

namespace rochound::agent {

void HookCalls(HsaApiTable* table) {
  internal::record_stacks.store(settings().stacks, std::memory_order_relaxed);
  if (settings().hsa) InstallHsaCalls(table);
}

std::string FunctionsText() {
  std::string text;
  AppendHsaFunctions(&text);
  AppendRcclFunctions(&text);
  AppendHipFunctions(&text);
  return text;
}

// Calls and packets that are newer than we: for the info file, when there were more of them.
void WriteNewNames() {
  static auto* const said = new std::vector<std::string>(4);  // outlives static destructors
  static base::Mutex* const mutex = new base::Mutex;
  const base::Lock lock(*mutex);
  std::vector<std::string> now = {NewFunctionsText(NewIn::kHip), NewFunctionsText(NewIn::kHsa),
                                  NewPacketsText(), UnknownDoorbellsText()};
  if (now == *said) return;
  *said = std::move(now);
  const char* const keys[] = {"hip_new_calls", "hsa_new_calls", "new_packets", "unknown_doorbells"};
  for (size_t i = 0; i < said->size(); ++i) {
    DropInfo(keys[i]);
    if (!(*said)[i].empty()) AddInfo(keys[i], (*said)[i]);
  }
  WriteInfo();
}

void WriteNewFunctions() {
  WriteNewNames();
  if (!HasNewHipFunctions()) return;
  if (trace::Writer* log = Log()) log->WriteText("functions", FunctionsText());
}

bool HookLoadedLibraries() {
  static base::Mutex* const mutex = new base::Mutex;  // outlives static destructors
  static bool first = true;
  static uint64_t seen = 0;
  // Never waits: who is in here may be waiting for the dynamic linker, and who comes may hold it.
  if (!mutex->try_lock()) return false;
  const base::Lock lock(*mutex, std::adopt_lock);
  internal::record_stacks.store(settings().stacks, std::memory_order_relaxed);
  if (!settings().hip && !settings().roctx && !settings().stacks) return true;
  if (first && settings().roctx) OpenRoctx();
  first = false;
  FinishHipSetUp();
  WriteNewFunctions();
  const uint64_t count = LibraryCount();
  if (count == seen) return false;
  seen = count;
  const std::vector<Library> libraries = LoadedLibraries();
  if (settings().stacks) SetUnwindLibraries(libraries);
  if (settings().roctx) AttachRoctx(libraries);
  if (settings().hip) AttachRccl(libraries);
  if (settings().hip && AttachHip(libraries)) {
    if (trace::Writer* log = Log()) log->WriteText("functions", FunctionsText());
  }
  return false;  // any of them may still be loaded
}

}  // namespace rochound::agent
