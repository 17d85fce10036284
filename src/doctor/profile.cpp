// SPDX-License-Identifier: MIT
#include "doctor/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <system_error>

#include "base/files.h"
#include "base/hash.h"

namespace rochound::doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = "# Written by rochound doctor apply ";
constexpr std::string_view kFolder = "# Made with it: ";
constexpr std::string_view kSum = "# Checksum: ";

bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

// Of everything below its own line.
std::string Sum(std::string_view body) { return base::Hex64(base::Fnv1a64(body)); }

// Whether content is a profile as Apply wrote it.
bool Untouched(const std::string& content) {
  if (!StartsWith(content, kMark)) return false;
  const size_t at = content.find(kSum);
  const size_t end = at == std::string::npos ? at : content.find('\n', at);
  if (end == std::string::npos) return false;
  const std::string sum = content.substr(at + kSum.size(), end - at - kSum.size());
  return sum == Sum(content.substr(0, at) + content.substr(end + 1));
}

std::vector<fs::path> MissingFolders(const fs::path& file) {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path folder = file.parent_path(); !folder.empty() && !fs::exists(folder, error);
       folder = folder.parent_path())
    missing.insert(missing.begin(), folder);
  return missing;
}

std::string Content(const Setting& setting, const fs::path& file,
                    const std::vector<fs::path>& folders) {
  std::string head = fmt::format("{}{}\n", kMark, setting.name);
  for (const fs::path& folder : folders) head += fmt::format("{}{}\n", kFolder, folder.string());
  std::string body;
  const bool shell = file.extension() == ".sh";
  for (const auto& [name, value] : setting.variables) {
    // A file of environment.d is read by systemd and, as we advise, by a shell; quotes mean the
    // same to both.
    if (value)
      body += fmt::format("{}{}={}\n", shell ? "export " : "", name, ShellWord(*value));
    else if (shell)
      body += fmt::format("unset {}\n", name);
  }
  return head + fmt::format("{}{}\n", kSum, Sum(head + body)) + body;
}

}  // namespace

std::string ShellWord(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,+@%=";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  // Inside single quotes nothing is special to a shell but the quote itself.
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

fs::path ProfilePlace(const fs::path& config, const std::string& name) {
  return config / "environment.d" / fmt::format("60-rochound-{}.conf", name);
}

base::Result<Change> PlanApply(const Setting& setting, const fs::path& file) {
  if (setting.variables.empty())
    return base::Error{fmt::format("'{}' changes nothing, there is nothing to keep", setting.name)};
  if (file.string().find('\n') != std::string::npos)
    return base::Error{"a file with a line break in its name cannot be written down in it"};
  for (const auto& [name, value] : setting.variables) {
    if (!value && file.extension() != ".sh")
      return base::Error{
          fmt::format("environment.d cannot take {} out of the environment; write a "
                      "shell snippet instead: --to FILE.sh",
                      name)};
    if (value && value->find_first_of("\n$") != std::string::npos)
      return base::Error{
          fmt::format("the value of {} would be changed by whoever reads the file", name)};
    // systemd reads a quote that is quoted differently than a shell does.
    if (value && file.extension() != ".sh" && value->find('\'') != std::string::npos)
      return base::Error{fmt::format(
          "the value of {} has a quote, which environment.d and a shell read differently; write a "
          "shell snippet instead: --to FILE.sh",
          name)};
  }
  Change change;
  change.file = file;
  std::error_code error;
  if (fs::exists(fs::symlink_status(file, error))) {
    ROCHOUND_TRY(const std::string before, base::ReadFile(file));
    if (!Untouched(before))
      return base::Error{
          fmt::format("'{}' is not a profile of ours, or was edited; it stays as it "
                      "is. Choose another place with --to",
                      file.string())};
    // What was made the first time must be known to the second one, too.
    std::istringstream lines(before);
    for (std::string line; std::getline(lines, line);)
      if (StartsWith(line, kFolder)) change.folders.emplace_back(line.substr(kFolder.size()));
    change.content = Content(setting, file, change.folders);
    change.nothing = change.content == before;
    return change;
  }
  change.folders = MissingFolders(file);
  change.content = Content(setting, file, change.folders);
  return change;
}

base::Result<void> Apply(const Change& change) {
  if (change.nothing) return {};
  for (const fs::path& folder : change.folders) {
    std::error_code error;
    fs::create_directory(folder, error);
    if (error)
      return base::Error{fmt::format("cannot make '{}': {}", folder.string(), error.message())};
  }
  return base::WriteFileAtomically(change.file, change.content);
}

base::Result<Change> PlanUndo(const fs::path& file) {
  Change change;
  change.file = file;
  std::error_code error;
  if (!fs::exists(fs::symlink_status(file, error))) {
    change.nothing = true;
    return change;
  }
  ROCHOUND_TRY(change.content, base::ReadFile(file));
  if (!Untouched(change.content))
    return base::Error{
        fmt::format("'{}' is not a profile of ours, or was edited since; look at it "
                    "and remove it yourself",
                    file.string())};
  std::istringstream lines(change.content);
  for (std::string line; std::getline(lines, line);)
    if (StartsWith(line, kFolder)) change.folders.emplace_back(line.substr(kFolder.size()));
  return change;
}

base::Result<void> Undo(const Change& change) {
  if (change.nothing) return {};
  std::error_code error;
  if (!fs::remove(change.file, error) && error)
    return base::Error{
        fmt::format("cannot remove '{}': {}", change.file.string(), error.message())};
  // Innermost first. What somebody has put something into stays, and so does what is around it.
  for (auto folder = change.folders.rbegin(); folder != change.folders.rend(); ++folder)
    if (!fs::is_empty(*folder, error) || error || !fs::remove(*folder, error)) break;
  return {};
}

}  // namespace rochound::doctor
