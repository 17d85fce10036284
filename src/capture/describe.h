// SPDX-License-Identifier: MIT
//
// What a launch's code object knows about it: the kernel's symbol, found by the address of its
// descriptor, and its arguments, each pointer with the region that it points into. Offline code;
// pure, any thread. The code object may be anything: what cannot be found out becomes a note in the
// manifest.
#pragma once

#include <cstddef>
#include <span>

#include "capture/manifest.h"

namespace rochound::capture {

// Sets kernel and arguments.
void DescribeLaunch(Manifest& manifest, std::span<const std::byte> kernarg,
                    std::span<const std::byte> code_object);

// The region that has this address, as an index into the manifest's; -1: none.
int32_t FindRegion(const Manifest& manifest, uint64_t address);

}  // namespace rochound::capture
