// SPDX-License-Identifier: MIT
#include "doctor/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>
#include <sstream>

#include "doctor/hardware.h"

namespace rochound::doctor {
namespace {

// 10.3.0 for gfx1030.
std::string DottedVersion(const std::string& target) {
  const std::string digits = target.substr(3);
  return fmt::format("{}.{}.{}", digits.substr(0, digits.size() - 2), digits[digits.size() - 2],
                     digits.back());
}

bool IsName(const std::string& name) {
  return !name.empty() && isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return isalnum(c) != 0 || c == '_'; });
}

}  // namespace

std::string Setting::Text() const {
  std::string text;
  for (const auto& [name, value] : variables) {
    if (!text.empty()) text += ' ';
    text += value ? fmt::format("{}={}", name, *value) : "-" + name;
  }
  return text.empty() ? "as it is" : text;
}

void Setting::ApplyTo(Environment* environment) const {
  for (const auto& [name, value] : variables) {
    if (value)
      (*environment)[name] = *value;
    else
      environment->erase(name);
  }
}

std::vector<Setting> BuiltInSettings(const Machine& machine) {
  bool rdna = machine.kfd.empty();
  bool xnack = machine.kfd.empty();
  std::set<std::string> nearest;
  for (const KfdGpu& gpu : machine.kfd) {
    const KnownTarget* target = FindKnownTarget(gpu.target());
    if (target == nullptr) continue;
    rdna |= target->wgp;
    xnack |= !target->wgp;
    if (*target->nearest != '\0') nearest.insert(target->nearest);
  }
  std::vector<Setting> settings = {
      {"as-it-is", {}, "nothing changed"},
      {"no-sdma", {{"HSA_ENABLE_SDMA", "0"}}, "copies by kernels instead of the copy engines"},
      {"no-svm", {{"HSA_USE_SVM", "0"}}, "no shared virtual memory"},
      {"xnack-off", {{"HSA_XNACK", "0"}}, "page faults of the GPU are not retried"},
  };
  if (xnack) settings.push_back({"xnack-on", {{"HSA_XNACK", "1"}}, "page faults are retried"});
  if (rdna)
    settings.push_back({"cu-mode",
                        {{"GPU_ENABLE_WGP_MODE", "0"}},
                        "workgroups stay on one compute unit; HIP counts compute units"});
  for (const std::string& target : nearest)
    settings.push_back({"as-" + target,
                        {{"HSA_OVERRIDE_GFX_VERSION", DottedVersion(target)}},
                        "run code built for " + target + ", which has the same instructions"});
  if (!Variable(machine.environment, "HSA_OVERRIDE_GFX_VERSION").empty())
    settings.push_back({"no-override",
                        {{"HSA_OVERRIDE_GFX_VERSION", std::nullopt}},
                        "the GPU under its own name"});
  const std::vector<Setting> more = {
      {"no-fragments",
       {{"HSA_DISABLE_FRAGMENT_ALLOCATOR", "1"}},
       "each allocation of the runtime is alone"},
      {"fine-grain-pcie", {{"HSA_FORCE_FINE_GRAIN_PCIE", "1"}}, "fine-grained memory over PCIe"},
      {"no-interrupts", {{"HSA_ENABLE_INTERRUPT", "0"}}, "waiting polls instead of sleeping"},
      {"one-at-a-time",
       {{"AMD_SERIALIZE_KERNEL", "3"}, {"AMD_SERIALIZE_COPY", "3"}},
       "kernels and copies one after the other: if only this works, the program lacks a wait"},
      {"torch-no-cache",
       {{"PYTORCH_NO_HIP_MEMORY_CACHING", "1"}, {"PYTORCH_NO_CUDA_MEMORY_CACHING", "1"}},
       "PyTorch gives memory back at once, so that use after free shows"},
      {"torch-expandable",
       {{"PYTORCH_HIP_ALLOC_CONF", "expandable_segments:True"}},
       "PyTorch's allocator grows its segments"},
      {"careful",
       {{"HSA_ENABLE_SDMA", "0"},
        {"HSA_USE_SVM", "0"},
        {"HSA_XNACK", "0"},
        {"AMD_SERIALIZE_KERNEL", "3"},
        {"AMD_SERIALIZE_COPY", "3"}},
       "all that is slow and safe, together"}};
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

base::Result<std::vector<Setting>> ParseSettings(const std::string& text) {
  std::vector<Setting> settings = {{"as-it-is", {}, "nothing changed"}};
  std::istringstream lines(text);
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    line.resize(std::min(line.find('#'), line.size()));
    Setting setting;
    // A colon in a value (expandable_segments:True) does not end a name: there is no = before it.
    const size_t colon = line.find(':');
    if (colon != std::string::npos && colon < line.find('=')) {
      std::istringstream(line.substr(0, colon)) >> setting.name;
      line.erase(0, colon + 1);
    }
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      const bool unset = word[0] == '-';
      const std::string name = unset ? word.substr(1) : word.substr(0, equals);
      if (!IsName(name) || (!unset && equals == std::string::npos)) {
        return base::Error{fmt::format(
            "line {}: '{}' is neither VARIABLE=value nor -VARIABLE; a line looks like this: "
            "no-sdma: HSA_ENABLE_SDMA=0",
            number, word)};
      }
      setting.variables.emplace_back(name,
                                     unset ? std::nullopt : std::optional(word.substr(equals + 1)));
    }
    if (setting.variables.empty()) {
      if (setting.name.empty()) continue;
      return base::Error{fmt::format("line {}: '{}' sets nothing", number, setting.name)};
    }
    if (setting.name.empty()) setting.name = setting.Text();
    for (const Setting& other : settings)
      if (other.name == setting.name)
        return base::Error{fmt::format("line {}: '{}' is there twice", number, setting.name)};
    settings.push_back(std::move(setting));
  }
  if (settings.size() == 1) return base::Error{"there is no setting in it"};
  return settings;
}

namespace {

// What is between the quotes of GRUB_CMDLINE_LINUX_DEFAULT now, in the last line that sets it.
std::string GrubParameters(const std::string& file) {
  static const std::regex kLine(R"(^\s*GRUB_CMDLINE_LINUX_DEFAULT=["']?([^"']*)["']?)");
  std::string parameters;
  std::istringstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_search(line, match, kLine)) parameters = match[1];
  }
  return parameters;
}

}  // namespace

BootAdvice AdviseBootParameters(const Machine& machine) {
  BootAdvice advice;
  const std::string command_line = machine.root.ReadLine("/proc/cmdline").value_or("");
  const auto add = [&](const char* parameter, const char* about, const char* sure) {
    const std::string name = std::string(parameter).substr(0, std::string(parameter).find('=') + 1);
    if (command_line.find(name) == std::string::npos)
      advice.parameters.push_back({parameter, about, sure});
  };
  add("amdgpu.noretry=0", "retries page faults of the GPU instead of failing at once",
      "not sure: users report that it helped on RDNA 1 and 2; we know of no explanation, and it "
      "can "
      "turn a fault into a hang");
  add("amdgpu.vm_fragment_size=9", "maps GPU memory in pieces of 2 MiB",
      "not sure: reported together with noretry; it changes speed, and should not change "
      "correctness");
  if (machine.kfd.size() > 1) {
    add("iommu=pt", "lets the GPUs' accesses pass the IOMMU untranslated",
        "fairly sure where GPUs copy to each other: AMD's installation guide asks for it");
  }
  const auto grub = machine.root.Read("/etc/default/grub");
  if (advice.parameters.empty() || !grub) return advice;
  std::string all = GrubParameters(*grub);
  for (const BootSuggestion& one : advice.parameters)
    all += (all.empty() ? "" : " ") + one.parameter;
  advice.grub_line = "GRUB_CMDLINE_LINUX_DEFAULT=\"" + all + "\"";
  return advice;
}

}  // namespace rochound::doctor
