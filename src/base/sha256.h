// SPDX-License-Identifier: MIT
//
// SHA-256 (FIPS 180-4), for names of content that somebody else may choose: a candidate kernel must
// not pass for another one. Pure, any thread.
#pragma once

#include <string>
#include <string_view>

namespace rochound::base {

// Sixty-four lower-case hexadecimal digits.
std::string Sha256(std::string_view bytes);

}  // namespace rochound::base
