// SPDX-License-Identifier: MIT
#include "doctor/fault/operand.h"

#include <cctype>
#include <cstdlib>

#include "doctor/fault/machine_state.h"

namespace rochound::doctor {
namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && isspace(static_cast<unsigned char>(text.front())) != 0)
    text.remove_prefix(1);
  while (!text.empty() && isspace(static_cast<unsigned char>(text.back())) != 0)
    text.remove_suffix(1);
  return text;
}

// "12" or "[12:15]" after a register file's letter.
bool RegisterNumbers(std::string_view text, int* first, int* count) {
  if (text.empty()) return false;
  char* end = nullptr;
  if (text[0] != '[') {
    const std::string copy(text);
    *first = static_cast<int>(strtol(copy.c_str(), &end, 10));
    *count = 1;
    return isdigit(static_cast<unsigned char>(text[0])) != 0 && *end == '\0';
  }
  const std::string copy(text.substr(1));
  *first = static_cast<int>(strtol(copy.c_str(), &end, 10));
  *count = 1;
  if (*end == ':') *count = static_cast<int>(strtol(end + 1, &end, 10)) - *first + 1;
  return *end == ']' && *count > 0;
}

Operand Register(int reg, int count = 1) { return {Operand::Kind::kRegister, reg, count, 0}; }

Operand ReadOperand(std::string_view text) {
  text = Trim(text);
  Operand operand;
  for (const char* literal : {"lit(", "lit64("}) {
    if (!text.starts_with(literal) || !text.ends_with(")")) continue;
    text.remove_prefix(text.find('(') + 1);
    text.remove_suffix(1);
  }
  if (text.empty()) return operand;
  if (text == "off") return {Operand::Kind::kOff, -1, 1, 0};
  if (text == "null") return {Operand::Kind::kNumber, -1, 1, 0};
  if (text == "vcc") return Register(kVcc, 2);
  if (text == "vcc_lo") return Register(kVcc);
  if (text == "vcc_hi") return Register(kVcc + 1);
  if (text == "exec") return Register(kExec, 2);
  if (text == "exec_lo") return Register(kExec);
  if (text == "exec_hi") return Register(kExec + 1);
  if (text == "m0") return Register(124);
  if (text == "scc" || text == "src_scc") return Register(kScc);
  int first = 0;
  int count = 1;
  if ((text[0] == 's' || text[0] == 'v') && RegisterNumbers(text.substr(1), &first, &count)) {
    const int limit = text[0] == 's' ? kVcc : 256;
    if (first < 0 || first + count > limit) return operand;
    return Register(text[0] == 's' ? first : kVector + first, count);
  }
  if (text.starts_with("ttmp") && RegisterNumbers(text.substr(4), &first, &count) && first < 16)
    return Register(108 + first, count);
  const std::string copy(text);
  char* end = nullptr;
  if (copy.find('.') != std::string::npos) {
    strtod(copy.c_str(), &end);
    if (end != copy.c_str() && *end == '\0') operand.kind = Operand::Kind::kFloat;
    return operand;
  }
  const long long number = copy.starts_with("0x")
                               ? static_cast<long long>(strtoull(copy.c_str(), &end, 16))
                               : strtoll(copy.c_str(), &end, 10);
  if (end == copy.c_str() || *end != '\0') return operand;
  operand.kind = Operand::Kind::kNumber;
  operand.number = static_cast<uint64_t>(number);
  return operand;
}

// "-v0", "|v0|", "-|v0|", "neg(v0)", "abs(v0)", "sext(v0)": a register whose value is changed on its
// way. True: it was one; without the change in *text.
bool TakeSourceModifier(std::string_view* text) {
  std::string_view inner = *text;
  if (inner.size() > 1 && inner[0] == '-' && isdigit(static_cast<unsigned char>(inner[1])) == 0)
    inner = Trim(inner.substr(1));
  if (inner.size() > 2 && inner.starts_with("|") && inner.ends_with("|"))
    inner = inner.substr(1, inner.size() - 2);
  for (const std::string_view name : {"neg(", "abs(", "sext("})
    if (inner.starts_with(name) && inner.ends_with(")"))
      inner = inner.substr(name.size(), inner.size() - name.size() - 1);
  const bool changed = inner.size() != text->size();
  *text = inner;
  return changed;
}

// What follows the last operand: "offset:16 glc dlc".
void ReadModifiers(std::string_view text, Parsed* parsed) {
  while (!text.empty()) {
    text = Trim(text);
    const size_t end = text.find(' ');
    const std::string word(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end);
    if (word.starts_with("offset:"))
      parsed->offset = strtoll(word.c_str() + 7, nullptr, 0);
    else if (word == "glc" || word == "sc0" || word.find("RETURN") != std::string::npos)
      parsed->returns = true;
    else if (word.find("dpp") != std::string::npos || word.find("quad_perm") != std::string::npos ||
             word.find("row_") != std::string::npos || word.find("_sel:") != std::string::npos ||
             word.starts_with("mul:") || word.starts_with("div:") || word == "clamp")
      parsed->modified = true;
  }
}

Parsed ParseOne(std::string_view text) {
  Parsed parsed;
  text = Trim(text);
  const size_t end = text.find(' ');
  parsed.mnemonic = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end);
  for (const char* suffix : {"_e32", "_e64"})
    if (parsed.mnemonic.ends_with(suffix)) parsed.mnemonic.resize(parsed.mnemonic.size() - 4);
  for (const char* suffix : {"_sdwa", "_dpp", "_e64_dpp"})
    if (parsed.mnemonic.ends_with(suffix)) parsed.modified = true;
  if (parsed.mnemonic.starts_with("v_dual_")) parsed.mnemonic.erase(2, 5);
  while (!text.empty()) {
    size_t comma = 0;
    int depth = 0;  // [0,1] of op_sel is no operand
    while (comma < text.size() && (text[comma] != ',' || depth > 0)) {
      depth += text[comma] == '[' ? 1 : text[comma] == ']' ? -1 : 0;
      ++comma;
    }
    std::string_view piece = Trim(text.substr(0, comma));
    text.remove_prefix(comma == text.size() ? comma : comma + 1);
    const size_t space = piece.find(' ');
    if (space != std::string_view::npos) {
      ReadModifiers(piece.substr(space), &parsed);
      piece = piece.substr(0, space);
    }
    if (piece.find(':') != std::string_view::npos && piece.find('[') == std::string_view::npos)
      ReadModifiers(piece, &parsed);
    else if (!piece.empty()) {
      while (TakeSourceModifier(&piece)) parsed.modified = true;
      parsed.operands.push_back(ReadOperand(piece));
    }
  }
  return parsed;
}

}  // namespace

std::vector<Parsed> Parse(std::string_view text) {
  text = text.substr(0, text.find("//"));
  const size_t pair = text.find("::");
  if (pair == std::string_view::npos) return {ParseOne(text)};
  return {ParseOne(text.substr(0, pair)), ParseOne(text.substr(pair + 2))};
}

}  // namespace rochound::doctor
