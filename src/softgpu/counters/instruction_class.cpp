// SPDX-License-Identifier: MIT
#include "softgpu/counters/instruction_class.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/mutex.h"

namespace rochound::softgpu {
namespace {

using enum InstructionClass;

constexpr std::array<std::string_view, kInstructionClasses> kNames = {
    "salu",          "smem",           "valu",         "valu_transcendental",
    "matrix",        "lds_load",       "lds_store",    "lds_atomic",
    "lds_exchange",  "global_load",    "global_store", "global_atomic",
    "flat_load",     "flat_store",     "flat_atomic",  "scratch_load",
    "scratch_store", "scratch_atomic", "buffer_load",  "buffer_store",
    "buffer_atomic", "branch",         "barrier",      "wait",
    "other"};

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool StartsWithAny(std::string_view text, std::initializer_list<std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [&](std::string_view start) { return text.starts_with(start); });
}

// Calls body(word) for the words between underscores until it returns true.
template <typename Body>
bool AnyWord(std::string_view text, Body&& body) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('_'), text.size());
    if (body(text.substr(0, end))) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

// Bytes that a load or store moves, by the first word that is a size. 0: none is.
uint8_t SizeOf(std::string_view mnemonic) {
  static constexpr std::pair<std::string_view, uint8_t> kSizes[] = {
      {"ubyte", 1},    {"sbyte", 1},    {"byte", 1},      {"u8", 1},      {"i8", 1},
      {"b8", 1},       {"ushort", 2},   {"sshort", 2},    {"short", 2},   {"u16", 2},
      {"i16", 2},      {"b16", 2},      {"dword", 4},     {"dwordx2", 8}, {"dwordx3", 12},
      {"dwordx4", 16}, {"dwordx8", 32}, {"dwordx16", 64}, {"b32", 4},     {"b64", 8},
      {"b96", 12},     {"b128", 16},    {"b256", 32},     {"b512", 64}};
  uint8_t bytes = 0;
  AnyWord(mnemonic, [&](std::string_view word) {
    for (const auto& [name, size] : kSizes) {
      if (word == name) bytes = size;
    }
    return bytes != 0;
  });
  return bytes;
}

// Atomics are of 32 bits unless a word says otherwise.
uint8_t AtomicSizeOf(std::string_view mnemonic) {
  return AnyWord(mnemonic,
                 [](std::string_view word) { return word == "x2" || word.ends_with("64"); })
             ? 8
             : 4;
}

bool IsTranscendental(std::string_view m) {
  return StartsWithAny(
      m, {"v_exp_f", "v_log_f", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_", "v_exp_legacy",
          "v_log_legacy", "v_s_exp", "v_s_log", "v_s_rcp", "v_s_rsq", "v_s_sqrt", "v_prng_b32"});
}

// How many independent products a matrix instruction makes. Newer names say it; in the older ones
// it follows from the shape.
uint32_t BlocksOf(std::string_view m) {
  static constexpr std::pair<std::string_view, uint32_t> kBlocks[] = {
      {"_2b_", 2},        {"_4b_", 4},           {"_16b_", 16},         {"32x32x1f32", 2},
      {"32x32x2bf16", 2}, {"32x32x4bf16_1k", 2}, {"32x32x4f16", 2},     {"32x32x4i8", 2},
      {"16x16x1f32", 4},  {"16x16x2bf16", 4},    {"16x16x4bf16_1k", 4}, {"16x16x4f16", 4},
      {"16x16x4i8", 4},   {"_4x4x4f64", 4},      {"_4x4x1f32", 16},     {"_4x4x2bf16", 16},
      {"_4x4x4", 16}};
  for (const auto& [name, blocks] : kBlocks) {
    if (Has(m, name)) return blocks;
  }
  return 1;
}

// MxNxK of a matrix instruction, its blocks, and the type of what it multiplies.
void DescribeMatrix(std::string_view m, OpFacts* facts) {
  facts->cost = CostKind::kMatrix;
  AnyWord(m, [&](std::string_view word) {
    uint32_t product = 1;
    unsigned numbers = 0;
    size_t at = 0;
    while (at < word.size() && word[at] >= '0' && word[at] <= '9') {
      uint32_t number = 0;
      for (; at < word.size() && word[at] >= '0' && word[at] <= '9'; ++at)
        number = number * 10 + static_cast<uint32_t>(word[at] - '0');
      product *= number;
      ++numbers;
      if (at >= word.size() || word[at] != 'x') break;
      ++at;
    }
    if (numbers != 3) return false;
    facts->multiplications = product;
    return true;
  });
  facts->multiplications *= BlocksOf(m);
  // A sparse one skips half of its products.
  if (StartsWithAny(m, {"v_smfmac", "v_swmmac"})) facts->multiplications /= 2;
  // The type of the sources is after the shape, or at its end (v_mfma_f32_4x4x1f32).
  const std::string_view types = m.substr(std::min(m.find('x'), m.size()));
  static constexpr std::pair<std::string_view, MatrixKind> kTypes[] = {
      {"xf32", MatrixKind::kXF32}, {"f64", MatrixKind::kF64},  {"f32", MatrixKind::kF32},
      {"f16", MatrixKind::kF16},   {"f8", MatrixKind::kInt8},  {"fp8", MatrixKind::kInt8},
      {"i8", MatrixKind::kInt8},   {"iu8", MatrixKind::kInt8}, {"iu4", MatrixKind::kInt4}};
  for (const auto& [name, kind] : kTypes) {
    if (!Has(types, name)) continue;
    facts->matrix_kind = kind;
    return;
  }
}

void DescribeVector(std::string_view m, OpFacts* facts) {
  facts->is_vector = true;
  facts->is_dual = m.starts_with("v_dual_");
  facts->instruction_class = kValu;
  facts->writes_exec = m.starts_with("v_cmpx");
  if (StartsWithAny(m, {"v_mfma", "v_smfmac", "v_wmma", "v_swmmac"})) {
    facts->instruction_class = kMatrix;
    return DescribeMatrix(m, facts);
  }
  const bool wide = m.ends_with("f64") || Has(m, "_f64_");
  if (IsTranscendental(m)) {
    facts->instruction_class = kValuTranscendental;
    facts->cost = wide ? CostKind::kTranscendentalDouble : CostKind::kTranscendental;
  } else if (wide) {
    facts->cost = CostKind::kDouble;
  } else if (StartsWithAny(m, {"v_mul_lo_u32", "v_mul_lo_i32", "v_mul_hi_u32", "v_mul_hi_i32",
                               "v_mad_u64", "v_mad_i64", "v_mad_co_u64", "v_mad_co_i64"})) {
    facts->cost = CostKind::kWideInteger;
  }
}

void DescribeScalarMemory(std::string_view m, OpFacts* facts) {
  facts->instruction_class = kSmem;
  if (StartsWithAny(m, {"s_load_", "s_buffer_load_", "s_scratch_load_"})) {
    facts->action = MemoryAction::kLoad;
  } else if (StartsWithAny(m, {"s_store_", "s_buffer_store_", "s_scratch_store_"})) {
    facts->action = MemoryAction::kStore;
  } else if (StartsWithAny(m, {"s_atomic_", "s_buffer_atomic_"})) {
    facts->action = MemoryAction::kAtomic;
  } else {
    return;  // clocks and cache controls
  }
  facts->bytes = facts->action == MemoryAction::kAtomic ? AtomicSizeOf(m) : SizeOf(m);
  facts->form = m.starts_with("s_buffer_")    ? AddressForm::kScalarBuffer
                : m.starts_with("s_scratch_") ? AddressForm::kScalarScratch
                                              : AddressForm::kScalar;
}

void DescribeScalar(std::string_view m, OpFacts* facts) {
  facts->instruction_class = kSalu;
  facts->writes_exec = Has(m, "saveexec") || Has(m, "wrexec");
  if (StartsWithAny(m, {"s_branch", "s_cbranch", "s_call_", "s_setpc_", "s_swappc_", "s_rfe_",
                        "s_subvector_loop"})) {
    facts->instruction_class = kBranch;
    facts->is_exec_branch = StartsWithAny(m, {"s_cbranch_execz", "s_cbranch_execnz"});
  } else if (StartsWithAny(m, {"s_barrier", "s_get_barrier"})) {
    facts->instruction_class = kBarrier;
    facts->is_arrival = m == "s_barrier" || m == "s_barrier_wait";
  } else if (StartsWithAny(m, {"s_wait", "s_nop", "s_sleep", "s_delay_alu"})) {
    facts->instruction_class = kWait;
  } else if (StartsWithAny(
                 m, {"s_load_", "s_buffer_", "s_scratch_", "s_store_", "s_atomic_", "s_memtime",
                     "s_memrealtime", "s_dcache_", "s_gl1_inv", "s_atc_probe", "s_prefetch_"})) {
    DescribeScalarMemory(m, facts);
  } else if (StartsWithAny(
                 m, {"s_endpgm", "s_sendmsg", "s_trap", "s_clause", "s_inst_prefetch",
                     "s_set_inst_prefetch", "s_setprio", "s_icache_inv", "s_ttracedata",
                     "s_incperflevel", "s_decperflevel", "s_sethalt", "s_setkill", "s_code_end",
                     "s_version", "s_wakeup", "s_round_mode", "s_denorm_mode", "s_alloc_vgpr"})) {
    facts->instruction_class = kOther;
  }
}

void DescribeLds(std::string_view m, OpFacts* facts) {
  if (StartsWithAny(m, {"ds_gws_", "ds_nop"})) return;  // other
  facts->is_vector = true;
  if (StartsWithAny(m, {"ds_permute", "ds_bpermute", "ds_swizzle"})) {
    facts->instruction_class = kLdsExchange;
    return;
  }
  facts->form = AddressForm::kLds;
  if (StartsWithAny(m, {"ds_append", "ds_consume"})) {
    facts->form = AddressForm::kLdsCounter;
  } else if (Has(m, "addtid")) {
    facts->form = AddressForm::kLdsThreadId;
  } else if (Has(m, "read2") || Has(m, "write2") || Has(m, "wrxchg2") || Has(m, "2addr")) {
    facts->form = AddressForm::kLdsPair;
  }
  if (StartsWithAny(m, {"ds_read", "ds_load"})) {
    facts->instruction_class = kLdsLoad;
    facts->action = MemoryAction::kLoad;
    facts->bytes = SizeOf(m);
  } else if (StartsWithAny(m, {"ds_write", "ds_store_b", "ds_store_2addr", "ds_store_addtid"})) {
    facts->instruction_class = kLdsStore;
    facts->action = MemoryAction::kStore;
    facts->bytes = SizeOf(m);
  } else {
    facts->instruction_class = kLdsAtomic;
    facts->action = MemoryAction::kAtomic;
    facts->bytes = AtomicSizeOf(m);
  }
}

struct VectorMemory {
  std::string_view prefix;
  InstructionClass load, store, atomic;
  AddressForm form;
};

bool DescribeVectorMemory(std::string_view m, OpFacts* facts) {
  static constexpr VectorMemory kFamilies[] = {
      {"global_", kGlobalLoad, kGlobalStore, kGlobalAtomic, AddressForm::kGlobal},
      {"flat_", kFlatLoad, kFlatStore, kFlatAtomic, AddressForm::kFlat},
      {"scratch_", kScratchLoad, kScratchStore, kScratchAtomic, AddressForm::kScratch},
      {"buffer_", kBufferLoad, kBufferStore, kBufferAtomic, AddressForm::kBuffer},
      {"tbuffer_", kBufferLoad, kBufferStore, kBufferAtomic, AddressForm::kTypedEncoding},
  };
  for (const VectorMemory& family : kFamilies) {
    if (!m.starts_with(family.prefix)) continue;
    const std::string_view rest = m.substr(family.prefix.size());
    if (rest.starts_with("load")) {
      facts->instruction_class = family.load;
      facts->action = MemoryAction::kLoad;
    } else if (rest.starts_with("store")) {
      facts->instruction_class = family.store;
      facts->action = MemoryAction::kStore;
    } else if (rest.starts_with("atomic")) {
      facts->instruction_class = family.atomic;
      facts->action = MemoryAction::kAtomic;
    } else {
      return true;  // cache controls and prefetches: other
    }
    facts->is_vector = true;
    facts->form = family.form;
    if (Has(rest, "format")) {
      if (family.form == AddressForm::kBuffer) facts->form = AddressForm::kTypedBuffer;
      facts->bytes = 0;
    } else {
      facts->bytes = facts->action == MemoryAction::kAtomic ? AtomicSizeOf(rest) : SizeOf(rest);
    }
    if (Has(rest, "addtid")) facts->form = AddressForm::kGlobalThreadId;
    facts->to_lds = Has(rest, "_lds_");
    return true;
  }
  return false;
}

// Never destroyed: waves may still run while the process exits.
struct Interned {
  base::Mutex mutex;
  std::map<std::string, OpFacts*, std::less<>> by_key ROCHOUND_GUARDED_BY(mutex);
  std::vector<const OpFacts*> by_id ROCHOUND_GUARDED_BY(mutex);
};
Interned*& InternedPlace() {
  static auto* interned = new Interned;
  return interned;
}
Interned& AllInterned() { return *InternedPlace(); }

bool WritesExecOperand(const Op& op, const OpFacts& facts) {
  const bool scalar_result = facts.instruction_class == kSalu || facts.instruction_class == kValu ||
                             facts.instruction_class == kSmem;
  if (!scalar_result || op.operand_count == 0) return false;
  if (StartsWithAny(facts.mnemonic, {"s_cmp_", "s_bitcmp", "s_setreg"})) return false;
  const Operand& result = op.operand[0];
  return result.kind == Operand::Kind::kScalar && result.index <= kExecLo + 1 &&
         result.index + result.dwords > kExecLo;
}

}  // namespace

std::string_view NameOf(InstructionClass instruction_class) {
  return kNames[static_cast<unsigned>(instruction_class)];
}

OpFacts DescribeMnemonic(std::string_view m) {
  OpFacts facts;
  facts.mnemonic = m;
  if (m.starts_with("s_")) {
    DescribeScalar(m, &facts);
  } else if (m.starts_with("v_")) {
    DescribeVector(m, &facts);
  } else if (m.starts_with("ds_")) {
    DescribeLds(m, &facts);
  } else {
    DescribeVectorMemory(m, &facts);
  }
  const bool typed =
      facts.form == AddressForm::kTypedBuffer || facts.form == AddressForm::kTypedEncoding;
  facts.is_unmeasured = facts.action != MemoryAction::kNone && facts.bytes == 0 && !typed;
  if (facts.instruction_class == kValu || facts.instruction_class == kValuTranscendental ||
      facts.instruction_class == kMatrix || facts.instruction_class == kSalu)
    facts.arithmetic[0] = DescribeArithmetic(m, facts.multiplications);
  return facts;
}

const OpFacts& FactsOf(const Op& op) {
  if (const OpFacts* known = op.facts.load(std::memory_order_acquire)) [[likely]]
    return *known;
  OpFacts facts = DescribeMnemonic(op.source->mnemonic);
  facts.is_continuation = op.source->mnemonic.empty() && op.source->size == 0;
  facts.writes_exec = facts.writes_exec || WritesExecOperand(op, facts);
  facts.to_lds = facts.to_lds || (op.modifiers().lds && facts.action == MemoryAction::kLoad);
  // A VOPD pair is one instruction with two names.
  if (!op.source->second.empty()) {
    facts.mnemonic += " :: " + op.source->second[0].mnemonic;
    facts.arithmetic[1] = DescribeArithmetic(op.source->second[0].mnemonic, 0);
  }
  std::string key = facts.mnemonic;
  key += facts.is_continuation ? "+" : facts.writes_exec ? "!" : facts.to_lds ? "@" : "";
  Interned& interned = AllInterned();
  const base::Lock lock(interned.mutex);
  OpFacts*& entry = interned.by_key[key];
  if (entry == nullptr) {
    facts.id = static_cast<uint32_t>(interned.by_id.size());
    entry = new OpFacts(std::move(facts));
    interned.by_id.push_back(entry);
  }
  op.facts.store(entry, std::memory_order_release);
  return *entry;
}

void AbandonFactsAfterFork() { InternedPlace() = new Interned; }

std::vector<const OpFacts*> AllFacts() {
  Interned& interned = AllInterned();
  const base::Lock lock(interned.mutex);
  return interned.by_id;
}

}  // namespace rochound::softgpu
