// SPDX-License-Identifier: MIT
#include "optimize/builder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <regex>
#include <sstream>

#include "base/files.h"
#include "launch/limited_run.h"
#include "optimize/confinement.h"

namespace rochound::optimize {
namespace {

namespace fs = std::filesystem;
using base::Result;

constexpr size_t kMostLog = 16384;
constexpr uint64_t kMostHeader = uint64_t{16} << 20;
// What a compiler needs of a system, and no more: what it reads can get into its messages, and from
// there to whoever wrote the source.
const std::vector<fs::path> kSystem = {"/usr",
                                       "/opt",
                                       "/bin",
                                       "/sbin",
                                       "/lib",
                                       "/lib64",
                                       "/etc/ld.so.cache",
                                       "/etc/ld.so.conf",
                                       "/etc/ld.so.conf.d",
                                       "/etc/alternatives"};

std::string Shortened(std::string text) {
  if (text.size() <= kMostLog) return text;
  text.resize(kMostLog);
  return text + "\n...\n";
}

}  // namespace

bool IsSource(const fs::path& path, std::string_view bytes) {
  const std::string ending = path.extension().string();
  for (const char* const known : {".hip", ".cpp", ".cc", ".cxx", ".cu", ".c"})
    if (ending == known) return true;
  return !bytes.starts_with(
             "\x7f"
             "ELF") &&
         !bytes.starts_with("__CLANG_OFFLOAD_BUNDLE__") && !bytes.starts_with("CCOB") &&
         bytes.find('\0') == std::string_view::npos;
}

std::vector<std::string> HarmlessEnvironment(const fs::path& folder) {
  std::vector<std::string> lines;
  for (char** line = environ; *line != nullptr; ++line) {
    const std::string_view whole = *line;
    std::string name(whole.substr(0, whole.find('=')));
    for (char& letter : name)
      letter = static_cast<char>(toupper(static_cast<unsigned char>(letter)));
    const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
    if (has("KEY") || has("TOKEN") || has("SECRET") || has("PASSW") || has("CREDENTIAL")) continue;
    if (name == "HOME" || name == "TMPDIR" || name == "XDG_RUNTIME_DIR" ||
        name == "XDG_CACHE_HOME" || name == "SOURCE_DATE_EPOCH")
      continue;
    lines.emplace_back(whole);
  }
  for (const char* const name : {"HOME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME"})
    lines.push_back(std::string(name) + "=" + folder.string());
  return lines;
}

std::vector<fs::path> HeadersOf(const fs::path& source) {
  constexpr size_t kMostHeaders = 256;
  static const std::regex kInclude("[ \\t]*#[ \\t]*include[ \\t]*\"([^\"]{1,500})\".*");
  std::vector<fs::path> files = {fs::absolute(source).lexically_normal()};
  for (size_t i = 0; i < files.size() && files.size() <= kMostHeaders; ++i) {
    const auto text = base::ReadFile(files[i], kMostHeader);
    if (!text.ok()) continue;
    std::istringstream lines(text.value());
    for (std::string line; std::getline(lines, line);) {
      std::smatch match;
      if (line.size() > 1000 || !std::regex_match(line, match, kInclude)) continue;
      const fs::path file = (files[i].parent_path() / match[1].str()).lexically_normal();
      std::error_code error;
      if (fs::is_regular_file(file, error) &&
          std::find(files.begin(), files.end(), file) == files.end())
        files.push_back(file);
    }
  }
  files.erase(files.begin());
  return files;
}

Result<Built> BuildTwice(const BuildRequest& request) {
  Built built;
  std::string objects[2];
  for (int round = 0; round < 2; ++round) {
    const fs::path folder = request.folder / fmt::format("build{}", round);
    const fs::path output = folder / "candidate.hsaco";
    std::error_code error;
    fs::remove_all(folder, error);
    fs::create_directories(folder, error);
    if (error) return base::ErrnoError("cannot create", folder, error.value());
    Limits limits;
    limits.writable = {folder};
    limits.readable = kSystem;
    limits.readable.push_back(folder);
    limits.readable.push_back(fs::absolute(request.source).parent_path());
    limits.readable.insert(limits.readable.end(), request.headers.begin(), request.headers.end());
    limits.memory_bytes = uint64_t{8} << 30;
    limits.cpu_seconds = static_cast<uint64_t>(request.limit_seconds) + 1;
    ROCHOUND_TRY(const Confinement confinement, Confinement::Prepare(limits));
    built.gaps = confinement.gaps();
    std::vector<std::string> command = {request.hipcc.string(), "--genco", "--no-gpu-bundle-output",
                                        "--offload-arch=" + request.target, "-cuid=candidate"};
    command.insert(command.end(), request.flags.begin(), request.flags.end());
    command.insert(command.end(),
                   {"-x", "hip", fs::absolute(request.source).string(), "-o", output.string()});
    std::vector<std::string> environment = HarmlessEnvironment(folder);
    // Two builds at two times, for code that asks for the time.
    environment.push_back(fmt::format("SOURCE_DATE_EPOCH={}", 1'000'000'000 + 40'000'000 * round));
    ROCHOUND_TRY(const launch::LimitedRun run,
                 launch::RunLimited(
                     command, environment,
                     std::chrono::milliseconds(static_cast<int64_t>(request.limit_seconds * 1000)),
                     {}, [&] { return confinement.Apply(); }));
    built.log = Shortened(run.err + run.out);
    auto object = base::ReadFile(output, uint64_t{64} << 20);
    if (!run.ok() || !object.ok()) {
      built.rejection = {
          Reason::kDoesNotBuild,
          fmt::format("the compiler {}", run.ok() ? object.error().message : run.End())};
      return built;
    }
    objects[round] = std::move(object).value();
  }
  if (objects[0] != objects[1]) {
    const size_t at = static_cast<size_t>(
        std::mismatch(objects[0].begin(),
                      objects[0].begin() +
                          static_cast<ptrdiff_t>(std::min(objects[0].size(), objects[1].size())),
                      objects[1].begin())
            .first -
        objects[0].begin());
    built.rejection = {
        Reason::kBuildsDifferently,
        fmt::format("two builds differ from byte {} on: a verdict about one would say "
                    "nothing about the other",
                    at)};
    return built;
  }
  built.ok = true;
  built.object = std::move(objects[0]);
  return built;
}

}  // namespace rochound::optimize
