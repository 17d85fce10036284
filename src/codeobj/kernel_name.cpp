// SPDX-License-Identifier: MIT
#include "codeobj/kernel_name.h"

#include <algorithm>
#include <cctype>

namespace rochound::codeobj {
namespace {

constexpr std::string_view kVoid = "void ",
                           kUnnamed = "(anonymous namespace)::", kLambda = "{lambda",
                           kCallOperator = "::operator()", kConst = " const";
constexpr size_t kLeastOfName = 12;

bool IsWordCharacter(char c) { return isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// After the bracket that closes the one at `at`; the text's end if there is none.
size_t AfterBracket(std::string_view text, size_t at) {
  const char open = text[at], close = open == '(' ? ')' : '}';
  int depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == open) ++depth;
    if (text[at] == close && --depth == 0) return at + 1;
  }
  return text.size();
}

// A lambda is told by the types that it takes: f(Iterator&)::{lambda(float)#1} becomes f(float).
std::string DropParameters(std::string_view name) {
  std::string text;
  for (size_t at = 0; at < name.size();) {
    const std::string_view rest = name.substr(at);
    if (rest.starts_with(kUnnamed)) {
      at += kUnnamed.size();
    } else if (rest.starts_with(kCallOperator)) {
      at += kCallOperator.size();
    } else if (rest.starts_with(kLambda)) {
      const size_t types = at + kLambda.size(), end = AfterBracket(name, at);
      while (text.ends_with(':')) text.pop_back();
      const size_t after = std::min(AfterBracket(name, types), end);
      if (after - types > 2) text += name.substr(types, after - types);
      at = end;
    } else if (rest.starts_with('(')) {
      at = AfterBracket(name, at);
      if (name.substr(at).starts_with(kConst)) at += kConst.size();
    } else {
      text.push_back(name[at++]);
    }
  }
  return text;
}

std::string DropQualifiers(std::string_view name) {
  std::string text;
  for (size_t at = 0; at < name.size(); ++at) {
    if (name.substr(at, 2) == "::" && !text.empty() && IsWordCharacter(text.back())) {
      while (!text.empty() && IsWordCharacter(text.back())) text.pop_back();
      ++at;
    } else if (name.substr(at, 2) != " >") {
      text.push_back(name[at]);
    }
  }
  return text;
}

// "<float, float, float, int>" becomes "<float x3, int>".
std::string DropRepetitions(std::string_view name) {
  std::string text;
  for (size_t at = 0; at < name.size();) {
    const size_t end = std::min(name.find_first_of("<>(),", at), name.size());
    const std::string_view argument = name.substr(at, end - at);
    size_t count = 1, after = end;
    const std::string again = ", " + std::string(argument);
    const bool is_type = !argument.empty() && isalpha(static_cast<unsigned char>(argument[0])) != 0;
    while (is_type && name.substr(after).starts_with(again) && after + again.size() < name.size() &&
           (name[after + again.size()] == ',' || name[after + again.size()] == '>')) {
      after += again.size();
      ++count;
    }
    text += argument;
    if (count > 1) text += " x" + std::to_string(count);
    at = after;
    // Separators, up to the next argument.
    while (at < name.size() && (at == after || name[at] == ' ')) text.push_back(name[at++]);
  }
  return text;
}

}  // namespace

std::string BriefKernelName(std::string_view name) {
  if (name.starts_with(kVoid)) name.remove_prefix(kVoid.size());
  if (!name.ends_with(')')) return std::string(name);
  int depth = 0;
  for (size_t at = name.size() - 1; at > 0; --at) {
    if (name[at] == ')') ++depth;
    if (name[at] == '(' && --depth == 0) return std::string(name.substr(0, at));
  }
  return std::string(name);
}

std::string ShortKernelName(std::string_view name, size_t width) {
  if (name.size() <= width) return std::string(name);
  std::string text = BriefKernelName(name);
  if (text.size() > width) text = DropParameters(text);
  if (text.size() > width) text = DropQualifiers(text);
  if (text.size() > width) text = DropRepetitions(text);
  if (text.size() <= width) return text;
  constexpr std::string_view kCut = "...";
  if (const size_t arguments = text.find('<'); arguments != std::string::npos) {
    const size_t fits = arguments - std::min(arguments, text.size() + kCut.size() - width);
    const size_t kept = std::max(kLeastOfName, fits);
    if (kept + kCut.size() < arguments) text.replace(kept, arguments - kept, kCut);
  }
  if (text.size() > width) text.replace(width - std::min(width, kCut.size()), text.size(), kCut);
  return text;
}

}  // namespace rochound::codeobj
