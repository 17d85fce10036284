// SPDX-License-Identifier: MIT
#include "probe/pass/sites.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/DebugLoc.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/Operator.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

namespace rochound::probe {
namespace {

namespace json = llvm::json;

std::string Text(llvm::StringRef text) { return json::fixUTF8(text); }

std::string SpaceName(unsigned address_space) {
  switch (address_space) {
    case 0:
      return "flat";
    case 1:
      return "global";
    case 3:
      return "lds";
    case 4:
      return "constant";
    case 8:
      return "buffer";
    default:
      return "space " + std::to_string(address_space);
  }
}

std::string File(const llvm::DIScope& scope) {
  const llvm::StringRef file = scope.getFilename();
  const llvm::StringRef folder = scope.getDirectory();
  if (file.starts_with("/") || folder.empty()) return Text(file);
  return Text((folder + "/" + file).str());
}

// Innermost first; after it, where that was inlined.
json::Array Locations(const llvm::DebugLoc& location) {
  json::Array all;
  for (const llvm::DILocation* at = location.get(); at != nullptr; at = at->getInlinedAt()) {
    const llvm::DISubprogram* const function = at->getScope()->getSubprogram();
    all.push_back(json::Object{{"file", File(*at->getScope())},
                               {"line", at->getLine()},
                               {"column", at->getColumn()},
                               {"function", function ? Text(function->getName()) : ""}});
  }
  return all;
}

// Which of a kernel's arguments the pointer was made of; -1: several, or something else.
int ArgumentOf(const llvm::Value* pointer) {
  if (pointer == nullptr) return -1;
  llvm::SmallVector<const llvm::Value*, 4> objects;
  llvm::getUnderlyingObjects(pointer, objects, /*LI=*/nullptr, /*MaxLookup=*/32);
  const auto* const argument =
      objects.size() == 1 ? llvm::dyn_cast<llvm::Argument>(objects[0]) : nullptr;
  if (argument == nullptr ||
      argument->getParent()->getCallingConv() != llvm::CallingConv::AMDGPU_KERNEL)
    return -1;
  return static_cast<int>(argument->getArgNo());
}

// Whether the pointer was read, maybe in steps, from what the runtime hands to every kernel: how
// printf and malloc talk to the host.
bool IsRuntimes(const llvm::Value* pointer) {
  llvm::SmallVector<const llvm::Value*> left{pointer};
  llvm::SmallPtrSet<const llvm::Value*, 16> seen;
  constexpr size_t kMost = 64;
  while (!left.empty() && seen.size() < kMost) {
    const llvm::Value* const value = left.pop_back_val();
    if (value == nullptr || !seen.insert(value).second) continue;
    if (const auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(value)) {
      if (call->getIntrinsicID() == llvm::Intrinsic::amdgcn_implicitarg_ptr) return true;
      // The first lane's.
      if (call->arg_size() == 1) left.push_back(call->getArgOperand(0));
    } else if (const auto* const load = llvm::dyn_cast<llvm::LoadInst>(value)) {
      left.push_back(load->getPointerOperand());
    } else if (const auto* const gep = llvm::dyn_cast<llvm::GEPOperator>(value)) {
      left.push_back(gep->getPointerOperand());
    } else if (llvm::isa<llvm::CastInst, llvm::PHINode, llvm::SelectInst, llvm::InsertElementInst,
                         llvm::BinaryOperator, llvm::ExtractElementInst>(value)) {
      for (const llvm::Value* const operand : llvm::cast<llvm::User>(value)->operands())
        left.push_back(operand);
    }
  }
  return false;
}

json::Array Parts(const MachineAccess& machine) {
  json::Array all;
  for (const MachinePart& part : machine.parts) {
    json::Object object{{"instruction", part.instruction}, {"bytes", part.bytes}};
    if (part.offset != 0) object["offset"] = part.offset;
    if (part.scalar) object["scalar"] = true;
    if (part.one_lane) object["one_lane"] = true;
    if (part.once) object["once"] = true;
    all.push_back(std::move(object));
  }
  return all;
}

uint32_t Append(json::Object object, std::string* text) {
  const auto at = static_cast<uint32_t>(text->size());
  llvm::raw_string_ostream out(*text);
  out << json::Value(std::move(object)) << '\0';
  return at;
}

}  // namespace

uint32_t Sites::AddFunction(const llvm::Function& function, Probes probes) {
  json::Object object{{"is", "function"}, {"function", Text(function.getName())}};
  if (const llvm::DISubprogram* const source = function.getSubprogram())
    object["at"] = json::Array{json::Object{{"file", File(*source)}, {"line", source->getLine()}}};
  if (probes == Probes::kBlocks) object["probes"] = "blocks";
  return Append(std::move(object), &text_);
}

uint32_t Sites::AddBlock(const llvm::BasicBlock& block, unsigned number) {
  json::Object object{{"is", "block"}, {"number", number}};
  for (const llvm::Instruction& instruction : block) {
    // Line 0 is what was merged of several lines.
    const llvm::DebugLoc& at = instruction.getDebugLoc();
    if (!at || at.getLine() == 0 || llvm::isa<llvm::PHINode>(instruction)) continue;
    object["at"] = Locations(at);
    break;
  }
  const llvm::Instruction& end = *block.getTerminator();
  if (end.getNumSuccessors() > 1) object["branch"] = Locations(end.getDebugLoc());
  return Append(std::move(object), &text_);
}

uint32_t Sites::AddAccess(const llvm::Instruction& instruction, const Access& access,
                          const MachineAccess& machine) {
  const llvm::StringRef action = access.action;
  if (action == "barrier")
    return Append(json::Object{{"is", "barrier"}, {"at", Locations(instruction.getDebugLoc())}},
                  &text_);
  if (action == "value")
    return Append(json::Object{{"is", "value"},
                               {"name", Text(access.name)},
                               {"bytes", access.bytes},
                               {"at", Locations(instruction.getDebugLoc())}},
                  &text_);
  json::Object object{{"is", "access"},
                      {"action", access.action},
                      {"space", SpaceName(access.address_space)},
                      {"bytes", access.bytes},
                      {"at", Locations(instruction.getDebugLoc())}};
  if (const int argument = ArgumentOf(access.pointer); argument >= 0)
    object["argument"] = argument;
  else if (IsRuntimes(access.pointer))
    object["runtime"] = true;
  if (machine.known) object["machine"] = Parts(machine);
  if (instruction.isVolatile()) object["volatile"] = true;
  if (instruction.isAtomic() && action != "atomic") object["atomic"] = true;
  return Append(std::move(object), &text_);
}

void Sites::AddUnprobed(const llvm::Instruction& instruction, const char* why) {
  Append(json::Object{{"is", "unprobed"},
                      {"why", why},
                      {"function", Text(instruction.getFunction()->getName())},
                      {"at", Locations(instruction.getDebugLoc())}},
         &text_);
}

}  // namespace rochound::probe
