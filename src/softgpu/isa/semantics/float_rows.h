// SPDX-License-Identifier: MIT
//
// The parts that FloatRows() is made of, one file each.
#pragma once

#include <span>

#include "softgpu/isa/op.h"

namespace rochound::softgpu {

std::span<const Row> SingleRows();  // f32
std::span<const Row> DoubleRows();  // f64
std::span<const Row> HalfRows();    // f16
std::span<const Row> PickRows();    // min, max, med3 of every width
std::span<const Row> DivideRows();  // div_scale, div_fmas, div_fixup of every width

}  // namespace rochound::softgpu
