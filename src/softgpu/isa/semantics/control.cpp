// SPDX-License-Identifier: MIT
//
// SOPP: branches, barriers, messages, and the many instructions that only matter to timing.
#include <array>

#include "softgpu/isa/code_cache.h"
#include "softgpu/isa/tables.h"
#include "softgpu/memory/gpu_clock.h"

namespace rochound::softgpu {
namespace {

constexpr uint32_t kSinceGfx11 = kGfx11Targets | kGfx12Targets;

// Nothing to do: memory is coherent and every instruction completes before the next one starts.
const Op* ExecNothing(Wave&, const Op* op) { return op + 1; }

const Op* ExecEnd(Wave& wave, const Op* op) { return wave.Stop(StopReason::kEnd, op); }

template <auto Condition>
const Op* ExecBranch(Wave& wave, const Op* op) {
  return Condition(wave) ? TakeBranch(wave, op) : op + 1;
}

const Op* ExecBarrier(Wave& wave, const Op* op) { return wave.Stop(StopReason::kBarrier, op + 1); }

// ---- gfx12's barrier of two parts ----
// Number -1 is the workgroup's. -2 is the trap handler's, which a kernel cannot signal, and 0 does
// nothing. Named barriers (1 and up, with a number or in M0) are not implemented.

bool PrepareBarrier(const AsmInstruction& instruction, const Architecture&, Op* op,
                    std::string* why) {
  const AsmOperand& number = instruction.operands[instruction.operands.size() - 1];
  op->imm = number.integer;
  // The immediate of s_barrier_wait is 16 bits, signed.
  if (instruction.mnemonic == "s_barrier_wait") op->imm = static_cast<int16_t>(number.integer);
  bool is_number =
      number.kind == AsmOperand::Kind::kInline || number.kind == AsmOperand::Kind::kLiteral;
  if (is_number && op->imm <= 0 && op->imm >= -2) return true;
  *why = "named barrier";
  return false;
}

// True if nobody has signalled since the barrier was last complete.
bool SignalBarrier(Wave& wave, const Op* op) {
  if (op->imm != -1) return false;
  SplitBarrier& barrier = *wave.split_barrier;
  bool is_first = barrier.signalled == 0;
  ++barrier.signalled;
  barrier.CompleteIfAll();
  return is_first;
}

const Op* ExecBarrierSignal(Wave& wave, const Op* op) {
  SignalBarrier(wave, op);
  return op + 1;
}

const Op* ExecBarrierSignalIsFirst(Wave& wave, const Op* op) {
  wave.scc = SignalBarrier(wave, op);
  return op + 1;
}

const Op* ExecBarrierWait(Wave& wave, const Op* op) {
  if (op->imm != -1) return op + 1;
  if (wave.split_barrier->completed == wave.barriers_passed)
    return wave.Stop(StopReason::kBarrier, op);
  wave.barriers_passed = wave.split_barrier->completed;
  return op + 1;
}

const Op* ExecBarrierState(Wave& wave, const Op* op) {
  const SplitBarrier& barrier = *wave.split_barrier;
  uint32_t state = op->imm == -1 ? barrier.signalled << 16 | barrier.members << 4 | 1 : 0;
  WriteScalar32(wave, op->operand[0], state);
  return op + 1;
}

// A sleeping wave is usually spinning on memory: give the others a turn.
const Op* ExecSleep(Wave& wave, const Op* op) { return wave.Stop(StopReason::kYield, op + 1); }

constexpr uint16_t kMessageInterrupt = 1;
constexpr uint16_t kMessageFreeRegisters = 3;  // since gfx11: a wave that is about to end

bool PrepareMessage(const AsmInstruction& instruction, const Architecture& architecture, Op* op,
                    std::string* why) {
  bool is_since_gfx11 = architecture.bit & (kGfx11Targets | kGfx12Targets);
  unsigned message = instruction.Simm16() & (is_since_gfx11 ? 0xFF : 0xF);
  if (message == kMessageInterrupt) return true;
  if (is_since_gfx11 && message == kMessageFreeRegisters) {
    op->exec = &ExecNothing;
    return true;
  }
  *why = "message " + std::to_string(message);
  return false;
}

const Op* ExecMessage(Wave& wave, const Op* op) {
  wave.environment->SendInterrupt(wave.sgpr[kM0]);
  return op + 1;
}

// Messages that return a value: the constant clock is the only one that a kernel asks for.
constexpr uint32_t kMessageGetRealTime = 0x83;

bool PrepareReturningMessage(const AsmInstruction& instruction, const Architecture&, Op*,
                             std::string* why) {
  uint32_t message = instruction.words[0] & 0xFF;  // in the place of the source
  if (message == kMessageGetRealTime) return true;
  *why = "message " + std::to_string(message);
  return false;
}

const Op* ExecRealTime32(Wave& wave, const Op* op) {
  WriteScalar32(wave, op->operand[0], static_cast<uint32_t>(GpuClockNow()));
  return op + 1;
}
const Op* ExecRealTime64(Wave& wave, const Op* op) {
  WriteScalar64(wave, op->operand[0], GpuClockNow());
  return op + 1;
}

// Trap 3 is the debugger's break point: without one, the trap handler returns at once. Every other
// trap ends the wave with an error (2 is what __builtin_trap and assert use).
const Op* ExecTrap(Wave& wave, const Op* op) {
  if (op->source->Simm16() == 3) return op + 1;
  return wave.Stop(StopReason::kTrap, op);
}

// A bit is set or cleared. A halted wave waits for a debugger, and there is none.
const Op* ExecSetKill(Wave& wave, const Op* op) {
  return op->source->Simm16() & 1 ? ExecEnd(wave, op) : op + 1;
}
const Op* ExecSetHalt(Wave& wave, const Op* op) {
  if (op->source->Simm16() & 1)
    return wave.StopIllegal(op, "not implemented: halting in '" + op->source->text + "'");
  return op + 1;
}

// gfx10 has shortcuts that set one field of MODE.
const Op* ExecRoundMode(Wave& wave, const Op* op) {
  wave.mode = (wave.mode & ~0xFu) | (op->source->Simm16() & 0xF);
  return op + 1;
}
const Op* ExecDenormMode(Wave& wave, const Op* op) {
  wave.mode = (wave.mode & ~0xF0u) | (op->source->Simm16() & 0xFu) << 4;
  return op + 1;
}

template <auto Condition>
constexpr Row Branch(std::string_view mnemonic, uint32_t flags = 0) {
  return {mnemonic, &ExecBranch<Condition>, {Ty::kImmediate}, nullptr, kBranches | flags};
}

constexpr Row Barrier(std::string_view mnemonic, Exec exec, std::array<Ty, kMaxOperands> types) {
  return {mnemonic, exec, types, nullptr, 0, kGfx12Targets, &PrepareBarrier};
}

constexpr Row Hint(std::string_view mnemonic, uint32_t targets = kAllTargets) {
  return {mnemonic, &ExecNothing, {}, nullptr, kNoEffect, targets};
}

constexpr Row kRows[] = {
    {"s_endpgm", &ExecEnd, {Ty::kImmediate}, nullptr, kEndsBlock},
    {"s_endpgm_saved", &ExecEnd, {}, nullptr, kEndsBlock},
    {"s_endpgm_ordered_ps_done", &ExecEnd, {}, nullptr, kEndsBlock},
    {"s_setkill", &ExecSetKill, {Ty::kImmediate}},
    {"s_sethalt", &ExecSetHalt, {Ty::kImmediate}},
    Branch<[](const Wave&) { return true; }>("s_branch", kEndsBlock),
    Branch<[](const Wave& w) { return !w.scc; }>("s_cbranch_scc0"),
    Branch<[](const Wave& w) { return w.scc; }>("s_cbranch_scc1"),
    Branch<[](const Wave& w) { return w.vcc() == 0; }>("s_cbranch_vccz"),
    Branch<[](const Wave& w) { return w.vcc() != 0; }>("s_cbranch_vccnz"),
    Branch<[](const Wave& w) { return w.exec() == 0; }>("s_cbranch_execz"),
    Branch<[](const Wave& w) { return w.exec() != 0; }>("s_cbranch_execnz"),
    // No debugger is attached.
    Branch<[](const Wave&) { return false; }>("s_cbranch_cdbgsys"),
    Branch<[](const Wave&) { return false; }>("s_cbranch_cdbguser"),
    Branch<[](const Wave&) { return false; }>("s_cbranch_cdbgsys_or_user"),
    Branch<[](const Wave&) { return false; }>("s_cbranch_cdbgsys_and_user"),
    {"s_barrier", &ExecBarrier, {}},
    Barrier("s_barrier_signal", &ExecBarrierSignal, {Ty::kRaw}),
    Barrier("s_barrier_signal_isfirst", &ExecBarrierSignalIsFirst, {Ty::kRaw}),
    Barrier("s_barrier_wait", &ExecBarrierWait, {Ty::kImmediate}),
    Barrier("s_get_barrier_state", &ExecBarrierState, {Ty::kB32, Ty::kRaw}),
    {"s_sleep", &ExecSleep, {Ty::kImmediate}},
    {"s_sleep_var", &ExecSleep, {Ty::kB32}, nullptr, 0, kGfx12Targets},
    {"s_sendmsg", &ExecMessage, {Ty::kImmediate}, nullptr, 0, kAllTargets, &PrepareMessage},
    {"s_sendmsg_rtn_b32",
     &ExecRealTime32,
     {Ty::kB32, Ty::kImmediate},
     nullptr,
     0,
     kSinceGfx11,
     &PrepareReturningMessage},
    {"s_sendmsg_rtn_b64",
     &ExecRealTime64,
     {Ty::kB64, Ty::kImmediate},
     nullptr,
     0,
     kSinceGfx11,
     &PrepareReturningMessage},
    {"s_trap", &ExecTrap, {Ty::kImmediate}},
    {"s_round_mode", &ExecRoundMode, {Ty::kImmediate}},
    {"s_denorm_mode", &ExecDenormMode, {Ty::kImmediate}},
    Hint("s_nop"),
    Hint("s_waitcnt"),
    Hint("s_waitcnt_vscnt"),
    Hint("s_waitcnt_vmcnt"),
    Hint("s_waitcnt_expcnt"),
    Hint("s_waitcnt_lgkmcnt"),
    Hint("s_waitcnt_depctr"),
    Hint("s_wakeup"),
    Hint("s_setprio"),
    Hint("s_icache_inv"),
    Hint("s_incperflevel"),
    Hint("s_decperflevel"),
    Hint("s_ttracedata"),
    Hint("s_ttracedata_imm"),
    Hint("s_clause"),
    Hint("s_inst_prefetch"),
    Hint("s_wait_idle", kRdnaTargets),
    Hint("s_delay_alu", kSinceGfx11),
    Hint("s_wait_event", kSinceGfx11),
    Hint("s_wait_loadcnt", kGfx12Targets),
    Hint("s_wait_storecnt", kGfx12Targets),
    Hint("s_wait_samplecnt", kGfx12Targets),
    Hint("s_wait_bvhcnt", kGfx12Targets),
    Hint("s_wait_expcnt", kGfx12Targets),
    Hint("s_wait_dscnt", kGfx12Targets),
    Hint("s_wait_kmcnt", kGfx12Targets),
    Hint("s_wait_loadcnt_dscnt", kGfx12Targets),
    Hint("s_wait_storecnt_dscnt", kGfx12Targets),
    Hint("s_prefetch_inst", kGfx12Targets),
    Hint("s_prefetch_inst_pc_rel", kGfx12Targets),
    Hint("s_prefetch_data", kGfx12Targets),
    Hint("s_prefetch_data_pc_rel", kGfx12Targets),
    Hint("s_buffer_prefetch_data", kGfx12Targets),
    Hint("global_wb", kGfx12Targets),
    Hint("global_inv", kGfx12Targets),
    Hint("global_wbinv", kGfx12Targets),
};

}  // namespace

std::span<const Row> ControlRows() { return kRows; }

}  // namespace rochound::softgpu
