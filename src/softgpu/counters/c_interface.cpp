// SPDX-License-Identifier: MIT
//
// The functions of include/rochound/softgpu_counters.h that the core exports: CounterRecorder in C.
#define ROCHOUND_SOFTGPU_COUNTERS_IMPLEMENTATION
#include <rochound/softgpu_counters.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>

#include "softgpu/counters/dispatch_counters.h"

namespace rochound::softgpu {
namespace {

static_assert(ROCHOUND_SOFTGPU_CLASSES == kInstructionClasses);
static_assert(ROCHOUND_SOFTGPU_SPACES == kMemorySpaces);
static_assert(ROCHOUND_SOFTGPU_OTHER == static_cast<int>(InstructionClass::kOther));
static_assert(ROCHOUND_SOFTGPU_SCALAR == static_cast<int>(MemorySpace::kScalar));

template <size_t kSize>
void CopyText(std::string_view from, char (&to)[kSize]) {
  const size_t length = from.copy(to, kSize - 1);
  std::fill(to + length, to + kSize, '\0');
}

void Fill(const DispatchRecord& record, rochound_softgpu_counters* out) {
  const DispatchIdentity& identity = record.identity;
  const Sums& sums = record.sums;
  const TargetRules& rules = RulesFor(*identity.architecture);
  out->order = identity.order;
  out->queue = identity.queue;
  out->gpu_id = identity.gpu_id;
  CopyText(identity.architecture->target, out->target);
  CopyText(identity.kernel, out->kernel);
  out->completed = record.completed;
  out->wave_size = identity.wave_size;
  std::copy_n(identity.grid, 3, out->grid);
  std::copy_n(identity.group, 3, out->workgroup);
  out->workgroups = identity.group_count;
  out->waves = sums.waves;
  out->instructions_total = 0;
  const auto by_class = InstructionsByClass(sums);
  for (unsigned i = 0; i < kInstructionClasses; ++i) {
    out->instructions[i] = by_class[i];
    out->instructions_total += by_class[i];
  }
  out->dual_issued = sums.dual_issued;
  out->lanes_active = sums.lanes_active;
  out->lanes_possible = sums.lanes_possible;
  out->line_bytes = rules.line_bytes;
  out->scalar_line_bytes = rules.scalar_line_bytes;
  for (unsigned space = 0; space < kMemorySpaces; ++space) {
    const MemorySums& memory = sums.memory[space];
    out->memory[space] = {memory.bytes[0], memory.bytes[1], memory.bytes[2],
                          memory.lines[0], memory.lines[1], memory.lines[2]};
  }
  out->lds_instructions = sums.lds.instructions;
  out->lds_lane_accesses = sums.lds.lane_accesses;
  out->lds_cycles = sums.lds.cycles;
  out->lds_bank_conflicts = sums.lds.bank_conflicts;
  out->lds_address_conflicts = sums.lds.address_conflicts;
  out->branches_taken = sums.branches_taken;
  out->branches_not_taken = sums.branches_not_taken;
  out->branches_divergent = sums.branches_divergent;
  out->exec_splits = sums.exec_splits;
  out->barriers = sums.barriers;
  out->atomic_lane_operations = sums.atomic_lanes;
  out->modelled_cycles = record.modelled.cycles;
}

int Read(rochound_softgpu_counters* out, char* json, size_t json_bytes) {
  if (out == nullptr || out->size != sizeof(*out)) return -1;
  CounterRecorder& recorder = CounterRecorder::Instance();
  const std::optional<DispatchRecord> record = recorder.Front();
  out->lost = recorder.lost();
  if (!record) return 0;
  const std::string text = ToJson(*record);
  out->json_bytes = text.size() + 1;
  if (json != nullptr) {
    if (json_bytes < text.size() + 1) return -1;
    std::memcpy(json, text.c_str(), text.size() + 1);
  }
  Fill(*record, out);
  recorder.Pop();
  return 1;
}

}  // namespace
}  // namespace rochound::softgpu

using rochound::softgpu::CounterRecorder;

extern "C" __attribute__((visibility("default"))) int rochound_softgpu_counters_start(void) {
  CounterRecorder::Instance().Start();
  return 1;
}

extern "C" __attribute__((visibility("default"))) int rochound_softgpu_counters_stop(void) {
  CounterRecorder::Instance().Stop();
  return 1;
}

extern "C" __attribute__((visibility("default"))) int rochound_softgpu_counters_read(
    rochound_softgpu_counters* out, char* json, size_t json_bytes) {
  try {
    return rochound::softgpu::Read(out, json, json_bytes);
  } catch (const std::bad_alloc&) {
    return -1;
  }
}
