// SPDX-License-Identifier: MIT
//
// Where the recording of API calls meets the rest of the agent. Implemented by the files that know
// HSA's, HIP's and roctx's functions.
#pragma once

#include <hsa/hsa_api_trace.h>

#include <string>

namespace rochound::agent {

// The HSA runtime's table: wraps its functions if HSA calls are to be recorded. After the hooks of
// queues, copies and symbols, which are underneath.
void HookCalls(HsaApiTable* table);

// Looks for HIP and roctx among the loaded libraries and hooks into them; called at set-up and,
// until it returns true (nothing left to find), from the drain thread.
bool HookLoadedLibraries();

// The text of the functions file.
std::string FunctionsText();

// Writes the functions file anew if it has changed.
void WriteNewFunctions();

}  // namespace rochound::agent
