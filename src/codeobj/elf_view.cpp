// SPDX-License-Identifier: MIT
#include "codeobj/elf_view.h"

#include <algorithm>

namespace rochound::codeobj {

using base::Error;
using base::Result;

bool ElfView::IsElf(std::string_view bytes) {
  return bytes.substr(0, SELFMAG) == std::string_view(ELFMAG, SELFMAG);
}

std::string_view TextAt(std::string_view table, uint64_t offset) {
  if (offset >= table.size()) return {};
  table.remove_prefix(offset);
  return table.substr(0, table.find('\0'));
}

std::optional<std::string_view> ElfView::Part(uint64_t offset, uint64_t size) const {
  if (offset > bytes_.size() || size > bytes_.size() - offset) return std::nullopt;
  return bytes_.substr(offset, size);
}

std::optional<std::string_view> ElfView::Content(const Section& section) const {
  if (section.header.sh_type == SHT_NOBITS) return std::string_view();
  return Part(section.header.sh_offset, section.header.sh_size);
}

std::optional<std::string_view> ElfView::AtAddress(uint64_t address, uint64_t size) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const uint64_t inside = address - segment.p_vaddr;
    if (inside > segment.p_filesz || size > segment.p_filesz - inside) continue;
    if (segment.p_offset > UINT64_MAX - inside) continue;
    return Part(segment.p_offset + inside, size);
  }
  return std::nullopt;
}

Result<ElfView> ElfView::Open(std::string_view bytes) {
  ElfView view;
  view.bytes_ = bytes;
  if (!IsElf(bytes)) return Error{"this is no ELF file"};
  if (bytes.size() < sizeof(Elf64_Ehdr)) return Error{"the ELF file ends inside its header"};
  view.header_ = ReadAt<Elf64_Ehdr>(bytes, 0);
  const Elf64_Ehdr& header = view.header_;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return Error{"this ELF file is not 64-bit little-endian, as code for AMD GPUs is"};

  if (header.e_phnum != 0) {
    const auto table = view.Part(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
    if (header.e_phentsize != sizeof(Elf64_Phdr) || !table)
      return Error{"the ELF file's program headers lie outside of it; it is damaged or cut short"};
    for (size_t i = 0; i < header.e_phnum; ++i)
      view.segments_.push_back(ReadAt<Elf64_Phdr>(*table, i));
  }

  if (header.e_shoff == 0) return view;
  const auto first = view.Part(header.e_shoff, sizeof(Elf64_Shdr));
  if (header.e_shentsize != sizeof(Elf64_Shdr) || !first)
    return Error{"the ELF file's section headers lie outside of it; it is damaged or cut short"};
  const auto zeroth = ReadAt<Elf64_Shdr>(*first, 0);
  // Where there are too many for the header's fields, the first section has the numbers.
  const uint64_t count = header.e_shnum != 0 ? header.e_shnum : zeroth.sh_size;
  const uint64_t names_index = header.e_shstrndx != SHN_XINDEX ? header.e_shstrndx : zeroth.sh_link;
  const auto table =
      count > bytes.size() ? std::nullopt : view.Part(header.e_shoff, count * sizeof(Elf64_Shdr));
  if (!table)
    return Error{"the ELF file's section headers lie outside of it; it is damaged or cut short"};
  for (size_t i = 0; i < count; ++i) view.sections_.push_back({{}, ReadAt<Elf64_Shdr>(*table, i)});
  if (names_index < view.sections_.size()) {
    const std::string_view names =
        view.Content(view.sections_[names_index]).value_or(std::string_view());
    for (Section& section : view.sections_) section.name = TextAt(names, section.header.sh_name);
  }
  return view;
}

bool ExportsSymbol(std::string_view library, std::string_view symbol) {
  const base::Result<ElfView> elf = ElfView::Open(library);
  if (!elf.ok()) return false;
  const std::vector<ElfView::Section>& sections = elf.value().sections();
  for (const ElfView::Section& section : sections) {
    if (section.header.sh_type != SHT_DYNSYM || section.header.sh_link >= sections.size()) continue;
    const std::optional<std::string_view> table = elf.value().Content(section);
    const std::optional<std::string_view> names =
        elf.value().Content(sections[section.header.sh_link]);
    if (!table || !names) continue;
    for (size_t i = 0; i < table->size() / sizeof(Elf64_Sym); ++i) {
      const Elf64_Sym entry = ReadAt<Elf64_Sym>(*table, i);
      if (entry.st_shndx != SHN_UNDEF && TextAt(*names, entry.st_name) == symbol) return true;
    }
  }
  return false;
}

}  // namespace rochound::codeobj
