// SPDX-License-Identifier: MIT
//
// The files of a machine as the doctor sees them: those of this one ("/"), or a copy of another's
// in a folder, as tests and support cases have it. Reads with open, opendir and stat alone, which
// the software GPU answers, too. Any thread; what is not there or may not be read is simply absent.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rochound::doctor {

// Lines of "key value", as KFD writes them.
using Properties = std::map<std::string, uint64_t>;

// A device file.
struct Device {
  std::string path;   // "/dev/kfd"
  unsigned mode = 0;  // permission bits
  unsigned uid = 0;
  unsigned gid = 0;
  bool openable = false;  // for reading and writing, by the user who asks
};

class Sysroot {
 public:
  explicit Sysroot(const std::filesystem::path& folder);

  bool is_this_machine() const { return prefix_.empty(); }
  // Where a path of the machine really is.
  std::string Place(const std::string& path) const { return prefix_ + path; }

  bool Exists(const std::string& path) const;
  bool IsFolder(const std::string& path) const;
  // Whole content; first line without its end; a number at the start (0x... too).
  std::optional<std::string> Read(const std::string& path) const;
  std::optional<std::string> ReadLine(const std::string& path) const;
  std::optional<uint64_t> ReadNumber(const std::string& path) const;
  Properties ReadProperties(const std::string& path) const;
  // Names in a folder, sorted, numbers by value, without . and ..
  std::vector<std::string> List(const std::string& path) const;
  // The file behind all links, as a path of the machine; the path itself if there are none.
  std::string Resolve(const std::string& path) const;

  // /dev/kfd and the render nodes. In a copy they are in the text file "devices", one per line:
  // path, octal mode, owner's and group's number, and "open" or "closed".
  std::vector<Device> Devices() const;

 private:
  std::string prefix_;  // empty for this machine
};

}  // namespace rochound::doctor
