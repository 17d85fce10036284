// SPDX-License-Identifier: MIT
//
// Faster ways for the 64-bit integer instructions that address arithmetic is made of. A row names
// one in its prepare, which takes it if the operands are plain; the general executor with the
// row's lane loop does the rest, and must agree. Used by the integer rows.
#pragma once

#include <string>

#include "softgpu/isa/vector.h"

namespace rochound::softgpu {

const Op* ExecShiftLeft64(Wave& wave, const Op* op);             // dst, count (32), source
const Op* ExecShiftRight64(Wave& wave, const Op* op);            //
const Op* ExecShiftRightArithmetic64(Wave& wave, const Op* op);  //
const Op* ExecShiftAdd64(Wave& wave, const Op* op);              // dst, source, count (32), addend
const Op* ExecMove64(Wave& wave, const Op* op);                  // dst, source

}  // namespace rochound::softgpu
