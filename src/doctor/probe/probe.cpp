// SPDX-License-Identifier: MIT
//
// rochound-probe: asks the GPU runtimes what they think of this machine and prints the answers, one
// line of JSON per runtime, each as soon as it is known. A program of its own because a broken
// runtime may crash or hang: `rochound doctor` starts it with a time limit and reads what came.
//
//   rochound-probe [--hsa LIBRARY] [--hip LIBRARY] [hsa|hip ...]
#include <dlfcn.h>
#include <hip/hip_runtime_api.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

using Json = nlohmann::ordered_json;

// hipGetDeviceProperties is a macro since ROCm 6; what it stands for is the symbol to look up.
#define ROCHOUND_TEXT_(name) #name
#define ROCHOUND_TEXT(name) ROCHOUND_TEXT_(name)

constexpr const char* kOwnHip = "libamdhip64.so." ROCHOUND_TEXT(HIP_VERSION_MAJOR);

// By number, since the headers of ROCm 5 lack the names; its runtime says that it does not know
// them.
constexpr unsigned kFirmware = 0xA108;      // HSA_AMD_AGENT_INFO_UCODE_VERSION
constexpr unsigned kSdmaFirmware = 0xA109;  // HSA_AMD_AGENT_INFO_SDMA_UCODE_VERSION
constexpr unsigned kXnackEnabled = 0x206;   // HSA_AMD_SYSTEM_INFO_XNACK_ENABLED

class Library {
 public:
  // The first of these names that can be loaded.
  explicit Library(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) break;
      const char* why = dlerror();
      if (error_.empty() || strstr(why, "cannot open shared object file: No such file") == nullptr)
        error_ = why;
    }
  }

  bool loaded() const { return handle_ != nullptr; }
  const std::string& error() const { return error_; }

  std::string Path() const {
    link_map* map = nullptr;
    if (dlinfo(handle_, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0 || map == nullptr)
      return {};
    char resolved[PATH_MAX];
    return realpath(map->l_name, resolved) != nullptr ? resolved : map->l_name;
  }

  template <typename Function>
  Function* Find(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(handle_, name));
  }

 private:
  void* handle_ = nullptr;
  std::string error_;
};

void Print(const Json& answer) {
  printf("%s\n", answer.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  fflush(stdout);
}

// The functions of HSA that are needed here, by their own names.
struct Hsa {
  explicit Hsa(const Library& library)
      : init(library.Find<decltype(hsa_init)>("hsa_init")),
        system_info(library.Find<decltype(hsa_system_get_info)>("hsa_system_get_info")),
        agents(library.Find<decltype(hsa_iterate_agents)>("hsa_iterate_agents")),
        agent_info(library.Find<decltype(hsa_agent_get_info)>("hsa_agent_get_info")),
        isas(library.Find<decltype(hsa_agent_iterate_isas)>("hsa_agent_iterate_isas")),
        isa_info(library.Find<decltype(hsa_isa_get_info_alt)>("hsa_isa_get_info_alt")),
        pools(library.Find<decltype(hsa_amd_agent_iterate_memory_pools)>(
            "hsa_amd_agent_iterate_memory_pools")),
        pool_info(
            library.Find<decltype(hsa_amd_memory_pool_get_info)>("hsa_amd_memory_pool_get_info")),
        text(library.Find<decltype(hsa_status_string)>("hsa_status_string")) {}

  bool complete() const {
    return init != nullptr && system_info != nullptr && agents != nullptr &&
           agent_info != nullptr && isas != nullptr && isa_info != nullptr && pools != nullptr &&
           pool_info != nullptr && text != nullptr;
  }

  decltype(hsa_init)* init;
  decltype(hsa_system_get_info)* system_info;
  decltype(hsa_iterate_agents)* agents;
  decltype(hsa_agent_get_info)* agent_info;
  decltype(hsa_agent_iterate_isas)* isas;
  decltype(hsa_isa_get_info_alt)* isa_info;
  decltype(hsa_amd_agent_iterate_memory_pools)* pools;
  decltype(hsa_amd_memory_pool_get_info)* pool_info;
  decltype(hsa_status_string)* text;
};

struct AgentVisit {
  const Hsa& hsa;
  Json& list;
};

struct PoolVisit {
  const Hsa& hsa;
  Json& agent;
};

template <typename Value>
void AddAgentValue(const Hsa& hsa, hsa_agent_t agent, unsigned attribute, const char* name,
                   Json* json) {
  Value value{};
  if (hsa.agent_info(agent, static_cast<hsa_agent_info_t>(attribute), &value) == HSA_STATUS_SUCCESS)
    (*json)[name] = value;
}

void AddAgentText(const Hsa& hsa, hsa_agent_t agent, unsigned attribute, const char* name,
                  Json* json) {
  char value[256] = {};  // HSA writes at most 64
  if (hsa.agent_info(agent, static_cast<hsa_agent_info_t>(attribute), value) == HSA_STATUS_SUCCESS)
    (*json)[name] = value;
}

hsa_status_t VisitPool(hsa_amd_memory_pool_t pool, void* data) {
  auto* visit = static_cast<PoolVisit*>(data);
  hsa_amd_segment_t segment{};
  size_t bytes = 0;
  visit->hsa.pool_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
  visit->hsa.pool_info(pool, HSA_AMD_MEMORY_POOL_INFO_SIZE, &bytes);
  if (segment == HSA_AMD_SEGMENT_GROUP) {
    visit->agent["lds_bytes"] = bytes;
  } else if (segment == HSA_AMD_SEGMENT_GLOBAL) {
    const uint64_t before = visit->agent.value("memory_bytes", uint64_t{0});
    visit->agent["memory_bytes"] = std::max<uint64_t>(before, bytes);
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t VisitIsa(hsa_isa_t isa, void* data) {
  auto* visit = static_cast<PoolVisit*>(data);
  char name[256] = {};
  if (visit->hsa.isa_info(isa, HSA_ISA_INFO_NAME, name) == HSA_STATUS_SUCCESS)
    visit->agent["isas"].push_back(name);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t VisitAgent(hsa_agent_t agent, void* data) {
  auto* visit = static_cast<AgentVisit*>(data);
  const Hsa& hsa = visit->hsa;
  hsa_device_type_t type{};
  if (hsa.agent_info(agent, HSA_AGENT_INFO_DEVICE, &type) != HSA_STATUS_SUCCESS ||
      type != HSA_DEVICE_TYPE_GPU)
    return HSA_STATUS_SUCCESS;
  Json json;
  AddAgentText(hsa, agent, HSA_AGENT_INFO_NAME, "name", &json);
  AddAgentText(hsa, agent, HSA_AMD_AGENT_INFO_PRODUCT_NAME, "product", &json);
  AddAgentValue<uint32_t>(hsa, agent, HSA_AMD_AGENT_INFO_DRIVER_NODE_ID, "node", &json);
  AddAgentValue<uint32_t>(hsa, agent, HSA_AMD_AGENT_INFO_CHIP_ID, "device_id", &json);
  AddAgentValue<uint32_t>(hsa, agent, HSA_AMD_AGENT_INFO_BDFID, "bdf", &json);
  AddAgentValue<uint32_t>(hsa, agent, HSA_AMD_AGENT_INFO_DOMAIN, "domain", &json);
  AddAgentValue<uint32_t>(hsa, agent, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT, "compute_units",
                          &json);
  AddAgentValue<uint32_t>(hsa, agent, HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY, "clock_mhz", &json);
  AddAgentValue<uint32_t>(hsa, agent, HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY, "memory_clock_mhz",
                          &json);
  AddAgentValue<uint32_t>(hsa, agent, HSA_AMD_AGENT_INFO_MEMORY_WIDTH, "memory_width", &json);
  AddAgentValue<uint32_t>(hsa, agent, HSA_AGENT_INFO_WAVEFRONT_SIZE, "wavefront", &json);
  AddAgentValue<uint32_t>(hsa, agent, kFirmware, "firmware", &json);
  AddAgentValue<uint32_t>(hsa, agent, kSdmaFirmware, "sdma_firmware", &json);
  AddAgentValue<bool>(hsa, agent, HSA_AMD_AGENT_INFO_SVM_DIRECT_HOST_ACCESS, "direct_host_access",
                      &json);
  uint32_t caches[4] = {};
  if (hsa.agent_info(agent, HSA_AGENT_INFO_CACHE_SIZE, caches) == HSA_STATUS_SUCCESS)
    json["cache_bytes"] = caches;
  PoolVisit inner{hsa, json};
  hsa.pools(agent, &VisitPool, &inner);
  hsa.isas(agent, &VisitIsa, &inner);
  visit->list.push_back(std::move(json));
  return HSA_STATUS_SUCCESS;
}

void AskHsa(const std::string& chosen) {
  Json answer = {{"runtime", "hsa"}};
  const Library library(!chosen.empty()
                            ? std::vector<std::string>{chosen}
                            : std::vector<std::string>{"libhsa-runtime64.so.1",
                                                       "/opt/rocm/lib/libhsa-runtime64.so.1"});
  const auto failed = [&answer](const std::string& why) {
    answer["error"] = why;
    Print(answer);
  };
  if (!library.loaded()) {
    answer["missing"] = true;
    return failed(library.error());
  }
  answer["library"] = library.Path();
  const Hsa hsa(library);
  if (!hsa.complete()) return failed("this library lacks functions of the HSA runtime");
  const auto text = [&hsa](hsa_status_t status) {
    const char* words = nullptr;
    hsa.text(status, &words);
    return std::string(words != nullptr ? words : "unknown error");
  };
  if (const hsa_status_t status = hsa.init(); status != HSA_STATUS_SUCCESS)
    return failed("hsa_init: " + text(status));
  const char* version = nullptr;
  if (hsa.system_info(HSA_AMD_SYSTEM_INFO_BUILD_VERSION, static_cast<void*>(&version)) ==
          HSA_STATUS_SUCCESS &&
      version != nullptr)
    answer["version"] = version;
  bool yes = false;
  if (hsa.system_info(HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED, &yes) == HSA_STATUS_SUCCESS)
    answer["svm"] = yes;
  if (hsa.system_info(static_cast<hsa_system_info_t>(kXnackEnabled), &yes) == HSA_STATUS_SUCCESS)
    answer["xnack"] = yes;
  answer["gpus"] = Json::array();
  AgentVisit visit{hsa, answer["gpus"]};
  const hsa_status_t status = hsa.agents(&VisitAgent, &visit);
  if (status != HSA_STATUS_SUCCESS) return failed("hsa_iterate_agents: " + text(status));
  Print(answer);
}

Json HipGpu(const hipDeviceProp_t& properties) {
  return {{"name", properties.name},
          {"arch", properties.gcnArchName},
          {"multiprocessors", properties.multiProcessorCount},
          {"clock_mhz", properties.clockRate / 1000},
          {"memory_clock_mhz", properties.memoryClockRate / 1000},
          {"memory_width", properties.memoryBusWidth},
          {"memory_bytes", properties.totalGlobalMem},
          {"wavefront", properties.warpSize},
          {"lds_bytes", properties.sharedMemPerBlock},
          {"l2_bytes", properties.l2CacheSize},
          {"pci_domain", properties.pciDomainID},
          {"pci_bus", properties.pciBusID},
          {"pci_device", properties.pciDeviceID},
          {"large_bar", properties.isLargeBar != 0},
          {"managed_memory", properties.managedMemory != 0},
          {"concurrent_managed", properties.concurrentManagedAccess != 0}};
}

void AskHip(const std::string& chosen) {
  Json answer = {{"runtime", "hip"}};
  const Library library(
      !chosen.empty() ? std::vector<std::string>{chosen}
                      : std::vector<std::string>{kOwnHip, "libamdhip64.so.7", "libamdhip64.so.6",
                                                 "libamdhip64.so.5", "libamdhip64.so",
                                                 "/opt/rocm/lib/libamdhip64.so"});
  const auto failed = [&answer](const std::string& why) {
    answer["error"] = why;
    Print(answer);
  };
  if (!library.loaded()) {
    answer["missing"] = true;
    return failed(library.error());
  }
  answer["library"] = library.Path();
  auto* text = library.Find<decltype(hipGetErrorString)>("hipGetErrorString");
  auto* count = library.Find<decltype(hipGetDeviceCount)>("hipGetDeviceCount");
  auto* version = library.Find<decltype(hipRuntimeGetVersion)>("hipRuntimeGetVersion");
  constexpr const char* kProperties = ROCHOUND_TEXT(hipGetDeviceProperties);
  auto* get = library.Find<hipError_t(hipDeviceProp_t*, int)>(kProperties);
  if (text == nullptr || count == nullptr || version == nullptr || get == nullptr) {
    return failed(std::string("this library has no ") + kProperties +
                  ": it belongs to another generation of ROCm than this rochound");
  }
  int number = 0;
  if (version(&number) == hipSuccess) {
    answer["version"] = std::to_string(number / 10000000) + "." +
                        std::to_string(number / 100000 % 100) + "." +
                        std::to_string(number % 100000);
  }
  int devices = 0;
  if (const hipError_t status = count(&devices); status != hipSuccess) {
    answer["gpus"] = Json::array();
    return failed(std::string("hipGetDeviceCount: ") + text(status));
  }
  answer["gpus"] = Json::array();
  for (int device = 0; device < devices; ++device) {
    hipDeviceProp_t properties{};
    if (const hipError_t status = get(&properties, device); status != hipSuccess)
      return failed(std::string("hipGetDeviceProperties: ") + text(status));
    answer["gpus"].push_back(HipGpu(properties));
  }
  Print(answer);
}

}  // namespace

int main(int argc, char** argv) {
  std::string hsa, hip;
  bool ask_hsa = false, ask_hip = false;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--hsa") == 0 && i + 1 < argc) {
      hsa = argv[++i];
    } else if (strcmp(argv[i], "--hip") == 0 && i + 1 < argc) {
      hip = argv[++i];
    } else if (strcmp(argv[i], "hsa") == 0) {
      ask_hsa = true;
    } else if (strcmp(argv[i], "hip") == 0) {
      ask_hip = true;
    } else {
      fprintf(stderr, "usage: rochound-probe [--hsa LIBRARY] [--hip LIBRARY] [hsa] [hip]\n");
      return 2;
    }
  }
  if (ask_hsa || !ask_hip) AskHsa(hsa);
  if (ask_hip || !ask_hsa) AskHip(hip);
  // The answers are out; a runtime that dies while it is taken down must not spoil them.
  fflush(stdout);
  _Exit(0);
}
