// SPDX-License-Identifier: MIT
//
// Explains arbitrary records of faults: that ends with an explanation or an error, never in a
// crash, and without anything that steers a terminal. The input: fault.json and the code object
// (two bytes of length before each), then the saved memory.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "doctor/fault/explain.h"
#include "fuzz/folder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rochound;
  constexpr size_t kMaxInput = 1 << 16;
  if (size > kMaxInput) return 0;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto record = fuzz::Write("fault.json", fuzz::TakePart(&input));
  fuzz::Write("fault-code-0.elf", fuzz::TakePart(&input));
  fuzz::Write("fault-memory", input);
  const auto explained = doctor::ExplainFault(record);
  if (!explained.ok()) return 0;
  for (const char c : doctor::FaultText(explained.value()))
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n') abort();
  (void)doctor::FaultJson(explained.value()).size();
  return 0;
}
