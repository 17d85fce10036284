// SPDX-License-Identifier: MIT
//
// A folder for a fuzzer's inputs, in memory if possible, and its files. One thread.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace rochound::fuzz {

// One for all inputs; gone when the fuzzer ends.
inline const std::filesystem::path& Folder() {
  static const std::filesystem::path folder = [] {
    namespace fs = std::filesystem;
    std::string name = (fs::is_directory("/dev/shm") ? "/dev/shm" : "/tmp");
    name += "/rochound-fuzz-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) abort();
    static const std::string made = name;
    atexit([] { fs::remove_all(made); });
    return fs::path(made);
  }();
  return folder;
}

inline std::filesystem::path Write(const char* name, std::string_view bytes) {
  std::filesystem::path path = Folder() / name;
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

// Cuts a part off whose length the first two bytes say.
inline std::string_view TakePart(std::string_view* input) {
  if (input->size() < 2) return {};
  const size_t size = static_cast<unsigned char>((*input)[0]) |
                      static_cast<size_t>(static_cast<unsigned char>((*input)[1])) << 8;
  input->remove_prefix(2);
  const std::string_view part = input->substr(0, size);
  input->remove_prefix(part.size());
  return part;
}

}  // namespace rochound::fuzz
