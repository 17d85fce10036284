// SPDX-License-Identifier: MIT
//
// One instruction as its assembly text says it. LLVM's disassembler knows every encoding of every
// target; its text is the documented, stable way to name operands, so it is what we read. Pure
// functions, no state, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rochound::softgpu {

struct AsmOperand {
  enum class Kind : uint8_t {
    kVgpr,     // v5, v[2:3], v5.h
    kAgpr,     // a0
    kSgpr,     // any scalar register, numbered as in ScalarRegister below
    kInline,   // integer written in decimal: an inline constant, or an immediate field
    kLiteral,  // integer written in hexadecimal: a literal, or an immediate field
    kFloat,    // 1.0, 0.5, 0.15915494
    kOff,      // "off": the address part is absent
    kText,     // anything else: hwreg(...), sendmsg(...), vmcnt(0)
  };
  Kind kind = Kind::kText;
  uint16_t index = 0;  // first register
  uint8_t dwords = 1;  // registers in the range
  bool negate = false;
  bool absolute = false;
  bool sign_extend = false;  // sext(...) of SDWA
  bool is_high = false;      // v5.h: the upper half of a register
  int64_t integer = 0;
  double real = 0;
  std::string text;
};

// Where scalar registers live in Wave::sgpr. 0..105 are s0..s105.
enum ScalarRegister : uint16_t {
  kVccLo = 106,
  kTtmp0 = 108,
  kM0 = 124,
  kExecLo = 126,
  kFlatScratchLo = 128,
  kXnackMaskLo = 130,
  // Read-only values, filled at wave start or computed when read.
  kSharedBase = 132,  // 64 bits each
  kSharedLimit = 134,
  kPrivateBase = 136,
  kPrivateLimit = 138,
  kNull = 140,   // reads as zero, 4 dwords so that a wide write has a place to go
  kScc = 144,    // computed
  kVccZ = 145,   // computed
  kExecZ = 146,  // computed
  kScalarRegisterCount = 148,
};

enum class SdwaSelect : uint8_t { kByte0, kByte1, kByte2, kByte3, kWord0, kWord1, kDword };
enum class SdwaUnused : uint8_t { kPad, kSextend, kPreserve };

// What follows the operands. Absent fields keep these defaults.
struct Modifiers {
  int32_t offset = 0;
  uint16_t offset0 = 0;
  uint16_t offset1 = 0;
  bool glc = false;  // also sc0: an atomic returns the old value
  bool slc = false;
  bool dlc = false;
  bool lds = false;
  bool gds = false;
  bool tfe = false;
  bool offen = false;
  bool idxen = false;
  bool clamp = false;
  uint8_t omod = 0;  // 0 none, 1 mul:2, 2 mul:4, 3 div:2

  bool is_sdwa = false;
  SdwaSelect dst_sel = SdwaSelect::kDword;
  SdwaUnused dst_unused = SdwaUnused::kPreserve;
  SdwaSelect src_sel[2] = {SdwaSelect::kDword, SdwaSelect::kDword};

  bool is_dpp = false;  // fields below from the encoding
  bool is_dpp8 = false;
  uint16_t dpp_ctrl = 0;
  uint8_t row_mask = 0xF;
  uint8_t bank_mask = 0xF;
  bool bound_ctrl = false;
  bool fetch_inactive = false;
  uint8_t dpp8_lane[8] = {};

  // Bit i belongs to source i; op_sel bit 3 to the destination. A register's .h counts, too.
  uint8_t op_sel = 0;
  uint8_t op_sel_fields = 0;  // in the text
  uint8_t byte_sel = 0;       // of the source, or of the destination where that is a byte
  uint8_t index_key = 0;      // which part of the index register SWMMAC reads
  uint8_t op_sel_hi = 0;
  bool has_op_sel_hi = false;
  uint8_t neg_lo = 0;
  uint8_t neg_hi = 0;
  uint8_t cbsz = 0;
  uint8_t abid = 0;
  uint8_t blgp = 0;
};

struct AsmInstruction {
  std::string mnemonic;  // without _e32, _e64, _dpp, _sdwa, ...
  std::string text;      // as disassembled
  std::vector<AsmOperand> operands;
  Modifiers modifiers;
  uint64_t address = 0;
  uint32_t size = 0;       // bytes
  uint32_t words[5] = {};  // the encoding
  // The other half of a VOPD pair (v_dual_...), if this is one. Its address, size and encoding are
  // the pair's.
  std::vector<AsmInstruction> second;

  // The 16-bit immediate of SOPK and SOPP, as encoded.
  uint16_t Simm16() const { return static_cast<uint16_t>(words[0] & 0xFFFF); }
};

// Reads one line of disassembly. nullopt if a register or modifier is not understood; *why says so.
std::optional<AsmInstruction> ParseAssembly(std::string_view text, std::string* why);

}  // namespace rochound::softgpu
