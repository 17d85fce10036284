// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include "doctor/fault/follower.h"

namespace rochound::doctor {
std::optional<Follower::Comparison> Follower::ReadComparison(const std::string& name,
                                                             const char* prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  const std::string rest = name.substr(strlen(prefix));
  Comparison comparison;
  comparison.relation = rest.substr(0, 2);
  if (comparison.relation == "lg") comparison.relation = "ne";
  const std::string type = rest.substr(std::min<size_t>(3, rest.size()));
  if (type != "u32" && type != "i32" && type != "u64" && type != "i64") return std::nullopt;
  comparison.is_signed = type[0] == 'i';
  comparison.bits = type == "u64" || type == "i64" ? 64 : 32;
  return comparison;
}

int Follower::Compare(const Comparison& comparison, Range a, Range b) {
  if (comparison.is_signed) {
    const uint64_t sign = 1ull << (comparison.bits - 1);
    if (a.high < sign && b.high < sign) return CompareUnsigned(comparison.relation, a, b);
    const auto flip = [&](Range range) -> Range {
      // Ranges on both sides of zero are anything.
      if (range.low < sign && range.high >= sign)
        return {0, comparison.bits == 64 ? ~0ull : 0xffffffff};
      const uint64_t top = comparison.bits == 64 ? ~0ull : 0xffffffff;
      return {(range.low ^ sign) & top, (range.high ^ sign) & top};
    };
    return CompareUnsigned(comparison.relation, flip(a), flip(b));
  }
  return CompareUnsigned(comparison.relation, a, b);
}

int Follower::CompareUnsigned(const std::string& relation, Range a, Range b) {
  if (relation == "lt") return a.high < b.low ? 1 : a.low >= b.high ? 0 : -1;
  if (relation == "le") return a.high <= b.low ? 1 : a.low > b.high ? 0 : -1;
  if (relation == "gt") return a.low > b.high ? 1 : a.high <= b.low ? 0 : -1;
  if (relation == "ge") return a.low >= b.high ? 1 : a.high < b.low ? 0 : -1;
  const int equal = a.single() && b.single() && a.low == b.low ? 1
                    : a.high < b.low || b.high < a.low         ? 0
                                                               : -1;
  if (relation == "eq") return equal;
  if (relation == "ne") return equal < 0 ? -1 : 1 - equal;
  return -1;
}

std::optional<Condition> Follower::ConditionOf(const State& state, const Comparison& comparison,
                                               const Operand& left, const Operand& right) const {
  const uint64_t sign = 1ull << (comparison.bits - 1);
  std::string relation = comparison.relation;
  const Operand* tested = &left;
  const Operand* limit = &right;
  if (!left.is_register() || left.reg < kVector) {
    std::swap(tested, limit);
    relation = relation == "lt"   ? "gt"
               : relation == "le" ? "ge"
               : relation == "gt" ? "lt"
               : relation == "ge" ? "le"
                                  : relation;
  }
  if (!tested->is_register()) return std::nullopt;
  const Range value = Get(state, *tested, comparison.bits);
  const Range bound = Get(state, *limit, comparison.bits);
  // Negative values stay what they are: only what is known to be positive is narrowed.
  if (comparison.is_signed && (value.high >= sign || bound.high >= sign)) return std::nullopt;
  Condition condition{tested->reg, comparison.bits == 64, value};
  if (relation == "lt" && bound.high > 0)
    condition.range.high = std::min(value.high, bound.high - 1);
  else if (relation == "le")
    condition.range.high = std::min(value.high, bound.high);
  else if (relation == "gt")
    condition.range.low = std::max(value.low, bound.low + 1);
  else if (relation == "ge")
    condition.range.low = std::max(value.low, bound.low);
  else if (relation == "eq")
    condition.range = {std::max(value.low, bound.low), std::min(value.high, bound.high)};
  else
    return std::nullopt;
  if (condition.range.low > condition.range.high) return std::nullopt;
  return condition;
}

void Follower::Narrow(State* state, const Condition& condition) {
  if (condition.wide) {
    SetWide(state, condition.reg, condition.range, At(*state, condition.reg).origins);
    return;
  }
  At(state, condition.reg).range = condition.range;
  At(state, condition.reg).wide = -1;
}

void Follower::SaveLanes(State* state, const Operand& to) {
  if (to.is_register()) state->saved[to.reg] = std::make_shared<const Registers>(state->registers);
}

void Follower::RestoreLanes(State* state, const Operand& from) {
  state->no_lanes = false;
  if (!from.is_register()) return;
  const auto saved = state->saved.find(from.reg);
  if (saved != state->saved.end()) JoinRegisters(&state->registers, *saved->second, false);
}

bool Follower::VectorCompare(const Parsed& parsed, State* state) {
  const bool narrows = parsed.mnemonic.starts_with("v_cmpx_");
  const auto comparison = ReadComparison(parsed.mnemonic, narrows ? "v_cmpx_" : "v_cmp_");
  if (!narrows && !parsed.mnemonic.starts_with("v_cmp_")) return false;
  const size_t count = parsed.operands.size();
  if (count < 2) return true;
  const Operand& left = parsed.operands[count - 2];
  const Operand& right = parsed.operands[count - 1];
  int result = -1;
  std::optional<Condition> condition;
  if (comparison && !parsed.modified) {
    result = Compare(*comparison, Get(*state, left, comparison->bits),
                     Get(*state, right, comparison->bits));
    condition = ConditionOf(*state, *comparison, left, right);
  }
  if (count == 3 && parsed.operands[0].is_register()) {
    const Operand& to = parsed.operands[0];
    const uint64_t value = result == 0 ? 0 : 0xffffffff;
    for (int i = 0; i < to.count; ++i) {
      Operand half = to;
      half.reg += i;
      half.count = 1;
      Set(state, half, result < 0 ? kAny32 : Range{value, value}, 0);
    }
    // On wave32 the other half of vcc counts as nothing.
    if (to.reg == kVcc && to.count == 1) At(state, kVcc + 1).range = {0, 0};
    if (condition) state->conditions[to.reg] = *condition;
  }
  if (narrows) {
    if (result == 0) state->no_lanes = true;
    if (condition) Narrow(state, *condition);
  }
  return true;
}

bool Follower::IsExec(const Operand& operand) const {
  return operand.is_register() && operand.reg == kExec;
}

bool Follower::Lanes(const Parsed& parsed, State* state) {
  const std::string& name = parsed.mnemonic;
  const std::vector<Operand>& operands = parsed.operands;
  if (operands.size() < 2) return false;
  if (name.find("_saveexec_") != std::string::npos) {
    const bool narrows = name.starts_with("s_and_saveexec");
    const Operand from = operands[1];
    const bool none = narrows && from.is_register() && At(*state, from.reg).range.high == 0 &&
                      (from.count < 2 || At(*state, from.reg + 1).range.high == 0);
    const auto condition =
        from.is_register() ? state->conditions.find(from.reg) : state->conditions.end();
    std::optional<Condition> held;
    if (narrows && condition != state->conditions.end()) held = condition->second;
    if (!narrows) RestoreLanes(state, from);
    SaveLanes(state, operands[0]);
    Forget(state, operands[0], 0);
    if (none) state->no_lanes = true;
    if (held) Narrow(state, *held);
    return true;
  }
  if (IsExec(operands[0])) {
    if (name.starts_with("s_and_b") || name.starts_with("s_andn2_b") ||
        name.starts_with("s_and_not1_b")) {
      if (name.starts_with("s_and_b") && operands.size() > 2 && operands[2].is_register()) {
        const auto condition = state->conditions.find(operands[2].reg);
        if (condition != state->conditions.end()) Narrow(state, Condition(condition->second));
      }
      return true;
    }
    if (name.starts_with("s_mov_b") && operands[1].kind == Operand::Kind::kNumber) {
      state->no_lanes = operands[1].number == 0;
      return true;
    }
    RestoreLanes(state, operands.back());
    return true;
  }
  if (name.starts_with("s_mov_b") && IsExec(operands[1])) {
    SaveLanes(state, operands[0]);
    Forget(state, operands[0], 0);
    return true;
  }
  // s_xor_b64 s[4:5], exec, s[4:5] and the like: still the place where the lanes are kept.
  for (size_t i = 1; i < operands.size(); ++i) {
    if (!IsExec(operands[i])) continue;
    Forget(state, operands[0], 0);
    return true;
  }
  return false;
}

}  // namespace rochound::doctor
