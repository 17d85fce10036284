// SPDX-License-Identifier: MIT
//
// The few functions of libamd_comgr that we use, found at run time. Their types are written down
// here, since the header is elsewhere in each ROCm release and the functions are the same in
// all. Loaded once and never unloaded; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace rochound::codeobj {

struct Comgr {
  struct Handle {
    uint64_t value = 0;
  };
  using ReadMemory = uint64_t (*)(uint64_t from, char* to, uint64_t size, void* user);
  using PrintText = void (*)(const char* text, void* user);
  using PrintAddress = void (*)(uint64_t address, void* user);

  static constexpr int kSuccess = 0;
  static constexpr int kDataExecutable = 8;

  int (*create_disassembly)(const char* isa, ReadMemory, PrintText, PrintAddress, Handle*);
  int (*destroy_disassembly)(Handle);
  int (*disassemble)(Handle, uint64_t address, void* user, uint64_t* size);
  int (*create_data)(int kind, Handle*);
  int (*set_data)(Handle, size_t size, const char* bytes);
  int (*release_data)(Handle);
  // Null in the oldest releases.
  int (*create_symbolizer)(Handle data, PrintText, Handle*);
  int (*destroy_symbolizer)(Handle);
  int (*symbolize)(Handle, uint64_t address, bool is_code, void* user);

  // The error says what to install.
  static base::Result<const Comgr*> Get();
};

}  // namespace rochound::codeobj
