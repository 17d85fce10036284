// SPDX-License-Identifier: MIT
//
// The part of PackedRows() that has a file of its own.
#pragma once

#include <span>

#include "softgpu/isa/op.h"

namespace rochound::softgpu {

std::span<const Row> DotRows();  // v_dot2, v_dot4, v_dot8 and their accumulating forms

}  // namespace rochound::softgpu
