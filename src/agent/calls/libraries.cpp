// SPDX-License-Identifier: MIT
#include "agent/calls/libraries.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace rochound::agent {

namespace {

Library Describe(const dl_phdr_info& info) {
  Library library;
  library.path = info.dlpi_name;
  library.base = info.dlpi_addr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr) & part = info.dlpi_phdr[i];
    const uintptr_t begin = info.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_GNU_EH_FRAME) library.unwind_tables = begin;
    if (part.p_type != PT_LOAD) continue;
    if ((part.p_flags & PF_X) != 0) {
      library.code_begin = library.code_begin == 0 ? begin : std::min(library.code_begin, begin);
      library.code_end = std::max<uintptr_t>(library.code_end, begin + part.p_memsz);
    }
    if ((part.p_flags & PF_W) != 0 && part.p_memsz > part.p_filesz) {
      library.zeroed_begin = begin + part.p_filesz;
      library.zeroed_end = begin + part.p_memsz;
    }
  }
  return library;
}

// What a library's dynamic section says of its relocations.
struct Relocations {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * first[2] = {};  // of data, of calls
  size_t bytes[2] = {};

  explicit Relocations(const dl_phdr_info& info) {
    const ElfW(Dyn)* entry = nullptr;
    for (int i = 0; i < info.dlpi_phnum; ++i)
      if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
        entry = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    // The kernel's own library is not relocated.
    const auto at = [&](const ElfW(Dyn) & one) {
      return one.d_un.d_ptr < info.dlpi_addr ? one.d_un.d_ptr + info.dlpi_addr : one.d_un.d_ptr;
    };
    for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(at(*entry));
      if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(at(*entry));
      if (entry->d_tag == DT_RELA) first[0] = reinterpret_cast<const ElfW(Rela)*>(at(*entry));
      if (entry->d_tag == DT_JMPREL) first[1] = reinterpret_cast<const ElfW(Rela)*>(at(*entry));
      if (entry->d_tag == DT_RELASZ) bytes[0] = entry->d_un.d_val;
      if (entry->d_tag == DT_PLTRELSZ) bytes[1] = entry->d_un.d_val;
    }
  }

  bool Name(const char* function) const {
    if (symbols == nullptr || names == nullptr) return false;
    for (int kind = 0; kind < 2; ++kind) {
      for (size_t i = 0; first[kind] != nullptr && i < bytes[kind] / sizeof(ElfW(Rela)); ++i) {
        const ElfW(Sym) & symbol = symbols[ELF64_R_SYM(first[kind][i].r_info)];
        if (symbol.st_shndx == SHN_UNDEF && std::strcmp(names + symbol.st_name, function) == 0)
          return true;
      }
    }
    return false;
  }
};

}  // namespace

bool Library::IsFile(const char* start) const {
  const size_t slash = path.rfind('/');
  return path.compare(slash == std::string::npos ? 0 : slash + 1, std::strlen(start), start) == 0;
}

uint64_t LibraryCount() {
  uint64_t count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        *static_cast<uint64_t*>(result) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

std::vector<Library> LoadedLibraries() {
  std::vector<Library> all;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        // Nothing may fly through the linker's own frames.
        try {
          static_cast<std::vector<Library>*>(result)->push_back(Describe(*info));
        } catch (const std::bad_alloc&) {
          return 1;
        }
        return 0;
      },
      &all);
  return all;
}

void* HandleOf(const Library& library) {
  return dlopen(library.path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

std::string VersionOf(const std::string& path) {
  char file[PATH_MAX];
  if (realpath(path.c_str(), file) == nullptr) return {};
  const char* const end = std::strstr(file, ".so.");
  return end != nullptr ? end + 4 : "";
}

std::vector<ExportedFunction> ExportedFunctions(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0 || map == nullptr ||
      map->l_ld == nullptr)
    return {};
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  const uint32_t* hash = nullptr;
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_GNU_HASH) hash = reinterpret_cast<const uint32_t*>(entry->d_un.d_ptr);
  }
  if (symbols == nullptr || names == nullptr || hash == nullptr) return {};
  // The table's own words: buckets, first symbol, words of the Bloom filter. A bucket holds the
  // first symbol of a chain, whose last one has an odd hash.
  const uint32_t buckets = hash[0], first = hash[1], filter = hash[2];
  const uint32_t* const bucket = hash + 4 + filter * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t* const chain = bucket + buckets;
  std::vector<ExportedFunction> all;
  for (uint32_t i = 0; i < buckets; ++i) {
    if (bucket[i] < first) continue;
    for (uint32_t at = bucket[i];; ++at) {
      const ElfW(Sym) & symbol = symbols[at];
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF)
        all.push_back({names + symbol.st_name,
                       reinterpret_cast<const void*>(map->l_addr + symbol.st_value),
                       symbol.st_size});
      if ((chain[at - first] & 1) != 0) break;
    }
  }
  return all;
}

bool AnybodyImports(const char* function) {
  struct Question {
    const char* function;
    bool answer;
  } question{function, false};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* asked) {
        auto* const question = static_cast<Question*>(asked);
        question->answer = Relocations(*info).Name(question->function);
        return question->answer ? 1 : 0;
      },
      &question);
  return question.answer;
}

}  // namespace rochound::agent
