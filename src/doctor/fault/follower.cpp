// SPDX-License-Identifier: MIT
#include "doctor/fault/follower.h"

#include <algorithm>

namespace rochound::doctor {
namespace {

constexpr size_t kMostInstructions = 20'000;
constexpr size_t kMostSteps = 400'000;
constexpr int kVisitsBeforeWidening = 4;

}  // namespace

Reach Follower::Follow() {
  if (code_.empty() || code_.size() > kMostInstructions) {
    reach_.why = "its code is too long to be followed";
    return std::move(reach_);
  }
  for (size_t i = 0; i < code_.size(); ++i) by_address_[code_[i].address] = i;
  for (size_t i = 0; i < code_.size(); ++i) {
    parsed_.push_back(Parse(code_[i].text));
    if (!code_[i].target) continue;
    if (const auto at = by_address_.find(*code_[i].target); at != by_address_.end())
      starts_.insert(at->second);
    starts_.insert(i + 1);
  }
  reach_.complete = true;
  Arrive(0, Entry());
  size_t steps = 0;
  while (!work_.empty()) {
    const size_t block = work_.front();
    work_.pop_front();
    queued_.erase(block);
    RunBlock(block, &steps);
    if (steps > kMostSteps) {
      GiveUp("its code takes too long to be followed");
      break;
    }
  }
  for (const auto& [key, access] : accesses_) reach_.accesses.push_back(access);
  return std::move(reach_);
}

void Follower::GiveUp(const char* why) {
  reach_.complete = false;
  if (reach_.why.empty()) reach_.why = why;
}

State Follower::Entry() {
  State state;
  int at = 0;
  const uint16_t properties = kernel_.descriptor.properties;
  const auto user = [&](int bit, int count) {
    if ((properties >> bit & 1) == 0) return -1;
    at += count;
    return at - count;
  };
  scratch_buffer_ = user(0, 4);
  const int dispatch = user(1, 2);
  user(2, 2);
  const int kernarg = user(3, 2);
  user(4, 2);
  user(5, 2);
  user(6, 1);
  (void)dispatch;
  if (kernarg >= 0) SetWide(&state, kernarg, {launch_.kernarg, launch_.kernarg}, 0);
  const unsigned preload = kernel_.descriptor.kernarg_preload & 0x7f;
  for (unsigned i = 0; i < preload && at < kVcc; ++i, ++at)
    state.registers[static_cast<size_t>(at)] =
        ArgumentWord(((kernel_.descriptor.kernarg_preload >> 7) + i) * 4ull);
  std::array<Range, 3> groups;
  for (size_t i = 0; i < 3; ++i) {
    const uint64_t size = std::max<uint64_t>(launch_.workgroup[i], 1);
    const uint64_t count = std::max<uint64_t>((launch_.grid[i] + size - 1) / size, 1);
    groups[i] = {0, count - 1};
  }
  if (ids_in_ttmp_) {
    state.registers[108 + 9].range = groups[0];
    state.registers[108 + 7].range = {0, groups[1].high | groups[2].high << 16};
  } else {
    at = static_cast<int>(kernel_.descriptor.rsrc2 >> 1 & 0x1f);
    for (size_t i = 0; i < 3; ++i)
      if ((kernel_.descriptor.rsrc2 >> (7 + i) & 1) != 0 && at < kVcc)
        state.registers[static_cast<size_t>(at++)].range = groups[i];
  }
  std::array<uint64_t, 3> last{};
  for (size_t i = 0; i < 3; ++i) last[i] = std::max<uint64_t>(launch_.workgroup[i], 1) - 1;
  if (packed_ids_) {
    Value& ids = state.registers[kVector];
    ids.range = {0, last[0] | last[1] << 10 | last[2] << 20};
    ids.packed = true;
  } else {
    for (size_t i = 0; i < 3; ++i) state.registers[kVector + i].range = {0, last[i]};
  }
  return state;
}

void Follower::Arrive(size_t block, const State& state) {
  if (block >= code_.size()) return;
  const auto known = states_.find(block);
  bool changed = known == states_.end();
  if (changed)
    states_[block] = state;
  else
    changed = Join(&known->second, state, ++visits_[block] > kVisitsBeforeWidening);
  if (changed && queued_.insert(block).second) work_.push_back(block);
}

bool Follower::JoinRegisters(Registers* into, const Registers& from, bool widen) {
  bool changed = false;
  std::map<std::pair<int, int>, int> joined;
  for (size_t i = 0; i < into->size(); ++i) {
    Value& a = (*into)[i];
    const Value& b = from[i];
    if (a == b) continue;
    Value both;
    both.range = Hull(a.range, b.range);
    both.origins = a.origins | b.origins;
    both.packed = a.packed && b.packed;
    if (a.wide >= 0 && b.wide >= 0 && a.upper == b.upper) {
      both.upper = a.upper;
      const Wide& x = wides_[static_cast<size_t>(a.wide)];
      const Wide& y = wides_[static_cast<size_t>(b.wide)];
      if (a.wide == b.wide || (x.range == y.range && (y.origins & ~x.origins) == 0)) {
        both.wide = a.wide;
      } else if (!widen) {
        auto [known, added] = joined.try_emplace({a.wide, b.wide}, -1);
        if (added) known->second = NewWide(Hull(x.range, y.range), x.origins | y.origins);
        both.wide = known->second;
      }
    }
    if (widen && both.range != a.range) both.range = kAny32;
    if (both == a) continue;
    a = both;
    changed = true;
  }
  return changed;
}

bool Follower::Join(State* into, const State& from, bool widen) {
  bool changed = JoinRegisters(&into->registers, from.registers, widen);
  if (into->no_lanes && !from.no_lanes) {
    into->no_lanes = false;
    changed = true;
  }
  if (into->carry_a != from.carry_a || into->carry_b != from.carry_b ||
      into->carry_low != from.carry_low)
    into->carry_low = -1;
  for (auto one = into->conditions.begin(); one != into->conditions.end();) {
    const auto other = from.conditions.find(one->first);
    one = other == from.conditions.end() || !(other->second == one->second)
              ? into->conditions.erase(one)
              : std::next(one);
  }
  for (const auto& [reg, registers] : from.saved) {
    auto& mine = into->saved[reg];
    if (mine == nullptr || mine == registers) {
      mine = registers;
    } else {
      auto both = std::make_shared<Registers>(*mine);
      if (JoinRegisters(both.get(), *registers, widen)) mine = both;
    }
  }
  return changed;
}

void Follower::RunBlock(size_t block, size_t* steps) {
  State state = states_[block];
  for (size_t at = block; at < code_.size(); ++at) {
    if (at != block && starts_.contains(at)) return Arrive(at, state);
    ++*steps;
    const std::vector<Parsed>& all = parsed_[at];
    const std::string& name = all[0].mnemonic;
    if (name == "s_endpgm") return;
    if (name == "s_branch") return Arrive(TargetOf(at), state);
    if (name.starts_with("s_cbranch_")) {
      const int taken = Decide(name, state);
      if (taken != 0) Arrive(TargetOf(at), state);
      if (taken != 1) Arrive(at + 1, state);
      return;
    }
    if (name.starts_with("s_setpc") || name.starts_with("s_swappc") || name.starts_with("s_call")) {
      Call(at, all[0], &state);
      if (name.starts_with("s_setpc")) return;
      continue;
    }
    if (all.size() == 1) {
      Step(at, all[0], &state);
      continue;
    }
    // Both read the registers as they were.
    State second = state;
    Step(at, all[0], &state);
    Step(at, all[1], &second);
    for (const Operand& operand : {all[1].operands.front()})
      if (operand.is_register())
        state.registers[static_cast<size_t>(operand.reg)] =
            second.registers[static_cast<size_t>(operand.reg)];
  }
}

size_t Follower::TargetOf(size_t at) const {
  if (!code_[at].target) return code_.size();
  const auto found = by_address_.find(*code_[at].target);
  return found == by_address_.end() ? code_.size() : found->second;
}

int Follower::Decide(const std::string& name, const State& state) {
  const Range scc = state.registers[kScc].range;
  const Range vcc = state.registers[kVcc].range;
  const Range vcc_high = state.registers[kVcc + 1].range;
  const bool vcc_zero = vcc.high == 0 && vcc_high.high == 0;
  if (name == "s_cbranch_scc0") return scc.single() ? scc.low == 0 : -1;
  if (name == "s_cbranch_scc1") return scc.single() ? scc.low != 0 : -1;
  if (name == "s_cbranch_execz") return state.no_lanes ? 1 : -1;
  if (name == "s_cbranch_execnz") return state.no_lanes ? 0 : -1;
  if (name == "s_cbranch_vccz") return vcc_zero ? 1 : -1;
  if (name == "s_cbranch_vccnz") return vcc_zero ? 0 : -1;
  return -1;
}

void Follower::Step(size_t at, const Parsed& parsed, State* state) {
  const std::string& name = parsed.mnemonic;
  if (name.starts_with("s_load_") || name.starts_with("s_buffer_load"))
    return ScalarLoad(at, parsed, state);
  if (name.starts_with("global_") || name.starts_with("flat_")) return Memory(at, parsed, state);
  if (name.starts_with("scratch_") || name.starts_with("ds_")) {
    if (name.find("load") != std::string::npos || name.find("read") != std::string::npos ||
        name.find("rtn") != std::string::npos || name.find("permute") != std::string::npos ||
        name.find("swizzle") != std::string::npos)
      ForgetFirst(parsed, state);
    return;
  }
  if (name.starts_with("buffer_") || name.starts_with("tbuffer_") || name.starts_with("image_"))
    return Buffer(at, parsed, state);
  if (name.starts_with("s_cmp")) return ScalarCompare(parsed, state);
  if (VectorCompare(parsed, state) || Lanes(parsed, state)) return;
  if (parsed.operands.empty() || !parsed.operands[0].is_register()) return;
  if (name.starts_with("s_waitcnt") || name.starts_with("s_nop") || name.starts_with("s_delay"))
    return;
  if (!parsed.modified && Arithmetic(at, parsed, state)) return;
  ForgetFirst(parsed, state);
  if (name.starts_with("s_")) At(state, kScc) = Value{};
}

void Follower::ForgetFirst(const Parsed& parsed, State* state) {
  if (parsed.operands.empty()) return;
  const uint64_t origins = OriginsFrom(*state, parsed, 1);
  Forget(state, parsed.operands[0], origins);
  // A second result, such as a carry.
  if (parsed.mnemonic.find("_co_") != std::string::npos && parsed.operands.size() > 3)
    Forget(state, parsed.operands[1], 0);
}

void Follower::Buffer(size_t at, const Parsed& parsed, State* state) {
  const std::string& name = parsed.mnemonic;
  if (name.find("_inv") != std::string::npos || name.find("_wb") != std::string::npos ||
      name.find("_gl") != std::string::npos)
    return;
  bool scratch = false;
  for (const Operand& operand : parsed.operands)
    scratch |= operand.is_register() && operand.count == 4 && operand.reg == scratch_buffer_ &&
               name.starts_with("buffer_");
  const bool store = name.find("store") != std::string::npos;
  const bool atomic = name.find("atomic") != std::string::npos;
  if (!scratch && !state->no_lanes) {
    const uint64_t origins = OriginsFrom(*state, parsed, 1);
    if (!store) Touch(at, Access::Kind::kRead, kAny64, 4, origins);
    if (store || atomic) Touch(at, Access::Kind::kWrite, kAny64, 4, origins);
  }
  if (!store) ForgetFirst(parsed, state);
}

void Follower::ScalarCompare(const Parsed& parsed, State* state) {
  const bool constant = parsed.mnemonic.starts_with("s_cmpk_");
  const auto comparison = ReadComparison(parsed.mnemonic, constant ? "s_cmpk_" : "s_cmp_");
  Value& scc = At(state, kScc);
  scc = Value{};
  scc.range = {0, 1};
  if (!comparison || parsed.operands.size() < 2) return;
  const int result = Compare(*comparison, Get(*state, parsed.operands[0], comparison->bits),
                             Get(*state, parsed.operands[1], comparison->bits));
  if (result >= 0) scc.range = {static_cast<uint64_t>(result), static_cast<uint64_t>(result)};
}

}  // namespace rochound::doctor
