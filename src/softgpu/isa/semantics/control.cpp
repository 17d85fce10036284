// SPDX-License-Identifier: MIT
//
// SOPP: branches, barriers, messages, and the many instructions that only matter to timing.
#include "softgpu/isa/code_cache.h"
#include "softgpu/isa/tables.h"

namespace rochound::softgpu {
namespace {

// Nothing to do: memory is coherent and every instruction completes before the next one starts.
const Op* ExecNothing(Wave&, const Op* op) { return op + 1; }

const Op* ExecEnd(Wave& wave, const Op* op) { return wave.Stop(StopReason::kEnd, op); }

template <auto Condition>
const Op* ExecBranch(Wave& wave, const Op* op) {
  return Condition(wave) ? TakeBranch(wave, op) : op + 1;
}

const Op* ExecBarrier(Wave& wave, const Op* op) { return wave.Stop(StopReason::kBarrier, op + 1); }

// A sleeping wave is usually spinning on memory: give the others a turn.
const Op* ExecSleep(Wave& wave, const Op* op) { return wave.Stop(StopReason::kYield, op + 1); }

constexpr uint16_t kMessageInterrupt = 1;

bool PrepareMessage(const AsmInstruction& instruction, const Architecture&, Op*, std::string* why) {
  if ((instruction.Simm16() & 0xF) == kMessageInterrupt) return true;
  *why = "message " + std::to_string(instruction.Simm16() & 0xF);
  return false;
}

const Op* ExecMessage(Wave& wave, const Op* op) {
  wave.environment->SendInterrupt(wave.sgpr[kM0]);
  return op + 1;
}

// Trap 3 is the debugger's break point: without one, the trap handler returns at once. Every other
// trap ends the wave with an error (2 is what __builtin_trap and assert use).
const Op* ExecTrap(Wave& wave, const Op* op) {
  if (op->source->Simm16() == 3) return op + 1;
  return wave.Stop(StopReason::kTrap, op);
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

constexpr Row Hint(std::string_view mnemonic) {
  return {mnemonic, &ExecNothing, {}, nullptr, kNoEffect};
}

constexpr Row kRows[] = {
    {"s_endpgm", &ExecEnd, {Ty::kImmediate}, nullptr, kEndsBlock},
    {"s_endpgm_saved", &ExecEnd, {}, nullptr, kEndsBlock},
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
    {"s_sleep", &ExecSleep, {Ty::kImmediate}},
    {"s_sendmsg", &ExecMessage, {Ty::kImmediate}, nullptr, 0, kAllTargets, &PrepareMessage},
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
};

}  // namespace

std::span<const Row> ControlRows() { return kRows; }

}  // namespace rochound::softgpu
