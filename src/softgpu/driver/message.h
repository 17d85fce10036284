// SPDX-License-Identifier: MIT
//
// What the driver has to tell a person: one line on stderr, in one write so that lines of several
// threads and processes do not mix. Any thread; a line that cannot be written is lost.
#pragma once

#include <string_view>

namespace rochound::softgpu {

// Prefixed with "rochound softgpu: ".
void PrintMessage(std::string_view message);

// The same, printf's way.
void PrintFormatted(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace rochound::softgpu
