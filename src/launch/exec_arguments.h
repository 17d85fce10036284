// SPDX-License-Identifier: MIT
//
// Words as exec wants them. Any thread.
#pragma once

#include <string>
#include <vector>

namespace rochound::launch {

// Ends with a null pointer. The texts must outlive it.
inline std::vector<char*> ExecArguments(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace rochound::launch
