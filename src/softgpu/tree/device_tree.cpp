// SPDX-License-Identifier: MIT
#include "softgpu/tree/device_tree.h"

#include <fmt/format.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <sstream>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/hash.h"

namespace rochound::softgpu {
namespace {

constexpr uint64_t kVendorAmd = 0x1002;
constexpr std::string_view kTopology = "sys/devices/virtual/kfd/kfd/topology";

// KFD's numbers (HSA_IOLINKTYPE, heap types, cache types).
constexpr uint64_t kLinkPcie = 2;
constexpr uint64_t kLinkXgmi = 11;
constexpr uint64_t kWeightPcie = 20;
constexpr uint64_t kWeightThroughCpu = 2 * kWeightPcie;
constexpr uint64_t kWeightXgmi = 15;
constexpr uint64_t kHeapSystem = 0;
constexpr uint64_t kHeapVramPublic = 1;
constexpr uint64_t kHeapVramPrivate = 2;
constexpr uint64_t kCacheData = 1;
constexpr uint64_t kCacheInstruction = 2;
constexpr uint64_t kCacheOfCus = 8;

// Lines of "key value", the form of every properties file and of a device's .conf.
class Lines {
 public:
  template <typename Value>
  Lines& Add(std::string_view key, const Value& value) {
    text_ += fmt::format("{} {}\n", key, value);
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

struct Link {
  uint64_t type = 0;
  size_t to = 0;
  uint64_t weight = 0;
  uint64_t min_mb_per_s = 0;
  uint64_t max_mb_per_s = 0;
};

// A node's links: to nodes it reaches directly, and to GPUs that it reaches through the CPU.
struct NodeLinks {
  std::vector<Link> io;
  std::vector<Link> p2p;
};

bool HasXgmi(const GpuModel& gpu) { return gpu.xgmi_mb_per_s != 0; }

// Node 0 is the CPU, node n the n-th GPU.
NodeLinks LinksOf(size_t node, const std::vector<GpuModel>& gpus) {
  // As the driver says for PCIe: the slowest link there could be, and the one there is.
  constexpr uint64_t kSlowestPcie = 312;
  NodeLinks links;
  for (size_t other = 0; other <= gpus.size(); ++other) {
    if (other == node) continue;
    if (node == 0 || other == 0) {
      links.io.push_back(
          {kLinkPcie, other, kWeightPcie, kSlowestPcie, gpus[node + other - 1].pcie_mb_per_s});
      continue;
    }
    const GpuModel& mine = gpus[node - 1];
    const GpuModel& theirs = gpus[other - 1];
    if (HasXgmi(mine) && HasXgmi(theirs)) {
      const uint64_t speed = std::min(mine.xgmi_mb_per_s, theirs.xgmi_mb_per_s);
      links.io.push_back({kLinkXgmi, other, kWeightXgmi, speed, speed});
    } else {
      const uint64_t speed = std::min(mine.pcie_mb_per_s, theirs.pcie_mb_per_s);
      links.p2p.push_back({kLinkPcie, other, kWeightThroughCpu, kSlowestPcie, speed});
    }
  }
  return links;
}

// Bits of HSA_CAPABILITY. What the software GPU does not do is not claimed; see the devices'
// README.
uint64_t Capability(const GpuModel& gpu) {
  constexpr uint64_t kWatchPoints = 1u << 7;
  constexpr uint64_t kFourWatchPoints = 2u << 8;
  constexpr uint64_t kDoorbellType2 = 2u << 12;
  constexpr uint64_t kSharedVirtualMemory = 1u << 27;
  constexpr uint64_t kDebugFirmware = 1u << 29;
  return kWatchPoints | kFourWatchPoints | kDoorbellType2 | kSharedVirtualMemory | kDebugFirmware |
         gpu.memory_ecc << 20 | gpu.asic_revision << 22 | gpu.sram_ecc << 26;
}

// The rules by which a GPU's ids follow from its node.
struct GpuIds {
  explicit GpuIds(size_t node_number, const GpuModel& gpu)
      : node(node_number),
        gpu_id(50000 + node_number),
        render_minor(127 + node_number),
        pci_bus(2 + node_number),
        unique_id(base::Fnv1a64(fmt::format("{}#{}", gpu.name, node_number))),
        hive_id(HasXgmi(gpu) ? base::Fnv1a64("rochound softgpu hive") : 0),
        simd_id_base(0x80000000u + 0x1000 * node_number) {}

  uint64_t node;
  uint64_t gpu_id;
  uint64_t render_minor;
  uint64_t pci_bus;
  uint64_t unique_id;
  uint64_t hive_id;
  uint64_t simd_id_base;
};

std::string LinkProperties(size_t from, const Link& link) {
  return Lines()
      .Add("type", link.type)
      .Add("version_major", 0)
      .Add("version_minor", 0)
      .Add("node_from", from)
      .Add("node_to", link.to)
      .Add("weight", link.weight)
      .Add("min_latency", 0)
      .Add("max_latency", 0)
      .Add("min_bandwidth", link.min_mb_per_s)
      .Add("max_bandwidth", link.max_mb_per_s)
      .Add("recommended_transfer_size", 0)
      .Add("recommended_sdma_engine_id_mask", 0)
      .Add("flags", 1)  // enabled, coherent, with atomics, peer to peer allowed
      .text();
}

std::string MemoryProperties(uint64_t heap, uint64_t bytes, uint64_t width, uint64_t clock_mhz) {
  return Lines()
      .Add("heap_type", heap)
      .Add("size_in_bytes", bytes)
      .Add("flags", 0)
      .Add("width", width)
      .Add("mem_clk_max", clock_mhz)
      .text();
}

std::string CacheProperties(const CacheModel& cache, uint64_t processor_id) {
  return Lines()
      .Add("processor_id_low", processor_id)
      .Add("level", cache.level)
      .Add("size", cache.kilobytes)
      .Add("cache_line_size", cache.line_bytes)
      .Add("cache_lines_per_tag", 1)
      .Add("association", 16)
      .Add("latency", 1)
      .Add("type", kCacheOfCus | (cache.instruction ? kCacheInstruction : kCacheData))
      .Add("sibling_map", 1)
      .text();
}

std::string CpuProperties(const HostFacts& host, const NodeLinks& links) {
  Lines lines;
  lines.Add("cpu_cores_count", host.cpu_cores)
      .Add("simd_count", 0)
      .Add("mem_banks_count", 1)
      .Add("caches_count", 0)  // libhsakmt then looks at the host's own /sys/devices/system
      .Add("io_links_count", links.io.size())
      .Add("p2p_links_count", links.p2p.size())
      .Add("cpu_core_id_base", host.first_apic_id);
  for (const char* key : {"simd_id_base",
                          "max_waves_per_simd",
                          "lds_size_in_kb",
                          "gds_size_in_kb",
                          "num_gws",
                          "wave_front_size",
                          "array_count",
                          "simd_arrays_per_engine",
                          "cu_per_simd_array",
                          "simd_per_cu",
                          "max_slots_scratch_cu",
                          "gfx_target_version",
                          "vendor_id",
                          "device_id",
                          "location_id",
                          "domain",
                          "drm_render_minor",
                          "hive_id",
                          "num_sdma_engines",
                          "num_sdma_xgmi_engines",
                          "num_sdma_queues_per_engine",
                          "num_cp_queues"}) {
    lines.Add(key, 0);
  }
  return lines.Add("max_engine_clk_ccompute", host.cpu_clock_mhz).text();
}

std::string GpuProperties(const GpuModel& gpu, const GpuIds& ids, const HostFacts& host,
                          const NodeLinks& links, size_t caches) {
  return Lines()
      .Add("cpu_cores_count", 0)
      .Add("simd_count", gpu.cu_count * gpu.simd_per_cu)
      .Add("mem_banks_count", 1)
      .Add("caches_count", caches)
      .Add("io_links_count", links.io.size())
      .Add("p2p_links_count", links.p2p.size())
      .Add("cpu_core_id_base", 0)
      .Add("simd_id_base", ids.simd_id_base)
      .Add("max_waves_per_simd", gpu.max_waves_per_simd)
      .Add("lds_size_in_kb", gpu.lds_bytes / 1024)
      .Add("gds_size_in_kb", 0)
      .Add("num_gws", gpu.gws)
      .Add("wave_front_size", gpu.wave_size)
      .Add("array_count", gpu.shader_engines * gpu.arrays_per_engine)
      .Add("simd_arrays_per_engine", gpu.arrays_per_engine)
      .Add("cu_per_simd_array", gpu.cu_per_array)
      .Add("simd_per_cu", gpu.simd_per_cu)
      .Add("max_slots_scratch_cu", gpu.scratch_slots_per_cu)
      .Add("gfx_target_version", gpu.GfxTargetVersion())
      .Add("vendor_id", kVendorAmd)
      .Add("device_id", gpu.device_id)
      .Add("location_id", ids.pci_bus << 8)
      .Add("domain", 0)
      .Add("drm_render_minor", ids.render_minor)
      .Add("hive_id", ids.hive_id)
      .Add("num_sdma_engines", gpu.sdma_engines)
      .Add("num_sdma_xgmi_engines", gpu.sdma_xgmi_engines)
      .Add("num_sdma_queues_per_engine", gpu.sdma_queues_per_engine)
      .Add("num_cp_queues", gpu.cp_queues)
      .Add("max_engine_clk_fcompute", gpu.engine_clock_mhz)
      .Add("local_mem_size", 0)  // as today's driver: it is in mem_banks
      .Add("fw_version", gpu.cp_firmware)
      .Add("capability", Capability(gpu))
      .Add("debug_prop", 0)
      .Add("sdma_fw_version", gpu.sdma_firmware)
      .Add("unique_id", ids.unique_id)
      .Add("num_xcc", gpu.num_xcc)
      .Add("max_engine_clk_ccompute", host.cpu_clock_mhz)
      .text();
}

// What the core reads.
std::string DeviceConf(const GpuModel& gpu, const GpuIds& ids) {
  Lines lines;
  lines.Add("name", gpu.name)
      .Add("marketing_name", gpu.marketing_name)
      .Add("target", gpu.target)
      .Add("gfx_target_version", gpu.GfxTargetVersion())
      .Add("node", ids.node)
      .Add("gpu_id", ids.gpu_id)
      .Add("render_minor", ids.render_minor)
      .Add("pci_domain", 0)
      .Add("pci_bus", ids.pci_bus)
      .Add("unique_id", ids.unique_id);
  for (const NumberField& field : NumberFields()) lines.Add(field.key, gpu.*field.member);
  return lines.text();
}

void AddLinks(DeviceTree& tree, const std::string& folder, size_t from,
              const std::vector<Link>& links) {
  if (links.empty()) tree.directories.insert(folder);
  for (size_t i = 0; i < links.size(); ++i) {
    tree.files[fmt::format("{}/{}/properties", folder, i)] = LinkProperties(from, links[i]);
  }
}

void AddCpu(DeviceTree& tree, const HostFacts& host, const NodeLinks& links) {
  const std::string node = fmt::format("{}/nodes/0", kTopology);
  tree.files[node + "/gpu_id"] = "0\n";
  tree.files[node + "/name"] = "\n";
  tree.files[node + "/properties"] = CpuProperties(host, links);
  tree.files[node + "/mem_banks/0/properties"] =
      MemoryProperties(kHeapSystem, host.memory_bytes, 64, 0);
  tree.directories.insert(node + "/caches");
  AddLinks(tree, node + "/io_links", 0, links.io);
  AddLinks(tree, node + "/p2p_links", 0, links.p2p);
}

void AddGpu(DeviceTree& tree, const GpuModel& gpu, const GpuIds& ids, const HostFacts& host,
            const NodeLinks& links) {
  const std::string node = fmt::format("{}/nodes/{}", kTopology, ids.node);
  size_t caches = 0;
  for (const CacheModel& cache : gpu.caches) {
    for (uint64_t i = 0; i < cache.entries; ++i) {
      tree.files[fmt::format("{}/caches/{}/properties", node, caches++)] =
          CacheProperties(cache, ids.simd_id_base);
    }
  }
  tree.files[node + "/gpu_id"] = fmt::format("{}\n", ids.gpu_id);
  tree.files[node + "/name"] = gpu.kfd_name + "\n";
  tree.files[node + "/properties"] = GpuProperties(gpu, ids, host, links, caches);
  tree.files[node + "/mem_banks/0/properties"] =
      MemoryProperties(gpu.vram_host_visible ? kHeapVramPublic : kHeapVramPrivate, gpu.vram_bytes,
                       gpu.vram_width_bits, gpu.memory_clock_mhz);
  AddLinks(tree, node + "/io_links", ids.node, links.io);
  AddLinks(tree, node + "/p2p_links", ids.node, links.p2p);

  const std::string device = fmt::format("sys/class/drm/renderD{}/device", ids.render_minor);
  tree.files[device + "/vendor"] = fmt::format("0x{:04x}\n", kVendorAmd);
  tree.files[device + "/device"] = fmt::format("0x{:04x}\n", gpu.device_id);
  tree.files[device + "/revision"] = fmt::format("0x{:02x}\n", gpu.revision_id);
  tree.files[device + "/numa_node"] = "0\n";
  tree.files[device + "/mem_info_vram_total"] = fmt::format("{}\n", gpu.vram_bytes);
  tree.files[device + "/mem_info_vis_vram_total"] =
      fmt::format("{}\n", gpu.vram_host_visible ? gpu.vram_bytes : 256ull << 20);

  tree.files[fmt::format("devices/{}.conf", ids.node)] = DeviceConf(gpu, ids);
}

}  // namespace

HostFacts ReadHostFacts() {
  HostFacts host;
  // What libhsakmt counts too (get_nprocs): the processors that are on, whatever this process may
  // use.
  host.cpu_cores = static_cast<uint64_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  struct sysinfo info{};
  if (sysinfo(&info) == 0) host.memory_bytes = static_cast<uint64_t>(info.totalram) * info.mem_unit;
  if (auto cpuinfo = base::ReadFile("/proc/cpuinfo"); cpuinfo.ok()) {
    std::istringstream lines(cpuinfo.value());
    for (std::string line; std::getline(lines, line);) {
      const size_t colon = line.find(':');
      if (line.rfind("apicid", 0) != 0 || colon == std::string::npos) continue;
      host.first_apic_id = strtoull(line.c_str() + colon + 1, nullptr, 10);
      break;
    }
  }
  // Not "cpu MHz" of /proc/cpuinfo: it changes by the minute, and with it the tree's hash would.
  if (auto khz = base::ReadFile("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
      khz.ok()) {
    host.cpu_clock_mhz = strtoull(khz.value().c_str(), nullptr, 10) / 1000;
  }
  return host;
}

std::string DeviceTree::Hash() const {
  uint64_t hash = base::kFnvOffset;
  // The zero bytes keep "ab" + "c" and "a" + "bc" apart.
  const auto add = [&hash](char kind, std::string_view path, std::string_view content) {
    hash = base::Fnv1a64(std::string_view(&kind, 1), hash);
    hash = base::Fnv1a64(path, hash);
    hash = base::Fnv1a64(std::string_view("\0", 1), hash);
    hash = base::Fnv1a64(content, hash);
    hash = base::Fnv1a64(std::string_view("\0", 1), hash);
  };
  for (const auto& [path, content] : files) add('f', path, content);
  for (const auto& [path, target] : links) add('l', path, target);
  for (const std::string& path : directories) add('d', path, "");
  return base::Hex64(hash);
}

DeviceTree MakeDeviceTree(const std::vector<GpuModel>& gpus, const HostFacts& host) {
  DeviceTree tree;
  const std::string topology(kTopology);
  tree.files[topology + "/generation_id"] = "1\n";
  tree.files[topology + "/system_properties"] =
      Lines().Add("platform_oem", 0).Add("platform_id", 0).Add("platform_rev", 0).text();
  AddCpu(tree, host, LinksOf(0, gpus));
  for (size_t i = 0; i < gpus.size(); ++i) {
    AddGpu(tree, gpus[i], GpuIds(i + 1, gpus[i]), host, LinksOf(i + 1, gpus));
  }
  tree.links["sys/class/kfd/kfd"] = "../../devices/virtual/kfd/kfd";

  // rocminfo asks whether the driver is there: new ones by initstate, old ones by lsmod, which
  // reads the others.
  tree.files["sys/module/amdgpu/initstate"] = "live\n";
  tree.files["sys/module/amdgpu/coresize"] = "16777216\n";
  tree.files["sys/module/amdgpu/refcnt"] = "0\n";
  tree.directories.insert("sys/module/amdgpu/holders");
  tree.files["proc/modules"] = "amdgpu 16777216 0 - Live 0x0000000000000000\n";
  return tree;
}

}  // namespace rochound::softgpu
