// SPDX-License-Identifier: MIT
#include "store/convert/symbolizer.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/files.h"
#include "codeobj/demangle.h"
#include "codeobj/elf_view.h"
#include "store/convert/functions.h"
#include "store/convert/source_lines.h"

namespace rochound::store {
namespace {

// The paths are a log's, so anybody's: this much is read of one file and of all together.
constexpr uint64_t kMostOfAFile = uint64_t{3} << 30;
constexpr uint64_t kMostOfAll = uint64_t{12} << 30;
constexpr size_t kMostName = 64 << 10;

template <typename Number>
Number TakeHex(std::string_view* text) {
  Number number = 0;
  const char* const end =
      std::from_chars(text->data(), text->data() + text->size(), number, 16).ptr;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return number;
}

void SkipWord(std::string_view* text) {
  text->remove_prefix(std::min(text->find_first_not_of(' '), text->size()));
  text->remove_prefix(std::min(text->find(' '), text->size()));
}

}  // namespace

// The functions of one file; none if it cannot be read as ELF.
class Symbolizer::ElfFile {
 public:
  // Takes what it reads from `left`.
  ElfFile(const std::string& path, uint64_t* left) {
    auto content = base::ReadFile(path, std::min(kMostOfAFile, *left));
    if (!content.ok()) return;
    const std::string bytes = std::move(content).value();
    *left -= bytes.size();
    const base::Result<codeobj::ElfView> opened = codeobj::ElfView::Open(bytes);
    if (!opened.ok()) return;
    const codeobj::ElfView& elf = opened.value();
    for (const Elf64_Phdr& segment : elf.segments())
      if (segment.p_type == PT_LOAD) segments_.push_back(segment);
    std::string lines, line_strings, debug_strings;
    for (const codeobj::ElfView::Section& section : elf.sections()) {
      const std::string_view content = elf.Content(section).value_or(std::string_view());
      const Elf64_Shdr& header = section.header;
      if (header.sh_type == SHT_PROGBITS && (header.sh_flags & SHF_COMPRESSED) == 0) {
        for (const auto& [wanted, into] :
             {std::pair(".debug_line", &lines), std::pair(".debug_line_str", &line_strings),
              std::pair(".debug_str", &debug_strings)}) {
          if (section.name == wanted && into->empty()) *into = content;
        }
      }
      if (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) continue;
      if (header.sh_link >= elf.sections().size()) continue;
      ReadSymbols(content, elf.Content(elf.sections()[header.sh_link]).value_or(std::string_view()),
                  2 * bytes.size());
    }
    lines_ = SourceLines(std::move(lines), std::move(line_strings), std::move(debug_strings));
    std::sort(functions_.begin(), functions_.end(),
              [](const Named& a, const Named& b) { return a.address < b.address; });
  }

  // Empty: not known.
  std::string Name(uint64_t file_offset) const {
    uint64_t address = 0;
    for (const Elf64_Phdr& segment : segments_) {
      if (file_offset >= segment.p_offset && file_offset - segment.p_offset < segment.p_filesz)
        address = file_offset - segment.p_offset + segment.p_vaddr;
    }
    auto next = std::upper_bound(functions_.begin(), functions_.end(), address,
                                 [](uint64_t a, const Named& f) { return a < f.address; });
    // Aliases are neighbours; one of them may have the size that another lacks.
    for (int looked = 0; next != functions_.begin() && looked < 8; ++looked) {
      --next;
      if (address - next->address >= next->size) continue;
      const std::string line = lines_.Find(address);
      return codeobj::Demangle(next->name) + (line.empty() ? "" : " (" + line + ")");
    }
    return {};
  }

 private:
  struct Named {
    uint64_t address, size;
    std::string name;
  };

  // Tables that overlap could make any number of symbols of a few bytes: no more than `most` bytes
  // are looked at.
  void ReadSymbols(std::string_view table, std::string_view names, uint64_t most) {
    for (size_t i = 0; i < table.size() / sizeof(Elf64_Sym); ++i) {
      const auto symbol = codeobj::ReadAt<Elf64_Sym>(table, i);
      looked_at_ += sizeof symbol;
      if (looked_at_ > most) return;
      const auto type = ELF64_ST_TYPE(symbol.st_info);
      if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF) continue;
      const std::string_view name = codeobj::TextAt(names, symbol.st_name).substr(0, kMostName);
      if (name.empty()) continue;
      looked_at_ += name.size();
      if (looked_at_ > most) return;
      functions_.push_back({symbol.st_value, symbol.st_size, std::string(name)});
    }
  }

  std::vector<Elf64_Phdr> segments_;
  std::vector<Named> functions_;
  uint64_t looked_at_ = 0;  // bytes
  SourceLines lines_;
};

Symbolizer::Symbolizer(std::string_view maps) : left_(kMostOfAll) {
  while (!maps.empty()) {
    const size_t end = std::min(maps.find('\n'), maps.size());
    std::string_view line = maps.substr(0, end);
    maps.remove_prefix(std::min(end + 1, maps.size()));
    // begin-end permissions offset device inode path
    Mapping mapping;
    mapping.begin = TakeHex<uint64_t>(&line);
    if (line.empty() || line[0] != '-') continue;
    line.remove_prefix(1);
    mapping.end = TakeHex<uint64_t>(&line);
    SkipWord(&line);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    mapping.offset = TakeHex<uint64_t>(&line);
    SkipWord(&line);
    SkipWord(&line);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.empty()) continue;
    mapping.path = line;
    mappings_.push_back(std::move(mapping));
  }
  std::sort(mappings_.begin(), mappings_.end(),
            [](const Mapping& a, const Mapping& b) { return a.begin < b.begin; });
}

Symbolizer::~Symbolizer() = default;

std::string Symbolizer::Name(uint64_t return_address) {
  // The call is before the address it returns to, which may be another function's already.
  const uint64_t address = return_address == 0 ? 0 : return_address - 1;
  auto next = std::upper_bound(mappings_.begin(), mappings_.end(), address,
                               [](uint64_t a, const Mapping& m) { return a < m.begin; });
  std::string name;
  if (next != mappings_.begin() && address < (--next)->end) {
    const uint64_t offset = address - next->begin + next->offset;
    if (next->path[0] == '/') {
      auto& file = files_[next->path];
      if (file == nullptr) file = std::make_unique<ElfFile>(next->path, &left_);
      name = file->Name(offset);
    }
    if (!name.empty()) return name;
    name = std::filesystem::path(next->path).filename().string() + "+";
    AppendHex(&name, return_address - next->begin + next->offset);
    return name;
  }
  AppendHex(&name, return_address);
  return name;
}

}  // namespace rochound::store
