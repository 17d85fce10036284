// SPDX-License-Identifier: MIT
#include "softgpu/isa/tables.h"

#include <algorithm>
#include <unordered_map>

#include "softgpu/isa/aliases.h"

namespace rochound::softgpu {
namespace {

using Index = std::unordered_multimap<std::string_view, const Row*>;

// Never destroyed: waves may still run while the process exits.
const Index& AllRows() {
  static const Index* index = [] {
    auto* rows = new Index;
    for (std::span<const Row> family :
         {ScalarRows(),       ScalarFloatRows(), VectorGfx11Rows(),  ControlRows(),
          ScalarMemoryRows(), IntegerRows(),     FloatRows(),        ConvertRows(),
          CompareRows(),      LaneRows(),        PackedRows(),       DotGfx11Rows(),
          WaveMatrixRows(),   Gfx950AluRows(),   MatrixRows(),       ScaledMatrixRows(),
          ScaleConvertRows(), LdsRows(),         LdsTransposeRows(), FlatRows(),
          BufferRows()}) {
      for (const Row& row : family) rows->emplace(row.mnemonic, &row);
    }
    return rows;
  }();
  return *index;
}

}  // namespace

const Row* FindRow(const Architecture& architecture, std::string_view mnemonic) {
  auto [first, last] = AllRows().equal_range(mnemonic);
  for (auto it = first; it != last; ++it) {
    if (it->second->targets & architecture.bit) return it->second;
  }
  std::string_view first_name = FirstNameOf(architecture, mnemonic);
  return first_name.empty() ? nullptr : FindRow(architecture, first_name);
}

std::vector<std::string> ImplementedMnemonics(std::string_view target) {
  std::vector<std::string> names;
  const Architecture* architecture = FindArchitecture(target);
  if (architecture == nullptr) return names;
  for (const auto& [mnemonic, row] : AllRows()) {
    if (row->targets & architecture->bit) names.emplace_back(mnemonic);
  }
  for (const Alias& alias : AliasesOf(*architecture)) {
    if (FindRow(*architecture, alias.first_name) != nullptr) names.emplace_back(alias.mnemonic);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace rochound::softgpu
