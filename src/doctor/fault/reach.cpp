// SPDX-License-Identifier: MIT
#include "doctor/fault/reach.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "doctor/fault/machine_state.h"
#include "doctor/fault/operand.h"

namespace rochound::doctor {
namespace {

constexpr size_t kMostInstructions = 20'000;
constexpr size_t kMostSteps = 400'000;
constexpr int kVisitsBeforeWidening = 4;
constexpr uint64_t kMostElements = 16'384;  // of an array whose values are looked at
constexpr size_t kMostOrigins = 63;         // the last bit stands for all others

bool Starts(const std::string& text, const char* with) { return text.starts_with(with); }

// Bytes that a memory instruction moves, by its name.
uint32_t AccessBytes(const std::string& name) {
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (has("atomic")) return has("x2") || has("64") ? 8 : has("pk_") || !has("16") ? 4 : 2;
  if (has("dwordx16") || has("b512")) return 64;
  if (has("dwordx8") || has("b256")) return 32;
  if (has("dwordx4") || has("b128")) return 16;
  if (has("dwordx3") || has("b96")) return 12;
  if (has("dwordx2") || has("b64")) return 8;
  if (has("byte") || has("_u8") || has("_i8") || has("_b8")) return 1;
  if (has("short") || has("_u16") || has("_i16") || has("_b16")) return 2;
  return 4;
}

class Follower {
 public:
  Follower(const std::vector<codeobj::Instruction>& code, const std::string& target,
           const codeobj::Kernel& kernel, const LaunchFacts& launch, const ReadSaved& read)
      : code_(code), kernel_(kernel), launch_(launch), read_(read) {
    // From gfx90a on the three work-item numbers come in one register.
    packed_ids_ = target == "gfx90a" || target.starts_with("gfx94") || target == "gfx950" ||
                  target.starts_with("gfx11") || target.starts_with("gfx12");
    ids_in_ttmp_ = target.starts_with("gfx12");
  }

  Reach Follow() {
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

 private:
  void GiveUp(const char* why) {
    reach_.complete = false;
    if (reach_.why.empty()) reach_.why = why;
  }

  // --- the start of a wave

  State Entry() {
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

  // --- blocks

  void Arrive(size_t block, const State& state) {
    if (block >= code_.size()) return;
    const auto known = states_.find(block);
    bool changed = known == states_.end();
    if (changed)
      states_[block] = state;
    else
      changed = Join(&known->second, state, ++visits_[block] > kVisitsBeforeWidening);
    if (changed && queued_.insert(block).second) work_.push_back(block);
  }

  bool JoinRegisters(Registers* into, const Registers& from, bool widen) {
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

  bool Join(State* into, const State& from, bool widen) {
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

  void RunBlock(size_t block, size_t* steps) {
    State state = states_[block];
    for (size_t at = block; at < code_.size(); ++at) {
      if (at != block && starts_.contains(at)) return Arrive(at, state);
      ++*steps;
      const std::vector<Parsed>& all = parsed_[at];
      const std::string& name = all[0].mnemonic;
      if (name == "s_endpgm") return;
      if (name == "s_branch") return Arrive(TargetOf(at), state);
      if (Starts(name, "s_cbranch_")) {
        const int taken = Decide(name, state);
        if (taken != 0) Arrive(TargetOf(at), state);
        if (taken != 1) Arrive(at + 1, state);
        return;
      }
      if (Starts(name, "s_setpc") || Starts(name, "s_swappc") || Starts(name, "s_call")) {
        Call(at, all[0], &state);
        if (Starts(name, "s_setpc")) return;
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

  size_t TargetOf(size_t at) const {
    if (!code_[at].target) return code_.size();
    const auto found = by_address_.find(*code_[at].target);
    return found == by_address_.end() ? code_.size() : found->second;
  }

  // 1: the branch is taken, 0: it is not, -1: who knows.
  static int Decide(const std::string& name, const State& state) {
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

  // --- registers

  int NewWide(Range range, uint64_t origins) {
    wides_.push_back({range, origins});
    return static_cast<int>(wides_.size()) - 1;
  }

  static Value& At(State* state, int reg) { return state->registers[static_cast<size_t>(reg)]; }
  static const Value& At(const State& state, int reg) {
    return state.registers[static_cast<size_t>(reg)];
  }

  void Set(State* state, const Operand& operand, Range range, uint64_t origins) {
    if (!operand.is_register()) return;
    if (operand.count >= 2) return SetWide(state, operand.reg, range, origins);
    Value value;
    value.range = range;
    value.origins = origins;
    At(state, operand.reg) = value;
    Overwritten(state, operand.reg);
  }

  static void Overwritten(State* state, int reg) {
    if (state->carry_low == reg) state->carry_low = -1;
    state->conditions.erase(reg);
    for (auto one = state->conditions.begin(); one != state->conditions.end();)
      one = one->second.reg == reg || (one->second.wide && one->second.reg + 1 == reg)
                ? state->conditions.erase(one)
                : std::next(one);
  }

  void SetWide(State* state, int reg, Range range, uint64_t origins) {
    const int wide = NewWide(range, origins);
    Value low, high;
    low.wide = high.wide = wide;
    low.origins = high.origins = origins;
    high.upper = true;
    high.range = {range.low >> 32, range.high >> 32};
    if (high.range.single()) low.range = {range.low & 0xffffffff, range.high & 0xffffffff};
    At(state, reg) = low;
    At(state, reg + 1) = high;
    Overwritten(state, reg);
    Overwritten(state, reg + 1);
  }

  static Range Number(const Operand& operand, unsigned bits) {
    const uint64_t value = bits == 64 ? operand.number : operand.number & 0xffffffff;
    return {value, value};
  }

  Range Get(const State& state, const Operand& operand, unsigned bits = 32) const {
    if (operand.kind == Operand::Kind::kNumber) return Number(operand, bits);
    if (!operand.is_register()) return AnyOf(bits);
    if (bits == 64) return GetWide(state, operand.reg);
    return At(state, operand.reg).range;
  }

  // An operand of 32 bits with all that is known about it.
  static Value Whole(const State& state, const Operand& operand) {
    if (operand.is_register()) return At(state, operand.reg);
    Value value;
    if (operand.kind == Operand::Kind::kNumber) value.range = Number(operand, 32);
    return value;
  }

  Range GetWide(const State& state, int reg) const {
    return reg + 1 < kRegisters ? Compose(At(state, reg), At(state, reg + 1)) : kAny64;
  }

  Range Compose(const Value& low, const Value& high) const {
    if (low.wide >= 0 && low.wide == high.wide && !low.upper && high.upper)
      return wides_[static_cast<size_t>(low.wide)].range;
    if (high.range.single())
      return {high.range.low << 32 | low.range.low, high.range.low << 32 | low.range.high};
    return {high.range.low << 32, high.range.high << 32 | 0xffffffff};
  }

  static uint64_t OriginsOf(const State& state, const Operand& operand) {
    uint64_t origins = 0;
    if (operand.is_register())
      for (int i = 0; i < operand.count && operand.reg + i < kRegisters; ++i)
        origins |= At(state, operand.reg + i).origins;
    return origins;
  }

  static uint64_t OriginsFrom(const State& state, const Parsed& parsed, size_t first) {
    uint64_t origins = 0;
    for (size_t i = first; i < parsed.operands.size(); ++i)
      origins |= OriginsOf(state, parsed.operands[i]);
    return origins;
  }

  uint64_t NewOrigin(const Origin& origin) {
    for (size_t i = 0; i < reach_.origins.size(); ++i) {
      const Origin& known = reach_.origins[i];
      if (known.kind == origin.kind && known.offset == origin.offset &&
          known.first == origin.first && known.last == origin.last &&
          (known.first != 0 || known.parents == origin.parents))
        return 1ull << i;
    }
    if (reach_.origins.size() == kMostOrigins) return 1ull << kMostOrigins;
    reach_.origins.push_back(origin);
    return 1ull << (reach_.origins.size() - 1);
  }

  // --- memory

  Value ArgumentWord(uint64_t offset) {
    Value value;
    uint32_t word = 0;
    if (offset + 4 > launch_.kernarg_bytes.size()) return value;
    memcpy(&word, launch_.kernarg_bytes.data() + offset, 4);
    value.range = {word, word};
    Origin origin;
    origin.offset = offset & ~7ull;
    value.origins = NewOrigin(origin);
    return value;
  }

  void Touch(size_t at, Access::Kind kind, Range address, uint32_t bytes, uint64_t origins) {
    Access access;
    access.kind = kind;
    access.instruction = at;
    access.bytes = bytes;
    access.bounded = address != kAny64 && address.high - address.low < 1ull << 46;
    access.first = address.low;
    access.last = address.high + bytes - 1;
    access.origins = origins;
    auto [known, added] = accesses_.try_emplace({at, kind}, access);
    if (added) return;
    Access& old = known->second;
    old.bounded = old.bounded && access.bounded;
    old.first = std::min(old.first, access.first);
    old.last = std::max(old.last, access.last);
    old.origins |= origins;
  }

  // The values that are loaded into registers from `reg` on: `bytes` from each of these addresses.
  void Load(State* state, int reg, Range address, uint32_t bytes, bool sign, uint64_t origins) {
    const uint32_t words = std::max(bytes / 4, 1u);
    for (uint32_t i = 0; i < words && reg + static_cast<int>(i) < kRegisters; ++i)
      Overwritten(state, reg + static_cast<int>(i));
    if (address.single() && address.low >= launch_.kernarg &&
        address.low - launch_.kernarg < launch_.kernarg_bytes.size() && bytes >= 4) {
      for (uint32_t i = 0; i < words; ++i)
        At(state, reg + static_cast<int>(i)) =
            ArgumentWord(address.low - launch_.kernarg + 4ull * i);
      return;
    }
    Origin origin;
    origin.kind = Origin::Kind::kMemory;
    origin.parents = origins;
    origin.bytes = std::min(bytes, 8u);
    const uint64_t count =
        address == kAny64 ? kMostElements + 1 : (address.high - address.low) / bytes + 1;
    if (count <= kMostElements) {
      origin.first = address.low;
      origin.last = address.high;
      origin.exact = address.single();
    }
    std::vector<Range> loaded(words, Range{~0ull, 0});
    std::vector<Range> pairs(words, Range{~0ull, 0});
    bool known = count <= kMostElements;
    for (uint64_t i = 0; i < count && known; ++i) {
      std::array<uint8_t, 64> element{};
      known = read_(address.low + i * bytes, element.data(), bytes);
      for (uint32_t word = 0; word < words && known; ++word) {
        uint32_t value = 0;
        memcpy(&value, element.data() + size_t{4} * word, std::min(bytes, 4u));
        if (sign && bytes == 1) value = static_cast<uint32_t>(static_cast<int8_t>(value));
        if (sign && bytes == 2) value = static_cast<uint32_t>(static_cast<int16_t>(value));
        loaded[word] = Hull(loaded[word], {value, value});
        if (word + 1 < words) {
          uint64_t pair = 0;
          memcpy(&pair, element.data() + size_t{4} * word, 8);
          pairs[word] = Hull(pairs[word], {pair, pair});
        }
      }
    }
    for (uint32_t word = 0; word < words && reg + static_cast<int>(word) < kRegisters; ++word) {
      Origin part = origin;
      if (part.first != 0 && words > 2) {  // a structure: each pair of words is a value of its own
        part.first += 4ull * (word & ~1u);
        part.last += 4ull * (word & ~1u);
      }
      const uint64_t bit = NewOrigin(part);
      const int to = reg + static_cast<int>(word);
      if (!known) {
        At(state, to) = Value{};
        At(state, to).origins = bit;
      } else if (word % 2 == 0 && word + 1 < words) {
        SetWide(state, to, pairs[word], bit);
      } else if (word % 2 == 0) {
        At(state, to) = Value{};
        At(state, to).range = loaded[word];
        At(state, to).origins = bit;
      }
    }
  }

  // saddr + vaddr + offset, or a 64-bit vaddr + offset.
  Range AddressOf(const State& state, const Operand* vector, const Operand* scalar,
                  int64_t offset) const {
    Range address{0, 0};
    if (scalar != nullptr && scalar->is_register()) {
      address = GetWide(state, scalar->reg);
      if (vector != nullptr && vector->is_register())
        address = Add(address, At(state, vector->reg).range, 64);
    } else if (vector != nullptr && vector->is_register() && vector->count == 2) {
      address = GetWide(state, vector->reg);
    } else {
      return kAny64;
    }
    if (offset == 0 || address == kAny64) return address;
    const auto add = static_cast<uint64_t>(offset);
    return Add(address, {add, add}, 64);
  }

  void Memory(size_t at, const Parsed& parsed, State* state) {
    const std::string& name = parsed.mnemonic;
    const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
    const std::vector<Operand>& operands = parsed.operands;
    const bool atomic = has("atomic");
    const bool store = has("_store");
    if (has("_inv") || has("_wb")) return;
    const bool flat = Starts(name, "flat_");
    const size_t usual = flat ? (store || atomic ? 2u : 2u) : 3u;
    const bool returns = atomic && (parsed.returns || operands.size() > usual);
    const size_t vector = store || (atomic && !returns) ? 0 : 1;
    const size_t scalar = operands.size() - 1;
    const Operand* base = !flat && scalar > vector ? &operands[scalar] : nullptr;
    const Range address = vector < operands.size()
                              ? AddressOf(*state, &operands[vector], base, parsed.offset)
                              : kAny64;
    uint64_t origins = vector < operands.size() ? OriginsOf(*state, operands[vector]) : 0;
    if (base != nullptr) origins |= OriginsOf(*state, *base);
    const uint32_t bytes = AccessBytes(name);
    if (!state->no_lanes) {
      if (!store) Touch(at, Access::Kind::kRead, address, bytes, origins);
      if (store || atomic) Touch(at, Access::Kind::kWrite, address, bytes, origins);
    }
    if (store || (atomic && !returns) || operands.empty() || !operands[0].is_register()) return;
    if (has("d16") || atomic) return Forget(state, operands[0], origins);
    Load(state, operands[0].reg, address, bytes,
         has("sbyte") || has("_i8") || has("_i16") || has("sshort"), origins);
  }

  void ScalarLoad(size_t at, const Parsed& parsed, State* state) {
    const std::vector<Operand>& operands = parsed.operands;
    if (operands.size() < 2 || !operands[0].is_register() || !operands[1].is_register()) return;
    const uint32_t bytes = AccessBytes(parsed.mnemonic);
    if (Starts(parsed.mnemonic, "s_buffer_load")) {
      Touch(at, Access::Kind::kRead, kAny64, bytes, OriginsFrom(*state, parsed, 1));
      return Forget(state, operands[0], OriginsFrom(*state, parsed, 1));
    }
    Range address = GetWide(*state, operands[1].reg);
    if (operands.size() > 2 && operands[2].kind == Operand::Kind::kNumber)
      address = Add(address, Number(operands[2], 64), 64);
    else if (operands.size() > 2)
      address = Add(address, Get(*state, operands[2]), 64);
    if (parsed.offset != 0)
      address =
          Add(address, {static_cast<uint64_t>(parsed.offset), static_cast<uint64_t>(parsed.offset)},
              64);
    const uint64_t origins = OriginsFrom(*state, parsed, 1);
    Touch(at, Access::Kind::kRead, address, bytes, origins);
    Load(state, operands[0].reg, address, bytes, false, origins);
  }

  void Call(size_t at, const Parsed& parsed, State* state) {
    const Operand& to = parsed.operands.back();
    const Range address = to.is_register() ? GetWide(*state, to.reg) : kAny64;
    Touch(at, Access::Kind::kCall, address, 4, OriginsOf(*state, to));
    GiveUp("it calls functions, which were not followed");
    // Whatever is called may change every register.
    for (Value& value : state->registers) value = Value{};
    state->no_lanes = false;
    state->conditions.clear();
    state->saved.clear();
  }

  void Forget(State* state, const Operand& operand, uint64_t origins) {
    if (!operand.is_register()) return;
    for (int i = 0; i < operand.count && operand.reg + i < kRegisters; ++i) {
      At(state, operand.reg + i) = Value{};
      At(state, operand.reg + i).origins = origins;
      Overwritten(state, operand.reg + i);
    }
  }

  // --- lanes

  struct Comparison {
    std::string relation;  // lt, le, gt, ge, eq, ne
    bool is_signed = false;
    unsigned bits = 32;
  };

  static std::optional<Comparison> ReadComparison(const std::string& name, const char* prefix) {
    if (!Starts(name, prefix)) return std::nullopt;
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

  // 1: always, 0: never, -1: it depends.
  static int Compare(const Comparison& comparison, Range a, Range b) {
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

  static int CompareUnsigned(const std::string& relation, Range a, Range b) {
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

  // What a comparison says about a vector register, where it holds.
  std::optional<Condition> ConditionOf(const State& state, const Comparison& comparison,
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

  void Narrow(State* state, const Condition& condition) {
    if (condition.wide) {
      SetWide(state, condition.reg, condition.range, At(*state, condition.reg).origins);
      return;
    }
    At(state, condition.reg).range = condition.range;
    At(state, condition.reg).wide = -1;
  }

  void SaveLanes(State* state, const Operand& to) {
    if (to.is_register())
      state->saved[to.reg] = std::make_shared<const Registers>(state->registers);
  }

  void RestoreLanes(State* state, const Operand& from) {
    state->no_lanes = false;
    if (!from.is_register()) return;
    const auto saved = state->saved.find(from.reg);
    if (saved != state->saved.end()) JoinRegisters(&state->registers, *saved->second, false);
  }

  bool VectorCompare(const Parsed& parsed, State* state) {
    const bool narrows = Starts(parsed.mnemonic, "v_cmpx_");
    const auto comparison = ReadComparison(parsed.mnemonic, narrows ? "v_cmpx_" : "v_cmp_");
    if (!narrows && !Starts(parsed.mnemonic, "v_cmp_")) return false;
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

  bool IsExec(const Operand& operand) const {
    return operand.is_register() && operand.reg == kExec;
  }

  // Instructions that save, narrow or restore the mask of lanes.
  bool Lanes(const Parsed& parsed, State* state) {
    const std::string& name = parsed.mnemonic;
    const std::vector<Operand>& operands = parsed.operands;
    if (operands.size() < 2) return false;
    if (name.find("_saveexec_") != std::string::npos) {
      const bool narrows = Starts(name, "s_and_saveexec");
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
      if (Starts(name, "s_and_b") || Starts(name, "s_andn2_b") || Starts(name, "s_and_not1_b")) {
        if (Starts(name, "s_and_b") && operands.size() > 2 && operands[2].is_register()) {
          const auto condition = state->conditions.find(operands[2].reg);
          if (condition != state->conditions.end()) Narrow(state, Condition(condition->second));
        }
        return true;
      }
      if (Starts(name, "s_mov_b") && operands[1].kind == Operand::Kind::kNumber) {
        state->no_lanes = operands[1].number == 0;
        return true;
      }
      RestoreLanes(state, operands.back());
      return true;
    }
    if (Starts(name, "s_mov_b") && IsExec(operands[1])) {
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

  // --- one instruction

  void Step(size_t at, const Parsed& parsed, State* state) {
    const std::string& name = parsed.mnemonic;
    if (Starts(name, "s_load_") || Starts(name, "s_buffer_load"))
      return ScalarLoad(at, parsed, state);
    if (Starts(name, "global_") || Starts(name, "flat_")) return Memory(at, parsed, state);
    if (Starts(name, "scratch_") || Starts(name, "ds_")) {
      if (name.find("load") != std::string::npos || name.find("read") != std::string::npos ||
          name.find("rtn") != std::string::npos || name.find("permute") != std::string::npos ||
          name.find("swizzle") != std::string::npos)
        ForgetFirst(parsed, state);
      return;
    }
    if (Starts(name, "buffer_") || Starts(name, "tbuffer_") || Starts(name, "image_"))
      return Buffer(at, parsed, state);
    if (Starts(name, "s_cmp")) return ScalarCompare(parsed, state);
    if (VectorCompare(parsed, state) || Lanes(parsed, state)) return;
    if (parsed.operands.empty() || !parsed.operands[0].is_register()) return;
    if (Starts(name, "s_waitcnt") || Starts(name, "s_nop") || Starts(name, "s_delay")) return;
    if (!parsed.modified && Arithmetic(at, parsed, state)) return;
    ForgetFirst(parsed, state);
    if (Starts(name, "s_")) At(state, kScc) = Value{};
  }

  void ForgetFirst(const Parsed& parsed, State* state) {
    if (parsed.operands.empty()) return;
    const uint64_t origins = OriginsFrom(*state, parsed, 1);
    Forget(state, parsed.operands[0], origins);
    // A second result, such as a carry.
    if (parsed.mnemonic.find("_co_") != std::string::npos && parsed.operands.size() > 3)
      Forget(state, parsed.operands[1], 0);
  }

  void Buffer(size_t at, const Parsed& parsed, State* state) {
    const std::string& name = parsed.mnemonic;
    if (name.find("_inv") != std::string::npos || name.find("_wb") != std::string::npos ||
        name.find("_gl") != std::string::npos)
      return;
    bool scratch = false;
    for (const Operand& operand : parsed.operands)
      scratch |= operand.is_register() && operand.count == 4 && operand.reg == scratch_buffer_ &&
                 Starts(name, "buffer_");
    const bool store = name.find("store") != std::string::npos;
    const bool atomic = name.find("atomic") != std::string::npos;
    if (!scratch && !state->no_lanes) {
      const uint64_t origins = OriginsFrom(*state, parsed, 1);
      if (!store) Touch(at, Access::Kind::kRead, kAny64, 4, origins);
      if (store || atomic) Touch(at, Access::Kind::kWrite, kAny64, 4, origins);
    }
    if (!store) ForgetFirst(parsed, state);
  }

  void ScalarCompare(const Parsed& parsed, State* state) {
    const bool constant = Starts(parsed.mnemonic, "s_cmpk_");
    const auto comparison = ReadComparison(parsed.mnemonic, constant ? "s_cmpk_" : "s_cmp_");
    Value& scc = At(state, kScc);
    scc = Value{};
    scc.range = {0, 1};
    if (!comparison || parsed.operands.size() < 2) return;
    const int result = Compare(*comparison, Get(*state, parsed.operands[0], comparison->bits),
                               Get(*state, parsed.operands[1], comparison->bits));
    if (result >= 0) scc.range = {static_cast<uint64_t>(result), static_cast<uint64_t>(result)};
  }

  bool Arithmetic(size_t at, const Parsed& parsed, State* state);

  const std::vector<codeobj::Instruction>& code_;
  const codeobj::Kernel& kernel_;
  const LaunchFacts& launch_;
  const ReadSaved& read_;
  bool packed_ids_ = false;
  bool ids_in_ttmp_ = false;
  int scratch_buffer_ = -1;
  Reach reach_;
  std::vector<std::vector<Parsed>> parsed_;
  std::unordered_map<uint64_t, size_t> by_address_;
  std::set<size_t> starts_;
  std::map<size_t, State> states_;
  std::map<size_t, int> visits_;
  std::deque<size_t> work_;
  std::set<size_t> queued_;
  std::vector<Wide> wides_;
  std::map<std::pair<size_t, Access::Kind>, Access> accesses_;
};

// False: an instruction whose result is not worked out.
bool Follower::Arithmetic(size_t at, const Parsed& parsed, State* state) {
  const std::string& name = parsed.mnemonic;
  const std::vector<Operand>& operands = parsed.operands;
  const Operand& to = operands[0];
  const auto operand = [&](size_t i) { return i < operands.size() ? operands[i] : Operand{}; };
  const auto get = [&](size_t i, unsigned bits = 32) { return Get(*state, operand(i), bits); };
  const uint64_t origins = OriginsFrom(*state, parsed, 1);
  const bool scalar = Starts(name, "s_");
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

}  // namespace

Reach FindReach(const std::vector<codeobj::Instruction>& code, const std::string& processor,
                const codeobj::Kernel& kernel, const LaunchFacts& launch, const ReadSaved& read) {
  return Follower(code, processor, kernel, launch, read).Follow();
}

}  // namespace rochound::doctor
