// SPDX-License-Identifier: MIT
#include "agent/calls/registered.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstring>

namespace rochound::agent {

namespace {

constinit std::atomic<bool> registered{false};

// By the names in its dynamic section. The functions that hand the tables over are not exported.
bool Needs(void* handle, const char* start) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0 || map == nullptr ||
      map->l_ld == nullptr)
    return false;
  const char* names = nullptr;
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
  if (names == nullptr) return false;
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_NEEDED &&
        std::strncmp(names + entry->d_un.d_val, start, std::strlen(start)) == 0)
      return true;
  return false;
}

}  // namespace

void SetRegistered() { registered.store(true, std::memory_order_release); }

bool HandsOverTables(void* handle) {
  return registered.load(std::memory_order_acquire) && Needs(handle, "librocprofiler-register.so");
}

}  // namespace rochound::agent
