// SPDX-License-Identifier: MIT
//
// Names addresses by arbitrary maps, ELF files and line tables. The input: the maps (two bytes of
// length before them), then a file that is the ELF file and, for itself, the line table.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/folder.h"
#include "store/convert/source_lines.h"
#include "store/convert/symbolizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rochound;
  constexpr size_t kMaxInput = 1 << 16;
  if (size > kMaxInput) return 0;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  std::string maps(fuzz::TakePart(&input));
  std::replace(maps.begin(), maps.end(), '/', 'x');  // no files but ours
  const std::string file = fuzz::Write("elf", input).string();
  maps += "\n10000-90000 r-xp 00000000 08:01 77 " + file + "\n";
  store::Symbolizer symbolizer(maps);
  size_t sum = 0;
  for (uint64_t address = 0; address < 0x24000; address += 0x377)
    sum += symbolizer.Name(address).size();
  const store::SourceLines lines(std::string(input), std::string(input.substr(0, 64)), "");
  for (uint64_t address = 0; address < 0x4000; address += 0x77) sum += lines.Find(address).size();
  static volatile size_t sink = 0;
  sink = sink + sum;
  return 0;
}
