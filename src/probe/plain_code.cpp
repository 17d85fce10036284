// SPDX-License-Identifier: MIT
#include "probe/plain_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/files.h"
#include "codeobj/code_object.h"
#include "codeobj/disassembly.h"
#include "codeobj/fat_binary.h"

namespace rochound::probe {
namespace {

using base::Error;
using base::Result;

std::string_view NameOf(const PlainInstruction& instruction) {
  return std::string_view(instruction.text).substr(0, instruction.text.find(' '));
}

// Instructions of this name on the innermost line; without lines, the only one of its name.
std::vector<size_t> Alike(const std::vector<PlainInstruction>& code, const ToldAccess& access) {
  std::vector<size_t> named, near;
  for (size_t i = 0; i < code.size(); ++i) {
    if (access.instruction.empty() || NameOf(code[i]) != access.instruction) continue;
    named.push_back(i);
    if (!access.at.empty() && !code[i].at.empty() && code[i].at.front() == access.at.front())
      near.push_back(i);
  }
  if (!near.empty()) return near;
  return named.size() == 1 ? named : near;
}

}  // namespace

Result<std::vector<PlainInstruction>> ReadPlainCode(const std::filesystem::path& file,
                                                    const std::string& kernel,
                                                    const std::string& target) {
  ROCHOUND_TRY(const std::string bytes, base::ReadFile(file));
  ROCHOUND_TRY(const auto objects, codeobj::FindCodeObjects(bytes));
  for (const codeobj::EmbeddedObject& embedded : objects) {
    if (embedded.target.processor != target) continue;
    const auto object = codeobj::CodeObject::Parse(embedded.bytes);
    if (!object.ok()) continue;
    const codeobj::Kernel* const found = object.value().FindKernel(kernel);
    if (found == nullptr) continue;
    ROCHOUND_TRY(const auto instructions,
                 codeobj::Disassemble(embedded.bytes, object.value(), *found, true));
    std::vector<PlainInstruction> code;
    for (const codeobj::Instruction& instruction : instructions) {
      PlainInstruction& one = code.emplace_back(PlainInstruction{instruction.text, {}});
      for (const codeobj::SourceFrame& frame : instruction.source)
        if (frame.line != 0 && !frame.file.empty()) one.at.emplace_back(frame.file, frame.line);
    }
    return code;
  }
  return Error{fmt::format("'{}' has no kernel {} for {}", file.string(), kernel, target)};
}

std::vector<size_t> FindInstructions(const std::vector<PlainInstruction>& code,
                                     const std::vector<ToldAccess>& accesses) {
  std::vector<size_t> found;
  std::vector<bool> taken(code.size());
  for (const ToldAccess& access : accesses) {
    const std::vector<size_t> alike = Alike(code, access);
    const auto next =
        std::find_if(alike.begin(), alike.end(), [&](size_t number) { return !taken[number]; });
    const size_t number = alike.empty() ? code.size() : next != alike.end() ? *next : alike.back();
    if (number != code.size()) taken[number] = true;
    found.push_back(number);
  }
  return found;
}

}  // namespace rochound::probe
