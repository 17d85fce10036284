// SPDX-License-Identifier: MIT
//
// Functions of HIP that are newer than our headers: their names are known, since HIP exports them,
// and their calls are counted, but not what they are given. A counter stands in the table's entry
// and jumps on to what stood there, touching no argument. Set-up and the drain thread only.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rochound::agent {

struct NewHipFunction {
  const char* name;  // lives as long as its library, for good
  size_t offset;     // in the runtime's table
};

// Counts the calls of these from now on. Those beyond the first 256 are left alone.
void CountNewHipFunctions(void* table, const std::vector<NewHipFunction>& functions);

// "hipFirst:3,hipSecond:0"; empty: there are none.
std::string NewHipFunctionsText();

}  // namespace rochound::agent
