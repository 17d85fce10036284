// SPDX-License-Identifier: MIT
#include "codeobj/comgr.h"

#include <dlfcn.h>

#include <optional>
#include <string>

namespace rochound::codeobj {
namespace {

using base::Error;
using base::Result;

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

std::optional<Comgr> Load() {
  void* library = nullptr;
  for (const char* name : {"libamd_comgr.so.3", "libamd_comgr.so.2",
                           "/opt/rocm/lib/libamd_comgr.so.3", "/opt/rocm/lib/libamd_comgr.so.2"}) {
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
  }
  if (library == nullptr) return std::nullopt;
  Comgr comgr{};
  const bool complete =
      Find(library, "amd_comgr_create_disassembly_info", &comgr.create_disassembly) &&
      Find(library, "amd_comgr_destroy_disassembly_info", &comgr.destroy_disassembly) &&
      Find(library, "amd_comgr_disassemble_instruction", &comgr.disassemble) &&
      Find(library, "amd_comgr_create_data", &comgr.create_data) &&
      Find(library, "amd_comgr_set_data", &comgr.set_data) &&
      Find(library, "amd_comgr_release_data", &comgr.release_data);
  if (!complete) return std::nullopt;
  if (!Find(library, "amd_comgr_create_symbolizer_info", &comgr.create_symbolizer) ||
      !Find(library, "amd_comgr_destroy_symbolizer_info", &comgr.destroy_symbolizer) ||
      !Find(library, "amd_comgr_symbolize", &comgr.symbolize))
    comgr.create_symbolizer = nullptr;
  return comgr;
}

}  // namespace

Result<const Comgr*> Comgr::Get() {
  static const std::optional<Comgr> loaded = Load();
  if (!loaded)
    return Error{
        "ROCm's code object manager (libamd_comgr.so.3 or .2), which disassembles, was not found. "
        "Install it (Debian: libamd-comgr3; AMD's packages: comgr) or set LD_LIBRARY_PATH to the "
        "folder that has it"};
  return &*loaded;
}

}  // namespace rochound::codeobj
