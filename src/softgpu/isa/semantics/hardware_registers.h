// SPDX-License-Identifier: MIT
//
// s_getreg_b32, s_setreg_b32, s_setreg_imm32_b32: the registers of the wave that are not operands.
// Used by the scalar rows. A register that has no meaning here is refused at decode time; a value
// that would switch on what is not implemented stops the wave.
#pragma once

#include <string>

#include "softgpu/isa/wave.h"

namespace rochound::softgpu {

// Op::imm is the register, Op::imm2 the field (and the immediate of s_setreg_imm32_b32).
bool PrepareGetRegister(const AsmInstruction& instruction, const Architecture& architecture, Op* op,
                        std::string* why);
bool PrepareSetRegister(const AsmInstruction& instruction, const Architecture& architecture, Op* op,
                        std::string* why);

const Op* ExecGetRegister(Wave& wave, const Op* op);           // sgpr, hwreg
const Op* ExecSetRegister(Wave& wave, const Op* op);           // hwreg, sgpr
const Op* ExecSetRegisterImmediate(Wave& wave, const Op* op);  // hwreg, imm32

}  // namespace rochound::softgpu
