// SPDX-License-Identifier: MIT
#include "store/filter.h"

namespace rochound::store {

base::Result<Filter::Pattern> Filter::Compile(const std::string& text) {
  Pattern pattern{text, std::nullopt};
  if (text.empty()) return pattern;
  try {
    pattern.expression.emplace(text, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& error) {
    return base::Error{"'" + text + "' is not a regular expression: " + error.what()};
  }
  return pattern;
}

base::Result<Filter> Filter::Create(const std::string& kernels, const std::string& calls) {
  Filter filter;
  ROCHOUND_TRY(filter.kernels_, Compile(kernels));
  ROCHOUND_TRY(filter.calls_, Compile(calls));
  return filter;
}

}  // namespace rochound::store
