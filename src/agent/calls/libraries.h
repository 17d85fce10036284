// SPDX-License-Identifier: MIT
//
// The shared libraries that are loaded in this process. Asked at set-up and now and then by the
// drain thread; takes the dynamic linker's lock and allocates, so never on the hot path.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rochound::agent {

struct Library {
  std::string path;
  uintptr_t base = 0;
  uintptr_t code_begin = 0;  // what may be executed, from the first to the last
  uintptr_t code_end = 0;
  uintptr_t zeroed_begin = 0;  // writable memory that is not read from the file (.bss)
  uintptr_t zeroed_end = 0;
  uintptr_t unwind_tables = 0;  // .eh_frame_hdr

  bool HasCode(uintptr_t address) const { return address >= code_begin && address < code_end; }
  bool IsFile(const char* start) const;  // whether its file's name starts like this
};

// How many libraries were ever loaded: equal numbers mean that nothing new is there.
uint64_t LibraryCount();

// All of them. Shorter, or empty, when memory is short.
std::vector<Library> LoadedLibraries();

// A handle for dlsym on a library that is already loaded, in whatever way; keeps it loaded for
// good. Null when it is gone.
void* HandleOf(const Library& library);

// What its file's name says after ".so.", links followed: "7.2.53211"; empty: nothing.
std::string VersionOf(const std::string& path);

struct ExportedFunction {
  const char* name;  // in the library
  const void* code;
  size_t bytes;
};

// The functions that a library exports, by its own symbol table. `handle`: the library's.
std::vector<ExportedFunction> ExportedFunctions(void* handle);

// Whether anything that is loaded calls this function of another library, by its relocations. What
// is looked up with dlsym is not seen.
bool AnybodyImports(const char* function);

}  // namespace rochound::agent
