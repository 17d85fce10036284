// SPDX-License-Identifier: MIT
//
// Vector registers picked at run time: v_movrel* and v_swaprel (gfx10), and the VGPR index mode
// (gfx9), in which the operands of every vector instruction between s_set_gpr_idx_on and
// s_set_gpr_idx_off are moved by an index in M0. Used by the scalar and lane rows.
//
// The index mode costs nothing while it is off: s_set_gpr_idx_on itself runs the instructions up
// to the end of the mode. Compilers put moves there; of the rest only what the general vector
// executor runs works, and DPP, SDWA, accumulation or waiting for other waves stops the wave as not
// implemented.
#pragma once

#include <string>

#include "softgpu/isa/wave.h"

namespace rochound::softgpu {

// A register that does not exist: reads take v0, writes are dropped.
inline constexpr unsigned kVectorRegisters = 256;

// Runs `op` by ExecVector with its only source and its destination moved by so many registers.
const Op* ExecMovedBy(Wave& wave, const Op* op, uint32_t source_shift, uint32_t destination_shift);

const Op* ExecGprIndexOn(Wave& wave, const Op* op);    // sgpr, gpr_idx(...)
const Op* ExecGprIndexOff(Wave& wave, const Op* op);   //
const Op* ExecGprIndexMode(Wave& wave, const Op* op);  // gpr_idx(...)
const Op* ExecGprIndexIdx(Wave& wave, const Op* op);   // sgpr

}  // namespace rochound::softgpu
