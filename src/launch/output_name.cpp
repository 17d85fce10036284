// SPDX-License-Identifier: MIT
#include "launch/output_name.h"

#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <string_view>

namespace rochound::launch {
namespace {

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

base::Result<std::string> FillOutputName(const std::string& name) {
  std::string filled;
  for (size_t i = 0; i < name.size(); ++i) {
    const char what = name[i] == '%' && i + 1 < name.size() ? name[i + 1] : '\0';
    if (what == 'r') {
      const char* rank = nullptr;
      for (const char* variable : kRankVariables)
        if (rank == nullptr && getenv(variable) != nullptr && IsNumber(getenv(variable)))
          rank = getenv(variable);
      if (rank == nullptr) {
        std::string known;
        for (const char* variable : kRankVariables)
          known += (known.empty() ? "" : ", ") + std::string(variable);
        return base::Error{"'" + name + "': %r is the rank, and none of " + known +
                           " says it; use %p, or set ROCHOUND_RANK"};
      }
      filled += rank;
    } else if (what == 'h') {
      filled += HostName();
    } else if (what == 'p') {
      filled += std::to_string(getpid());
    } else if (what == '%') {
      filled += '%';
    } else {
      filled += name[i];
      continue;
    }
    ++i;
  }
  return filled;
}

}  // namespace rochound::launch
