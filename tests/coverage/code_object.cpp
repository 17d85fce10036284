// SPDX-License-Identifier: MIT
#include "code_object.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace rochound::coverage {
namespace {

constexpr uint16_t kMachineAmdGpu = 224;
constexpr uint32_t kMachMask = 0xFF;

// EF_AMDGPU_MACH of the targets that the software GPU has.
struct Mach {
  uint32_t value;
  const char* target;
};
constexpr Mach kMachs[] = {{0x3F, "gfx90a"},  {0x4C, "gfx942"},  {0x4F, "gfx950"},
                           {0x36, "gfx1030"}, {0x41, "gfx1100"}, {0x4E, "gfx1201"}};

// Of the kernel descriptor.
constexpr size_t kDescriptorBytes = 64;
constexpr size_t kCodePropertiesOffset = 56;
constexpr uint16_t kWavefrontSize32 = 1u << 10;

template <typename T>
const T* At(std::span<const uint8_t> file, uint64_t offset, uint64_t count = 1) {
  if (offset > file.size() || count > (file.size() - offset) / sizeof(T)) return nullptr;
  return reinterpret_cast<const T*>(file.data() + offset);
}

class Reader {
 public:
  explicit Reader(std::span<const uint8_t> file) : file_(file) {}

  std::optional<CodeObject> Read(std::string* why) {
    const auto* header = At<Elf64_Ehdr>(file_, 0);
    if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_machine != kMachineAmdGpu) {
      *why = "no AMD GPU code object";
      return std::nullopt;
    }
    sections_ = At<Elf64_Shdr>(file_, header->e_shoff, header->e_shnum);
    section_count_ = header->e_shnum;
    if (sections_ == nullptr) {
      *why = "the section headers are not in the file";
      return std::nullopt;
    }
    CodeObject object;
    for (const Mach& mach : kMachs)
      if ((header->e_flags & kMachMask) == mach.value) object.target = mach.target;
    for (size_t i = 0; i < section_count_; ++i)
      if (sections_[i].sh_type == SHT_SYMTAB || sections_[i].sh_type == SHT_DYNSYM)
        ReadSymbols(sections_[i]);
    bool is_gfx9 = object.target.starts_with("gfx9");
    // What is no kernel is called by the kernels that are in the same file.
    size_t narrow = 0;
    for (const auto& [name, wave_size] : kernels_) narrow += wave_size == 32;
    unsigned usual = !is_gfx9 && 2 * narrow >= kernels_.size() ? 32 : 64;
    for (const auto& [address, symbol] : functions_) {
      std::span<const uint8_t> code = Code(address, symbol);
      auto kernel = kernels_.find(symbol.name);
      if (!code.empty())
        object.functions.push_back(
            {symbol.name, code, kernel != kernels_.end() ? kernel->second : usual});
    }
    return object;
  }

 private:
  struct Symbol {
    std::string name;
    uint64_t size;
    uint16_t section;
  };

  void ReadSymbols(const Elf64_Shdr& table) {
    const auto* symbols = At<Elf64_Sym>(file_, table.sh_offset, table.sh_size / sizeof(Elf64_Sym));
    if (symbols == nullptr || table.sh_link >= section_count_) return;
    const Elf64_Shdr& names = sections_[table.sh_link];
    for (size_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
      const Elf64_Sym& symbol = symbols[i];
      const char* name = At<char>(file_, names.sh_offset + symbol.st_name);
      if (name == nullptr || symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= section_count_)
        continue;
      unsigned type = ELF64_ST_TYPE(symbol.st_info);
      std::string text(
          name,
          strnlen(name, file_.size() - static_cast<size_t>(reinterpret_cast<const uint8_t*>(name) -
                                                           file_.data())));
      if (type == STT_FUNC) {
        Symbol& known = functions_[symbol.st_value];
        if (symbol.st_size >= known.size)
          known = {std::move(text), symbol.st_size, symbol.st_shndx};
      } else if (type == STT_OBJECT && symbol.st_size == kDescriptorBytes &&
                 text.ends_with(".kd")) {
        const Elf64_Shdr& section = sections_[symbol.st_shndx];
        const auto* properties = At<uint16_t>(
            file_, section.sh_offset + (symbol.st_value - section.sh_addr) + kCodePropertiesOffset);
        if (properties != nullptr)
          kernels_[text.substr(0, text.size() - 3)] = *properties & kWavefrontSize32 ? 32 : 64;
      }
    }
  }

  // Assembly without .size goes on to the next function.
  std::span<const uint8_t> Code(uint64_t address, const Symbol& symbol) {
    const Elf64_Shdr& section = sections_[symbol.section];
    if (section.sh_type != SHT_PROGBITS || !(section.sh_flags & SHF_EXECINSTR) ||
        address < section.sh_addr)
      return {};
    uint64_t end = section.sh_addr + section.sh_size;
    auto next = functions_.upper_bound(address);
    if (symbol.size != 0) {
      end = std::min(end, address + symbol.size);
    } else if (next != functions_.end()) {
      end = std::min(end, next->first);
    }
    if (end <= address) return {};
    uint64_t offset = section.sh_offset + (address - section.sh_addr);
    const uint8_t* bytes = At<uint8_t>(file_, offset, end - address);
    return bytes == nullptr ? std::span<const uint8_t>() : std::span(bytes, end - address);
  }

  std::span<const uint8_t> file_;
  const Elf64_Shdr* sections_ = nullptr;
  size_t section_count_ = 0;
  std::map<uint64_t, Symbol> functions_;  // by address
  std::map<std::string, unsigned> kernels_;
};

}  // namespace

std::optional<CodeObject> ReadCodeObject(std::span<const uint8_t> file, std::string* why) {
  return Reader(file).Read(why);
}

}  // namespace rochound::coverage
