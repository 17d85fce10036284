// SPDX-License-Identifier: MIT
//
// Return addresses of the calling thread, for `--stacks`. Follows the compiler's unwind tables (see
// unwind_rules.h), and frame pointers where there are none. Reads nothing but the thread's own
// stack above the current frame, so a wrong step ends the walk and never crashes. No lock;
// allocates once per thread, to ask for the stack's limits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rochound::agent {

struct Frame {
  uint64_t instruction;
  uint64_t sp;
  uint64_t bp;
};

// Where the stack of the calling thread ends, exclusive; 0 when not known or not the one in use
// (a signal's or a coroutine's stack).
uint64_t StackEnd(uint64_t sp);

// The calling thread's own, without the recorder's frames at its inner end. 0: not known.
size_t CallerStack(uint64_t* addresses, size_t most);

// Up to `most` return addresses, innermost first, starting with the one of `frame`'s function.
size_t WalkStack(Frame frame, uint64_t stack_end, uint64_t* addresses, size_t most);

}  // namespace rochound::agent
