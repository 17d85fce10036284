// SPDX-License-Identifier: MIT
//
// A kernel for people and for programs: resources, theoretical occupancy and what limits it,
// argument layout, disassembly. Used by `rochound show` for code objects and for captured launches.
// Returns text, prints nothing; one thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "codeobj/code_object.h"
#include "codeobj/disassembly.h"

namespace rochound::report {

// How it is launched, or would be.
struct LaunchSize {
  uint64_t workgroup = 0;  // work-items; 0: as many as the kernel allows
  uint64_t lds = 0;        // static and dynamic
};

// One row per kernel.
std::string KernelTable(const codeobj::CodeObject& object);

std::string ResourcesText(const codeobj::Target& target, const codeobj::Kernel& kernel,
                          const LaunchSize& size);
// Where each argument is in the kernarg segment.
std::string LayoutText(const codeobj::Kernel& kernel);
// With source: each line of it where the instructions made from it begin.
std::string DisassemblyText(const std::vector<codeobj::Instruction>& instructions, bool source);

// Name, resources, occupancy and arguments.
nlohmann::ordered_json KernelJson(const codeobj::Target& target, const codeobj::Kernel& kernel,
                                  const LaunchSize& size);
nlohmann::ordered_json DisassemblyJson(const std::vector<codeobj::Instruction>& instructions);

}  // namespace rochound::report
