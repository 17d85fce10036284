// SPDX-License-Identifier: MIT
#include "base/fill.h"

namespace rochound::base {

std::string FillPattern(std::string_view pattern, std::initializer_list<Filling> fillings) {
  std::string text;
  for (const Filling& filling : fillings) {
    const size_t place = pattern.find("{}");
    if (place == std::string_view::npos) break;
    text.append(pattern.substr(0, place)).append(filling.text());
    pattern.remove_prefix(place + 2);
  }
  return text.append(pattern);
}

}  // namespace rochound::base
