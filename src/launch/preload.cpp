// SPDX-License-Identifier: MIT
#include "launch/preload.h"

#include <stdlib.h>

#include "softgpu/tree/device_tree_store.h"

namespace rochound::launch {
namespace {

// Empty in a plain build.
constexpr char kSanitizerRuntime[] = ROCHOUND_SANITIZER_RUNTIME;

bool LoaderCuts(const std::filesystem::path& path) {
  return path.string().find_first_of(": \t\n") != std::string::npos;
}

}  // namespace

base::Result<std::string> PreloadList(const std::filesystem::path& shim,
                                      const std::filesystem::path& store, const char* existing) {
  std::filesystem::path name = shim;
  if (LoaderCuts(shim)) {
    if (LoaderCuts(store)) {
      return base::Error{"the dynamic loader cannot preload '" + shim.string() +
                         "': the path has a space or a colon in it, and so has '" + store.string() +
                         "'; set TMPDIR to another folder and unset XDG_RUNTIME_DIR"};
    }
    ROCHOUND_TRY(const std::filesystem::path folder,
                 softgpu::LinkInStore(shim.parent_path(), store));
    name = folder / shim.filename();
  }
  std::string list = kSanitizerRuntime;
  if (!list.empty()) list += ':';
  list += name.string();
  if (existing != nullptr && *existing != '\0') list += std::string(":") + existing;
  return list;
}

std::string WithSanitizerRuntime(const std::string& existing) {
  if (kSanitizerRuntime[0] == '\0' || existing.find(kSanitizerRuntime) != std::string::npos)
    return existing;
  return existing.empty() ? kSanitizerRuntime : kSanitizerRuntime + (":" + existing);
}

void SetSanitizerOptions() {
  if (kSanitizerRuntime[0] != '\0') setenv("ASAN_OPTIONS", "detect_leaks=0", /*overwrite=*/0);
}

}  // namespace rochound::launch
