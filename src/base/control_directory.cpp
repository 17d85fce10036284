// SPDX-License-Identifier: MIT
#include "base/control_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/files.h"

namespace rochound::base {
namespace {

constexpr char kSuffix[] = ".sock";
constexpr mode_t kPrivate = 0700;

}  // namespace

ControlEnvironment ControlEnvironment::OfThisProcess() {
  return {getenv("ROCHOUND_CONTROL_DIR"), getenv("XDG_RUNTIME_DIR")};
}

std::vector<std::string> ControlDirectories(const ControlEnvironment& environment, uid_t user) {
  if (const char* given = environment.control_directory) {
    if (*given == '\0') return {};
    return {given};
  }
  std::vector<std::string> places;
  if (const char* runtime = environment.runtime_directory; runtime != nullptr && *runtime == '/')
    places.push_back(std::string(runtime) + "/rochound");
  places.push_back("/tmp/rochound-" + std::to_string(user));
  return places;
}

Result<int> OpenPrivateDirectory(const std::string& path, uid_t user) {
  if (path.empty() || path[0] != '/')
    return Error{"the control directory '" + path + "' is not an absolute path"};
  // A link as the last component is refused here; links before it are the user's own business.
  const int directory =
      open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (directory < 0) {
    const int problem = errno;
    struct stat link{};
    if (lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode))
      return Error{"'" + path + "' is a symbolic link, not a directory of its own; remove it"};
    return ErrnoError("cannot open the control directory", path, problem);
  }
  struct stat found{};
  std::string problem;
  if (fstat(directory, &found) != 0) {
    problem = ErrnoError("cannot look at", path, errno).message;
  } else if (found.st_uid != user) {
    problem = "'" + path + "' belongs to user " + std::to_string(found.st_uid) + ", not to user " +
              std::to_string(user);
  } else if ((found.st_mode & 077) != 0) {
    problem = "'" + path + "' is open to other users; chmod 700 it";
  }
  if (problem.empty()) return directory;
  close(directory);
  return Error{problem};
}

Result<int> MakePrivateDirectory(const std::string& path, uid_t user) {
  if (mkdir(path.c_str(), kPrivate) != 0 && errno != EEXIST)
    return ErrnoError("cannot make the control directory", path, errno);
  return OpenPrivateDirectory(path, user);
}

std::string ControlSocketName(pid_t process) { return std::to_string(process) + kSuffix; }

pid_t ControlSocketProcess(const std::string& name) {
  const size_t digits = name.find_first_not_of("0123456789");
  if (digits == std::string::npos || digits == 0 || digits > 10 || name[0] == '0' ||
      name.compare(digits, std::string::npos, kSuffix) != 0)
    return 0;
  const long long number = strtoll(name.c_str(), nullptr, 10);
  return number <= INT32_MAX ? static_cast<pid_t>(number) : 0;
}

std::string PathThrough(int directory, const std::string& name) {
  return "/proc/self/fd/" + std::to_string(directory) + "/" + name;
}

}  // namespace rochound::base
