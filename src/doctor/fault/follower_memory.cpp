// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include "doctor/fault/follower.h"

namespace rochound::doctor {
namespace {

constexpr uint64_t kMostElements = 16'384;  // of an array whose values are looked at
constexpr size_t kMostOrigins = 63;         // the last bit stands for all others

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

}  // namespace

int Follower::NewWide(Range range, uint64_t origins) {
  wides_.push_back({range, origins});
  return static_cast<int>(wides_.size()) - 1;
}

const Value& Follower::At(const State& state, int reg) {
  return state.registers[static_cast<size_t>(reg)];
}

void Follower::Set(State* state, const Operand& operand, Range range, uint64_t origins) {
  if (!operand.is_register()) return;
  if (operand.count >= 2) return SetWide(state, operand.reg, range, origins);
  Value value;
  value.range = range;
  value.origins = origins;
  At(state, operand.reg) = value;
  Overwritten(state, operand.reg);
}

void Follower::Overwritten(State* state, int reg) {
  if (state->carry_low == reg) state->carry_low = -1;
  state->conditions.erase(reg);
  for (auto one = state->conditions.begin(); one != state->conditions.end();)
    one = one->second.reg == reg || (one->second.wide && one->second.reg + 1 == reg)
              ? state->conditions.erase(one)
              : std::next(one);
}

void Follower::SetWide(State* state, int reg, Range range, uint64_t origins) {
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

Range Follower::Number(const Operand& operand, unsigned bits) {
  const uint64_t value = bits == 64 ? operand.number : operand.number & 0xffffffff;
  return {value, value};
}

Range Follower::Get(const State& state, const Operand& operand, unsigned bits) const {
  if (operand.kind == Operand::Kind::kNumber) return Number(operand, bits);
  if (!operand.is_register()) return AnyOf(bits);
  if (bits == 64) return GetWide(state, operand.reg);
  return At(state, operand.reg).range;
}

Value Follower::Whole(const State& state, const Operand& operand) {
  if (operand.is_register()) return At(state, operand.reg);
  Value value;
  if (operand.kind == Operand::Kind::kNumber) value.range = Number(operand, 32);
  return value;
}

Range Follower::GetWide(const State& state, int reg) const {
  return reg + 1 < kRegisters ? Compose(At(state, reg), At(state, reg + 1)) : kAny64;
}

Range Follower::Compose(const Value& low, const Value& high) const {
  if (low.wide >= 0 && low.wide == high.wide && !low.upper && high.upper)
    return wides_[static_cast<size_t>(low.wide)].range;
  if (high.range.single())
    return {high.range.low << 32 | low.range.low, high.range.low << 32 | low.range.high};
  return {high.range.low << 32, high.range.high << 32 | 0xffffffff};
}

uint64_t Follower::OriginsOf(const State& state, const Operand& operand) {
  uint64_t origins = 0;
  if (operand.is_register())
    for (int i = 0; i < operand.count && operand.reg + i < kRegisters; ++i)
      origins |= At(state, operand.reg + i).origins;
  return origins;
}

uint64_t Follower::OriginsFrom(const State& state, const Parsed& parsed, size_t first) {
  uint64_t origins = 0;
  for (size_t i = first; i < parsed.operands.size(); ++i)
    origins |= OriginsOf(state, parsed.operands[i]);
  return origins;
}

uint64_t Follower::NewOrigin(const Origin& origin) {
  for (size_t i = 0; i < reach_.origins.size(); ++i) {
    const Origin& known = reach_.origins[i];
    if (known.kind == origin.kind && known.offset == origin.offset && known.first == origin.first &&
        known.last == origin.last && (known.first != 0 || known.parents == origin.parents))
      return 1ull << i;
  }
  if (reach_.origins.size() == kMostOrigins) return 1ull << kMostOrigins;
  reach_.origins.push_back(origin);
  return 1ull << (reach_.origins.size() - 1);
}

Value Follower::ArgumentWord(uint64_t offset) {
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

void Follower::Touch(size_t at, Access::Kind kind, Range address, uint32_t bytes,
                     uint64_t origins) {
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

void Follower::Load(State* state, int reg, Range address, uint32_t bytes, bool sign,
                    uint64_t origins) {
  const uint32_t words = std::max(bytes / 4, 1u);
  for (uint32_t i = 0; i < words && reg + static_cast<int>(i) < kRegisters; ++i)
    Overwritten(state, reg + static_cast<int>(i));
  if (address.single() && address.low >= launch_.kernarg &&
      address.low - launch_.kernarg < launch_.kernarg_bytes.size() && bytes >= 4) {
    for (uint32_t i = 0; i < words; ++i)
      At(state, reg + static_cast<int>(i)) = ArgumentWord(address.low - launch_.kernarg + 4ull * i);
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

Range Follower::AddressOf(const State& state, const Operand* vector, const Operand* scalar,
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

void Follower::Memory(size_t at, const Parsed& parsed, State* state) {
  const std::string& name = parsed.mnemonic;
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  const std::vector<Operand>& operands = parsed.operands;
  const bool atomic = has("atomic");
  const bool store = has("_store");
  if (has("_inv") || has("_wb")) return;
  const bool flat = name.starts_with("flat_");
  const size_t usual = flat ? (store || atomic ? 2u : 2u) : 3u;
  const bool returns = atomic && (parsed.returns || operands.size() > usual);
  const size_t vector = store || (atomic && !returns) ? 0 : 1;
  const size_t scalar = operands.size() - 1;
  const Operand* base = !flat && scalar > vector ? &operands[scalar] : nullptr;
  const Range address =
      vector < operands.size() ? AddressOf(*state, &operands[vector], base, parsed.offset) : kAny64;
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

void Follower::ScalarLoad(size_t at, const Parsed& parsed, State* state) {
  const std::vector<Operand>& operands = parsed.operands;
  if (operands.size() < 2 || !operands[0].is_register() || !operands[1].is_register()) return;
  const uint32_t bytes = AccessBytes(parsed.mnemonic);
  if (parsed.mnemonic.starts_with("s_buffer_load")) {
    Touch(at, Access::Kind::kRead, kAny64, bytes, OriginsFrom(*state, parsed, 1));
    return Forget(state, operands[0], OriginsFrom(*state, parsed, 1));
  }
  Range address = GetWide(*state, operands[1].reg);
  if (operands.size() > 2 && operands[2].kind == Operand::Kind::kNumber)
    address = Add(address, Number(operands[2], 64), 64);
  else if (operands.size() > 2)
    address = Add(address, Get(*state, operands[2]), 64);
  if (parsed.offset != 0)
    address = Add(address,
                  {static_cast<uint64_t>(parsed.offset), static_cast<uint64_t>(parsed.offset)}, 64);
  const uint64_t origins = OriginsFrom(*state, parsed, 1);
  Touch(at, Access::Kind::kRead, address, bytes, origins);
  Load(state, operands[0].reg, address, bytes, false, origins);
}

void Follower::Call(size_t at, const Parsed& parsed, State* state) {
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

void Follower::Forget(State* state, const Operand& operand, uint64_t origins) {
  if (!operand.is_register()) return;
  for (int i = 0; i < operand.count && operand.reg + i < kRegisters; ++i) {
    At(state, operand.reg + i) = Value{};
    At(state, operand.reg + i).origins = origins;
    Overwritten(state, operand.reg + i);
  }
}

}  // namespace rochound::doctor
