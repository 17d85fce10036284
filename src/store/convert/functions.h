// SPDX-License-Identifier: MIT
//
// The arguments of a recorded call, as text. Any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "trace/functions.h"
#include "trace/reader.h"

namespace rochound::store {

using trace::Argument;
using trace::Function;
using trace::ValueType;

// What a call was given, as the log's reader tells it.
struct CallArguments {
  std::span<const uint64_t> words;
  std::span<const trace::TextArgument> texts;
};

// The word at `argument` of this call, or 0 when it was not recorded.
uint64_t WordOf(const Function& function, const CallArguments& arguments, int argument);

// name=value|name=value, as RPD has it. What a pointer points to is called *name.
void AppendArguments(std::string* out, const Function& function, const CallArguments& arguments);

// {"name":value,...}; pointers are texts with 0x.
void AppendArgumentsJson(std::string* out, const Function& function,
                         const CallArguments& arguments);

// The result as a JSON value; null where there is none.
void AppendResultJson(std::string* out, const Function& function, const CallArguments& arguments,
                      uint32_t result);

// A JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
void AppendJsonText(std::string* out, std::string_view text);
void AppendNumber(std::string* out, int64_t number);
void AppendHex(std::string* out, uint64_t number);

}  // namespace rochound::store
