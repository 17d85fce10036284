// SPDX-License-Identifier: MIT
#include <algorithm>

#include "doctor/fault/follower.h"

namespace rochound::doctor {
// False: an instruction whose result is not worked out.
bool Follower::Arithmetic(size_t at, const Parsed& parsed, State* state) {
  const std::string& name = parsed.mnemonic;
  const std::vector<Operand>& operands = parsed.operands;
  const Operand& to = operands[0];
  const auto operand = [&](size_t i) { return i < operands.size() ? operands[i] : Operand{}; };
  const auto get = [&](size_t i, unsigned bits = 32) { return Get(*state, operand(i), bits); };
  const uint64_t origins = OriginsFrom(*state, parsed, 1);
  const bool scalar = name.starts_with("s_");
  // Whether a scalar instruction changes scc; what it becomes is rarely of interest.
  const auto set = [&](Range range, bool flag = true) {
    Set(state, to, range, origins);
    if (scalar && flag) At(state, kScc) = Value{};
    return true;
  };
  const auto is = [&](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* one) { return name == one; });
  };

  if (is({"s_mov_b32", "v_mov_b32", "v_readfirstlane_b32", "s_cmov_b32", "v_accvgpr_read_b32"})) {
    if (name == "s_cmov_b32") return false;
    if (operand(1).is_register()) {
      At(state, to.reg) = At(*state, operand(1).reg);
      Overwritten(state, to.reg);
      return true;
    }
    return operand(1).kind == Operand::Kind::kNumber && set(get(1), false);
  }
  if (is({"s_mov_b64", "v_mov_b64"})) {
    if (operand(1).kind == Operand::Kind::kNumber) return set(get(1, 64), false);
    if (!operand(1).is_register() || operand(1).count < 2) return false;
    for (int i = 0; i < 2; ++i) {
      const Value copy = At(*state, operand(1).reg + i);
      At(state, to.reg + i) = copy;
      Overwritten(state, to.reg + i);
    }
    return true;
  }
  if (name == "s_movk_i32") return set(get(1), false);
  if (name == "s_getpc_b64") {
    const uint64_t here = code_[at].address + code_[at].size + launch_.load_delta;
    return set({here, here}, false);
  }
  if (is({"s_sext_i32_i16", "s_sext_i32_i8"})) return false;
  if (name == "s_cselect_b32" || name == "s_cselect_b64") {
    const unsigned bits = name == "s_cselect_b64" ? 64 : 32;
    const Range scc = At(*state, kScc).range;
    if (scc.single()) return set(get(scc.low != 0 ? 1 : 2, bits), false);
    return set(Hull(get(1, bits), get(2, bits)), false);
  }
  if (name == "v_cndmask_b32") return set(Hull(get(1), get(2)));

  // Lower halves remember their operands for the carry.
  if (is({"s_add_u32", "s_add_co_u32", "v_add_co_u32"})) {
    const size_t first = name[0] == 'v' ? 2 : 1;
    const Value a = Whole(*state, operand(first));
    const Value b = Whole(*state, operand(first + 1));
    if (name[0] == 'v') Forget(state, operand(1), 0);
    set(Add(a.range, b.range, 32));
    state->carry_a = a;
    state->carry_b = b;
    state->carry_low = to.reg;
    return true;
  }
  if (is({"s_addc_u32", "s_add_co_ci_u32", "v_addc_co_u32", "v_add_co_ci_u32"})) {
    const size_t first = name[0] == 'v' ? 2 : 1;
    const int low = state->carry_low;
    const Range sum = Add(Compose(state->carry_a, Whole(*state, operand(first))),
                          Compose(state->carry_b, Whole(*state, operand(first + 1))), 64);
    if (name[0] == 'v') Forget(state, operand(1), 0);
    const uint64_t both = origins | (low >= 0 ? At(*state, low).origins : 0);
    set(kAny32);
    if (low < 0 || low == to.reg) return true;
    const int wide = NewWide(sum, both);
    Value& lower = At(state, low);
    Value& upper = At(state, to.reg);
    lower.wide = upper.wide = wide;
    lower.upper = false;
    upper.upper = true;
    upper.range = {sum.low >> 32, sum.high >> 32};
    upper.origins = lower.origins = both;
    return true;
  }
  if (is({"v_lshl_add_u64"})) return set(Add(ShiftLeft(get(1, 64), get(2), 64), get(3, 64), 64));
  if (is({"s_add_nc_u64", "s_add_u64", "v_add_nc_u64"}))
    return set(Add(get(1, 64), get(2, 64), 64));
  if (is({"s_lshl_b64"})) return set(ShiftLeft(get(1, 64), get(2), 64));
  if (is({"s_lshr_b64"})) return set(ShiftRight(get(1, 64), get(2), 64));
  if (is({"v_lshlrev_b64"})) return set(ShiftLeft(get(2, 64), get(1), 64));
  if (is({"v_lshrrev_b64"})) return set(ShiftRight(get(2, 64), get(1), 64));
  if (is({"v_mad_u64_u32", "v_mad_nc_u64_u32", "v_mad_co_u64_u32"})) {
    const size_t first = operands.size() - 3;
    const Range sum = Add(Multiply(get(first), get(first + 1), 64), get(first + 2, 64), 64);
    if (first == 2) Forget(state, operand(1), 0);
    return set(sum);
  }
  if (is({"v_mad_i64_i32", "v_mad_co_i64_i32"})) {
    const size_t first = operands.size() - 3;
    const Range a = get(first);
    const Range b = get(first + 1);
    if (a.high >= 1u << 31 || b.high >= 1u << 31) return false;
    const Range sum = Add(Multiply(a, b, 64), get(first + 2, 64), 64);
    if (first == 2) Forget(state, operand(1), 0);
    return set(sum);
  }

  if (is({"s_add_i32", "s_add_co_i32", "s_addk_i32", "v_add_u32", "v_add_nc_u32", "v_add_i32"})) {
    if (name == "s_addk_i32") return set(Add(get(0), get(1), 32));
    if (operands.size() != 3) return false;
    return set(Add(get(1), get(2), 32));
  }
  if (is({"v_sub_u32", "v_sub_nc_u32", "s_sub_i32", "s_sub_co_i32"}) && operands.size() == 3)
    return set(Subtract(get(1), get(2), 32));
  if (is({"v_subrev_u32", "v_subrev_nc_u32"}) && operands.size() == 3)
    return set(Subtract(get(2), get(1), 32));
  if (is({"s_mul_i32", "v_mul_lo_u32", "v_mul_u32_u24"})) return set(Multiply(get(1), get(2), 32));
  if (is({"s_mul_hi_u32", "v_mul_hi_u32"})) {
    const Range product = Multiply(get(1), get(2), 64);
    return set({product.low >> 32, product.high >> 32});
  }
  if (is({"v_mad_u32_u24"})) return set(Add(Multiply(get(1), get(2), 32), get(3), 32));
  if (is({"s_lshl_b32"})) return set(ShiftLeft(get(1), get(2), 32));
  if (is({"s_lshr_b32"})) return set(ShiftRight(get(1), get(2), 32));
  if (is({"v_lshlrev_b32"})) return set(ShiftLeft(get(2), get(1), 32));
  if (is({"v_lshrrev_b32"})) {
    if (operand(2).is_register() && At(*state, operand(2).reg).packed && get(1) == Range{20, 20})
      return set({0, launch_.workgroup[2] - 1});
    return set(ShiftRight(get(2), get(1), 32));
  }
  if (is({"v_ashrrev_i32", "s_ashr_i32"})) {
    const bool reversed = name[0] == 'v';
    const Range value = get(reversed ? 2 : 1);
    const Range by = get(reversed ? 1 : 2);
    if (!by.single()) return false;
    if (value.high < 1u << 31) return set(ShiftRight(value, by, 32));
    if (value.low >= 1u << 31 && by.low == 31) return set({0xffffffff, 0xffffffff});
    return false;
  }
  if (is({"s_lshl1_add_u32", "s_lshl2_add_u32", "s_lshl3_add_u32", "s_lshl4_add_u32"})) {
    const auto by = static_cast<uint64_t>(name[6] - '0');
    return set(Add(ShiftLeft(get(1), {by, by}, 32), get(2), 32));
  }
  if (is({"v_lshl_add_u32"})) return set(Add(ShiftLeft(get(1), get(2), 32), get(3), 32));
  if (is({"v_add_lshl_u32"})) return set(ShiftLeft(Add(get(1), get(2), 32), get(3), 32));
  if (is({"v_add3_u32"})) return set(Add(Add(get(1), get(2), 32), get(3), 32));
  if (is({"v_lshl_or_b32"})) return set(Or(ShiftLeft(get(1), get(2), 32), get(3)));
  if (is({"v_and_or_b32"})) return set(Or(And(get(1), get(2)), get(3)));
  if (is({"v_or3_b32"})) return set(Or(Or(get(1), get(2)), get(3)));
  if (is({"v_and_b32", "s_and_b32"})) {
    // The work-item's number in x.
    for (const size_t i : {1, 2})
      if (operand(i).is_register() && At(*state, operand(i).reg).packed &&
          get(3 - i) == Range{0x3ff, 0x3ff})
        return set({0, launch_.workgroup[0] - 1});
    return set(And(get(1), get(2)));
  }
  if (is({"s_and_b64"})) return set(And(get(1, 64), get(2, 64)));
  if (is({"v_or_b32", "s_or_b32"})) return set(Or(get(1), get(2)));
  if (is({"s_or_b64"})) return set(Or(get(1, 64), get(2, 64)));
  if (is({"v_bfe_u32"})) {
    const Range from = get(2);
    const Range width = get(3);
    if (!from.single() || !width.single() || width.low >= 32) return false;
    if (operand(1).is_register() && At(*state, operand(1).reg).packed && width.low == 10 &&
        from.low % 10 == 0 && from.low <= 20)
      return set({0, launch_.workgroup[from.low / 10] - 1});
    const uint64_t mask = (1ull << width.low) - 1;
    return set(And(ShiftRight(get(1), from, 32), {mask, mask}));
  }
  if (is({"s_bfe_u32"})) {
    const Range how = get(2);
    if (!how.single() || (how.low >> 16) >= 32) return false;
    const uint64_t mask = (1ull << (how.low >> 16)) - 1;
    const uint64_t from = how.low & 31;
    return set(And(ShiftRight(get(1), {from, from}, 32), {mask, mask}));
  }
  if (is({"v_min_u32", "s_min_u32"})) {
    const Range a = get(1);
    const Range b = get(2);
    return set({std::min(a.low, b.low), std::min(a.high, b.high)});
  }
  if (is({"v_max_u32", "s_max_u32"})) {
    const Range a = get(1);
    const Range b = get(2);
    return set({std::max(a.low, b.low), std::max(a.high, b.high)});
  }
  return false;
}

}  // namespace rochound::doctor
