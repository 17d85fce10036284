// SPDX-License-Identifier: MIT
//
// Queries that were written for an .rpd and SQLite, made acceptable to DuckDB: RPD has columns
// named `end`, which SQLite takes as a name wherever one can stand and DuckDB never does.
// Everything else is left as it is. Pure.
#pragma once

#include <string>
#include <string_view>

namespace rochound::store {

// Puts quotes around every `end` that is a name and not the end of a CASE or of a block.
std::string QuoteEnd(std::string_view sql);

}  // namespace rochound::store
