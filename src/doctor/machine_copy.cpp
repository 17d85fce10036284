// SPDX-License-Identifier: MIT
#include "doctor/machine_copy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace rochound::doctor {
namespace {

// Boot parameters that are about GPUs; others may name disks and machines.
constexpr std::string_view kParameters[] = {
    "amdgpu.", "iommu=", "amd_iommu=", "intel_iommu=", "nomodeset", "modprobe.blacklist=amdgpu"};
// Stands for GPU-<unique id>, which variables and messages name: it is the serial number of a card.
constexpr const char* kHiddenIdentity = "GPU-0000";
constexpr std::string_view kVariables[] = {"HSA_",  "HIP_",  "ROCR_", "GPU_",   "AMD_",
                                           "ROCM_", "ROCP_", "HCC_",  "MIOPEN_"};

bool StartsWithAny(std::string_view text, auto& starts) {
  return std::any_of(std::begin(starts), std::end(starts),
                     [&](std::string_view start) { return text.starts_with(start); });
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

class Copier {
 public:
  Copier(const Machine& machine, const User& user) : machine_(machine), user_(user) {}

  MachineCopy All() {
    for (const std::string& node : machine_.root.List(kNodes))
      Node(std::string(kNodes) + "/" + node);
    for (const std::string& name : machine_.root.List("/sys/class/drm"))
      if (name.starts_with("renderD")) Drm("/sys/class/drm/" + name + "/device");
    Pci();
    Driver();
    Access();
    for (const auto& [name, text] : machine_.answers) Put("/" + name, text);
    Smi();
    return std::move(copy_);
  }

 private:
  static constexpr const char* kNodes = "/sys/class/kfd/kfd/topology/nodes";

  void Put(const std::string& path, const std::string& text) {
    copy_[path.substr(1)] = WithoutPeople(text, machine_.environment);
  }

  void Take(const std::string& path) {
    if (const auto text = machine_.root.Read(path)) Put(path, *text);
  }

  void PutProperties(const std::string& path, const Properties& properties) {
    std::string text;
    for (const auto& [key, value] : properties) text += fmt::format("{} {}\n", key, value);
    Put(path, text);
  }

  void Node(const std::string& folder) {
    Properties properties = machine_.root.ReadProperties(folder + "/properties");
    properties.erase("hive_id");
    // A number that begins as kHiddenIdentity does, so that a mask by identity still finds the GPU.
    if (const auto id = properties.find("unique_id"); id != properties.end() && id->second != 0)
      id->second = ++identities_;
    PutProperties(folder + "/properties", properties);
    Take(folder + "/gpu_id");
    Take(folder + "/name");
    for (const std::string& bank : machine_.root.List(folder + "/mem_banks"))
      Take(folder + "/mem_banks/" + bank + "/properties");
    // A GPU has hundreds of them. What counts is how much of each kind and level there is.
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> sizes;
    for (const std::string& name : machine_.root.List(folder + "/caches")) {
      const Properties cache =
          machine_.root.ReadProperties(folder + "/caches/" + name + "/properties");
      if (cache.contains("level") && cache.contains("type") && cache.contains("size"))
        sizes[{cache.at("level"), cache.at("type")}] += cache.at("size");
    }
    int number = 0;
    for (const auto& [kind, size] : sizes)
      PutProperties(fmt::format("{}/caches/{}/properties", folder, number++),
                    {{"level", kind.first}, {"type", kind.second}, {"size", size}});
  }

  void Drm(const std::string& device) {
    for (const char* file :
         {"vendor", "device", "revision", "mem_info_vram_total", "mem_info_vis_vram_total",
          "current_compute_partition", "current_memory_partition", "pp_dpm_sclk"})
      Take(device + "/" + file);
    for (const std::string& file : machine_.root.List(device + "/fw_version"))
      Take(device + "/fw_version/" + file);
    std::string slot;
    for (const std::string& line : Lines(machine_.root.Read(device + "/uevent").value_or("")))
      if (line.starts_with("DRIVER=") || line.starts_with("PCI_SLOT_NAME=")) slot += line + "\n";
    if (!slot.empty()) Put(device + "/uevent", slot);
  }

  void Pci() {
    for (const std::string& address : machine_.root.List("/sys/bus/pci/devices")) {
      const std::string device = "/sys/bus/pci/devices/" + address;
      if (machine_.root.ReadNumber(device + "/vendor").value_or(0) != 0x1002) continue;
      Take(device + "/vendor");
      Take(device + "/class");
    }
    // Names of these products only, by their ids.
    for (const char* place :
         {"/usr/share/libdrm/amdgpu.ids", "/opt/amdgpu/share/libdrm/amdgpu.ids"}) {
      std::string named;
      for (const std::string& line : Lines(machine_.root.Read(place).value_or("")))
        for (const DrmGpu& gpu : machine_.drm)
          if (!gpu.product.empty() && line.find(gpu.product) != std::string::npos &&
              line.starts_with(fmt::format("{:04X},", gpu.device_id)))
            named += line + "\n";
      if (!named.empty()) Put(place, named);
    }
  }

  // amd-smi tells serial numbers; only what is judged is taken.
  void Smi() {
    const Runtime& smi = machine_.runtimes.smi;
    if (!smi.asked || !smi.error.empty()) return;
    nlohmann::ordered_json gpus = nlohmann::ordered_json::array();
    for (const RuntimeGpu& gpu : smi.gpus) {
      gpus.push_back(
          {{"market_name", gpu.name}, {"target_graphics_version", gpu.target}, {"bdf", gpu.pci}});
      if (gpu.compute_units) gpus.back()["num_compute_units"] = *gpu.compute_units;
    }
    Put("/amd-smi.json", gpus.dump(1) + "\n");
  }

  void Driver() {
    for (const char* file : {"/sys/module/amdgpu/version", "/sys/module/amdgpu/initstate",
                             "/sys/module/amdgpu/parameters/disable_cu",
                             "/proc/sys/kernel/osrelease", "/.dockerenv", "/run/.containerenv"})
      Take(file);
    for (const std::string& line : Lines(machine_.root.Read("/proc/modules").value_or("")))
      if (line.starts_with("amdgpu ")) Put("/proc/modules", "amdgpu 0 0 - Live 0x0\n");
    std::string parameters;
    std::istringstream words(machine_.root.ReadLine("/proc/cmdline").value_or(""));
    for (std::string word; words >> word;)
      if (StartsWithAny(word, kParameters)) parameters += (parameters.empty() ? "" : " ") + word;
    Put("/proc/cmdline", parameters + "\n");
    for (const std::string& name : machine_.root.List("/sys/class/iommu"))
      Put("/sys/class/iommu/" + name, "");
  }

  // Who asks is somebody with this number and the groups that the devices have.
  void Access() {
    std::string devices;
    std::set<unsigned> groups;
    for (const Device& device : machine_.root.Devices()) {
      devices += fmt::format("{} {:o} {} {} {}\n", device.path, device.mode, device.uid, device.gid,
                             device.openable ? "open" : "closed");
      groups.insert(device.gid);
    }
    Put("/devices", devices);
    std::vector<unsigned> member;
    std::copy_if(user_.groups.begin(), user_.groups.end(), std::back_inserter(member),
                 [&](unsigned group) { return groups.contains(group); });
    Put("/user",
        fmt::format("uid {}\ngroups {}\n", user_.uid == 0 ? 0 : 1000, fmt::join(member, " ")));
    std::string names;
    for (const std::string& line : Lines(machine_.root.Read("/etc/group").value_or(""))) {
      const size_t members = line.rfind(':');
      if (line.starts_with("render:") || line.starts_with("video:"))
        names += line.substr(0, members + 1) + "\n";
    }
    if (!names.empty()) Put("/etc/group", names);
    std::string variables;
    for (const auto& [name, value] : machine_.environment)
      if (StartsWithAny(name, kVariables) || name == "CUDA_VISIBLE_DEVICES" || name == "container")
        variables += fmt::format("{}={}\n", name, value);
    Put("/environment", variables);
  }

  const Machine& machine_;
  const User& user_;
  MachineCopy copy_;
  uint64_t identities_ = 0;
};

void ReplaceAll(const std::string& what, const std::string& with, std::string* text) {
  for (size_t at = text->find(what); at != std::string::npos;
       at = text->find(what, at + with.size()))
    text->replace(at, what.size(), with);
}

}  // namespace

MachineCopy CopyMachine(const Machine& machine, const User& user) {
  return Copier(machine, user).All();
}

std::string WithoutPeople(std::string text, const Environment& environment) {
  const std::string home = Variable(environment, "HOME");
  if (home.size() > 1) ReplaceAll(home, "~", &text);
  static const std::regex kHomes("/(home|Users)/[^/\\s\"':]+");
  static const std::regex kIdentities("\\bGPU-[0-9a-fA-F]{4,16}\\b");
  return std::regex_replace(std::regex_replace(text, kHomes, "~"), kIdentities, kHiddenIdentity);
}

}  // namespace rochound::doctor
