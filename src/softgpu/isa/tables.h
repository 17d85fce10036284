// SPDX-License-Identifier: MIT
//
// All instruction rows, and how to find the one for a mnemonic on a target. A file in semantics/
// holds one family and exports its rows by one function that is listed in tables.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "softgpu/isa/op.h"

namespace rochound::softgpu {

// nullptr if no row serves this mnemonic on this target.
const Row* FindRow(const Architecture& architecture, std::string_view mnemonic);

// Every mnemonic with a row for the target, sorted. Empty for an unknown target.
std::vector<std::string> ImplementedMnemonics(std::string_view target);

// The families, in semantics/.
std::span<const Row> ScalarRows();        // SOP1, SOP2, SOPK, SOPC
std::span<const Row> ScalarFloatRows();   // the same of floats (gfx12)
std::span<const Row> ControlRows();       // SOPP: branches, barriers, messages, waits, hints
std::span<const Row> ScalarMemoryRows();  // SMEM
std::span<const Row> IntegerRows();       // VALU integer and bit operations, moves
std::span<const Row> VectorGfx11Rows();   // VALU odds and ends since gfx11
std::span<const Row> FloatRows();         // VALU f32, f64, f16
std::span<const Row> ConvertRows();       // VALU conversions
std::span<const Row> CompareRows();       // v_cmp, v_cmpx, v_cmp_class
std::span<const Row> LaneRows();          // readlane, permute, DPP-only moves, swaps
std::span<const Row> PackedRows();        // VOP3P: packed math, mix, dot
std::span<const Row> Gfx950AluRows();     // bit tables, byte packing, IEEE minimum and maximum
std::span<const Row> DotGfx11Rows();      // dot products since gfx11
std::span<const Row> WaveMatrixRows();    // WMMA, SWMMAC
std::span<const Row> MatrixRows();        // MFMA
std::span<const Row> ScaledMatrixRows();  // MFMA of 8, 6 and 4-bit floats with scales
std::span<const Row> ScaleConvertRows();  // v_cvt_scalef32_*
std::span<const Row> LdsRows();           // DS
std::span<const Row> LdsTransposeRows();  // ds_read_*_tr_*
std::span<const Row> FlatRows();          // flat, global, scratch
std::span<const Row> BufferRows();        // MUBUF, MTBUF

}  // namespace rochound::softgpu
