// SPDX-License-Identifier: MIT
//
// Times and sizes as people write them. The command line and the agent read them with the same
// functions, so what one accepts means the same to the other. Any thread; libc only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rochound::base {

// A positive number and a unit, written exactly so: us, ms, s, m (minutes); without a unit it is
// seconds. Nanoseconds; nothing if the text is not a time. Capitals are refused: 64M may be meant
// as a size.
std::optional<uint64_t> ParseTime(const std::string& text);

// A positive number and KiB, MiB or GiB, in capitals or not. Bytes; nothing: not a size.
std::optional<uint64_t> ParseSize(const std::string& text);

// 17 ns, 1.2 us, 839.2 ms, 1.44 s.
std::string TimeText(int64_t ns);

// 17 B, 1.2 KiB, 839.2 MiB.
std::string SizeText(uint64_t bytes);

// part / whole; 0 of nothing.
template <typename Number>
double Share(Number part, Number whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace rochound::base
