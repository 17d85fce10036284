// SPDX-License-Identifier: MIT
#include "doctor/kernel_libraries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "doctor/hardware.h"
#include "doctor/variables.h"

namespace rochound::doctor {
namespace {

struct Known {
  const char* name;
  const char* folder;    // below a lib or share folder; * stands for a version
  const char* variable;  // that names another folder
  bool compiles;
};

constexpr Known kKnown[] = {
    {"rocBLAS", "lib/rocblas/library", "ROCBLAS_TENSILE_LIBPATH", false},
    {"rocBLAS", "lib/rocblas/*/library", "", false},
    {"hipBLASLt", "lib/hipblaslt/library", "HIPBLASLT_TENSILE_LIBPATH", false},
    {"hipBLASLt", "lib/hipblaslt/*/library", "", false},
    {"MIOpen", "share/miopen/db", "MIOPEN_SYSTEM_DB_PATH", true},
};

// gfx1030 in TensileLibrary_gfx1030.co; empty: it names none. MIOpen writes the number of compute
// units right after the target, so a target that is known counts first.
std::string TargetIn(std::string_view name) {
  const size_t at = name.find("gfx");
  if (at == std::string_view::npos) return {};
  const std::string_view rest = name.substr(at);
  std::string_view best;
  for (const KnownTarget& known : KnownTargets())
    if (rest.starts_with(known.target) && best.size() < std::string_view(known.target).size())
      best = known.target;
  if (!best.empty()) return std::string(best);
  size_t end = 3;
  while (end < rest.size() && isxdigit(static_cast<unsigned char>(rest[end])) != 0) ++end;
  return end > 5 ? std::string(rest.substr(0, end)) : std::string();
}

std::vector<std::string> Expand(const Sysroot& root, const std::string& pattern) {
  const size_t star = pattern.find("/*");
  if (star == std::string::npos)
    return root.IsFolder(pattern) ? std::vector<std::string>{pattern} : std::vector<std::string>();
  std::vector<std::string> found;
  for (const std::string& name : root.List(pattern.substr(0, star))) {
    const std::string folder = pattern.substr(0, star + 1) + name + pattern.substr(star + 2);
    if (root.IsFolder(folder)) found.push_back(folder);
  }
  return found;
}

std::vector<std::string> FoldersOf(const Sysroot& root, const Known& known) {
  std::vector<std::string> starts = {"/usr/"};
  for (const std::string& name : root.List("/opt"))
    if (name.starts_with("rocm")) starts.push_back("/opt/" + name + "/");
  std::vector<std::string> folders;
  for (const std::string& start : starts) {
    std::vector<std::string> patterns = {start + known.folder};
    if (std::string_view(known.folder).starts_with("lib/"))
      patterns.push_back(start + "lib/x86_64-linux-gnu/" + (known.folder + 4));
    for (const std::string& pattern : patterns)
      for (const std::string& folder : Expand(root, pattern)) folders.push_back(folder);
  }
  return folders;
}

// Newer releases have a folder for each target.
void AddTargets(const Sysroot& root, const std::string& folder, int depth,
                std::set<std::string>* targets) {
  for (const std::string& name : root.List(folder)) {
    if (const std::string target = TargetIn(name); !target.empty())
      targets->insert(target);
    else if (depth < 1 && root.IsFolder(folder + "/" + name))
      AddTargets(root, folder + "/" + name, depth + 1, targets);
  }
}

}  // namespace

std::vector<KernelLibrary> FindKernelLibraries(const Sysroot& root,
                                               const Environment& environment) {
  std::vector<KernelLibrary> libraries;
  for (const Known& known : kKnown) {
    std::vector<std::string> folders = FoldersOf(root, known);
    const auto named = environment.find(known.variable);
    if (named != environment.end() && root.IsFolder(named->second)) folders = {named->second};
    for (const std::string& folder : folders) {
      const std::string real = root.Resolve(folder);
      if (std::any_of(libraries.begin(), libraries.end(),
                      [&](const KernelLibrary& other) { return other.folder == real; }))
        continue;
      KernelLibrary library{known.name, real, {}, known.compiles};
      AddTargets(root, folder, 0, &library.targets);
      if (!library.targets.empty()) libraries.push_back(std::move(library));
    }
  }
  return libraries;
}

std::vector<const KernelLibrary*> LibrariesWithout(const std::vector<KernelLibrary>& libraries,
                                                   const std::string& target) {
  std::vector<const KernelLibrary*> without;
  for (const KernelLibrary& library : libraries) {
    const auto has = [&](const KernelLibrary& other) {
      return other.name == library.name && other.targets.contains(target);
    };
    if (std::none_of(libraries.begin(), libraries.end(), has)) without.push_back(&library);
  }
  return without;
}

std::string LacksTarget(const KernelLibrary& library, const std::string& target) {
  return fmt::format("{} in {} has {} for {}, only for {}", library.name, library.folder,
                     library.compiles ? "nothing tuned" : "no kernels", target,
                     fmt::join(library.targets, ", "));
}

void JudgeKernelLibraries(const Machine& machine, Report* report) {
  const std::vector<KernelLibrary> libraries =
      FindKernelLibraries(machine.root, machine.environment);
  std::set<std::string> targets;
  for (const KfdGpu& gpu : machine.kfd) targets.insert(gpu.target());
  // Libraries go by what the runtime calls the GPU.
  const std::string pretended = OverriddenTarget(machine.environment);
  if (!pretended.empty() && !targets.empty()) targets = {pretended};
  for (const std::string& target : targets) {
    const KnownTarget* const known = FindKnownTarget(target);
    for (const KernelLibrary* library : LibrariesWithout(libraries, target)) {
      const bool nearest = known != nullptr && library->targets.contains(known->nearest);
      report->findings.push_back(
          {library->name == "rocBLAS" ? Severity::kWarning : Severity::kNote,
           "kernels-missing",
           LacksTarget(*library, target),
           nearest ? fmt::format("HSA_OVERRIDE_GFX_VERSION with the version of {} makes it use "
                                 "those: the two have the same instructions",
                                 known->nearest)
                   : fmt::format("use a build of {} for {}; programs that need it fail or take "
                                 "another way",
                                 library->name, target),
           {}});
    }
  }
}

}  // namespace rochound::doctor
