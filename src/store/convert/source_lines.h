// SPDX-License-Identifier: MIT
//
// Source lines of addresses, from the line table of an ELF file's debug information (.debug_line,
// DWARF 2 to 5). Used by the symbolizer for stack frames, one thread. Never fails: a file without
// debug information, or with a damaged or compressed one, has no lines. Memory: the section and 24
// bytes per sequence of code; programs are decoded again for each question.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rochound::store {

class SourceLines {
 public:
  SourceLines() = default;
  // The sections' bytes: .debug_line, .debug_line_str, .debug_str.
  SourceLines(std::string lines, std::string line_strings, std::string strings);

  // "model.cpp:42" for an address as the file has it; empty: not known.
  std::string Find(uint64_t address) const;

 private:
  struct Sequence {
    uint64_t begin, end;
    size_t unit;  // offset of its unit's header
  };
  class Unit;

  std::string lines_, line_strings_, strings_;
  std::vector<Sequence> sequences_;  // by begin
};

}  // namespace rochound::store
