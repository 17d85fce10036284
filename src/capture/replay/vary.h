// SPDX-License-Identifier: MIT
//
// Other inputs for a captured launch. A build that knows the captured results, or the captured
// inputs, is right on them alone; so the captured code and the build are both run from memory that
// no program had: floating elements in another order and with other mantissas, and other bytes
// where results are to be written. Signs and exponents stay, so that sums, roots and loops remain
// what they were in kind. Integers stay: they may be indices, counts or addresses. Pure functions,
// any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "capture/manifest.h"
#include "capture/replay/elements.h"

namespace rochound::capture::replay {

// bytes: elements of a floating type. Returns how many are other ones now.
size_t VaryElements(Element type, uint64_t seed, std::span<std::byte> bytes);

// Fills bytes, which are at this address, with what only their address and the seed tell. Words
// that hold an address in one of the regions stay.
void VaryBytes(uint64_t seed, uint64_t address, std::span<const Region> regions,
               std::span<std::byte> bytes);

}  // namespace rochound::capture::replay
