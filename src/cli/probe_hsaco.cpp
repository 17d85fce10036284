// SPDX-License-Identifier: MIT
#include "cli/probe_hsaco.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <system_error>

#include "base/exit_codes.h"
#include "base/files.h"
#include "base/log.h"
#include "base/printable.h"
#include "launch/limited_run.h"
#include "launch/run_environment.h"
#include "probe/bitcode.h"

namespace rochound::cli {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;

constexpr std::chrono::minutes kLimit{30};

// Those whose plugins ours is: the compiler of ROCm 7.
Result<fs::path> FindClang(const std::string& asked) {
  std::vector<fs::path> places;
  if (!asked.empty()) {
    places = {asked};
  } else {
    for (const char* const name : {"HIP_CLANG_PATH", "ROCM_PATH"})
      if (const char* const value = getenv(name))
        places.push_back(fs::path(value) / (*name == 'H' ? "clang" : "llvm/bin/clang"));
    places.insert(places.end(), {"/opt/rocm/llvm/bin/clang", "/usr/lib/llvm-22/bin/clang"});
  }
  for (const fs::path& place : places)
    if (access(place.c_str(), X_OK) == 0) return place;
  return Error("no clang of ROCm 7 found; --clang names it");
}

Result<void> RunTool(const std::vector<std::string>& command) {
  ROCHOUND_TRY(const launch::LimitedRun run,
               launch::RunLimited(command, launch::Lines(launch::CurrentEnvironment()), kLimit));
  const std::string said = base::Printable(run.err, "\n");
  if (!run.ok()) return Error(fmt::format("{} {}: {}", command[0], run.End(), said));
  if (!said.empty()) base::LogWarning(said.substr(0, said.find_last_not_of('\n') + 1));
  return {};
}

class Compiler {
 public:
  Compiler(const ProbeHsacoOptions& options, fs::path clang)
      : options_(options), clang_(std::move(clang)) {}

  Result<void> Compile(const std::string& name, const std::vector<probe::Bitcode>& parts) {
    std::vector<std::string> files;
    for (const probe::Bitcode& part : parts) {
      files.push_back(Temporary(part.text ? "ll" : "bc"));
      ROCHOUND_CHECK(base::WriteFile(files.back(), part.bytes));
    }
    std::string all = files[0];
    if (files.size() > 1) {
      all = Temporary("bc");
      // Where the link of the compiler's is, not its own: /usr/bin has tools of another release.
      std::vector<std::string> link = {
          (fs::weakly_canonical(clang_).parent_path() / "llvm-link").string(), "-o", all};
      link.insert(link.end(), files.begin(), files.end());
      ROCHOUND_CHECK(RunTool(link));
    }
    const probe::Bitcode& first = parts[0];
    std::string file = fmt::format("{}-{}.hsaco", name, first.target);
    std::replace(file.begin(), file.end(), ':', '_');
    const fs::path made = options_.folder / file;
    // What no kernel calls is left out, as in a program: bitcode holds all of HIP's functions.
    ROCHOUND_CHECK(RunTool(
        {clang_.string(), "-target", "amdgcn-amd-amdhsa", "-mcpu=" + first.target, "-nogpulib",
         first.level, "-mllvm", "-amdgpu-internalize-symbols", "-Wno-override-module",
         "-fpass-plugin=" + options_.plugin.string(), "-x", "ir", all, "-o", made.string()}));
    base::LogInfo(fmt::format("{}", made.string()));
    return {};
  }

 private:
  std::string Temporary(const char* ending) {
    return (work_.path() / fmt::format("{}.{}", count_++, ending)).string();
  }

  class Folder {
   public:
    Folder() {
      std::string name = (fs::temp_directory_path() / "rochound-probe-XXXXXX").string();
      if (mkdtemp(name.data()) != nullptr) path_ = name;
    }
    ~Folder() {
      std::error_code ignored;
      if (!path_.empty()) fs::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    const fs::path& path() const { return path_; }

   private:
    fs::path path_;
  };

  const ProbeHsacoOptions& options_;
  const fs::path clang_;
  const Folder work_;
  int count_ = 0;
};

}  // namespace

int MakeProbedObjects(const ProbeHsacoOptions& options) {
  const auto clang = FindClang(options.clang);
  if (!clang.ok()) {
    base::LogError(clang.error().message);
    return base::kExitSetup;
  }
  std::error_code error;
  fs::create_directories(options.folder, error);
  if (error) {
    base::LogError(
        base::ErrnoError("cannot make the folder", options.folder, error.value()).message);
    return base::kExitSetup;
  }
  Compiler compiler(options, clang.value());
  size_t made = 0, failed = 0;
  const auto compile = [&](const std::string& name, const std::vector<probe::Bitcode>& parts) {
    const auto compiled = compiler.Compile(name, parts);
    compiled.ok() ? ++made : ++failed;
    if (!compiled.ok()) base::LogError(compiled.error().message);
  };
  std::map<std::string, std::vector<probe::Bitcode>> unlinked;  // by target
  std::string first_unlinked;
  for (const fs::path file : options.files) {
    auto found = probe::FindBitcode(file, options.target);
    if (!found.ok()) {
      ++failed;
      base::LogError(found.error().message);
      continue;
    }
    failed += found.value().without.size();
    for (const std::string& remark : found.value().without) base::LogError(remark);
    for (probe::Bitcode& module : found.value().modules) {
      if (!module.unlinked) {
        compile(file.filename(), {std::move(module)});
        continue;
      }
      if (first_unlinked.empty()) first_unlinked = file.filename();
      unlinked[module.target].push_back(std::move(module));
    }
  }
  for (const auto& [target, parts] : unlinked) compile(first_unlinked, parts);
  return made != 0 && failed == 0 ? base::kExitSuccess : base::kExitSetup;
}

}  // namespace rochound::cli
