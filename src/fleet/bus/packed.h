// SPDX-License-Identifier: MIT
//
// Messages as they travel: zstd, since sketches are JSON whose keys repeat. Pure, any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace rochound::fleet {

std::string Pack(std::string_view text);
// What is not packed is returned as it is; a message that would be too large is an error.
base::Result<std::string> Unpack(std::string_view message);

}  // namespace rochound::fleet
