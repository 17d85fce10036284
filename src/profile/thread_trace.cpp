// SPDX-License-Identifier: MIT
#include "profile/thread_trace.h"

#include <algorithm>
#include <set>

namespace rochound::profile {
namespace {

struct Prefix {
  std::string_view begin;
  std::string_view unit;
};

// The first that fits decides, so that what is special is before what is general.
constexpr Prefix kUnits[] = {
    {"v_mfma", "MFMA"},        {"v_smfmac", "MFMA"},     {"v_wmma", "MFMA"},
    {"v_swmmac", "MFMA"},      {"v_", "VALU"},           {"ds_", "LDS"},
    {"lds_", "LDS"},           {"global_", "VMEM"},      {"flat_", "VMEM"},
    {"buffer_", "VMEM"},       {"tbuffer_", "VMEM"},     {"scratch_", "VMEM"},
    {"image_", "VMEM"},        {"s_load", "SMEM"},       {"s_buffer_", "SMEM"},
    {"s_store", "SMEM"},       {"s_scratch_", "SMEM"},   {"s_atomic_", "SMEM"},
    {"s_dcache_", "SMEM"},     {"s_memtime", "SMEM"},    {"s_memrealtime", "SMEM"},
    {"s_prefetch_", "SMEM"},   {"s_barrier", "barrier"}, {"s_wait", "wait"},
    {"s_nop", "wait"},         {"s_sleep", "wait"},      {"s_delay_alu", "wait"},
    {"s_branch", "branch"},    {"s_cbranch", "branch"},  {"s_setpc", "branch"},
    {"s_swappc", "branch"},    {"s_call", "branch"},     {"s_rfe", "branch"},
    {"s_subvector", "branch"}, {"s_endpgm", "other"},    {"s_sendmsg", "other"},
    {"s_set_gpr", "other"},    {"s_setprio", "other"},   {"s_inst_prefetch", "other"},
    {"s_icache", "other"},     {"s_trap", "other"},      {"s_sethalt", "other"},
    {"s_code_end", "other"},   {"s_", "SALU"},
};

}  // namespace

std::string_view UnitOf(std::string_view instruction) {
  for (const Prefix& prefix : kUnits)
    if (instruction.starts_with(prefix.begin)) return prefix.unit;
  return "other";
}

size_t ThreadTrace::Kernel() const {
  std::set<size_t> seen;
  for (const TracedInstruction& instruction : instructions)
    if (seen.insert(instruction.function).second && instruction.hits != 0)
      return instruction.function;
  return 0;
}

std::map<std::string_view, UnitUse> UseOfUnits(const ThreadTrace& trace) {
  std::map<std::string_view, UnitUse> units;
  for (const TracedInstruction& instruction : trace.instructions) {
    if (instruction.hits == 0) continue;
    UnitUse& use = units[instruction.unit];
    use.instructions += instruction.hits;
    use.stall_cycles += instruction.stall;
    use.issue_cycles += instruction.latency - std::min(instruction.stall, instruction.latency);
  }
  if (trace.span && trace.span->cycles != 0 && trace.span->simds != 0) {
    const double all =
        static_cast<double>(trace.span->cycles) * static_cast<double>(trace.span->simds);
    for (auto& [name, use] : units) use.utilisation = static_cast<double>(use.issue_cycles) / all;
  }
  return units;
}

std::vector<LineCost> CostOfLines(const ThreadTrace& trace) {
  std::map<std::pair<std::string, uint32_t>, LineCost> lines;
  for (const TracedInstruction& instruction : trace.instructions) {
    std::set<std::pair<std::string, uint32_t>> counted;  // a recursive function is there twice
    for (const SourceLine& where : instruction.source) {
      if (!counted.insert({where.file, where.line}).second) continue;
      LineCost& cost = lines[{where.file, where.line}];
      cost.where = where;
      cost.hits += instruction.hits;
      cost.latency += instruction.latency;
      cost.stall += instruction.stall;
      cost.idle += instruction.idle;
      if (&where == &instruction.source.front()) cost.own_latency += instruction.latency;
    }
  }
  std::vector<LineCost> costs;
  costs.reserve(lines.size());
  for (auto& [where, cost] : lines) costs.push_back(std::move(cost));
  std::stable_sort(costs.begin(), costs.end(), [](const LineCost& a, const LineCost& b) {
    return a.latency + a.idle > b.latency + b.idle;
  });
  return costs;
}

}  // namespace rochound::profile
