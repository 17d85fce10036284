// SPDX-License-Identifier: MIT
//
// The strings file of a process's log (layout.h), read as a whole or one by one. Used by whoever reads logs, one
// thread per object. The file may be written meanwhile: what is complete is there, and Load can be
// called again. Damaged files give fewer strings, never a crash.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/open_file.h"

namespace rochound::trace {

class StringsFile {
 public:
  // What is wrong with the file, in words; empty: nothing. Strings loaded before are forgotten.
  std::string Load(const std::filesystem::path& path, const OpenFile& open = base::OpenRegularFile);

  std::optional<std::string_view> Find(uint32_t id) const;

 private:
  std::string content_;
  std::vector<bool> starts_;  // by id
};

// One string of the file alone, without a look at the others: where `id` is not the start of an
// entry, it may be a part of one. Nothing: it is not there.
std::optional<std::string> ReadString(const std::filesystem::path& path, const OpenFile& open,
                                      uint32_t id);

}  // namespace rochound::trace
