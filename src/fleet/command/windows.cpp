// SPDX-License-Identifier: MIT
#include "fleet/command/windows.h"

#include <fmt/format.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <system_error>

#include "base/files.h"
#include "base/hash.h"
#include "fleet/storage/s3_object.h"

namespace rochound::fleet {
namespace {

namespace fs = std::filesystem;
using base::Result;
using nlohmann::json;

// Daemons' words become part of paths.
bool IsPlainName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

// Moves a window out of the storage; its folder.
Result<fs::path> Take(const json& window, const std::string& from, const fs::path& to) {
  const std::string place = window.value("folder", "");
  if (!place.starts_with(from + "/")) return base::Error{"a daemon wrote to another place"};
  const fs::path relative = place.substr(from.size() + 1);
  fs::path folder = to;
  for (const fs::path& part : relative) {
    if (!IsPlainName(part)) return base::Error{"a daemon named a wrong folder"};
    folder /= part;
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return base::ErrnoError("cannot make", folder, error.value());
  for (const json& file : window.value("files", json::array())) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (!IsPlainName(name)) return base::Error{"a daemon named a wrong file"};
    ROCHOUND_CHECK(GetObject(place + "/" + name, folder / name));
    ROCHOUND_CHECK(DeleteObject(place + "/" + name));
  }
  return folder;
}

}  // namespace

Result<Windows> FetchWindows(JobRequests& requests, const WindowRequest& request) {
  const fs::path folder = fs::absolute(request.output);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return base::ErrnoError("cannot make", folder, error.value());
  std::string place = folder;
  if (!request.by.empty()) {
    if (!IsObjectPath(request.by)) return base::Error{"--by is s3://BUCKET/PREFIX"};
    std::random_device random;
    place = request.by + "/" + base::Hex64(uint64_t{random()} << 32 | random());
  }
  ROCHOUND_TRY(const auto answers, requests.Ask({{"what", "window"},
                                                 {"job", request.job},
                                                 {"from_ns", request.from_ns},
                                                 {"to_ns", request.to_ns},
                                                 {"folder", place}}));
  Windows windows;
  size_t failed = 0;
  json all = json::array();
  for (const json& answer : answers.answers)
    for (json window : answer.value("windows", json::array())) {
      const std::string who = DescribeProcess(answer, window);
      window["host"] = answer.value("host", "");
      window["clock_error_ns"] = answer.value("clock_error_ns", int64_t{-1});
      if (!window.contains("error") && !request.by.empty()) {
        const auto taken = Take(window, place, folder);
        if (taken.ok())
          window["folder"] = taken.value().string();
        else
          window["error"] = taken.error().message;
      }
      all.push_back(window);
      if (window.contains("error")) {
        ++failed;
        windows.text += fmt::format("{}: {}\n", who, window.value("error", ""));
        continue;
      }
      windows.folders.push_back(fs::path(window.value("folder", "")).parent_path());
      windows.text +=
          fmt::format("{}: {} chunks, {} bytes in {}\n", who, window.value("chunks", uint64_t{0}),
                      window.value("bytes", uint64_t{0}), window.value("folder", ""));
      if (const uint64_t complete = window.value("complete_from_ns", uint64_t{0});
          complete > request.from_ns)
        windows.text += fmt::format("  not complete: records of its first {:.1f} s were recycled\n",
                                    static_cast<double>(complete - request.from_ns) * 1e-9);
    }
  windows.result = {{"job", request.job},
                    {"from_ns", request.from_ns},
                    {"to_ns", request.to_ns},
                    {"windows", all},
                    {"clock_error_ns", WorstClock(answers.answers)},
                    {"no_answer", SilentAsJson(answers)}};
  ROCHOUND_CHECK(base::WriteFileAtomically(
      folder / "window.json",
      windows.result.dump(1, ' ', false, json::error_handler_t::replace) + "\n"));
  std::sort(windows.folders.begin(), windows.folders.end());
  const std::string silent = DescribeSilent(answers);
  windows.text += DescribeClocks(answers.answers) + (silent.empty() ? "" : silent.substr(1) + "\n");
  windows.whole = !windows.folders.empty() && failed == 0 && answers.silent.empty();
  return windows;
}

Result<void> MergeWindows(const std::vector<std::string>& folders, const std::string& trace) {
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error);
  std::vector<std::string> words = {own.parent_path() / "rochound", "merge"};
  words.insert(words.end(), folders.begin(), folders.end());
  words.insert(words.end(), {"-o", trace});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  int status = posix_spawn(&child, arguments[0], nullptr, nullptr, arguments.data(), environ);
  if (status != 0) return base::ErrnoError("cannot start", words[0], status);
  if (waitpid(child, &status, 0) != child || status != 0)
    return base::Error{"rochound merge did not make " + trace + "; the windows are there"};
  return {};
}

}  // namespace rochound::fleet
