// SPDX-License-Identifier: MIT
//
// A check of ours that fails (base/check.h) must not end somebody's program: the recorder reports it
// and steps aside. Part of the library, in builds with checks. The unit tests link the other parts
// without this file, so that there a failed check ends the test. ROCHOUND_TEST_FAIL_CHECK=1 makes
// one fail when the library is loaded, for a test that sees the program go on.
#include <cstdlib>

#include "agent/state.h"
#include "base/check.h"

namespace rochound::agent {
namespace {

// Before other constructors of the library, which may have checks.
__attribute__((constructor(101))) void SetHandler() {
  base::SetCheckHandler(DisableByFailedCheck);
  [[maybe_unused]] const bool fails_for_a_test = getenv("ROCHOUND_TEST_FAIL_CHECK") != nullptr;
  ROCHOUND_DCHECK(!fails_for_a_test);
}

}  // namespace
}  // namespace rochound::agent
