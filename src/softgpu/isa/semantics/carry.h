// SPDX-License-Identifier: MIT
//
// Vector instructions that read or write a bit per lane next to their numbers: select by mask,
// addition with carry, 64-bit multiply-add; and the one with a 128-bit result. Used by the integer
// rows. Carry bits of lanes that are off become zero.
#pragma once

#include <string>

#include "softgpu/isa/vector.h"

namespace rochound::softgpu {

// For the rows of the select and carry executors.
bool PrepareSources(const AsmInstruction& instruction, const Architecture& architecture, Op* op,
                    std::string* why);

const Op* ExecSelect(Wave& wave, const Op* op);  // dst, if clear, if set, mask

// dst, carry out, a, b
const Op* ExecAddCarryOut(Wave& wave, const Op* op);
const Op* ExecSubCarryOut(Wave& wave, const Op* op);
const Op* ExecSubRevCarryOut(Wave& wave, const Op* op);
// dst, carry out, a, b, carry in
const Op* ExecAddCarryInOut(Wave& wave, const Op* op);
const Op* ExecSubCarryInOut(Wave& wave, const Op* op);
const Op* ExecSubRevCarryInOut(Wave& wave, const Op* op);

// VOP3 only: no DPP, no SDWA.
const Op* ExecMultiplyAddU64(Wave& wave, const Op* op);  // dst (64), carry out, a, b, c (64)
const Op* ExecMultiplyAddI64(Wave& wave, const Op* op);
const Op* ExecMaskedQuadSad(Wave& wave, const Op* op);  // dst (128), a (64), b, c (128)

}  // namespace rochound::softgpu
