// SPDX-License-Identifier: MIT
//
// Code objects for the small runtime of the agent's tests: the functions that load and destroy
// them, and the loader's table. An image is a range of addresses that nobody reads; each multiple of
// 64 in it is the object of a kernel, and has the name that the small runtime gives it. One set for
// the process.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace rochound::agent {

class FakeCode {
 public:
  // Puts the functions into the table. Before the agent takes it.
  static void Install(CoreApiTable* core);

  // Loads an image as a program does, by the table's function.
  static void Load(const CoreApiTable& core, uint64_t executable, uint64_t base, uint64_t size,
                   std::string bytes);
  static bool Has(uint64_t base);  // the image is loaded

  static std::atomic<int> bytes_asked;  // questions where a code object's bytes are
};

}  // namespace rochound::agent
