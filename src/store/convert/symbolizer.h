// SPDX-License-Identifier: MIT
//
// Names for addresses of a process that is gone: from the list of its mapped files (the text of
// /proc/PID/maps), the symbol tables of those files, as they are on disk now, and their source
// lines where there is debug information. Used by the conversion for stack frames, one thread.
// Files are read when the first address in them is asked for: regular ones only and not without
// end, since a log may name any. Never fails: an address without a name becomes file+offset, one
// without a file as a number.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rochound::store {

class Symbolizer {
 public:
  explicit Symbolizer(std::string_view maps);
  ~Symbolizer();

  // The function that a call at this return address was made from, "Train(int) (model.cpp:42)".
  std::string Name(uint64_t return_address);

 private:
  class ElfFile;
  struct Mapping {
    uint64_t begin, end, offset;
    std::string path;
  };

  std::vector<Mapping> mappings_;  // ascending
  std::unordered_map<std::string, std::unique_ptr<ElfFile>> files_;
  uint64_t left_;  // bytes that may still be read
};

}  // namespace rochound::store
