// SPDX-License-Identifier: MIT
#include "launch/process_tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <sstream>
#include <string_view>

#include "base/files.h"
#include "base/printable.h"
#include "base/process_stat.h"

namespace rochound::launch {
namespace {

std::string ProcFile(pid_t process, const char* name) {
  return "/proc/" + std::to_string(process) + "/" + name;
}

std::string Read(pid_t process, const char* name) {
  auto text = base::ReadFile(ProcFile(process, name));
  return text.ok() ? std::move(text).value() : std::string();
}

pid_t Number(std::string_view text) {
  pid_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? number : 0;
}

pid_t Parent(pid_t process) {
  const auto stat = base::ReadProcessStat(process);
  return stat ? stat->parent : 0;
}

// As the kernel lists them, per thread; false: this kernel does not.
bool AppendChildren(pid_t process, std::vector<pid_t>* children) {
  bool listed = false;
  std::error_code error;
  for (std::filesystem::directory_iterator it(ProcFile(process, "task"), error), end;
       !error && it != end; it.increment(error)) {
    const auto text = base::ReadFile(it->path() / "children");
    if (!text.ok()) continue;
    listed = true;
    std::istringstream words(text.value());
    for (pid_t child = 0; words >> child;) children->push_back(child);
  }
  return listed;
}

}  // namespace

std::vector<pid_t> ProcessTree(pid_t root) {
  if (!ProcessExists(root)) return {};
  std::vector<pid_t> listed = {root};
  if (AppendChildren(root, &listed)) {
    for (size_t at = 1; at < listed.size(); ++at) AppendChildren(listed[at], &listed);
    return listed;
  }
  std::multimap<pid_t, pid_t> children;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (const pid_t process = Number(name); process > 0) children.emplace(Parent(process), process);
  }
  std::vector<pid_t> tree = {root};
  for (size_t at = 0; at < tree.size(); ++at) {
    const auto [first, last] = children.equal_range(tree[at]);
    for (auto child = first; child != last; ++child)
      if (std::find(tree.begin(), tree.end(), child->second) == tree.end())
        tree.push_back(child->second);
  }
  return tree;
}

bool ProcessExists(pid_t process) { return ProcessUser(process).has_value(); }

std::string ProcessCommand(pid_t process) {
  std::string text = Read(process, "cmdline");
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  if (!text.empty()) return base::Printable(text);
  text = Read(process, "comm");
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? text : "[" + base::Printable(text) + "]";
}

std::optional<uid_t> ProcessUser(pid_t process) {
  struct stat found{};
  if (process <= 0 || stat(("/proc/" + std::to_string(process)).c_str(), &found) != 0) return {};
  return found.st_uid;
}

std::optional<uid_t> EffectiveUser(pid_t process) {
  if (!ProcessExists(process)) return {};
  // Uid: real, effective, saved, and that of files.
  const std::string text = Read(process, "status");
  const size_t at = text.find("\nUid:");
  if (at == std::string::npos) return {};
  std::istringstream words(text.substr(at + 5));
  uid_t real = 0, effective = 0;
  if (!(words >> real >> effective)) return {};
  return effective;
}

std::optional<std::string> ProcessVariable(pid_t process, const std::string& name) {
  const std::string text = Read(process, "environ");
  const std::string start = name + "=";
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\0', at), text.size());
    if (text.compare(at, start.size(), start) == 0)
      return text.substr(at + start.size(), end - at - start.size());
    at = end + 1;
  }
  return {};
}

}  // namespace rochound::launch
