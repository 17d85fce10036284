// SPDX-License-Identifier: MIT
//
// What asking the lake costs over asking DuckDB with no layer of ours. One thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

namespace rochound::fleet {

// Makes a lake of so many rows in so many files, of one day of some hundred ranks, and asks it.
// Null: it did not work, and stderr says why.
nlohmann::ordered_json BenchLake(uint64_t rows, uint64_t files);

}  // namespace rochound::fleet
