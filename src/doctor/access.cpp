// SPDX-License-Identifier: MIT
#include "doctor/access.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <sstream>

namespace rochound::doctor {
namespace {

constexpr unsigned kNobody = 65534;

std::map<unsigned, std::string> GroupNames(const Sysroot& root) {
  std::map<unsigned, std::string> names;
  std::istringstream lines(root.Read("/etc/group").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first == std::string::npos ? first : first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    names[static_cast<unsigned>(strtoul(line.c_str() + second + 1, nullptr, 10))] =
        line.substr(0, first);
  }
  return names;
}

// "Docker", "podman", ...; empty: no container.
std::string Container(const Machine& machine) {
  if (machine.root.Exists("/.dockerenv")) return "Docker";
  if (machine.root.Exists("/run/.containerenv")) return "podman";
  std::string named = Variable(machine.environment, "container");
  if (!named.empty()) return named;
  const std::string groups = machine.root.Read("/proc/1/cgroup").value_or("");
  for (const char* kind : {"docker", "kubepods", "lxc", "containerd"})
    if (groups.find(kind) != std::string::npos) return kind;
  return {};
}

// AMD display or accelerator devices on the PCI bus, by their addresses.
std::vector<std::string> PciGpus(const Sysroot& root) {
  std::vector<std::string> found;
  for (const std::string& address : root.List("/sys/bus/pci/devices")) {
    const std::string device = "/sys/bus/pci/devices/" + address;
    if (root.ReadNumber(device + "/vendor").value_or(0) != 0x1002) continue;
    const uint64_t kind = root.ReadNumber(device + "/class").value_or(0) >> 16;
    if (kind == 0x03 || kind == 0x12) found.push_back(address);
  }
  return found;
}

bool Loaded(const Sysroot& root) {
  if (root.Exists("/sys/module/amdgpu")) return true;
  std::istringstream lines(root.Read("/proc/modules").value_or(""));
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("amdgpu ", 0) == 0) return true;
  return false;
}

std::string Blacklisted(const Sysroot& root) {
  for (const char* folder : {"/etc/modprobe.d", "/lib/modprobe.d", "/usr/lib/modprobe.d"}) {
    for (const std::string& name : root.List(folder)) {
      std::string path = fmt::format("{}/{}", folder, name);
      std::istringstream lines(root.Read(path).value_or(""));
      for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string first, second;
        words >> first >> second;
        if (first == "blacklist" && second == "amdgpu") return path;
      }
    }
  }
  return {};
}

}  // namespace

User ReadUser(const Sysroot& root) {
  User user;
  if (root.is_this_machine()) {
    user.uid = geteuid();
    std::vector<gid_t> groups(static_cast<size_t>(std::max(0, getgroups(0, nullptr))));
    if (!groups.empty() && getgroups(static_cast<int>(groups.size()), groups.data()) < 0)
      groups.clear();
    user.groups.assign(groups.begin(), groups.end());
    user.groups.push_back(getegid());
    return user;
  }
  std::istringstream lines(root.Read("/user").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (key == "uid") words >> user.uid;
    for (unsigned group; key == "groups" && words >> group;) user.groups.push_back(group);
  }
  return user;
}

void JudgeDriver(const Machine& machine, Report* report) {
  const Sysroot& root = machine.root;
  if (!machine.kfd.empty()) return;
  const std::vector<std::string> cards = PciGpus(root);
  const std::string command_line = root.ReadLine("/proc/cmdline").value_or("");
  const std::string container = Container(machine);
  std::vector<std::string> evidence;
  for (const std::string& card : cards) evidence.push_back("PCI device " + card);
  if (!Loaded(root)) {
    const std::string blacklist = Blacklisted(root);
    if (cards.empty()) {
      report->findings.push_back({Severity::kError,
                                  "no-gpu",
                                  "there is no AMD GPU in this machine",
                                  "run on a machine with one, or try the software GPU: rochound "
                                  "softgpu -- PROGRAM",
                                  {}});
    } else if (command_line.find("nomodeset") != std::string::npos) {
      report->findings.push_back(
          {Severity::kError, "nomodeset",
           "an AMD GPU is there, but the kernel was started with nomodeset, which keeps its driver "
           "from loading",
           "take nomodeset out of GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, run sudo "
           "update-grub, and reboot",
           evidence});
    } else if (!blacklist.empty()) {
      report->findings.push_back(
          {Severity::kError, "blacklisted",
           fmt::format("an AMD GPU is there, but {} forbids its driver amdgpu", blacklist),
           fmt::format(
               "remove the line 'blacklist amdgpu' from {}, run sudo update-initramfs -u, and "
               "reboot",
               blacklist),
           evidence});
    } else {
      report->findings.push_back({Severity::kError, "driver-not-loaded",
                                  "an AMD GPU is there, but its driver amdgpu is not loaded",
                                  "sudo modprobe amdgpu; if that fails, sudo dmesg | grep amdgpu "
                                  "says why (often: firmware files are missing, or the kernel is "
                                  "older than the card)",
                                  evidence});
    }
    return;
  }
  if (!container.empty() && !root.Exists("/sys/class/kfd/kfd")) {
    report->findings.push_back(
        {Severity::kError, "no-kfd", "the driver is loaded, but this container does not see KFD",
         "start the container with --device=/dev/kfd --device=/dev/dri", evidence});
  } else {
    report->findings.push_back(
        {Severity::kError, "no-kfd",
         "the driver amdgpu is loaded, but it offers no GPU for computing (no KFD node)",
         "sudo dmesg | grep -i kfd says why: the card may be too old for ROCm, PCIe atomics may be "
         "missing in this slot, or the kernel was built without CONFIG_HSA_AMD",
         evidence});
  }
}

void JudgeAccess(const Machine& machine, const User& user, Report* report) {
  if (machine.kfd.empty()) return;
  const Sysroot& root = machine.root;
  const std::string container = Container(machine);
  const std::vector<Device> devices = root.Devices();
  const auto names = GroupNames(root);
  const auto find = [&](const std::string& path) -> const Device* {
    for (const Device& device : devices)
      if (device.path == path) return &device;
    return nullptr;
  };
  std::vector<std::string> wanted = {"/dev/kfd"};
  for (const KfdGpu& gpu : machine.kfd)
    if (const uint64_t minor = gpu.Get("drm_render_minor"); minor != 0)
      wanted.push_back(fmt::format("/dev/dri/renderD{}", minor));

  std::vector<std::string> missing;
  std::map<unsigned, std::vector<const Device*>> closed;  // by group
  for (const std::string& path : wanted) {
    const Device* device = find(path);
    if (device == nullptr)
      missing.push_back(path);
    else if (!device->openable)
      closed[device->gid].push_back(device);
  }
  if (!missing.empty()) {
    const bool kfd = missing[0] == "/dev/kfd";
    report->findings.push_back(
        {Severity::kError,
         kfd ? "kfd-missing" : "render-missing",
         fmt::format("the driver shows GPUs, but {} {} not here", fmt::join(missing, ", "),
                     missing.size() == 1 ? "is" : "are"),
         container.empty()
             ? std::string("sudo udevadm trigger; if that does not help, look for the driver's "
                           "messages in dmesg")
             : fmt::format("start the {} container with{}{}", container,
                           kfd ? " --device=/dev/kfd" : "",
                           !kfd || missing.size() > 1 ? " --device=/dev/dri" : ""),
         {}});
  }
  for (const auto& [gid, files] : closed) {
    const auto name = names.find(gid);
    std::vector<std::string> evidence;
    for (const Device* device : files)
      evidence.push_back(fmt::format("{} has mode {:o}, group {}{}", device->path, device->mode,
                                     gid, name == names.end() ? "" : " (" + name->second + ")"));
    const bool member = std::find(user.groups.begin(), user.groups.end(), gid) != user.groups.end();
    std::string remedy;
    if (gid == kNobody) {
      remedy =
          "the container runs in a user namespace that hides the group: start it with podman "
          "run --group-add keep-groups, or with docker's user namespaces off";
    } else if (!container.empty()) {
      remedy = fmt::format(
          "start the container with --group-add {} (the number: the group's name in "
          "the container may stand for another one)",
          gid);
    } else if (member) {
      remedy = fmt::format(
          "the group has no right to it: sudo chmod g+rw {}, or correct the udev "
          "rule that set it",
          files[0]->path);
    } else if (name == names.end()) {
      remedy = fmt::format(
          "no group has the number {}: sudo groupadd -g {} render && sudo usermod "
          "-aG render $USER, then log in anew",
          gid, gid);
    } else {
      remedy = fmt::format(
          "sudo usermod -aG {} $USER, then log out and in again (or run newgrp {} "
          "for this shell)",
          name->second, name->second);
    }
    report->findings.push_back(
        {Severity::kError, "no-permission",
         fmt::format("user {} may not open {}{}", user.uid, files[0]->path,
                     files.size() > 1 ? fmt::format(" and {} more", files.size() - 1) : ""),
         remedy, std::move(evidence)});
  }
  if (!container.empty()) {
    std::istringstream lines(root.Read("/proc/self/status").value_or(""));
    for (std::string line; std::getline(lines, line);) {
      if (line != "Seccomp:\t2") continue;
      report->findings.push_back(
          {Severity::kNote,
           "seccomp",
           fmt::format("this {} container filters system calls (seccomp); debuggers and placing "
                       "memory by NUMA node may fail",
                       container),
           "only if something fails: --security-opt seccomp=unconfined --cap-add=SYS_PTRACE",
           {}});
    }
  }
}

void JudgeBootParameters(const Machine& machine, Report* report) {
  const std::string command_line = machine.root.ReadLine("/proc/cmdline").value_or("");
  std::istringstream words(command_line);
  std::vector<std::string> amdgpu;
  std::string iommu;
  for (std::string word; words >> word;) {
    if (word.rfind("amdgpu.", 0) == 0) amdgpu.push_back(word);
    if (word.rfind("iommu=", 0) == 0 || word.rfind("amd_iommu=", 0) == 0 ||
        word.rfind("intel_iommu=", 0) == 0)
      iommu += (iommu.empty() ? "" : " ") + word;
  }
  if (!amdgpu.empty()) {
    report->findings.push_back(
        {Severity::kNote,
         "boot-parameters",
         fmt::format("the driver was started with {}: what you see is not its default behaviour",
                     fmt::join(amdgpu, " ")),
         "if you do not know why, start without",
         {}});
  }
  for (const std::string& one : amdgpu) {
    if (one == "amdgpu.noretry=1" && Variable(machine.environment, "HSA_XNACK") == "1") {
      report->findings.push_back({Severity::kWarning,
                                  "noretry-xnack",
                                  "HSA_XNACK=1 asks for page faults to be retried, and the boot "
                                  "parameter amdgpu.noretry=1 forbids it",
                                  "remove one of the two",
                                  {}});
    }
  }
  if (machine.kfd.size() > 1 && iommu.find("iommu=pt") == std::string::npos &&
      machine.root.Exists("/sys/class/iommu") && !machine.root.List("/sys/class/iommu").empty()) {
    report->findings.push_back(
        {Severity::kNote,
         "iommu",
         "the IOMMU translates the GPUs' accesses; with several GPUs, AMD recommends to let them "
         "pass (copies between GPUs are slow or hang otherwise)",
         "boot parameter, only a suggestion (AMD's installation guide has it for several GPUs; we "
         "have not tried it here): add iommu=pt to GRUB_CMDLINE_LINUX_DEFAULT in "
         "/etc/default/grub, "
         "sudo update-grub, reboot",
         {iommu.empty() ? "no iommu= parameter is set" : iommu}});
  }
}

}  // namespace rochound::doctor
