// SPDX-License-Identifier: MIT
#include "probe/pass/sites.h"

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/DebugLoc.h>
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

// Innermost first; behind it, where that was inlined.
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

uint32_t Append(json::Object object, std::string* text) {
  const auto at = static_cast<uint32_t>(text->size());
  llvm::raw_string_ostream out(*text);
  out << json::Value(std::move(object)) << '\0';
  return at;
}

}  // namespace

uint32_t Sites::AddFunction(const llvm::Function& function) {
  json::Object object{{"is", "function"}, {"function", Text(function.getName())}};
  if (const llvm::DISubprogram* const source = function.getSubprogram())
    object["at"] = json::Array{json::Object{{"file", File(*source)}, {"line", source->getLine()}}};
  return Append(std::move(object), &text_);
}

uint32_t Sites::AddAccess(const llvm::Instruction& instruction, const Access& access) {
  const llvm::StringRef action = access.action;
  if (action == "barrier")
    return Append(json::Object{{"is", "barrier"}, {"at", Locations(instruction.getDebugLoc())}},
                  &text_);
  json::Object object{{"is", "access"},
                      {"action", access.action},
                      {"space", SpaceName(access.address_space)},
                      {"bytes", access.bytes},
                      {"at", Locations(instruction.getDebugLoc())}};
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
