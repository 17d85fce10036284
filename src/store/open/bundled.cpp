// SPDX-License-Identifier: MIT
#include "store/open/bundled.h"

#include <system_error>

#include "base/files.h"

namespace rochound::store {

std::filesystem::path BundledExtension(const std::string& name) {
  const auto executable = base::ExecutablePath();
  if (!executable.ok()) return {};
  const std::filesystem::path path =
      (executable.value().parent_path() / "../lib/bundled" / (name + ".duckdb_extension"))
          .lexically_normal();
  std::error_code error;
  return std::filesystem::exists(path, error) ? path : std::filesystem::path();
}

}  // namespace rochound::store
