// SPDX-License-Identifier: MIT
#include "capture/proof.h"

#include <fmt/format.h>

#include "base/count.h"

namespace rochound::capture {

std::string ProofText(const Proof& proof) {
  std::string text = kEqualInEveryByte;
  if (proof.bytes > 0) {
    text = proof.tolerance.empty() ? std::string(kEqualButNan)
                                   : fmt::format("{} ({})", kEqualWithin, proof.tolerance);
    if (!proof.worst.empty()) text += ": worst error " + proof.worst;
    text += "; " + base::Count(proof.bytes, "byte differs", "bytes differ");
  }
  text += ", from the captured input";
  if (proof.other_inputs > 0) text += " and " + base::Count(proof.other_inputs, "other", "others");
  return text;
}

}  // namespace rochound::capture
