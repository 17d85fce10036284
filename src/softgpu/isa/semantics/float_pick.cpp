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

template <Pick kPick, PickRules kRules>
constexpr Row SingleBy(std::string_view mnemonic) {
  return PickRowBy<PickSingle, PickLayout::kWhole, kPick, Ty::kF32, kRules>(mnemonic,
                                                                            &WritesDirectly);
}
template <Pick kPick, PickRules kRules>
constexpr Row DoubleBy(std::string_view mnemonic) {
  return PickRowBy<PickDouble, PickLayout::kWhole, kPick, Ty::kF64, kRules>(mnemonic);
}
template <Pick kPick, PickRules kRules>
constexpr Row HalfBy(std::string_view mnemonic) {
  return PickRowBy<PickHalf, PickLayout::kLowHalf, kPick, Ty::kF16, kRules>(mnemonic);
}

constexpr Row Since(uint32_t targets, Row row) {
  row.targets = targets;
  return row;
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
    Since(kGfx11Targets, Single<Pick::kMinMax>("v_minmax_f32")),
    Since(kGfx11Targets, Single<Pick::kMaxMin>("v_maxmin_f32")),
    Since(kGfx11Targets, Half<Pick::kMinMax>("v_minmax_f16")),
    Since(kGfx11Targets, Half<Pick::kMaxMin>("v_maxmin_f16")),

    SingleBy<Pick::kMin, kNumbersWin>("v_min_num_f32"),
    SingleBy<Pick::kMin, kNansWin>("v_minimum_f32"),
    SingleBy<Pick::kMax, kNumbersWin>("v_max_num_f32"),
    SingleBy<Pick::kMax, kNansWin>("v_maximum_f32"),
    SingleBy<Pick::kMin3, kNumbersWin>("v_min3_num_f32"),
    SingleBy<Pick::kMin3, kNansWin>("v_minimum3_f32"),
    SingleBy<Pick::kMax3, kNumbersWin>("v_max3_num_f32"),
    SingleBy<Pick::kMax3, kNansWin>("v_maximum3_f32"),
    SingleBy<Pick::kMed3, kNumbersWin>("v_med3_num_f32"),
    SingleBy<Pick::kMinMax, kNumbersWin>("v_minmax_num_f32"),
    SingleBy<Pick::kMinMax, kNansWin>("v_minimummaximum_f32"),
    SingleBy<Pick::kMaxMin, kNumbersWin>("v_maxmin_num_f32"),
    SingleBy<Pick::kMaxMin, kNansWin>("v_maximumminimum_f32"),
    HalfBy<Pick::kMin, kNumbersWin>("v_min_num_f16"),
    HalfBy<Pick::kMin, kNansWin>("v_minimum_f16"),
    HalfBy<Pick::kMax, kNumbersWin>("v_max_num_f16"),
    HalfBy<Pick::kMax, kNansWin>("v_maximum_f16"),
    HalfBy<Pick::kMin3, kNumbersWin>("v_min3_num_f16"),
    HalfBy<Pick::kMin3, kNansWin>("v_minimum3_f16"),
    HalfBy<Pick::kMax3, kNumbersWin>("v_max3_num_f16"),
    HalfBy<Pick::kMax3, kNansWin>("v_maximum3_f16"),
    HalfBy<Pick::kMed3, kNumbersWin>("v_med3_num_f16"),
    HalfBy<Pick::kMinMax, kNumbersWin>("v_minmax_num_f16"),
    HalfBy<Pick::kMinMax, kNansWin>("v_minimummaximum_f16"),
    HalfBy<Pick::kMaxMin, kNumbersWin>("v_maxmin_num_f16"),
    HalfBy<Pick::kMaxMin, kNansWin>("v_maximumminimum_f16"),
    DoubleBy<Pick::kMin, kNumbersWin>("v_min_num_f64"),
    DoubleBy<Pick::kMin, kNansWin>("v_minimum_f64"),
    DoubleBy<Pick::kMax, kNumbersWin>("v_max_num_f64"),
    DoubleBy<Pick::kMax, kNansWin>("v_maximum_f64"),
};

}  // namespace

std::span<const Row> PickRows() { return kRows; }

}  // namespace rochound::softgpu
