// SPDX-License-Identifier: MIT
//
// Functions in the tables of HIP and HSA that are newer than our headers: their calls are counted,
// but not what they are given. A counter is in the table's entry and jumps on to what stood
// there, touching no argument. The name is known where the library exports the function. Set-up
// and the drain thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rochound::agent {

enum class NewIn : uint8_t { kHip, kHsa };

struct NewFunction {
  const char* name;  // lives as long as its library; "": nobody says
  size_t offset;     // in the runtime's table
};

// Counts the calls of these from now on; a table that comes again, after the runtime was started
// anew, goes on with its counts. Functions beyond the first 256 of the process are left alone.
void CountNewFunctions(NewIn library, void* table, const std::vector<NewFunction>& functions);

// "hipFirst:3,hipSecond:0,:7", the last without a name; empty: there are none.
std::string NewFunctionsText(NewIn library);

}  // namespace rochound::agent
