// SPDX-License-Identifier: MIT
#include "cli/installation.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <system_error>

#include "base/files.h"

namespace rochound::cli {

namespace fs = std::filesystem;

namespace {

template <typename T>
bool Get(const std::string& bytes, uint64_t offset, T* value) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
  memcpy(value, bytes.data() + offset, sizeof(T));
  return true;
}

}  // namespace

base::Result<std::filesystem::path> FindBesideExecutable(const char* place,
                                                         const std::string& what) {
  ROCHOUND_TRY(const std::filesystem::path executable, base::ExecutablePath());
  const std::filesystem::path path = (executable.parent_path() / place).lexically_normal();
  std::error_code error;
  if (std::filesystem::exists(path, error)) return path;
  return base::Error{"cannot find " + what + " '" + path.string() +
                     "'; build or install all of rochound"};
}

fs::path FindProgram(const std::string& name) {
  const char* path = getenv("PATH");
  if (name.find('/') != std::string::npos || path == nullptr) return name;
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code error;
    const fs::path file = fs::path(folder.empty() ? "." : folder) / name;
    if (fs::is_regular_file(file, error)) return fs::absolute(file);
  }
  return name;
}

base::Result<fs::path> FindRocmProgram(const std::string& name) {
  const char* rocm = getenv("ROCM_PATH");
  const fs::path folder = rocm != nullptr && *rocm != '\0' ? rocm : "/opt/rocm";
  for (const fs::path& place : {FindProgram(name), folder / "bin" / name}) {
    std::error_code error;
    if (place.is_absolute() && fs::is_regular_file(place, error)) return place;
  }
  return base::Error{
      fmt::format("{} is neither on the PATH nor in ROCm's folder (ROCM_PATH)", name)};
}

bool ExportsSymbol(const std::filesystem::path& library, const std::string& symbol) {
  const auto content = base::ReadFile(library);
  if (!content.ok()) return false;
  const std::string& bytes = content.value();
  Elf64_Ehdr header;
  if (!Get(bytes, 0, &header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
  for (size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section, strings;
    if (!Get(bytes, header.e_shoff + i * sizeof(section), &section)) return false;
    if (section.sh_type != SHT_DYNSYM ||
        !Get(bytes, header.e_shoff + section.sh_link * sizeof(strings), &strings))
      continue;
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym entry;
      if (!Get(bytes, section.sh_offset + at, &entry)) return false;
      const uint64_t name = strings.sh_offset + entry.st_name;
      if (entry.st_shndx != SHN_UNDEF && name < bytes.size() &&
          bytes.compare(name, symbol.size() + 1, symbol.c_str(), symbol.size() + 1) == 0)
        return true;
    }
  }
  return false;
}

}  // namespace rochound::cli
