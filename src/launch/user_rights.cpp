// SPDX-License-Identifier: MIT
#include "launch/user_rights.h"

#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

namespace rochound::launch {
namespace {

constexpr gid_t kNoGroup = 65534;

struct Groups {
  gid_t primary = kNoGroup;
  std::vector<gid_t> all;
};

// None for a user whom this system does not know: one of a container.
Groups GroupsOf(uid_t user) {
  Groups groups;
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> text(16384);
  if (getpwuid_r(user, &entry, text.data(), text.size(), &found) != 0 || found == nullptr)
    return groups;
  groups.primary = entry.pw_gid;
  int count = 64;
  groups.all.resize(static_cast<size_t>(count));
  if (getgrouplist(entry.pw_name, entry.pw_gid, groups.all.data(), &count) < 0) count = 0;
  groups.all.resize(static_cast<size_t>(count));
  return groups;
}

// Of the calling thread alone: libc's functions would change all threads, the kernel does not. Only
// the rights on files, so that the user can neither stop nor trace us.
bool TakeFileRights(uid_t user, const Groups& groups) {
  if (syscall(SYS_setgroups, groups.all.size(), groups.all.data()) != 0) return false;
  setfsgid(groups.primary);
  setfsuid(user);
  // They do not tell of failure; asking for an invalid number tells what is set.
  return setfsgid(static_cast<gid_t>(-1)) == static_cast<int>(groups.primary) &&
         setfsuid(static_cast<uid_t>(-1)) == static_cast<int>(user);
}

// Of the calling thread alone, and for good.
bool DropCapabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  return syscall(SYS_capset, &header, none) == 0;
}

}  // namespace

bool HasOtherRights(uid_t user) { return geteuid() == 0 && user != 0; }

base::Result<void> WithRightsOf(uid_t user, const std::function<void()>& work) {
  if (!HasOtherRights(user)) {
    work();
    return {};
  }
  const Groups groups = GroupsOf(user);
  bool taken = false;
  std::thread([&] {
    taken = TakeFileRights(user, groups);
    if (taken) work();
  }).join();
  if (taken) return {};
  return base::Error{"cannot take on the rights of user " + std::to_string(user)};
}

base::Result<void> WithoutCapabilities(uid_t user, const std::function<void()>& work) {
  bool taken = false;
  std::thread([&] {
    taken = (!HasOtherRights(user) || TakeFileRights(user, {})) && DropCapabilities();
    if (taken) work();
  }).join();
  if (taken) return {};
  return base::Error{"cannot give up rights for those of user " + std::to_string(user)};
}

}  // namespace rochound::launch
