// SPDX-License-Identifier: MIT
#include "base/installation.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "base/files.h"

namespace rochound::base {

namespace fs = std::filesystem;

Result<std::filesystem::path> FindBesideExecutable(const char* place, const std::string& what) {
  ROCHOUND_TRY(const std::filesystem::path executable, ExecutablePath());
  const std::filesystem::path path = (executable.parent_path() / place).lexically_normal();
  std::error_code error;
  if (std::filesystem::exists(path, error)) return path;
  return Error{"cannot find " + what + " '" + path.string() +
               "'; build or install all of rochound"};
}

fs::path FindProgram(const std::string& name) {
  const char* path = getenv("PATH");
  if (name.find('/') != std::string::npos || path == nullptr) return name;
  // No stream: the recorder links this file, and streams have all of C++'s locales, 0.4 MB.
  for (std::string_view rest = path; !rest.empty();) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    std::error_code error;
    const fs::path file = fs::path(folder.empty() ? "." : folder) / name;
    if (fs::is_regular_file(file, error)) return fs::absolute(file);
  }
  return name;
}

Result<fs::path> FindRocmProgram(const std::string& name) {
  const char* rocm = getenv("ROCM_PATH");
  const fs::path folder = rocm != nullptr && *rocm != '\0' ? rocm : "/opt/rocm";
  for (const fs::path& place : {FindProgram(name), folder / "bin" / name}) {
    std::error_code error;
    if (place.is_absolute() && fs::is_regular_file(place, error)) return place;
  }
  return Error{name + " is neither on the PATH nor in ROCm's folder (ROCM_PATH)"};
}

}  // namespace rochound::base
