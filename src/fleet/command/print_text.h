// SPDX-License-Identifier: MIT
//
// Text for people on stdout. Kernels, jobs and hosts are named by whoever runs them, and an operator
// looks at the names of all: nothing in them steers the terminal, and JSON is UTF-8 whatever they are.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
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

// A name that was cut or demangled may have half a character at its end, which dump would refuse.
template <typename Json>
void PrintJson(const Json& value) {
  fmt::print("{}\n", value.dump(1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace rochound::fleet
