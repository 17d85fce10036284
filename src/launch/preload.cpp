// SPDX-License-Identifier: MIT
#include "launch/preload.h"

#include <stdlib.h>

namespace rochound::launch {
namespace {

// Empty in a plain build.
constexpr char kSanitizerRuntime[] = ROCHOUND_SANITIZER_RUNTIME;

}  // namespace

base::Result<std::string> PreloadList(const std::filesystem::path& shim, const char* existing) {
  if (shim.string().find_first_of(": \t\n") != std::string::npos) {
    return base::Error{"the dynamic loader cannot preload '" + shim.string() +
                       "': the path has a space or a colon in it; install rochound somewhere else"};
  }
  std::string list = kSanitizerRuntime;
  if (!list.empty()) list += ':';
  list += shim.string();
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
