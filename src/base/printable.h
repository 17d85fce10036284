// SPDX-License-Identifier: MIT
//
// Text that somebody else wrote (names in files, answers on sockets) made harmless for a terminal.
// Pure, any thread.
#pragma once

#include <string>
#include <string_view>

namespace rochound::base {

// Control characters, in their UTF-8 forms too, become \x1b and the like; all but those in `keep`.
std::string Printable(std::string_view text, std::string_view keep = {});

}  // namespace rochound::base
