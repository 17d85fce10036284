// SPDX-License-Identifier: MIT
#include "doctor/machine_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "doctor/gpu_facts.h"

namespace rochound::doctor {
namespace {

// One GPU of a runtime: by KFD's node where it is told, then by the PCI address, each taken once.
const RuntimeGpu* Take(const std::vector<RuntimeGpu>& gpus, const KfdGpu& kfd,
                       std::vector<bool>* taken) {
  taken->resize(gpus.size());
  const auto take = [&](auto&& fits) -> const RuntimeGpu* {
    for (size_t i = 0; i < gpus.size(); ++i) {
      if ((*taken)[i] || !fits(gpus[i])) continue;
      (*taken)[i] = true;
      return &gpus[i];
    }
    return nullptr;
  };
  const auto same_slot = [&](const RuntimeGpu& gpu) {
    // HIP knows no function number, by which partitions differ.
    const std::string pci = kfd.pci();
    return gpu.pci.substr(0, gpu.pci.rfind('.')) == pci.substr(0, pci.rfind('.'));
  };
  if (const auto* found =
          take([&](const RuntimeGpu& gpu) { return gpu.node == static_cast<uint64_t>(kfd.node); }))
    return found;
  return take([&](const RuntimeGpu& gpu) { return !gpu.node && same_slot(gpu); });
}

std::string Mask(const Environment& environment) {
  std::string text;
  for (const char* name : {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",
                           "GPU_DEVICE_ORDINAL"}) {
    const auto found = environment.find(name);
    if (found == environment.end()) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, found->second);
  }
  return text;
}

void CountGpus(const Machine& machine, Report* report) {
  Fact fact{"GPUs", {}, Verdict::kAgree, ""};
  fact.said.push_back({"KFD", std::to_string(machine.kfd.size())});
  fact.said.push_back({"DRM", std::to_string(machine.drm.size())});
  bool differ = false;
  for (const auto& [name, runtime] :
       {std::pair("HSA", &machine.runtimes.hsa), std::pair("HIP", &machine.runtimes.hip)}) {
    if (!runtime->asked || runtime->missing) continue;
    fact.said.push_back({name, std::to_string(runtime->gpus.size())});
    differ |= runtime->gpus.size() != machine.kfd.size();
  }
  const std::string mask = Mask(machine.environment);
  if (differ && !mask.empty()) {
    fact.verdict = Verdict::kExplained;
    fact.why = fmt::format(
        "{} GPUs are there, and programs see fewer because of {}. Without it they see all.",
        machine.kfd.size(), mask);
  } else if (differ) {
    fact.verdict = Verdict::kWrong;
    const auto& hsa = machine.runtimes.hsa;
    const auto& hip = machine.runtimes.hip;
    fact.why =
        fmt::format("the driver shows {}, but not every runtime sees {}.{}{}",
                    machine.kfd.size() == 1 ? "1 GPU" : fmt::format("{} GPUs", machine.kfd.size()),
                    machine.kfd.size() == 1 ? "it" : "them",
                    hsa.error.empty() ? "" : " HSA: " + hsa.error + ".",
                    hip.error.empty() ? "" : " HIP: " + hip.error + ".");
    report->findings.push_back(
        {Severity::kError,
         "gpus-not-seen",
         "GPUs: " + fact.why,
         "look at the findings about permissions and libraries; then run with "
         "AMD_LOG_LEVEL=3 to see where HIP stops",
         {}});
  } else if (!machine.drm.empty() && machine.drm.size() < machine.kfd.size()) {
    fact.verdict = Verdict::kExplained;
    fact.why = "partitions of one GPU share its PCI device, which DRM shows once.";
  }
  report->machine.push_back(std::move(fact));
}

void Drivers(const Machine& machine, Report* report) {
  const auto add = [&](const char* name, const char* source, const std::string& value) {
    if (!value.empty()) report->machine.push_back({name, {{source, value}}, Verdict::kAgree, ""});
  };
  add("kernel", "Linux", machine.root.ReadLine("/proc/sys/kernel/osrelease").value_or(""));
  add("amdgpu driver", "module",
      machine.root.ReadLine("/sys/module/amdgpu/version")
          .value_or(machine.root.Exists("/sys/module/amdgpu") ? "the kernel's own" : ""));
  const auto& runtimes = machine.runtimes;
  add("HSA runtime", "HSA", runtimes.hsa.version);
  add("HIP runtime", "HIP", runtimes.hip.version);
  add("amd-smi", "amd-smi",
      !runtimes.smi.asked           ? "not installed"
      : !runtimes.smi.error.empty() ? runtimes.smi.error
                                    : fmt::format("{} GPU{}", runtimes.smi.gpus.size(),
                                                  runtimes.smi.gpus.size() == 1 ? "" : "s"));
}

}  // namespace

std::string Variable(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

void JudgeFacts(const Machine& machine, Report* report) {
  std::vector<bool> hsa_taken, hip_taken, bare_taken, smi_taken;
  const std::string mask = Mask(machine.environment);
  for (const KfdGpu& kfd : machine.kfd) {
    GpuSources sources;
    sources.kfd = &kfd;
    for (const DrmGpu& drm : machine.drm) {
      if (static_cast<uint64_t>(drm.render_minor) == kfd.Get("drm_render_minor"))
        sources.drm = &drm;
    }
    for (const DrmGpu& drm : machine.drm)
      if (sources.drm == nullptr && !drm.pci.empty() && drm.pci == kfd.pci()) sources.drm = &drm;
    sources.hsa = Take(machine.runtimes.hsa.gpus, kfd, &hsa_taken);
    sources.hip = Take(machine.runtimes.hip.gpus, kfd, &hip_taken);
    sources.hip_without_wgp = Take(machine.runtimes.hip_without_wgp.gpus, kfd, &bare_taken);
    sources.smi = Take(machine.runtimes.smi.gpus, kfd, &smi_taken);
    report->gpus.push_back(JudgeGpu(machine, sources, report));
    if (sources.hip == nullptr && machine.runtimes.hip.asked && !mask.empty()) {
      report->gpus.back().explanations.push_back(
          fmt::format("HIP does not see this GPU because of {}.", mask));
    }
  }
  CountGpus(machine, report);
  Drivers(machine, report);
}

}  // namespace rochound::doctor
