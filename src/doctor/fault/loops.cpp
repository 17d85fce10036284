// SPDX-License-Identifier: MIT
#include "doctor/fault/loops.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "doctor/fault/machine_state.h"
#include "doctor/fault/operand.h"

namespace rochound::doctor {
namespace {

using Registers32 = std::set<int>;

bool StartsWithAny(std::string_view text, std::initializer_list<const char*> starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [&](const char* start) { return text.starts_with(start); });
}

void Add(const Operand& operand, Registers32* to) {
  if (!operand.is_register()) return;
  for (int i = 0; i < operand.count; ++i) to->insert(operand.reg + i);
}

// One instruction's part in the flow of values.
struct Flow {
  Registers32 writes;
  Registers32 reads;
  bool load = false;      // what it writes comes from memory
  bool clock = false;     // or from a clock
  bool computes = false;  // it makes another value, and not only a mask, a choice or a copy
  bool unknown = false;   // it has an operand that is not understood
};

bool IsMemory(std::string_view name) {
  return StartsWithAny(name, {"global_", "flat_", "buffer_", "scratch_", "ds_", "s_load",
                              "s_buffer_load", "s_scratch_load", "tbuffer_", "image_"});
}

// It reads memory into a register.
bool IsLoad(const Parsed& parsed) {
  const std::string_view name = parsed.mnemonic;
  if (!IsMemory(name)) return false;
  if (name.find("atomic") != name.npos || name.find("cmpst") != name.npos)
    return parsed.returns || name.starts_with("ds_");
  return name.find("load") != name.npos || name.find("_read") != name.npos ||
         name.find("_rtn") != name.npos;
}

bool IsBranch(std::string_view name) {
  return StartsWithAny(name, {"s_branch", "s_cbranch", "s_setpc", "s_swappc", "s_endpgm"});
}

// It only makes masks of lanes, chooses or copies: going round with it changes nothing by itself.
bool IsMaskOrCopy(std::string_view name) {
  return StartsWithAny(
      name, {"s_and", "s_or", "s_xor", "s_not", "s_mov", "v_mov", "s_cmp", "v_cmp", "s_bitcmp",
             "s_cselect", "v_cndmask", "v_readfirstlane", "s_nand", "s_nor", "s_wqm", "s_cmov"});
}

Flow FlowOf(const Parsed& parsed) {
  Flow flow;
  const std::string_view name = parsed.mnemonic;
  if (IsBranch(name) || StartsWithAny(name, {"s_waitcnt", "s_wait_", "s_nop", "s_sleep",
                                             "s_barrier", "s_delay", "s_clause", "s_sethalt"}))
    return flow;
  const bool compares = StartsWithAny(name, {"s_cmp", "s_bitcmp"});
  const bool stores = IsMemory(name) && !IsLoad(parsed);
  flow.load = IsLoad(parsed);
  flow.clock = StartsWithAny(
      name, {"s_memtime", "s_memrealtime", "s_getreg", "s_sendmsg_rtn", "s_get_shader_cycles"});
  const bool first_is_result = !compares && !stores;
  for (const Operand& operand : parsed.operands)
    flow.unknown |= operand.kind == Operand::Kind::kOther;
  for (size_t i = 0; i < parsed.operands.size(); ++i)
    Add(parsed.operands[i], i == 0 && first_is_result ? &flow.writes : &flow.reads);
  // The carry of an addition is a second result; as an operand it is harmless.
  if (name.find("saveexec") != name.npos) {
    for (const int half : {kExec, kExec + 1}) {
      flow.writes.insert(half);
      flow.reads.insert(half);
    }
  }
  if (name.starts_with("v_cmpx")) {
    for (const Operand& operand : parsed.operands) Add(operand, &flow.reads);
    flow.writes.insert(kExec);
    flow.writes.insert(kExec + 1);
  }
  if (compares || (name.starts_with("s_") &&
                   !StartsWithAny(name, {"s_mov", "s_load", "s_getreg", "s_mem", "s_buffer"})))
    flow.writes.insert(kScc);
  if (StartsWithAny(name, {"s_addc", "s_subb", "s_cselect", "s_cmov"})) flow.reads.insert(kScc);
  // v_cndmask without a mask of its own, and additions with carry, name vcc in their text.
  flow.computes = !flow.load && !flow.clock && !stores && !compares && !IsMaskOrCopy(name);
  return flow;
}

// What a branch looks at; empty: nothing, it is always taken.
Registers32 ConditionOf(std::string_view name) {
  if (name.starts_with("s_cbranch_scc")) return {kScc};
  if (name.starts_with("s_cbranch_vcc")) return {kVcc, kVcc + 1};
  if (name.starts_with("s_cbranch_exec")) return {kExec, kExec + 1};
  return {};
}

class LoopJudge {
 public:
  LoopJudge(const std::vector<codeobj::Instruction>& code, size_t first, size_t last)
      : code_(code), first_(first), last_(last) {
    for (size_t i = first; i <= last; ++i) {
      Flow all;
      for (const Parsed& parsed : Parse(code[i].text)) {
        const Flow flow = FlowOf(parsed);
        all.writes.insert(flow.writes.begin(), flow.writes.end());
        all.reads.insert(flow.reads.begin(), flow.reads.end());
        all.load |= flow.load;
        all.clock |= flow.clock;
        all.computes |= flow.computes;
        all.unknown |= flow.unknown;
      }
      flows_.push_back(std::move(all));
    }
  }

  Loop Judge() {
    Loop loop{first_, last_, Loop::End::kWork, {}};
    std::set<size_t> wanted;  // instructions that the ways out depend on
    if (!FindConditions(&wanted)) return loop;
    Follow(&wanted, true);
    for (const size_t i : wanted) {
      if (flows_[i].clock || flows_[i].unknown) {
        loop.loads.clear();
        return loop;
      }
      if (flows_[i].load) loop.loads.push_back(first_ + i);
      // A value that becomes another one each time round; or an address that does.
      if ((flows_[i].computes || flows_[i].load) && GoesRound(i)) {
        loop.loads.clear();
        return loop;
      }
    }
    loop.end = loop.loads.empty() ? Loop::End::kNever : Loop::End::kMemory;
    return loop;
  }

 private:
  static std::string_view Name(std::string_view text) { return text.substr(0, text.find(' ')); }

  // What the ways out look at. False: it is not known where they lead.
  bool FindConditions(std::set<size_t>* wanted) {
    const auto inside = [&](uint64_t address) {
      return address >= code_[first_].address && address <= code_[last_].address;
    };
    for (size_t i = first_; i < last_; ++i)
      straight_ &= !code_[i].target || !inside(*code_[i].target);
    for (size_t i = first_; i <= last_; ++i) {
      const std::string_view name = Name(code_[i].text);
      if (StartsWithAny(name, {"s_setpc", "s_swappc", "s_endpgm", "s_call"})) return false;
      if (!code_[i].target) continue;
      if (inside(*code_[i].target) && (i != last_ || name == "s_branch")) continue;
      const Registers32 looked_at = ConditionOf(name);
      if (looked_at.empty()) return false;
      for (const int reg : looked_at) AddWriters(i - first_, reg, wanted);
    }
    return true;
  }

  // The instructions whose result an operand of the one at `reader` may be. In code that goes
  // straight on it is the last one before it, or else the last one of the round before.
  void AddWriters(size_t reader, int reg, std::set<size_t>* to) const {
    const size_t count = flows_.size();
    for (size_t back = 1; back <= count; ++back) {
      const size_t i = (reader + count - back) % count;
      if (!flows_[i].writes.contains(reg)) continue;
      to->insert(i);
      if (straight_) return;
    }
  }

  // Adds everything that these depend on. Masks of lanes only become smaller: without them it is
  // values that are followed.
  void Follow(std::set<size_t>* wanted, bool masks) const {
    for (std::set<size_t> todo = *wanted; !todo.empty();) {
      const size_t i = *todo.begin();
      todo.erase(todo.begin());
      std::set<size_t> writers;
      for (const int reg : flows_[i].reads)
        if (masks || (reg != kScc && reg != kExec && reg != kExec + 1))
          AddWriters(i, reg, &writers);
      for (const size_t writer : writers)
        if (wanted->insert(writer).second) todo.insert(writer);
    }
  }

  bool GoesRound(size_t instruction) const {
    std::set<size_t> sources;
    for (const int reg : flows_[instruction].reads)
      if (reg != kScc && reg != kExec && reg != kExec + 1) AddWriters(instruction, reg, &sources);
    Follow(&sources, false);
    return sources.contains(instruction);
  }

  const std::vector<codeobj::Instruction>& code_;
  const size_t first_, last_;
  std::vector<Flow> flows_;
  bool straight_ = true;  // no branch leads from inside to inside
};

}  // namespace

std::vector<Loop> FindLoops(const std::vector<codeobj::Instruction>& code) {
  constexpr size_t kMostInstructions = 20'000;
  std::vector<Loop> loops;
  if (code.size() > kMostInstructions) return loops;
  for (size_t i = 0; i < code.size(); ++i) {
    if (!code[i].target || *code[i].target > code[i].address) continue;
    const auto start =
        std::lower_bound(code.begin(), code.end(), *code[i].target,
                         [](const codeobj::Instruction& instruction, uint64_t address) {
                           return instruction.address < address;
                         });
    loops.push_back(LoopJudge(code, static_cast<size_t>(start - code.begin()), i).Judge());
  }
  std::stable_sort(loops.begin(), loops.end(), [](const Loop& a, const Loop& b) {
    return a.last - a.first < b.last - b.first;
  });
  return loops;
}

}  // namespace rochound::doctor
