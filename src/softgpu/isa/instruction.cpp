// SPDX-License-Identifier: MIT
#include "softgpu/isa/instruction.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <utility>

namespace rochound::softgpu {
namespace {

std::string_view Trim(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
  return s;
}

// Splits at `separator` outside of (), [].
std::vector<std::string_view> SplitTopLevel(std::string_view s, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= s.size(); ++i) {
    if (i == s.size() || (s[i] == separator && depth == 0)) {
      std::string_view part = Trim(s.substr(start, i - start));
      if (!part.empty()) parts.push_back(part);
      start = i + 1;
    } else if (s[i] == '(' || s[i] == '[') {
      ++depth;
    } else if (s[i] == ')' || s[i] == ']') {
      --depth;
    }
  }
  return parts;
}

bool ParseInteger(std::string_view s, int64_t* value) {
  bool negative = !s.empty() && s.front() == '-';
  if (negative) s.remove_prefix(1);
  int base = 10;
  if (s.size() > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
    base = 16;
    s.remove_prefix(2);
  }
  uint64_t magnitude = 0;
  auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), magnitude, base);
  if (s.empty() || error != std::errc() || end != s.data() + s.size()) return false;
  *value = static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
  return true;
}

struct NamedRegister {
  std::string_view name;
  uint16_t index;
  uint8_t dwords;
};

constexpr NamedRegister kNamedRegisters[] = {
    {"vcc", kVccLo, 2},
    {"vcc_lo", kVccLo, 1},
    {"vcc_hi", kVccLo + 1, 1},
    {"exec", kExecLo, 2},
    {"exec_lo", kExecLo, 1},
    {"exec_hi", kExecLo + 1, 1},
    {"m0", kM0, 1},
    {"null", kNull, 1},
    {"scc", kScc, 1},
    {"src_scc", kScc, 1},
    {"src_vccz", kVccZ, 1},
    {"vccz", kVccZ, 1},
    {"src_execz", kExecZ, 1},
    {"execz", kExecZ, 1},
    {"flat_scratch", kFlatScratchLo, 2},
    {"flat_scratch_lo", kFlatScratchLo, 1},
    {"flat_scratch_hi", kFlatScratchLo + 1, 1},
    {"xnack_mask", kXnackMaskLo, 2},
    {"xnack_mask_lo", kXnackMaskLo, 1},
    {"xnack_mask_hi", kXnackMaskLo + 1, 1},
    {"src_shared_base", kSharedBase, 2},
    {"src_shared_limit", kSharedLimit, 2},
    {"src_private_base", kPrivateBase, 2},
    {"src_private_limit", kPrivateLimit, 2},
    {"shared_base", kSharedBase, 2},
    {"shared_limit", kSharedLimit, 2},
    {"private_base", kPrivateBase, 2},
    {"private_limit", kPrivateLimit, 2},
};

// v5, v[2:3], v5.h, s7, ttmp[0:3], a1 -> kind, index, count.
bool ParseNumberedRegister(std::string_view s, AsmOperand* operand) {
  bool is_high = s.ends_with(".h");
  bool is_half = is_high || s.ends_with(".l");
  if (is_half) s.remove_suffix(2);
  std::string_view rest;
  uint16_t base = 0;
  if (s.starts_with("ttmp")) {
    operand->kind = AsmOperand::Kind::kSgpr;
    base = kTtmp0;
    rest = s.substr(4);
  } else if (!s.empty() && (s[0] == 'v' || s[0] == 's' || s[0] == 'a')) {
    operand->kind = s[0] == 'v'   ? AsmOperand::Kind::kVgpr
                    : s[0] == 's' ? AsmOperand::Kind::kSgpr
                                  : AsmOperand::Kind::kAgpr;
    rest = s.substr(1);
  } else {
    return false;
  }
  int64_t first = 0;
  int64_t last = 0;
  if (rest.size() > 2 && rest.front() == '[' && rest.back() == ']') {
    rest = rest.substr(1, rest.size() - 2);
    size_t colon = rest.find(':');
    if (!ParseInteger(rest.substr(0, colon), &first)) return false;
    last = first;
    if (colon != std::string_view::npos && !ParseInteger(rest.substr(colon + 1), &last))
      return false;
  } else if (rest.empty() || !std::isdigit(static_cast<unsigned char>(rest[0])) ||
             !ParseInteger(rest, &first)) {
    return false;
  } else {
    last = first;
  }
  if (first < 0 || last < first || last > 511) return false;
  operand->index = static_cast<uint16_t>(base + first);
  operand->dwords = static_cast<uint8_t>(last - first + 1);
  operand->is_high = is_high;
  return true;
}

bool StripCall(std::string_view name, std::string_view* s) {
  if (s->size() > name.size() + 2 && s->starts_with(name) && (*s)[name.size()] == '(' &&
      s->back() == ')') {
    *s = s->substr(name.size() + 1, s->size() - name.size() - 2);
    return true;
  }
  return false;
}

AsmOperand ParseOperand(std::string_view s) {
  AsmOperand operand;
  operand.text = std::string(s);
  // A minus in front of a number belongs to the number.
  if (s.size() > 1 && s[0] == '-' && !std::isdigit(static_cast<unsigned char>(s[1]))) {
    operand.negate = true;
    s.remove_prefix(1);
  } else if (StripCall("neg", &s)) {
    operand.negate = true;
  }
  if (s.size() > 2 && s.front() == '|' && s.back() == '|') {
    operand.absolute = true;
    s = s.substr(1, s.size() - 2);
  } else if (StripCall("abs", &s)) {
    operand.absolute = true;
  }
  if (StripCall("sext", &s)) operand.sign_extend = true;
  // Newer LLVM says so where a literal could have been an inline constant.
  bool forced_literal = StripCall("lit", &s) || StripCall("lit64", &s);
  if (s == "off") {
    operand.kind = AsmOperand::Kind::kOff;
    return operand;
  }
  for (const NamedRegister& named : kNamedRegisters) {
    if (s == named.name) {
      operand.kind = AsmOperand::Kind::kSgpr;
      operand.index = named.index;
      operand.dwords = named.dwords;
      return operand;
    }
  }
  if (ParseNumberedRegister(s, &operand)) return operand;
  if (ParseInteger(s, &operand.integer)) {
    bool is_literal = forced_literal || s.find("0x") != std::string_view::npos;
    operand.kind = is_literal ? AsmOperand::Kind::kLiteral : AsmOperand::Kind::kInline;
    return operand;
  }
  std::string number(s);
  char* end = nullptr;
  operand.real = std::strtod(number.c_str(), &end);
  operand.kind =
      end != number.c_str() && *end == '\0' ? AsmOperand::Kind::kFloat : AsmOperand::Kind::kText;
  return operand;
}

// [1,0,1] -> bit i is element i.
uint8_t ParseBitList(std::string_view s) {
  uint8_t bits = 0;
  int position = 0;
  for (char c : s) {
    if (c == '1') bits |= static_cast<uint8_t>(1u << position);
    if (c == '0' || c == '1') ++position;
  }
  return bits;
}

SdwaSelect ParseSdwaSelect(std::string_view s) {
  if (s == "BYTE_0") return SdwaSelect::kByte0;
  if (s == "BYTE_1") return SdwaSelect::kByte1;
  if (s == "BYTE_2") return SdwaSelect::kByte2;
  if (s == "BYTE_3") return SdwaSelect::kByte3;
  if (s == "WORD_0") return SdwaSelect::kWord0;
  if (s == "WORD_1") return SdwaSelect::kWord1;
  return SdwaSelect::kDword;
}

// Returns false for a modifier that could change the result and is not known here.
bool ApplyModifier(std::string_view token, Modifiers* m) {
  size_t colon = token.find(':');
  std::string_view key = token.substr(0, colon);
  std::string_view value =
      colon == std::string_view::npos ? std::string_view() : token.substr(colon + 1);
  int64_t n = 0;
  bool numeric = ParseInteger(value, &n);
  const std::pair<std::string_view, bool*> flags[] = {
      {"glc", &m->glc}, {"sc0", &m->glc},     {"slc", &m->slc},     {"nt", &m->slc},
      {"dlc", &m->dlc}, {"sc1", &m->dlc},     {"lds", &m->lds},     {"gds", &m->gds},
      {"tfe", &m->tfe}, {"offen", &m->offen}, {"idxen", &m->idxen}, {"clamp", &m->clamp},
  };
  for (auto [name, flag] : flags) {
    if (token == name) {
      *flag = true;
      return true;
    }
  }
  if (key == "offset") {
    m->offset = static_cast<int32_t>(n);
    return numeric || value.starts_with("swizzle");  // swizzle: read from the encoding
  }
  if (key == "format") return true;  // of MTBUF: read from the encoding
  if (key == "bitop3") return true;  // read from the encoding, too
  if (key == "scope") return true;   // memory is coherent
  // A temporal hint, and on gfx12 also whether an atomic returns the old value.
  if (key == "th") {
    m->glc |= value.starts_with("TH_ATOMIC") && value.find("RETURN") != std::string_view::npos;
    return true;
  }
  if (key == "byte_sel") return m->byte_sel = static_cast<uint8_t>(n), numeric;
  if (key == "index_key") return m->index_key = static_cast<uint8_t>(n), numeric;
  if (key == "offset0") return m->offset0 = static_cast<uint16_t>(n), numeric;
  if (key == "offset1") return m->offset1 = static_cast<uint16_t>(n), numeric;
  if (key == "mul") return m->omod = n == 2 ? 1 : 2, numeric;
  if (key == "div") return m->omod = 3, numeric;
  if (key == "op_sel") {
    m->op_sel = ParseBitList(value);
    m->op_sel_fields = static_cast<uint8_t>(
        std::count_if(value.begin(), value.end(), [](char c) { return c == '0' || c == '1'; }));
    return true;
  }
  if (key == "op_sel_hi") {
    m->op_sel_hi = ParseBitList(value);
    m->has_op_sel_hi = true;
    return true;
  }
  if (key == "neg_lo") return m->neg_lo = ParseBitList(value), true;
  if (key == "neg_hi") return m->neg_hi = ParseBitList(value), true;
  if (key == "neg") return m->neg_lo = ParseBitList(value), true;  // MFMA f64
  if (key == "cbsz") return m->cbsz = static_cast<uint8_t>(n), numeric;
  if (key == "abid") return m->abid = static_cast<uint8_t>(n), numeric;
  if (key == "blgp") return m->blgp = static_cast<uint8_t>(n), numeric;
  if (key == "dst_sel") return m->dst_sel = ParseSdwaSelect(value), true;
  if (key == "src0_sel") return m->src_sel[0] = ParseSdwaSelect(value), true;
  if (key == "src1_sel") return m->src_sel[1] = ParseSdwaSelect(value), true;
  if (key == "dst_unused") {
    m->dst_unused = value == "UNUSED_PAD"    ? SdwaUnused::kPad
                    : value == "UNUSED_SEXT" ? SdwaUnused::kSextend
                                             : SdwaUnused::kPreserve;
    return true;
  }
  // For gfx10 LLVM prints both kinds of DPP with the suffix _dpp.
  if (key == "dpp8") return m->is_dpp = false, m->is_dpp8 = true;
  // DPP controls are read from the encoding, which does not change with LLVM's spelling.
  for (std::string_view dpp :
       {"quad_perm", "row_shl", "row_shr", "row_ror", "row_mirror", "row_half_mirror", "row_bcast",
        "row_newbcast", "row_share", "row_xmask", "wave_shl", "wave_rol", "wave_shr", "wave_ror",
        "row_mask", "bank_mask", "bound_ctrl", "fi"}) {
    if (key == dpp) return true;
  }
  return false;
}

// Removes the encoding suffix, telling SDWA and DPP apart from the plain forms.
std::string StripSuffix(std::string_view mnemonic, Modifiers* m) {
  for (std::string_view suffix :
       {"_e64_dpp8", "_e64_dpp", "_dpp8", "_dpp", "_sdwa", "_e32", "_e64"}) {
    if (!mnemonic.ends_with(suffix)) continue;
    if (suffix.ends_with("dpp8")) m->is_dpp8 = true;
    if (suffix.ends_with("dpp")) m->is_dpp = true;
    if (suffix == "_sdwa") m->is_sdwa = true;
    return std::string(mnemonic.substr(0, mnemonic.size() - suffix.size()));
  }
  return std::string(mnemonic);
}

// These print operands or counters that no handler reads; their text is free-form.
bool HasFreeFormOperands(std::string_view mnemonic) {
  return mnemonic.starts_with("s_waitcnt") || mnemonic.starts_with("s_delay_alu") ||
         mnemonic.starts_with("s_wait_");
}

// The upper halves that operands name, as the bits of op_sel that mean the same. An encoding
// without op_sel has them in the register numbers.
void CollectHighHalves(AsmInstruction* instruction) {
  // The only vector instructions whose text begins with a source.
  bool has_destination = !instruction->mnemonic.starts_with("v_cmpx_");
  for (size_t i = 0; i < instruction->operands.size() && i < 4; ++i) {
    if (!instruction->operands[i].is_high) continue;
    size_t bit = !has_destination ? i : i == 0 ? 3 : i - 1;
    instruction->modifiers.op_sel |= static_cast<uint8_t>(1u << bit);
  }
}

}  // namespace

std::optional<AsmInstruction> ParseAssembly(std::string_view text, std::string* why) {
  AsmInstruction instruction;
  text = Trim(text.substr(0, text.find("//")));
  text = Trim(text.substr(0, text.find(';')));
  constexpr std::string_view kPair = " :: ";
  if (size_t pair = text.find(kPair); pair != std::string_view::npos) {
    std::optional<AsmInstruction> first = ParseAssembly(text.substr(0, pair), why);
    std::optional<AsmInstruction> second = ParseAssembly(text.substr(pair + kPair.size()), why);
    if (!first || !second) return std::nullopt;
    for (AsmInstruction* half : {&*first, &*second}) {
      // VCC is not in the text.
      if (half->mnemonic == "v_dual_cndmask_b32") half->operands.push_back(ParseOperand("vcc"));
    }
    first->text = std::string(text);
    first->second.push_back(std::move(*second));
    return first;
  }
  instruction.text = std::string(text);
  size_t space = text.find_first_of(" \t");
  std::string_view mnemonic = text.substr(0, space);
  instruction.mnemonic = StripSuffix(mnemonic, &instruction.modifiers);
  if (space == std::string_view::npos || HasFreeFormOperands(mnemonic)) return instruction;
  for (std::string_view part : SplitTopLevel(text.substr(space), ',')) {
    std::vector<std::string_view> tokens = SplitTopLevel(part, ' ');
    for (size_t i = 0; i < tokens.size(); ++i) {
      // The first word of a part is an operand unless it reads as a modifier (no operands at all).
      bool is_modifier = ApplyModifier(tokens[i], &instruction.modifiers);
      if (i == 0 && !is_modifier) {
        instruction.operands.push_back(ParseOperand(tokens[i]));
      } else if (!is_modifier) {
        *why = "unknown modifier '" + std::string(tokens[i]) + "'";
        return std::nullopt;
      }
    }
  }
  // The destination's field, if there is one, is the last; it is kept as bit 3.
  Modifiers& m = instruction.modifiers;
  if (m.op_sel_fields > 1 && m.op_sel_fields == instruction.operands.size()) {
    unsigned last = m.op_sel_fields - 1u;
    unsigned high = m.op_sel >> last & 1;
    m.op_sel = static_cast<uint8_t>((m.op_sel & ~(1u << last)) | high << 3);
  }
  CollectHighHalves(&instruction);
  return instruction;
}

}  // namespace rochound::softgpu
