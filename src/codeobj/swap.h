// SPDX-License-Identifier: MIT
//
// Whether a kernel of one code object can take the place of the same kernel of another, in launches
// that a program prepared for the original: with its arguments, its variables and its workgroups.
// Asked by the agent, which edits dispatch packets, and by `rochound swap check` before anything
// runs. Pure, any thread. What cannot be shown to fit does not: the error says why in one sentence.
// docs/decisions/swap.md has the reasons for each rule.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codeobj/code_object.h"
#include "codeobj/omniprobe.h"
#include "codeobj/target.h"

namespace rochound::codeobj {

// A code object and the bytes that it was parsed from.
struct SwapSide {
  const CodeObject& object;
  std::string_view bytes;
};

// What a launch asks for, as its dispatch packet says it.
struct SwapLaunch {
  std::array<uint32_t, 3> grid{};       // work-items
  std::array<uint32_t, 3> workgroup{};  // work-items
  uint32_t group_bytes = 0;
  uint32_t private_bytes = 0;
  bool cooperative = false;  // its workgroups may wait for each other
};

struct SwapPlan {
  struct Binding {
    std::string name;
    uint64_t address = 0;  // of the original's variable, as in its file
  };
  // Variables that the candidate leaves to others: the original's are to be used.
  std::vector<Binding> bindings;

  // Which launches the candidate can take.
  uint64_t most_work_items = 0;                  // of a workgroup; 0: any
  std::array<uint64_t, 3> required_workgroup{};  // zeros: any
  bool whole_workgroups = false;                 // the grid must be a multiple of the workgroup
  bool fewer_at_once = false;                    // it needs more registers or LDS than the original

  uint64_t original_kernarg = 0;                        // bytes of arguments
  uint32_t original_group = 0, original_private = 0;    // static sizes
  uint32_t candidate_group = 0, candidate_private = 0;  // static sizes
  bool dynamic_stack = false;                           // of the candidate
  std::string candidate_kernel;                         // its name there
  std::optional<OmniprobeArguments> omniprobe;  // it is instrumented, and needs other arguments

  // The launch's sizes for the candidate: its own, and what the launch has beyond the original's.
  uint32_t GroupBytes(const SwapLaunch& launch) const;
  uint32_t PrivateBytes(const SwapLaunch& launch) const;

  // Whether the candidate can take this launch on a GPU with so much LDS for a workgroup. Does not
  // allocate.
  bool Takes(const SwapLaunch& launch, uint64_t most_group_bytes) const;
  // Why it cannot.
  std::string WhyNot(const SwapLaunch& launch, uint64_t most_group_bytes) const;
};

// The original's variables that the candidate leaves to others. An error: it needs another one.
base::Result<std::vector<SwapPlan::Binding>> BindVariables(const CodeObject& original,
                                                           const CodeObject& candidate);

// kernel: by either of its names, which both sides must have; the candidate may have it as
// omniprobe instruments it instead. gpu: what the launches run on; without it the original's target
// stands for it.
base::Result<SwapPlan> PlanSwap(const SwapSide& original, const SwapSide& candidate,
                                std::string_view kernel, const std::optional<Target>& gpu);

}  // namespace rochound::codeobj
