// SPDX-License-Identifier: MIT
//
// Which kernels of one file could take the place of those in another, before anything runs. Used by
// `rochound swap check`; reads, prints nothing, one thread. Files may come from anybody.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codeobj/target.h"

namespace rochound::swap {

struct SwapAnswer {
  std::string symbol;
  std::string target;  // the candidate's
  bool fits = false;
  std::string remark;  // why not, or which launches only
};

// Bytes of any files that hold code objects. One answer for each kernel and target of the
// candidate, in its order.
base::Result<std::vector<SwapAnswer>> CheckSwaps(std::string_view original,
                                                 std::string_view candidate,
                                                 const std::optional<codeobj::Target>& gpu);

std::string SwapAnswersText(const std::vector<SwapAnswer>& answers);
nlohmann::ordered_json SwapAnswersJson(const std::vector<SwapAnswer>& answers);

}  // namespace rochound::swap
