// SPDX-License-Identifier: MIT
#include "store/convert/filter.h"

#include <utility>

namespace rochound::store {

base::Result<Filter::Expression> Filter::Compile(const std::string& text) {
  Expression expression{text, std::nullopt};
  if (text.empty()) return expression;
  auto pattern = base::Pattern::Compile(text);
  if (!pattern.ok())
    return base::Error{"'" + text + "' is not a regular expression: " + pattern.error().message};
  expression.pattern = std::move(pattern).value();
  return expression;
}

base::Result<Filter> Filter::Create(const std::string& kernels, const std::string& calls) {
  Filter filter;
  ROCHOUND_TRY(filter.kernels_, Compile(kernels));
  ROCHOUND_TRY(filter.calls_, Compile(calls));
  return filter;
}

}  // namespace rochound::store
