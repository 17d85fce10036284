// SPDX-License-Identifier: MIT
//
// The roofline as a picture that stands for itself: log-log, the memory's roof, the roofs of the
// types that kernels use, and each kernel where it can be at best, or where it was measured.
// Offline; a pure function.
#pragma once

#include <string>
#include <vector>

#include "profile/roofline.h"

namespace rochound::profile {

// Kernels without operations, bytes or peaks have no place in it; the picture says how many.
std::string RooflineSvg(const Device& device, const Peaks& peaks,
                        const std::vector<KernelRoofline>& kernels);

}  // namespace rochound::profile
