// SPDX-License-Identifier: MIT
#include "doctor/sysroot.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>

#include "base/files.h"

namespace rochound::doctor {
namespace {

bool ByNumber(const std::string& a, const std::string& b) {
  const auto digits = [](const std::string& text) {
    return text.find_last_not_of("0123456789") + 1;  // npos + 1 is 0: all digits
  };
  const size_t a_start = digits(a);
  const size_t b_start = digits(b);
  if (a.compare(0, a_start, b, 0, b_start) != 0 || a_start == a.size() || b_start == b.size())
    return a < b;
  return strtoull(a.c_str() + a_start, nullptr, 10) < strtoull(b.c_str() + b_start, nullptr, 10);
}

}  // namespace

Sysroot::Sysroot(const std::filesystem::path& folder) {
  prefix_ = folder.lexically_normal().string();
  while (!prefix_.empty() && prefix_.back() == '/') prefix_.pop_back();
}

bool Sysroot::Exists(const std::string& path) const {
  return access(Place(path).c_str(), F_OK) == 0;
}

bool Sysroot::IsFolder(const std::string& path) const {
  struct stat status{};
  return stat(Place(path).c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::optional<std::string> Sysroot::Read(const std::string& path) const {
  auto content = base::ReadFile(Place(path));
  if (!content.ok()) return std::nullopt;
  return std::move(content).value();
}

std::optional<std::string> Sysroot::ReadLine(const std::string& path) const {
  auto content = Read(path);
  if (!content) return std::nullopt;
  content->resize(std::min(content->find('\n'), content->size()));
  return content;
}

std::optional<uint64_t> Sysroot::ReadNumber(const std::string& path) const {
  const auto line = ReadLine(path);
  if (!line) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const uint64_t value = strtoull(line->c_str(), &end, 0);
  if (end == line->c_str() || errno != 0) return std::nullopt;
  return value;
}

Properties Sysroot::ReadProperties(const std::string& path) const {
  Properties properties;
  const auto content = Read(path);
  if (!content) return properties;
  std::istringstream lines(*content);
  std::string key;
  std::string value;
  while (lines >> key >> value) properties[key] = strtoull(value.c_str(), nullptr, 10);
  return properties;
}

std::vector<std::string> Sysroot::List(const std::string& path) const {
  std::vector<std::string> names;
  DIR* folder = opendir(Place(path).c_str());
  if (folder == nullptr) return names;
  while (const dirent* entry = readdir(folder)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  closedir(folder);
  std::sort(names.begin(), names.end(), ByNumber);
  return names;
}

std::string Sysroot::Resolve(const std::string& path) const {
  char resolved[PATH_MAX];
  if (realpath(Place(path).c_str(), resolved) == nullptr) return path;
  std::string place = resolved;
  char root[PATH_MAX];
  if (prefix_.empty() || realpath(prefix_.c_str(), root) == nullptr) return place;
  const std::string start = root;
  return place.compare(0, start.size(), start) == 0 ? place.substr(start.size()) : place;
}

std::vector<Device> Sysroot::Devices() const {
  std::vector<Device> devices;
  if (!is_this_machine()) {
    std::istringstream lines(Read("/devices").value_or(""));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      Device device;
      std::string open;
      if (words >> device.path >> std::oct >> device.mode >> std::dec >> device.uid >> device.gid >>
          open) {
        device.openable = open == "open";
        devices.push_back(device);
      }
    }
    return devices;
  }
  std::vector<std::string> paths = {"/dev/kfd"};
  // By what DRM has, not by what /dev/dri lists: a container may lack a node that it needs.
  for (const std::string& name : List("/sys/class/drm"))
    if (name.rfind("renderD", 0) == 0) paths.push_back("/dev/dri/" + name);
  for (const std::string& path : paths) {
    struct stat status{};
    if (stat(path.c_str(), &status) != 0) continue;
    devices.push_back({path, static_cast<unsigned>(status.st_mode & 07777), status.st_uid,
                       status.st_gid, access(path.c_str(), R_OK | W_OK) == 0});
  }
  return devices;
}

}  // namespace rochound::doctor
