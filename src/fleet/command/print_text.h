// SPDX-License-Identifier: MIT
//
// Text for people on stdout. Kernels, jobs and hosts are named by whoever runs them, and an operator
// looks at the names of all: nothing in them steers the terminal. JSON goes by fmt::print.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

#include "base/printable.h"

namespace rochound::fleet {

template <typename... Values>
void PrintText(fmt::format_string<Values...> format, Values&&... values) {
  const std::string text =
      base::Printable(fmt::format(format, std::forward<Values>(values)...), "\n\t");
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace rochound::fleet
