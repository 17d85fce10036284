// SPDX-License-Identifier: MIT
#include "softgpu/isa/semantics/float_rows.h"

#include <vector>

#include "softgpu/isa/tables.h"

namespace rochound::softgpu {

std::span<const Row> FloatRows() {
  // Never destroyed: waves may still run while the process exits.
  static const std::vector<Row>* rows = [] {
    auto* all = new std::vector<Row>;
    for (std::span<const Row> part :
         {SingleRows(), DoubleRows(), HalfRows(), PickRows(), DivideRows()})
      all->insert(all->end(), part.begin(), part.end());
    return all;
  }();
  return *rows;
}

}  // namespace rochound::softgpu
