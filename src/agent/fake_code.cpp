// SPDX-License-Identifier: MIT
#include "agent/fake_code.h"

#include <hsa/hsa_ven_amd_loader.h>

#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace rochound::agent {
namespace {

struct Image {
  uint64_t executable = 0;
  uint64_t base = 0;
  uint64_t size = 0;
  std::string bytes;
};

constexpr char kUri[] = "memory://1#offset=0&size=1";

base::Mutex images_lock;
std::map<uint64_t, Image> images;  // by loaded code object
Image next_image;
uint64_t last_loaded = 0;

std::vector<std::pair<uint64_t, Image>> Images() {
  const base::Lock lock(images_lock);
  return {images.begin(), images.end()};
}

hsa_status_t LoadImage(hsa_executable_t executable, hsa_agent_t, hsa_code_object_reader_t,
                       const char*, hsa_loaded_code_object_t* loaded) {
  const base::Lock lock(images_lock);
  next_image.executable = executable.handle;
  ++last_loaded;
  if (loaded != nullptr) loaded->handle = last_loaded;
  images[last_loaded] = std::exchange(next_image, {});
  return HSA_STATUS_SUCCESS;
}

hsa_status_t DestroyExecutable(hsa_executable_t executable) {
  const base::Lock lock(images_lock);
  std::erase_if(images,
                [&](const auto& one) { return one.second.executable == executable.handle; });
  return HSA_STATUS_SUCCESS;
}

hsa_status_t QueryExecutable(const void* address, hsa_executable_t* executable) {
  for (const auto& [loaded, image] : Images()) {
    if (reinterpret_cast<uint64_t>(address) - image.base >= image.size) continue;
    executable->handle = image.executable;
    return HSA_STATUS_SUCCESS;
  }
  return HSA_STATUS_ERROR;
}

hsa_status_t IterateLoaded(hsa_executable_t executable,
                           hsa_status_t (*visit)(hsa_executable_t, hsa_loaded_code_object_t, void*),
                           void* data) {
  for (const auto& [loaded, image] : Images())
    if (image.executable == executable.handle) visit(executable, {loaded}, data);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t IterateExecutables(hsa_status_t (*visit)(hsa_executable_t, void*), void* data) {
  for (const auto& [loaded, image] : Images()) visit({image.executable}, data);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t LoadedInfo(hsa_loaded_code_object_t loaded,
                        hsa_ven_amd_loader_loaded_code_object_info_t what, void* value) {
  const base::Lock lock(images_lock);
  const Image& image = images[loaded.handle];
  switch (what) {
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE:
      *static_cast<uint64_t*>(value) = image.base;
      break;
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE:
      *static_cast<uint64_t*>(value) = image.size;
      break;
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA:
      *static_cast<int64_t*>(value) = static_cast<int64_t>(image.base);
      break;
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE:
      ++FakeCode::bytes_asked;
      *static_cast<uint64_t*>(value) = reinterpret_cast<uint64_t>(image.bytes.data());
      break;
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE:
      *static_cast<uint64_t*>(value) = image.bytes.size();
      break;
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH:
      *static_cast<uint32_t*>(value) = sizeof kUri - 1;
      break;
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI:
      std::memcpy(value, kUri, sizeof kUri - 1);
      break;
    default:
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t IterateSymbols(hsa_executable_t executable, hsa_agent_t agent,
                            hsa_status_t (*visit)(hsa_executable_t, hsa_agent_t,
                                                  hsa_executable_symbol_t, void*),
                            void* data) {
  for (const auto& [loaded, image] : Images())
    for (uint64_t at = image.base;
         image.executable == executable.handle && at < image.base + image.size; at += 64)
      if (visit(executable, agent, {at / 64}, data) != HSA_STATUS_SUCCESS)
        return HSA_STATUS_INFO_BREAK;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t ExtensionTable(uint16_t extension, uint16_t, size_t size, void* table) {
  if (extension != HSA_EXTENSION_AMD_LOADER) return HSA_STATUS_ERROR;
  hsa_ven_amd_loader_1_03_pfn_t loader{};
  loader.hsa_ven_amd_loader_query_executable = QueryExecutable;
  loader.hsa_ven_amd_loader_executable_iterate_loaded_code_objects = IterateLoaded;
  loader.hsa_ven_amd_loader_loaded_code_object_get_info = LoadedInfo;
  loader.hsa_ven_amd_loader_iterate_executables = IterateExecutables;
  std::memcpy(table, &loader, size < sizeof loader ? size : sizeof loader);
  return HSA_STATUS_SUCCESS;
}

}  // namespace

std::atomic<int> FakeCode::bytes_asked{0};

void FakeCode::Install(CoreApiTable* core) {
  core->hsa_executable_load_agent_code_object_fn = LoadImage;
  core->hsa_executable_destroy_fn = DestroyExecutable;
  core->hsa_executable_iterate_agent_symbols_fn = IterateSymbols;
  core->hsa_system_get_major_extension_table_fn = ExtensionTable;
}

void FakeCode::Load(const CoreApiTable& core, uint64_t executable, uint64_t base, uint64_t size,
                    std::string bytes) {
  {
    const base::Lock lock(images_lock);
    next_image = {executable, base, size, std::move(bytes)};
  }
  core.hsa_executable_load_agent_code_object_fn({executable}, {2}, {}, nullptr, nullptr);
}

bool FakeCode::Has(uint64_t base) {
  for (const auto& [loaded, image] : Images())
    if (image.base == base) return true;
  return false;
}

}  // namespace rochound::agent
