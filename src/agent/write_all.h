// SPDX-License-Identifier: MIT
//
// Writes a whole buffer to a file, on any thread of the program. A write past the size that the
// process may write (RLIMIT_FSIZE) fails, instead of ending the program. False: errno says why.
#pragma once

#include <cstddef>

namespace rochound::agent {

bool WriteAll(int file, const void* data, size_t bytes);

}  // namespace rochound::agent
