// SPDX-License-Identifier: MIT
#include "softgpu/counters/dispatch_record.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace rochound::softgpu {
namespace {

constexpr std::string_view kSpaceNames[kMemorySpaces] = {"global", "lds", "scratch", "scalar"};

uint64_t DivideUp(uint64_t value, uint64_t by) { return by == 0 ? 0 : (value + by - 1) / by; }

// Builds objects within objects; the caller keeps the order of calls right.
class JsonText {
 public:
  void Open(std::string_view key = {}) {
    Key(key);
    text_ += '{';
    first_ = true;
  }
  void Close() {
    text_ += '}';
    first_ = false;
  }
  void Number(std::string_view key, uint64_t value) {
    Key(key);
    text_ += std::to_string(value);
  }
  void Bool(std::string_view key, bool value) {
    Key(key);
    text_ += value ? "true" : "false";
  }
  void Text(std::string_view key, std::string_view value) {
    Key(key);
    Quote(value);
  }
  template <typename List>
  void Numbers(std::string_view key, const List& values) {
    Key(key);
    text_ += '[';
    first_ = true;
    for (const uint64_t value : values) {
      Key({});
      text_ += std::to_string(value);
    }
    text_ += ']';
    first_ = false;
  }
  // Rows of [offset from the entry, text, hits, latency, stall, idle], by address.
  void Code(std::string_view key, const std::unordered_map<uint64_t, CodeSums>& code,
            uint64_t entry) {
    Key(key);
    text_ += '[';
    first_ = true;
    const std::map<uint64_t, const CodeSums*> ordered = [&] {
      std::map<uint64_t, const CodeSums*> all;
      for (const auto& [address, sums] : code) all.emplace(address, &sums);
      return all;
    }();
    for (const auto& [address, sums] : ordered) {
      Key({});
      text_ += '[' + std::to_string(static_cast<int64_t>(address - entry)) + ',';
      Quote(sums->text);
      for (const uint64_t value : {sums->hits, sums->latency, sums->stall, sums->idle})
        text_ += ',' + std::to_string(value);
      text_ += ']';
    }
    text_ += ']';
    first_ = false;
  }
  std::string Take() { return std::move(text_); }

 private:
  void Key(std::string_view key) {
    if (!first_) text_ += ',';
    first_ = false;
    if (key.empty()) return;
    Quote(key);
    text_ += ':';
  }
  void Quote(std::string_view value) {
    text_ += '"';
    for (char c : value) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        text_ += '\\';
        text_ += c;
      } else if (byte < 0x20 || byte > 0x7E) {  // symbol names are ASCII; anything else is escaped
        char escaped[8];
        std::snprintf(escaped, sizeof(escaped), "\\u%04x", byte);
        text_ += escaped;
      } else {
        text_ += c;
      }
    }
    text_ += '"';
  }

  std::string text_;
  bool first_ = true;
};

// Only what there is: most kernels know few types of numbers.
void AddOperations(const OperationSums& sums,
                   const std::map<std::string_view, uint64_t>& undescribed, JsonText* json) {
  json->Open("operations");
  for (unsigned unit = 0; unit < kArithmeticUnits; ++unit) {
    json->Open(NameOf(static_cast<ArithmeticUnit>(unit)));
    for (unsigned type = 0; type < kNumberTypes; ++type) {
      const auto& by_kind = sums[unit][type];
      uint64_t arithmetic = 0;
      uint64_t all = 0;
      for (unsigned kind = 0; kind < kOperationKinds; ++kind) {
        all += by_kind[kind];
        if (IsArithmetic(static_cast<OperationKind>(kind))) arithmetic += by_kind[kind];
      }
      if (all == 0) continue;
      json->Open(NameOf(static_cast<NumberType>(type)));
      json->Number("arithmetic", arithmetic);
      for (unsigned kind = 0; kind < kOperationKinds; ++kind) {
        if (by_kind[kind] != 0)
          json->Number(NameOf(static_cast<OperationKind>(kind)), by_kind[kind]);
      }
      json->Close();
    }
    json->Close();
  }
  json->Open("undescribed");
  for (const auto& [mnemonic, count] : undescribed) json->Number(mnemonic, count);
  json->Close();
  json->Close();
}

void AddFootprint(const FootprintSums& sums, JsonText* json) {
  static constexpr std::string_view kLines[] = {"lines_32", "lines_64", "lines_128"};
  json->Open("footprint");
  for (unsigned space = 0; space <= kMemorySpaces; ++space) {
    if (space == static_cast<unsigned>(MemorySpace::kLds)) continue;
    json->Open(space == kMemorySpaces ? "all" : kSpaceNames[space]);
    for (unsigned size = 0; size < kFootprintLineBytes.size(); ++size) {
      json->Open(kLines[size]);
      json->Number("read", sums[space][size].read);
      json->Number("written", sums[space][size].written);
      json->Number("touched", sums[space][size].touched);
      json->Close();
    }
    json->Close();
  }
  json->Close();
}

bool IsUndescribed(const OpFacts& facts) {
  const bool computes = facts.instruction_class == InstructionClass::kValu ||
                        facts.instruction_class == InstructionClass::kValuTranscendental ||
                        facts.instruction_class == InstructionClass::kMatrix;
  return computes &&
         (!facts.arithmetic[0].is_known || (facts.is_dual && !facts.arithmetic[1].is_known));
}

// How many waves of this kernel a SIMD holds at once.
uint32_t ResidentWaves(const DispatchIdentity& identity, const TargetRules& rules) {
  const bool wave32 = identity.wave_size == 32;
  const uint32_t file = wave32 ? rules.vgprs_wave32 : rules.vgprs_wave64;
  const uint32_t unit = wave32 ? rules.vgpr_unit_wave32 : rules.vgpr_unit_wave64;
  const uint32_t field = wave32 ? rules.vgpr_field_wave32 : rules.vgpr_field_wave64;
  const uint32_t wanted = (identity.vgpr_field + 1) * field;
  uint64_t waves =
      std::min<uint64_t>(identity.max_waves_per_simd, file / (DivideUp(wanted, unit) * unit));
  if (identity.lds_bytes != 0) {
    const uint64_t groups = identity.lds_bytes_per_compute_unit / identity.lds_bytes;
    waves = std::min(waves,
                     DivideUp(groups * identity.waves_per_group, identity.simds_per_compute_unit));
  }
  // At least the waves of one workgroup are together on a compute unit.
  const uint64_t of_one_group =
      DivideUp(identity.waves_per_group, std::max(1u, identity.simds_per_compute_unit));
  return static_cast<uint32_t>(std::max<uint64_t>({waves, of_one_group, 1}));
}

void AddCaches(const CacheRecord& caches, JsonText* json) {
  json->Open("caches");
  const auto level = [&](std::string_view name, const CacheSums& sums) {
    json->Open(name);
    json->Number("hits", sums.hits);
    json->Number("misses", sums.misses);
    json->Number("read_bytes", sums.read_bytes);
    json->Number("written_bytes", sums.written_bytes);
    json->Close();
  };
  level("l1", caches.l1);
  level("scalar", caches.scalar);
  level("l2", caches.l2);
  if (caches.has_mall) {
    level("mall", caches.mall);
    json->Number("left_in_mall_bytes", caches.left_in_mall_bytes);
  }
  json->Open("memory");
  json->Number("read_bytes", caches.memory_read_bytes);
  json->Number("written_bytes", caches.memory_written_bytes);
  json->Close();
  json->Close();
}

}  // namespace

ModelledTime ModelTime(const DispatchIdentity& identity, const Sums& sums) {
  const TargetRules& rules = RulesFor(*identity.architecture);
  ModelledTime time;
  time.compute_units_used = static_cast<uint32_t>(
      std::min<uint64_t>(std::max(1u, identity.compute_units), identity.group_count));
  const uint64_t units = std::max(1u, time.compute_units_used);
  const uint64_t simds = units * std::max(1u, identity.simds_per_compute_unit);
  const uint64_t waves_of_a_simd = DivideUp(sums.waves, simds);
  time.waves_per_simd = static_cast<uint32_t>(
      std::min<uint64_t>(ResidentWaves(identity, rules), std::max<uint64_t>(1, waves_of_a_simd)));
  const uint64_t scalar_units = rules.scalar_unit_per_simd ? simds : units;
  const std::pair<const char*, uint64_t> bounds[] = {
      {"latency",
       std::max(sums.longest_wave, DivideUp(sums.wave_cycles, simds * time.waves_per_simd))},
      {"simd", DivideUp(sums.busy.simd, simds)},
      {"scalar", DivideUp(sums.busy.scalar, scalar_units)},
      {"lds", DivideUp(sums.busy.lds, units)},
      {"memory", DivideUp(sums.busy.memory, units)},
  };
  for (const auto& [name, cycles] : bounds) {
    if (cycles <= time.cycles && time.bound[0] != '\0') continue;
    time.cycles = cycles;
    time.bound = name;
  }
  return time;
}

std::array<uint64_t, kInstructionClasses> InstructionsByClass(const Sums& sums) {
  std::array<uint64_t, kInstructionClasses> by_class{};
  for (const OpFacts* facts : AllFacts()) {
    if (facts->id < sums.executed.size())
      by_class[static_cast<unsigned>(facts->instruction_class)] += sums.executed[facts->id];
  }
  return by_class;
}

OperationSums CountOperations(const Sums& sums) {
  OperationSums operations{};
  for (const OpFacts* facts : AllFacts()) {
    if (facts->id >= sums.executed.size()) continue;
    for (const Arithmetic& arithmetic : facts->arithmetic) {
      const uint64_t times = arithmetic.unit == ArithmeticUnit::kVector ? sums.active[facts->id]
                                                                        : sums.executed[facts->id];
      for (const Operation& operation : arithmetic.operations) {
        operations[static_cast<unsigned>(arithmetic.unit)][static_cast<unsigned>(operation.type)]
                  [static_cast<unsigned>(operation.kind)] += operation.count * times;
      }
    }
  }
  return operations;
}

std::string ToJson(const DispatchRecord& record) {
  const DispatchIdentity& identity = record.identity;
  const Sums& sums = record.sums;
  const TargetRules& rules = RulesFor(*identity.architecture);
  std::map<std::string_view, uint64_t> by_mnemonic;
  std::map<std::string_view, uint64_t> lanes_by_mnemonic;
  std::map<std::string_view, uint64_t> undescribed;
  std::map<std::string_view, uint64_t> unmeasured;
  uint64_t atomics = 0;
  for (const OpFacts* facts : AllFacts()) {
    const uint64_t count = facts->id < sums.executed.size() ? sums.executed[facts->id] : 0;
    if (count == 0) continue;
    by_mnemonic[facts->mnemonic] += count;
    if (facts->is_vector) lanes_by_mnemonic[facts->mnemonic] += sums.active[facts->id];
    if (IsUndescribed(*facts)) undescribed[facts->mnemonic] += count;
    if (facts->is_unmeasured) unmeasured[facts->mnemonic] += count;
    if (facts->action == MemoryAction::kAtomic) atomics += count;
  }
  const auto by_class = InstructionsByClass(sums);
  uint64_t total = 0;
  for (uint64_t count : by_class) total += count;

  JsonText json;
  json.Open();
  json.Number("process", identity.process);
  json.Number("order", identity.order);
  json.Text("gpu", identity.gpu);
  json.Number("gpu_id", identity.gpu_id);
  json.Text("target", identity.architecture->target);
  json.Number("queue", identity.queue);
  json.Text("kernel", identity.kernel);
  json.Bool("completed", record.completed);
  json.Numbers("grid", identity.grid);
  json.Numbers("workgroup", identity.group);
  json.Number("workgroups", identity.group_count);
  json.Number("wave_size", identity.wave_size);
  json.Number("waves", sums.waves);
  json.Number("lds_bytes", identity.lds_bytes);
  json.Number("scratch_bytes_per_lane", identity.scratch_bytes_per_lane);

  json.Open("instructions");
  json.Number("total", total);
  json.Open("by_class");
  for (unsigned i = 0; i < kInstructionClasses; ++i)
    json.Number(NameOf(static_cast<InstructionClass>(i)), by_class[i]);
  json.Close();
  json.Open("by_mnemonic");
  for (const auto& [mnemonic, count] : by_mnemonic) json.Number(mnemonic, count);
  json.Close();
  json.Number("dual_issued", sums.dual_issued);
  json.Close();

  json.Open("lanes");
  json.Number("active", sums.lanes_active);
  json.Number("possible", sums.lanes_possible);
  json.Open("by_mnemonic");
  for (const auto& [mnemonic, count] : lanes_by_mnemonic) json.Number(mnemonic, count);
  json.Close();
  json.Close();
  AddOperations(CountOperations(sums), undescribed, &json);

  json.Open("memory");
  json.Number("line_bytes", rules.line_bytes);
  json.Number("scalar_line_bytes", rules.scalar_line_bytes);
  for (unsigned space = 0; space < kMemorySpaces; ++space) {
    const MemorySums& memory = sums.memory[space];
    json.Open(kSpaceNames[space]);
    json.Number("read_bytes", memory.bytes[0]);
    json.Number("written_bytes", memory.bytes[1]);
    json.Number("atomic_bytes", memory.bytes[2]);
    if (space != static_cast<unsigned>(MemorySpace::kLds)) {
      json.Number("lines_read", memory.lines[0]);
      json.Number("lines_written", memory.lines[1]);
      json.Number("lines_atomic", memory.lines[2]);
    }
    json.Close();
  }
  json.Close();
  AddFootprint(record.footprint, &json);

  json.Open("lds");
  json.Number("instructions", sums.lds.instructions);
  json.Number("lane_accesses", sums.lds.lane_accesses);
  json.Number("cycles", sums.lds.cycles);
  json.Number("bank_conflicts", sums.lds.bank_conflicts);
  json.Number("address_conflicts", sums.lds.address_conflicts);
  json.Close();

  json.Open("branches");
  json.Number("taken", sums.branches_taken);
  json.Number("not_taken", sums.branches_not_taken);
  json.Number("divergent", sums.branches_divergent);
  json.Close();
  json.Number("exec_splits", sums.exec_splits);
  json.Number("barriers", sums.barriers);
  json.Open("atomics");
  json.Number("instructions", atomics);
  json.Number("lane_operations", sums.atomic_lanes);
  json.Close();
  json.Open("unmeasured");
  for (const auto& [mnemonic, count] : unmeasured) json.Number(mnemonic, count);
  json.Close();

  const ModelledTime& modelled = record.modelled;
  json.Open("model");
  json.Number("cycles", modelled.cycles);
  json.Text("bound", modelled.bound);
  json.Number("compute_units_used", modelled.compute_units_used);
  json.Number("simds_used",
              uint64_t{modelled.compute_units_used} * identity.simds_per_compute_unit);
  json.Number("waves_per_simd", modelled.waves_per_simd);
  json.Number("longest_wave", sums.longest_wave);
  json.Number("wave_cycles", sums.wave_cycles);
  json.Open("busy");
  json.Number("simd", sums.busy.simd);
  json.Number("scalar", sums.busy.scalar);
  json.Number("lds", sums.busy.lds);
  json.Number("memory", sums.busy.memory);
  json.Close();
  if (record.caches) AddCaches(*record.caches, &json);
  json.Close();
  if (sums.by_address) {
    json.Code("code", sums.code, identity.entry);
    if (sums.lengths.size() <= Sums::kMostLengths) {
      const WaveSchedule schedule =
          ScheduleWaves(sums.lengths, modelled.compute_units_used,
                        uint64_t{identity.simds_per_compute_unit} * modelled.waves_per_simd);
      json.Open("occupancy");
      json.Number("step", schedule.step);
      json.Number("cycles", schedule.cycles);
      json.Numbers("wave_cycles", schedule.wave_cycles);
      json.Close();
    }
  }
  json.Close();
  return json.Take();
}

}  // namespace rochound::softgpu
