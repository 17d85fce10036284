// SPDX-License-Identifier: MIT
#include "doctor/topology.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <sstream>

namespace rochound::doctor {
namespace {

constexpr uint64_t kHeapVramPublic = 1;
constexpr uint64_t kHeapVramPrivate = 2;
constexpr uint64_t kCacheData = 1;  // bit of a cache's type
constexpr uint64_t kVendorAmd = 0x1002;

uint64_t Value(const Properties& properties, const std::string& key) {
  const auto found = properties.find(key);
  return found == properties.end() ? 0 : found->second;
}

KfdGpu ReadNode(const Sysroot& root, const std::string& folder, int node, Properties properties) {
  KfdGpu gpu;
  gpu.node = node;
  gpu.gpu_id = root.ReadNumber(folder + "/gpu_id").value_or(0);
  gpu.name = root.ReadLine(folder + "/name").value_or("");
  gpu.properties = std::move(properties);
  for (const std::string& bank : root.List(folder + "/mem_banks")) {
    const Properties memory = root.ReadProperties(folder + "/mem_banks/" + bank + "/properties");
    const uint64_t heap = Value(memory, "heap_type");
    if (heap != kHeapVramPublic && heap != kHeapVramPrivate) continue;
    gpu.memory_bytes += Value(memory, "size_in_bytes");
    gpu.memory_width = Value(memory, "width");
    gpu.memory_clock_mhz = Value(memory, "mem_clk_max");
    gpu.memory_public = heap == kHeapVramPublic;
  }
  for (const std::string& name : root.List(folder + "/caches")) {
    const Properties cache = root.ReadProperties(folder + "/caches/" + name + "/properties");
    if ((Value(cache, "type") & kCacheData) != 0)
      gpu.cache_bytes[Value(cache, "level")] += Value(cache, "size") * 1024;
  }
  return gpu;
}

std::string Trimmed(const std::string& text) {
  const size_t start = text.find_first_not_of(" \t\r");
  const size_t end = text.find_last_not_of(" \t\r");
  return start == std::string::npos ? "" : text.substr(start, end - start + 1);
}

// libdrm's list: lines of "73BF,<tab>C1,<tab>AMD Radeon RX 6800 XT".
std::string ProductName(const Sysroot& root, uint64_t device, uint64_t revision) {
  for (const char* place :
       {"/usr/share/libdrm/amdgpu.ids", "/opt/amdgpu/share/libdrm/amdgpu.ids"}) {
    std::istringstream lines(root.Read(place).value_or(""));
    for (std::string line; std::getline(lines, line);) {
      const size_t first = line.find(',');
      const size_t second = first == std::string::npos ? first : line.find(',', first + 1);
      if (second == std::string::npos || line[0] == '#') continue;
      if (strtoull(line.c_str(), nullptr, 16) == device &&
          strtoull(line.c_str() + first + 1, nullptr, 16) == revision)
        return Trimmed(line.substr(second + 1));
    }
  }
  return {};
}

// The last line of pp_dpm_sclk: "1: 2575Mhz", with a star where the GPU is now.
std::optional<uint64_t> HighestClock(const Sysroot& root, const std::string& path) {
  std::istringstream lines(root.Read(path).value_or(""));
  std::optional<uint64_t> highest;
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const uint64_t mhz = strtoull(line.c_str() + colon + 1, nullptr, 10);
    if (mhz > highest.value_or(0)) highest = mhz;
  }
  return highest;
}

std::string PciSlot(const Sysroot& root, const std::string& device) {
  std::istringstream lines(root.Read(device + "/uevent").value_or(""));
  constexpr std::string_view kKey = "PCI_SLOT_NAME=";
  for (std::string line; std::getline(lines, line);)
    if (line.rfind(kKey, 0) == 0) return line.substr(kKey.size());
  return {};
}

}  // namespace

uint64_t KfdGpu::Get(const char* property) const { return Value(properties, property); }

uint64_t KfdGpu::compute_units() const {
  const uint64_t simds = Get("simd_per_cu");
  return simds == 0 ? 0 : Get("simd_count") / simds;
}

std::string KfdGpu::target() const { return TargetOfVersion(Get("gfx_target_version")); }

std::string KfdGpu::pci() const {
  const uint64_t location = Get("location_id");
  return fmt::format("{:04x}:{:02x}:{:02x}.{}", Get("domain"), location >> 8 & 0xff,
                     location >> 3 & 0x1f, location & 7);
}

std::string TargetOfVersion(uint64_t version) {
  if (version == 0) return {};
  return fmt::format("gfx{}{:x}{:x}", version / 10000, version / 100 % 100, version % 100);
}

std::vector<KfdGpu> ReadKfd(const Sysroot& root) {
  const std::string nodes = "/sys/class/kfd/kfd/topology/nodes";
  std::vector<KfdGpu> gpus;
  for (const std::string& name : root.List(nodes)) {
    const std::string folder = nodes + "/" + name;
    Properties properties = root.ReadProperties(folder + "/properties");
    if (Value(properties, "simd_count") == 0) continue;
    gpus.push_back(ReadNode(root, folder, atoi(name.c_str()), std::move(properties)));
  }
  return gpus;
}

std::vector<DrmGpu> ReadDrm(const Sysroot& root) {
  std::vector<DrmGpu> gpus;
  for (const std::string& name : root.List("/sys/class/drm")) {
    constexpr std::string_view kRender = "renderD";
    if (name.rfind(kRender, 0) != 0) continue;
    const std::string device = "/sys/class/drm/" + name + "/device";
    if (root.ReadNumber(device + "/vendor").value_or(0) != kVendorAmd) continue;
    DrmGpu gpu;
    gpu.render_minor = atoi(name.c_str() + kRender.size());
    gpu.pci = PciSlot(root, device);
    gpu.device_id = root.ReadNumber(device + "/device").value_or(0);
    gpu.revision = root.ReadNumber(device + "/revision").value_or(0);
    gpu.product = ProductName(root, gpu.device_id, gpu.revision);
    gpu.vram_bytes = root.ReadNumber(device + "/mem_info_vram_total");
    gpu.visible_vram_bytes = root.ReadNumber(device + "/mem_info_vis_vram_total");
    gpu.compute_partition = root.ReadLine(device + "/current_compute_partition").value_or("");
    gpu.memory_partition = root.ReadLine(device + "/current_memory_partition").value_or("");
    gpu.highest_sclk_mhz = HighestClock(root, device + "/pp_dpm_sclk");
    for (const std::string& file : root.List(device + "/fw_version"))
      if (const auto version = root.ReadLine(device + "/fw_version/" + file))
        gpu.firmware[file] = *version;
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

}  // namespace rochound::doctor
