// SPDX-License-Identifier: MIT
#include "codeobj/code_object.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/fill.h"
#include "codeobj/elf_view.h"
#include "codeobj/metadata.h"

namespace rochound::codeobj {

using base::Error;
using base::Result;

namespace {

// <elf.h> of the older systems has none of these.
constexpr uint16_t kMachineAmdgpu = 224;
constexpr uint8_t kOsAbiAmdgpuHsa = 64;
constexpr uint32_t kNoteMetadata = 32;

template <typename T>
T Field(const std::array<uint8_t, 64>& bytes, size_t offset) {
  T value;
  memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

Descriptor ReadDescriptor(std::string_view bytes) {
  Descriptor descriptor;
  memcpy(descriptor.bytes.data(), bytes.data(), descriptor.bytes.size());
  descriptor.group_segment_fixed_size = Field<uint32_t>(descriptor.bytes, 0);
  descriptor.private_segment_fixed_size = Field<uint32_t>(descriptor.bytes, 4);
  descriptor.kernarg_size = Field<uint32_t>(descriptor.bytes, 8);
  descriptor.entry_offset = Field<int64_t>(descriptor.bytes, 16);
  descriptor.rsrc3 = Field<uint32_t>(descriptor.bytes, 44);
  descriptor.rsrc1 = Field<uint32_t>(descriptor.bytes, 48);
  descriptor.rsrc2 = Field<uint32_t>(descriptor.bytes, 52);
  descriptor.properties = Field<uint16_t>(descriptor.bytes, 56);
  descriptor.kernarg_preload = Field<uint16_t>(descriptor.bytes, 58);
  return descriptor;
}

}  // namespace

class CodeObjectParser {
 public:
  explicit CodeObjectParser(std::string_view bytes)
      : names_left_(bytes.size() > std::numeric_limits<size_t>::max() / 32
                        ? std::numeric_limits<size_t>::max()
                        : bytes.size() * 16 + 4096) {}

  Result<CodeObject> Parse(std::string_view bytes) {
    ROCHOUND_TRY(elf_, ElfView::Open(bytes));
    ROCHOUND_CHECK(ReadHeader());
    ReadSegments();
    ROCHOUND_CHECK(ReadSymbols());
    ROCHOUND_CHECK(ReadKernels());
    ROCHOUND_CHECK(ReadRelocations());
    return std::move(object_);
  }

 private:
  Result<void> ReadHeader() {
    const Elf64_Ehdr& header = elf_.header();
    if (header.e_machine != kMachineAmdgpu)
      return Error{base::Fill("this ELF file is not for AMD GPUs (its machine is {}, not {})",
                              header.e_machine, kMachineAmdgpu)};
    if (header.e_ident[EI_OSABI] != kOsAbiAmdgpuHsa)
      return Error{"this code object is not for ROCm (graphics and PAL use others)"};
    const uint8_t abi_version = header.e_ident[EI_ABIVERSION];
    if (abi_version < 1 || abi_version > 4)
      return Error{base::Fill(
          "this is a code object of version {}; versions 3 to 6 can be read. Compile it again{}",
          abi_version + 2,
          abi_version < 1 ? " with ROCm 4 or later" : " with -mcode-object-version=5")};
    object_.version_ = abi_version + 2;
    if (header.e_type != ET_DYN)
      return Error{
          "this code object is not linked (it is a relocatable file): use what hipcc writes "
          "without -c, or link it with ld.lld -shared"};
    ROCHOUND_TRY(object_.target_, TargetOfFlags(header.e_flags, abi_version));
    return {};
  }

  void ReadSegments() {
    for (const Elf64_Phdr& header : elf_.segments()) {
      if (header.p_type != PT_LOAD) continue;
      object_.segments_.push_back({.address = header.p_vaddr,
                                   .memory_size = header.p_memsz,
                                   .offset = header.p_offset,
                                   .file_size = header.p_filesz,
                                   .readable = (header.p_flags & PF_R) != 0,
                                   .writable = (header.p_flags & PF_W) != 0,
                                   .executable = (header.p_flags & PF_X) != 0});
    }
  }

  // A name, copied. Names may overlap in a file; that they do so a million times is an attack.
  Result<std::string> Name(std::string_view text) {
    if (text.size() > names_left_)
      return Error{"the code object's names are larger than the file; it is damaged"};
    names_left_ -= text.size();
    return std::string(text);
  }

  const ElfView::Section* FindSection(uint32_t type) const {
    for (const ElfView::Section& section : elf_.sections())
      if (section.header.sh_type == type) return &section;
    return nullptr;
  }

  struct SymbolTable {
    std::string_view symbols, names;
    size_t size() const { return symbols.size() / sizeof(Elf64_Sym); }
    Elf64_Sym at(size_t index) const { return ReadAt<Elf64_Sym>(symbols, index); }
    std::string_view name(size_t index) const { return TextAt(names, at(index).st_name); }
  };

  Result<SymbolTable> TableOf(const ElfView::Section& section) const {
    const auto symbols = elf_.Content(section);
    if (!symbols || section.header.sh_link >= elf_.sections().size())
      return Error{"the code object's symbol table lies outside of it; it is damaged"};
    const auto names = elf_.Content(elf_.sections()[section.header.sh_link]);
    if (!names) return Error{"the code object's symbol names lie outside of it; it is damaged"};
    return SymbolTable{*symbols, *names};
  }

  Result<void> ReadSymbols() {
    // The full table, unless it was stripped.
    const ElfView::Section* section = FindSection(SHT_SYMTAB);
    if (section == nullptr) section = FindSection(SHT_DYNSYM);
    if (section == nullptr) return {};
    ROCHOUND_TRY(const SymbolTable table, TableOf(*section));
    for (size_t i = 0; i < table.size(); ++i) {
      const Elf64_Sym from = table.at(i);
      const unsigned type = ELF64_ST_TYPE(from.st_info);
      if (from.st_shndx == SHN_UNDEF && ELF64_ST_BIND(from.st_info) == STB_GLOBAL) {
        ROCHOUND_TRY(std::string name, Name(table.name(i)));
        if (!name.empty()) object_.undefined_.push_back(std::move(name));
      }
      if (type != STT_OBJECT && type != STT_FUNC) continue;
      if (from.st_shndx == SHN_UNDEF || from.st_shndx >= elf_.sections().size()) continue;
      const ElfView::Section& home = elf_.sections()[from.st_shndx];
      Symbol symbol;
      ROCHOUND_TRY(symbol.name, Name(table.name(i)));
      ROCHOUND_TRY(symbol.section, Name(home.name));
      symbol.address = from.st_value;
      symbol.size = from.st_size;
      symbol.global = ELF64_ST_BIND(from.st_info) != STB_LOCAL;
      symbol.writable = (home.header.sh_flags & SHF_WRITE) != 0;
      if (type == STT_FUNC) {
        object_.functions_.push_back(std::move(symbol));
      } else if (symbol.name.ends_with(".kd") && symbol.size == sizeof(Descriptor::bytes)) {
        descriptors_.emplace(symbol.name, symbol.address);
      } else {
        object_.variables_.push_back(std::move(symbol));
      }
    }
    return {};
  }

  // Adds the descriptions of all metadata notes in a part of the file.
  static void FindMetadata(std::string_view notes, uint64_t align,
                           std::vector<std::string_view>* found) {
    const size_t unit = align == 8 ? 8 : 4;
    const auto padded = [&](size_t size) { return (size + unit - 1) / unit * unit; };
    while (notes.size() >= sizeof(Elf64_Nhdr)) {
      const auto head = ReadAt<Elf64_Nhdr>(notes, 0);
      notes.remove_prefix(sizeof head);
      if (padded(head.n_namesz) > notes.size()) return;
      const std::string_view name = TextAt(notes.substr(0, head.n_namesz), 0);
      notes.remove_prefix(padded(head.n_namesz));
      if (head.n_descsz > notes.size()) return;
      if (head.n_type == kNoteMetadata && name == "AMDGPU")
        found->push_back(notes.substr(0, head.n_descsz));
      notes.remove_prefix(std::min(padded(head.n_descsz), notes.size()));
    }
  }

  struct Notes {  // a part of the file
    uint64_t offset = 0, size = 0, align = 0;
  };

  // The same for parts of the file, each once. Notes do not overlap: that all parts together are
  // longer than the file is an attack.
  Result<void> FindMetadata(const std::vector<Notes>& parts,
                            std::vector<std::string_view>* found) const {
    std::set<std::pair<uint64_t, uint64_t>> seen;
    uint64_t left = elf_.size();
    for (const Notes& part : parts) {
      const auto notes = elf_.Part(part.offset, part.size);
      if (!notes || !seen.emplace(part.offset, part.size).second) continue;
      if (part.size > left)
        return Error{"the code object's notes are larger than the file; it is damaged"};
      left -= part.size;
      FindMetadata(*notes, part.align, found);
    }
    return {};
  }

  // A device link (-fgpu-rdc) leaves one note for each partition that it compiled.
  Result<std::vector<std::string_view>> FindMetadata() const {
    std::vector<std::string_view> found;
    std::vector<Notes> parts;
    for (const Elf64_Phdr& segment : elf_.segments())
      if (segment.p_type == PT_NOTE)
        parts.push_back({segment.p_offset, segment.p_filesz, segment.p_align});
    ROCHOUND_CHECK(FindMetadata(parts, &found));
    if (!found.empty()) return found;
    parts.clear();
    for (const ElfView::Section& section : elf_.sections())
      if (section.header.sh_type == SHT_NOTE)
        parts.push_back(
            {section.header.sh_offset, section.header.sh_size, section.header.sh_addralign});
    ROCHOUND_CHECK(FindMetadata(parts, &found));
    return found;
  }

  Result<void> ReadKernels() {
    std::unordered_map<uint64_t, uint64_t> code_sizes;
    for (const Symbol& function : object_.functions_)
      code_sizes.emplace(function.address, function.size);
    ROCHOUND_TRY(const std::vector<std::string_view> notes, FindMetadata());
    for (const std::string_view note : notes) {
      ROCHOUND_TRY(Metadata metadata, ReadMetadata(note));
      if (!metadata.target.empty()) ROCHOUND_CHECK(CheckTarget(metadata.target));
      object_.kernels_.insert(object_.kernels_.end(),
                              std::make_move_iterator(metadata.kernels.begin()),
                              std::make_move_iterator(metadata.kernels.end()));
    }
    for (Kernel& kernel : object_.kernels_) {
      const auto found = descriptors_.find(kernel.symbol);
      if (found == descriptors_.end())
        return Error{base::Fill(
            "the code object's metadata names the kernel '{}', but there is no descriptor '{}'; "
            "the file is damaged",
            kernel.name, kernel.symbol)};
      ROCHOUND_CHECK(Describe(found->second, code_sizes, &kernel));
    }
    // Those that only have a descriptor, by name: a map's order is nobody's.
    std::vector<std::string> bare;
    {
      std::unordered_map<std::string_view, bool> known;
      for (const Kernel& kernel : object_.kernels_) known.emplace(kernel.symbol, true);
      for (const auto& [symbol, address] : descriptors_)
        if (!known.contains(symbol)) bare.push_back(symbol);
    }
    std::sort(bare.begin(), bare.end());
    for (const std::string& symbol : bare) {
      Kernel kernel;
      kernel.symbol = symbol;
      kernel.name = symbol.substr(0, symbol.size() - 3);
      ROCHOUND_CHECK(Describe(descriptors_.at(symbol), code_sizes, &kernel));
      kernel.kernarg_segment_size = kernel.descriptor.kernarg_size;
      kernel.kernarg_segment_align = 8;
      kernel.group_segment_fixed_size = kernel.descriptor.group_segment_fixed_size;
      kernel.private_segment_fixed_size = kernel.descriptor.private_segment_fixed_size;
      kernel.uses_dynamic_stack = kernel.descriptor.uses_dynamic_stack();
      kernel.wavefront_size = kernel.descriptor.wave32() ? 32 : 64;
      object_.kernels_.push_back(std::move(kernel));
    }
    return {};
  }

  Result<void> CheckTarget(const std::string& text) const {
    ROCHOUND_TRY(const Target target, ParseTarget(text));
    if (target.processor != object_.target_.processor)
      return Error{base::Fill(
          "the code object is for {} by its header and for {} by its metadata; it is damaged",
          object_.target_.processor, target.processor)};
    return {};
  }

  Result<void> Describe(uint64_t address, const std::unordered_map<uint64_t, uint64_t>& code_sizes,
                        Kernel* kernel) const {
    const auto bytes = elf_.AtAddress(address, sizeof(Descriptor::bytes));
    if (!bytes)
      return Error{base::Fill("the descriptor '{}' lies outside of the code object; it is damaged",
                              kernel->symbol)};
    kernel->descriptor_address = address;
    kernel->descriptor = ReadDescriptor(*bytes);
    kernel->code_address = address + static_cast<uint64_t>(kernel->descriptor.entry_offset);
    const auto size = code_sizes.find(kernel->code_address);
    if (size != code_sizes.end() && elf_.AtAddress(kernel->code_address, size->second))
      kernel->code_size = size->second;
    return {};
  }

  Result<void> ReadRelocations() {
    uint64_t left = elf_.size();
    for (const ElfView::Section& section : elf_.sections()) {
      // Those that are not loaded are the linker's and the debugger's business.
      if (section.header.sh_type != SHT_RELA || (section.header.sh_flags & SHF_ALLOC) == 0)
        continue;
      const auto content = elf_.Content(section);
      if (!content) return Error{"the code object's relocations lie outside of it; it is damaged"};
      if (content->size() > left)
        return Error{"the code object's relocations are larger than the file; it is damaged"};
      left -= content->size();
      SymbolTable symbols;
      if (section.header.sh_link != 0 && section.header.sh_link < elf_.sections().size()) {
        ROCHOUND_TRY(symbols, TableOf(elf_.sections()[section.header.sh_link]));
      }
      for (size_t i = 0; i < content->size() / sizeof(Elf64_Rela); ++i) {
        const auto from = ReadAt<Elf64_Rela>(*content, i);
        Relocation relocation;
        relocation.address = from.r_offset;
        relocation.type = static_cast<RelocationType>(ELF64_R_TYPE(from.r_info));
        relocation.addend = from.r_addend;
        if (const uint64_t symbol = ELF64_R_SYM(from.r_info); symbol != 0) {
          if (symbol >= symbols.size())
            return Error{"a relocation of the code object names no symbol; the file is damaged"};
          ROCHOUND_TRY(relocation.symbol, Name(symbols.name(symbol)));
        }
        object_.relocations_.push_back(std::move(relocation));
      }
    }
    // Assemblers leave names there that nothing refers to (Tensile's kernels have one).
    std::set<std::string_view> used;
    for (const Relocation& relocation : object_.relocations_) used.insert(relocation.symbol);
    std::erase_if(object_.undefined_,
                  [&](const std::string& name) { return !used.contains(name); });
    return {};
  }

  ElfView elf_;
  CodeObject object_;
  std::unordered_map<std::string, uint64_t> descriptors_;  // symbol -> address
  size_t names_left_;
};

Result<CodeObject> CodeObject::Parse(std::string_view bytes) {
  return CodeObjectParser(bytes).Parse(bytes);
}

const Kernel* CodeObject::FindKernel(std::string_view name) const {
  for (const Kernel& kernel : kernels_)
    if (kernel.name == name || kernel.symbol == name) return &kernel;
  return nullptr;
}

Result<const Kernel*> CodeObject::GetKernel(std::string_view name) const {
  if (const Kernel* found = FindKernel(name)) return found;
  constexpr size_t kListed = 8;
  std::string list;
  for (size_t i = 0; i < std::min(kernels_.size(), kListed); ++i)
    list += base::Fill("{}{}", i == 0 ? "" : ", ", kernels_[i].name);
  if (kernels_.size() > kListed) list += base::Fill(", and {} more", kernels_.size() - kListed);
  return Error{base::Fill("the code object has no kernel '{}'; it has {}", name,
                          kernels_.empty() ? "none at all" : list)};
}

uint64_t Relocation::size() const {
  switch (type) {
    case RelocationType::kAbs64:
    case RelocationType::kRelative64:
      return 8;
    case RelocationType::kAbs32:
    case RelocationType::kAbs32Lo:
    case RelocationType::kAbs32Hi:
      return 4;
    case RelocationType::kNone:
      break;
  }
  return 0;
}

}  // namespace rochound::codeobj
