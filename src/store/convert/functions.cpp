// SPDX-License-Identifier: MIT
#include "store/convert/functions.h"

#include <bit>
#include <charconv>
#include <cmath>

#include "base/utf8.h"

namespace rochound::store {
namespace {

template <typename Number>
void Append(std::string* out, Number number, int base = 10) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof text, number, base).ptr;
  out->append(text, end);
}

template <typename Real>
void AppendReal(std::string* out, Real number, bool json) {
  if (json && !std::isfinite(number)) {  // JSON has no word for these
    out->append(std::isnan(number) ? "\"nan\"" : number > 0 ? "\"inf\"" : "\"-inf\"");
    return;
  }
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number).ptr;
  out->append(text, end);
}

// One value; `words` has all that its type needs.
void AppendValue(std::string* out, ValueType type, const uint64_t* words, size_t count,
                 const trace::TextArgument* text, bool json) {
  const auto quoted_hex = [&](uint64_t word) {
    if (json) out->push_back('"');
    AppendHex(out, word);
    if (json) out->push_back('"');
  };
  switch (type) {
    case ValueType::kNone:
      out->append(json ? "null" : "?");
      break;
    case ValueType::kBool:
      out->append(words[0] != 0 ? "true" : "false");
      break;
    case ValueType::kSigned:
      AppendNumber(out, static_cast<int64_t>(words[0]));
      break;
    case ValueType::kUnsigned:
      Append(out, words[0]);
      break;
    case ValueType::kFloat:
      AppendReal(out, std::bit_cast<float>(static_cast<uint32_t>(words[0])), json);
      break;
    case ValueType::kDouble:
      AppendReal(out, std::bit_cast<double>(words[0]), json);
      break;
    case ValueType::kPointer:
      quoted_hex(words[0]);
      break;
    case ValueType::kText:
      if (text == nullptr) {
        quoted_hex(words[0]);
      } else if (json) {
        AppendJsonText(out, text->text);
      } else {
        out->append(text->text);
        if (text->total > text->text.size()) out->append("...");
      }
      break;
    case ValueType::kDimensions: {
      out->push_back(json ? '[' : '{');
      Append(out, static_cast<uint32_t>(words[0]));
      out->push_back(',');
      Append(out, words[0] >> 32);
      out->push_back(',');
      Append(out, static_cast<uint32_t>(words[1]));
      out->push_back(json ? ']' : '}');
      break;
    }
    case ValueType::kStruct:
      out->push_back(json ? '[' : '{');
      for (size_t i = 0; i < count; ++i) {
        if (i > 0) out->push_back(',');
        quoted_hex(words[i]);
      }
      out->push_back(json ? ']' : '}');
      break;
  }
}

const trace::TextArgument* TextOf(const CallArguments& arguments, size_t argument) {
  for (const trace::TextArgument& text : arguments.texts)
    if (text.argument == argument) return &text;
  return nullptr;
}

template <typename Separate, typename Name>
void AppendEach(std::string* out, const Function& function, const CallArguments& arguments,
                bool json, Separate separate, Name name) {
  for (size_t i = 0; i < function.arguments.size(); ++i) {
    const Argument& argument = function.arguments[i];
    const trace::TextArgument* const text = TextOf(arguments, i);
    if (argument.word + argument.words > arguments.words.size()) {
      // Lost, or the call never came back to tell; texts are noted when it begins.
      if (text == nullptr) continue;
      separate();
      name("", argument.name);
      AppendValue(out, ValueType::kText, nullptr, 0, text, json);
      continue;
    }
    const uint64_t* const words = &arguments.words[argument.word];
    separate();
    name("", argument.name);
    if (!argument.behind_pointer) {
      AppendValue(out, argument.type, words, argument.words, text, json);
      continue;
    }
    AppendValue(out, ValueType::kPointer, words, 1, nullptr, json);
    if (words[0] == 0) continue;
    separate();
    name("*", argument.name);
    AppendValue(out, argument.type, words + 1, argument.words - 1u, nullptr, json);
  }
}

}  // namespace

uint64_t WordOf(const Function& function, const CallArguments& arguments, int argument) {
  if (argument < 0) return 0;
  const size_t word = function.arguments[static_cast<size_t>(argument)].word;
  return word < arguments.words.size() ? arguments.words[word] : 0;
}

void AppendArguments(std::string* out, const Function& function, const CallArguments& arguments) {
  const size_t begin = out->size();
  AppendEach(
      out, function, arguments, false,
      [&] {
        if (out->size() > begin) out->push_back('|');
      },
      [&](std::string_view prefix, std::string_view name) {
        out->append(prefix);
        out->append(name);
        out->push_back('=');
      });
}

void AppendArgumentsJson(std::string* out, const Function& function,
                         const CallArguments& arguments) {
  out->push_back('{');
  const size_t begin = out->size();
  AppendEach(
      out, function, arguments, true,
      [&] {
        if (out->size() > begin) out->push_back(',');
      },
      [&](std::string_view prefix, std::string_view name) {
        out->push_back('"');
        out->append(prefix);
        out->append(name);
        out->append("\":");
      });
  out->push_back('}');
}

void AppendResultJson(std::string* out, const Function& function, const CallArguments& arguments,
                      uint32_t result) {
  if (function.result_is_last_argument) {
    const Argument& last = function.arguments.back();
    if (last.word + last.words <= arguments.words.size()) {
      AppendValue(out, last.type, &arguments.words[last.word], last.words, nullptr, true);
      return;
    }
  }
  // Signed ones were cut to their lower half.
  const uint64_t word =
      function.result == ValueType::kSigned
          ? static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(result)))
          : result;
  const bool one_word =
      function.result != ValueType::kDimensions && function.result != ValueType::kStruct;
  AppendValue(out, one_word ? function.result : ValueType::kNone, &word, 1, nullptr, true);
}

void AppendJsonText(std::string* out, std::string_view text) {
  out->push_back('"');
  while (!text.empty()) {
    const size_t length = base::Utf8Length(text);
    const char c = text[0];
    if (length == 0) {
      out->append("\\ufffd");
    } else if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      static constexpr char kDigits[] = "0123456789abcdef";
      out->append("\\u00");
      out->push_back(kDigits[c >> 4]);
      out->push_back(kDigits[c & 15]);
    } else {
      out->append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out->push_back('"');
}

void AppendNumber(std::string* out, int64_t number) { Append(out, number); }

void AppendHex(std::string* out, uint64_t number) {
  out->append("0x");
  Append(out, number, 16);
}

}  // namespace rochound::store
