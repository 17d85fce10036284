// SPDX-License-Identifier: MIT
#include "optimize/model_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace rochound::optimize {
namespace {

using base::Error;
using base::Result;
using nlohmann::json;

constexpr std::string_view kFence = "```";

bool IsPlain(char letter) {
  const auto code = static_cast<unsigned char>(letter);
  return code >= 0x20 || letter == '\n' || letter == '\t' || letter == '\r';
}

// A member that is there and of this kind.
const json* Member(const json& object, const char* name, json::value_t kind) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found != object.end() && found->type() == kind ? &*found : nullptr;
}

}  // namespace

Result<std::string> SourceInText(std::string_view text) {
  if (!std::all_of(text.begin(), text.end(), IsPlain))
    return Error{"the text holds control characters"};
  std::string source;
  size_t fences = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    at = end + 1;
    const size_t blanks = std::min(line.find_first_not_of(' '), line.size());
    if (blanks <= 3 && line.substr(blanks).starts_with(kFence)) {
      ++fences;
      if (fences % 2 == 0 && line.substr(blanks) != kFence)
        return Error{"a code block does not end where another one begins"};
      continue;
    }
    if (fences != 1) continue;
    source += line;
    source += '\n';
  }
  if (fences == 0) return Error{"there is no code block in it"};
  if (fences % 2 != 0) return Error{"its code block does not end"};
  if (fences > 2) return Error{"it has several code blocks, and one is wanted"};
  if (source.find_first_not_of(" \t\n") == std::string::npos)
    return Error{"its code block is empty"};
  if (source.size() > kMostSource)
    return Error{fmt::format("its source has more than {} bytes", kMostSource)};
  return source;
}

Result<std::string> SourceInAnswer(std::string_view body) {
  const json answer = json::parse(body, nullptr, false);
  const json* const choices = Member(answer, "choices", json::value_t::array);
  if (choices == nullptr || choices->empty()) return Error{"it is no answer of chat completions"};
  const json& choice = choices->front();
  const json* const message = Member(choice, "message", json::value_t::object);
  if (message == nullptr) return Error{"it holds no message"};
  if (const json* const calls = Member(*message, "tool_calls", json::value_t::array);
      (calls != nullptr && !calls->empty()) ||
      Member(*message, "function_call", json::value_t::object) != nullptr)
    return Error{"it asks for tools, and there are none"};
  if (const json* const end = Member(choice, "finish_reason", json::value_t::string);
      end != nullptr && *end == "length")
    return Error{"it was cut off"};
  const json* const content = Member(*message, "content", json::value_t::string);
  if (content == nullptr) return Error{"its message has no text"};
  return SourceInText(content->get_ref<const std::string&>());
}

}  // namespace rochound::optimize
