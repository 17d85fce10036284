// SPDX-License-Identifier: MIT
//
// VALU min, max and median of f16, f32 and f64.
#include "softgpu/isa/semantics/float_pick.h"

#include "softgpu/isa/semantics/float_rows.h"

namespace rochound::softgpu {
namespace {

template <Pick kPick>
constexpr Row Single(std::string_view mnemonic) {
  return PickRow<PickSingle, PickLayout::kWhole, kPick, Ty::kF32>(mnemonic, 0, &WritesDirectly);
}
template <Pick kPick>
constexpr Row Double(std::string_view mnemonic) {
  return PickRow<PickDouble, PickLayout::kWhole, kPick, Ty::kF64>(mnemonic);
}
template <Pick kPick>
constexpr Row Half(std::string_view mnemonic, uint32_t flags = 0) {
  return PickRow<PickHalf, PickLayout::kLowHalf, kPick, Ty::kF16>(mnemonic, flags);
}

constexpr Row kRows[] = {
    Single<Pick::kMin>("v_min_f32"),
    Single<Pick::kMax>("v_max_f32"),
    Single<Pick::kMin3>("v_min3_f32"),
    Single<Pick::kMax3>("v_max3_f32"),
    Single<Pick::kMed3>("v_med3_f32"),
    Double<Pick::kMin>("v_min_f64"),
    Double<Pick::kMax>("v_max_f64"),
    Half<Pick::kMin>("v_min_f16"),
    Half<Pick::kMax>("v_max_f16"),
    Half<Pick::kMin3>("v_min3_f16", kKeepsHigh16),
    Half<Pick::kMax3>("v_max3_f16", kKeepsHigh16),
    Half<Pick::kMed3>("v_med3_f16", kKeepsHigh16),
};

}  // namespace

std::span<const Row> PickRows() { return kRows; }

}  // namespace rochound::softgpu
