// SPDX-License-Identifier: MIT
//
// A 64-bit little-endian ELF file in memory, whoever wrote it: every offset and size is checked
// before it is used, and what lies outside is an error or empty, never a crash. libelf is not used
// because the agent, which links libc only, reads code objects, too. Refers to the bytes, which the
// caller keeps; any thread.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rochound::codeobj {

class ElfView {
 public:
  struct Section {
    std::string_view name;
    Elf64_Shdr header;
  };

  static bool IsElf(std::string_view bytes);
  static base::Result<ElfView> Open(std::string_view bytes);

  uint64_t size() const { return bytes_.size(); }
  const Elf64_Ehdr& header() const { return header_; }
  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  const std::vector<Section>& sections() const { return sections_; }

  // A part of the file; nullopt if it is not all inside.
  std::optional<std::string_view> Part(uint64_t offset, uint64_t size) const;
  // The section's bytes; empty if it has none in the file, nullopt if they are outside of it.
  std::optional<std::string_view> Content(const Section& section) const;
  // The bytes that a PT_LOAD puts at this address; nullopt if they are not all in the file.
  std::optional<std::string_view> AtAddress(uint64_t address, uint64_t size) const;

 private:
  std::string_view bytes_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  std::vector<Section> sections_;
};

// The n-th T of a table in memory; the caller has checked that it is inside.
template <typename T>
T ReadAt(std::string_view table, size_t index) {
  T value;
  memcpy(&value, table.data() + index * sizeof(T), sizeof(T));
  return value;
}

// Whether the ELF library exports this symbol to the dynamic loader. False also for what is no
// library.
bool ExportsSymbol(std::string_view library, std::string_view symbol);

// The text that starts here and ends with a zero byte or with the table; empty beyond the table.
std::string_view TextAt(std::string_view table, uint64_t offset);

}  // namespace rochound::codeobj
