// SPDX-License-Identifier: MIT
#include "trace/functions.h"

#include "base/parse.h"

namespace rochound::trace {
namespace {

using base::ParseNumber;
using base::TakeUntil;

// False: not a type we know, and so not one whose words we could count.
bool ParseType(std::string_view name, ValueType* type, uint16_t* words) {
  constexpr std::string_view kStruct = "struct";
  *words = 1;
  if (name == "bool")
    *type = ValueType::kBool;
  else if (name == "i32" || name == "i64" || name == "enum")
    *type = ValueType::kSigned;
  else if (name == "u32" || name == "u64")
    *type = ValueType::kUnsigned;
  else if (name == "f32")
    *type = ValueType::kFloat;
  else if (name == "f64")
    *type = ValueType::kDouble;
  else if (name == "ptr" || name == "handle")
    *type = ValueType::kPointer;
  else if (name == "str")
    *type = ValueType::kText;
  else if (name == "dim3") {
    *type = ValueType::kDimensions;
    *words = 2;
  } else if (name.substr(0, kStruct.size()) == kStruct) {
    *type = ValueType::kStruct;
    uint16_t bytes = 0;
    if (!ParseNumber(name.substr(kStruct.size()), &bytes)) return false;
    *words = static_cast<uint16_t>((bytes + 7) / 8);
  } else {
    return false;
  }
  return true;
}

}  // namespace

Function::Function(std::string_view its_domain, std::string_view its_name,
                   std::string_view its_result_type, std::string_view list)
    : domain(its_domain), name(its_name), result_type(its_result_type) {
  uint16_t words = 0;
  ParseType(its_result_type, &result, &words);  // void and unknown ones: none
  uint16_t word = 0;
  while (!list.empty()) {
    std::string_view type = TakeUntil(&list, ',');
    Argument argument;
    argument.name = TakeUntil(&type, ':');
    if (!type.empty() && type[0] == '*') {
      argument.behind_pointer = true;
      type.remove_prefix(1);
    }
    if (!ParseType(type, &argument.type, &argument.words)) break;
    argument.word = word;
    if (argument.behind_pointer) ++argument.words;
    word = static_cast<uint16_t>(word + argument.words);
    arguments.push_back(std::move(argument));
  }
  result_is_last_argument = !arguments.empty() && arguments.back().name == "return";
}

int Function::Find(std::string_view argument) const {
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].name == argument) return static_cast<int>(i);
  return -1;
}

std::optional<std::pair<uint16_t, Function>> ParseFunction(std::string_view line) {
  uint16_t id = 0;
  if (!ParseNumber(TakeUntil(&line, '\t'), &id)) return std::nullopt;
  const std::string_view domain = TakeUntil(&line, '\t');
  const std::string_view name = TakeUntil(&line, '\t');
  const std::string_view result = TakeUntil(&line, '\t');
  return std::pair(id, Function(domain, name, result, line));
}

}  // namespace rochound::trace
