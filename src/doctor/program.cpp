// SPDX-License-Identifier: MIT
#include "doctor/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include "codeobj/elf_view.h"
#include "codeobj/fat_binary.h"
#include "codeobj/target.h"
#include "doctor/hardware.h"
#include "doctor/mapped_file.h"

namespace rochound::doctor {
namespace {

// A library of the system that never holds GPU code; saves looking through them all.
bool MayHoldKernels(std::string_view bytes) {
  const auto elf = codeobj::ElfView::Open(bytes);
  if (!elf.ok()) return false;
  return std::any_of(elf.value().sections().begin(), elf.value().sections().end(),
                     [](const auto& section) { return section.name == ".hip_fatbin"; });
}

std::set<std::string> TargetsOf(const std::string& place) {
  std::set<std::string> targets;
  const MappedFile file(place);
  if (!MayHoldKernels(file.bytes())) return targets;
  const auto objects = codeobj::FindCodeObjects(file.bytes());
  if (!objects.ok()) return targets;
  for (const auto& object : objects.value()) targets.insert(object.target.Id());
  return targets;
}

// The GPU as programs see it: what the runtime says, or the driver.
std::vector<std::string> GpuTargets(const Machine& machine) {
  std::vector<std::string> targets;
  for (const RuntimeGpu& gpu : machine.runtimes.hip.gpus) targets.push_back(gpu.target);
  if (targets.empty())
    for (const RuntimeGpu& gpu : machine.runtimes.hsa.gpus) targets.push_back(gpu.target);
  if (targets.empty())
    for (const KfdGpu& gpu : machine.kfd) targets.push_back(gpu.target());
  return targets;
}

bool Fits(const std::string& code, const std::string& gpu) {
  const auto of_code = codeobj::ParseTarget(code);
  const auto of_gpu = codeobj::ParseTarget(gpu);
  return of_code.ok() && of_gpu.ok() && codeobj::RunsOn(of_code.value(), of_gpu.value());
}

std::string IsaRemedy(const std::string& gpu, const std::set<std::string>& code, bool torch) {
  const std::string processor = gpu.substr(0, gpu.find(':'));
  std::string remedy =
      torch ? fmt::format("install a build that has {}, or build it with PYTORCH_ROCM_ARCH={}",
                          processor, processor)
            : fmt::format("compile it with --offload-arch={}", processor);
  const KnownTarget* known = FindKnownTarget(processor);
  if (known == nullptr || *known->nearest == '\0') return remedy;
  const std::string nearest = known->nearest;
  if (!code.contains(nearest)) return remedy;
  const std::string digits = nearest.substr(3);
  return remedy + fmt::format(
                      "; or, since {} has the same instructions, run it with "
                      "HSA_OVERRIDE_GFX_VERSION={}.{}.{}",
                      nearest, digits.substr(0, digits.size() - 2), digits[digits.size() - 2],
                      digits.back());
}

// file -> targets; says which GPUs none of it runs on.
void JudgeTargets(const Machine& machine, const std::string& what,
                  const std::map<std::string, std::set<std::string>>& files, bool torch,
                  Report* report) {
  std::set<std::string> all;
  std::vector<std::string> evidence;
  for (const auto& [path, targets] : files) {
    all.insert(targets.begin(), targets.end());
    evidence.push_back(fmt::format("{} has code for {}", path, fmt::join(targets, ", ")));
  }
  if (all.empty()) return;
  std::set<std::string> unfit;
  for (const std::string& gpu : GpuTargets(machine)) {
    const bool fits = std::any_of(all.begin(), all.end(),
                                  [&](const std::string& code) { return Fits(code, gpu); });
    if (fits || !unfit.insert(gpu).second) continue;
    report->findings.push_back(
        {Severity::kError, "wrong-isa",
         fmt::format("{} has no code for the GPU here ({}), only for {}: its kernels cannot start "
                     "(\"no kernel image\", \"invalid device function\")",
                     what, gpu, fmt::join(all, ", ")),
         IsaRemedy(gpu, all, torch), evidence});
  }
  if (unfit.empty() && !machine.kfd.empty()) {
    report->findings.push_back({Severity::kOk, "isa-fits",
                                fmt::format("{} has code for the GPUs here", what), "", evidence});
  }
}

// Why a file can be neither a program nor a script; empty: it may be one.
std::string WhyNoProgram(const std::string& place) {
  std::error_code error;
  if (std::filesystem::is_directory(place, error)) return "it is a folder";
  const MappedFile file(place);
  const std::string_view bytes = file.bytes();
  if (bytes.empty()) return "it is empty";
  if (bytes.starts_with("\x7f"
                        "ELF"))
    if (const auto elf = codeobj::ElfView::Open(bytes); !elf.ok())
      return "it is a damaged ELF file, " + elf.error().message;
  return {};
}

}  // namespace

std::string UnfitCode(const std::string& program, const std::vector<std::string>& gpus) {
  const std::set<std::string> code = TargetsOf(program);
  if (code.empty() || gpus.empty()) return {};
  for (const std::string& one : code)
    if (std::any_of(gpus.begin(), gpus.end(), [&](const auto& gpu) { return Fits(one, gpu); }))
      return {};
  return fmt::format("code for {}, and none for {}", fmt::join(code, ", "), fmt::join(gpus, ", "));
}

void JudgeProgram(const Machine& machine, const Loader& loader, const std::string& path,
                  Report* report) {
  const Sysroot& root = machine.root;
  if (!ReadLoaderFacts(root, path)) {
    const std::string problem = WhyNoProgram(root.Place(path));
    if (!problem.empty()) {
      report->findings.push_back({Severity::kError,
                                  "not-a-program",
                                  fmt::format("{} cannot be run: {}", path, problem),
                                  "name the program itself; build or copy it again if it should be "
                                  "one",
                                  {}});
      return;
    }
    report->findings.push_back(
        {Severity::kNote,
         "not-elf",
         fmt::format("{} is a script or not a program for this machine; only its interpreter could "
                     "be looked at",
                     path),
         "name the program that it starts, or use --python",
         {}});
    return;
  }
  std::map<std::string, std::set<std::string>> targets;
  std::map<std::string, std::vector<std::string>> hips;  // file -> who needs it
  for (const Loader::Loaded& library : loader.Closure(path)) {
    if (library.path.empty()) {
      report->findings.push_back(
          {Severity::kError,
           "library-not-found",
           fmt::format("{} needs {}, which the loader does not find", library.by, library.soname),
           "install the package that has it, or add its folder to LD_LIBRARY_PATH",
           {}});
      continue;
    }
    if (library.soname.rfind("libamdhip64.so", 0) == 0)
      hips[root.Resolve(library.path)].push_back(library.by);
    if (auto found = TargetsOf(root.Place(library.path)); !found.empty())
      targets[library.path] = std::move(found);
  }
  if (hips.size() > 1) {
    std::vector<std::string> evidence;
    for (const auto& [file, by] : hips)
      evidence.push_back(fmt::format("{} is needed by {}", file, fmt::join(by, ", ")));
    report->findings.push_back(
        {Severity::kError, "two-hips",
         fmt::format("{} would load {} different HIP runtimes into one process; pointers and "
                     "streams of one mean nothing to the other",
                     path, hips.size()),
         "build all parts with the same ROCm", std::move(evidence)});
  }
  for (const auto& [file, by] : hips)
    report->findings.push_back(
        {Severity::kOk, "program-hip", fmt::format("{} loads {}", path, file), "", {}});
  JudgeTargets(machine, path, targets, false, report);
}

Torch ReadTorch(const Sysroot& root, const std::string& folder) {
  Torch torch;
  torch.folder = folder;
  std::istringstream lines(root.Read(folder + "/version.py").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    // hip: Optional[str] = '6.2.41134'
    const size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = line.substr(0, line.find_first_of(":= "));
    const size_t open = line.find_first_of("'\"", equals);
    const size_t close = open == std::string::npos ? open : line.find(line[open], open + 1);
    if (close == std::string::npos) continue;
    const std::string value = line.substr(open + 1, close - open - 1);
    if (name == "__version__") torch.version = value;
    if (name == "hip") torch.hip = value;
    if (name == "cuda") torch.cuda = value;
  }
  return torch;
}

void JudgeTorch(const Machine& machine, const Loader& loader, const std::string& python,
                const Torch& torch, Report* report) {
  const Sysroot& root = machine.root;
  const std::string what = fmt::format("torch {} of {}", torch.version, python);
  const bool gpu = !machine.kfd.empty();
  const std::string install =
      "install the ROCm build: pip install torch --index-url "
      "https://download.pytorch.org/whl/rocmX.Y, with X.Y as pytorch.org offers it";
  if (!torch.cuda.empty()) {
    report->findings.push_back(
        {Severity::kError,
         "torch-cuda",
         fmt::format("{} was built for CUDA {}, not for HIP: on an AMD GPU it runs on the CPU, or "
                     "through a CUDA layer such as ZLUDA",
                     what, torch.cuda),
         install,
         {fmt::format("{}/version.py: cuda = '{}'", torch.folder, torch.cuda)}});
    return;
  }
  if (torch.hip.empty()) {
    report->findings.push_back(
        {gpu ? Severity::kError : Severity::kWarning,
         "torch-no-hip",
         fmt::format("this torch has no HIP: {} is a CPU build. torch.cuda.is_available() is False "
                     "with it whatever the GPU, the driver and the environment",
                     what),
         install,
         {fmt::format("{}/version.py: hip = None, cuda = None", torch.folder)}});
    return;
  }
  report->findings.push_back({Severity::kOk,
                              "torch-hip",
                              fmt::format("{} was built for HIP {}", what, torch.hip),
                              "",
                              {torch.folder}});
  std::map<std::string, std::set<std::string>> targets;
  for (const std::string& name : root.List(torch.folder + "/lib")) {
    const std::string path = torch.folder + "/lib/" + name;
    if (name.rfind("libtorch_hip", 0) != 0) continue;
    if (auto found = TargetsOf(root.Place(path)); !found.empty()) targets[path] = std::move(found);
  }
  JudgeTargets(machine, what, targets, true, report);
  // Inside torch's wheel, or in the one of ROCm itself that newer wheels of torch depend on.
  const std::string packages = torch.folder.substr(0, torch.folder.rfind('/'));
  std::set<std::string> seen;
  for (const std::string& folder : {torch.folder + "/lib", packages + "/_rocm_sdk_core/lib"}) {
    for (const std::string& name : root.List(folder)) {
      if (name.rfind("libamdhip64.so", 0) != 0) continue;
      const std::string own = root.Resolve(folder + "/" + name);
      const auto facts = ReadLoaderFacts(root, own);
      if (!facts || !seen.insert(own).second) continue;
      const std::string system =
          loader.Find(facts->soname.empty() ? "libamdhip64.so" : facts->soname);
      if (system.empty() || root.Resolve(system) == own) continue;
      report->findings.push_back(
          {Severity::kNote,
           "torch-own-hip",
           fmt::format("{} brings its own HIP runtime; the system's {} is another one", what,
                       root.Resolve(system)),
           "extensions must be built against the wheel's ROCm version, and LD_LIBRARY_PATH must "
           "not "
           "point to the system's",
           {own, root.Resolve(system)}});
    }
  }
}

}  // namespace rochound::doctor
