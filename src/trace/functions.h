// SPDX-License-Identifier: MIT
//
// The functions file of a process's log: which function an ApiCall's number stands for, and how its
// argument words are to be read. Constant once parsed, any thread. A line that is not understood is
// left out; its calls then go by their number.
//
//   id <tab> domain <tab> name <tab> result <tab> argument:type,argument:type...
//
//   bool i32 u32 i64 u64 f32 f64 enum ptr handle   one word
//   str                                            one word, the pointer; the text comes in pieces
//   dim3                                           two words: x | y << 32, z
//   structN                                        N bytes in (N + 7) / 8 words
//   *T                                             two words: a pointer, and the T behind it after
//                                                  the call
// A result that does not fit the call record is a last argument called "return".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rochound::trace {

enum class ValueType : uint8_t {
  kNone,  // no value, or one that is not known
  kBool,
  kSigned,
  kUnsigned,
  kFloat,
  kDouble,
  kPointer,
  kText,
  kDimensions,
  kStruct,
};

struct Argument {
  std::string name;
  ValueType type = ValueType::kNone;
  bool behind_pointer = false;  // *T: type is T's, and the word after the first has it
  uint16_t word = 0;            // index of its first word
  uint16_t words = 1;
};

struct Function {
  Function() = default;
  // As in the functions file: argument:type,argument:type... What is after a type that is not
  // known is left out.
  Function(std::string_view domain, std::string_view name, std::string_view result,
           std::string_view arguments);

  std::string domain;
  std::string name;
  std::string result_type;  // as the file has it
  ValueType result = ValueType::kNone;
  bool result_is_last_argument = false;
  std::vector<Argument> arguments;

  // -1: there is no such argument.
  int Find(std::string_view argument) const;
};

// A line of the file: the function's number, and the function. Nothing: the line is damaged.
std::optional<std::pair<uint16_t, Function>> ParseFunction(std::string_view line);

}  // namespace rochound::trace
