// SPDX-License-Identifier: MIT
#include "doctor/runtimes.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

namespace rochound::doctor {
namespace {

using Json = nlohmann::json;

std::string Text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<uint64_t> Number(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer() || found->get<int64_t>() < 0)
    return std::nullopt;
  return found->get<uint64_t>();
}

std::optional<bool> Truth(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_boolean()) return std::nullopt;
  return found->get<bool>();
}

RuntimeGpu HsaGpu(const Json& json) {
  RuntimeGpu gpu;
  gpu.name = Text(json, "product");
  gpu.target = Text(json, "name");
  if (const auto isas = json.find("isas"); isas != json.end() && isas->is_array()) {
    // "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-" says more than the name.
    for (const Json& isa : *isas) {
      const std::string text = isa.is_string() ? isa.get<std::string>() : "";
      const size_t at = text.find("--" + gpu.target);
      if (at == std::string::npos) continue;
      gpu.target = text.substr(at + 2);
      break;
    }
  }
  gpu.node = Number(json, "node");
  gpu.device_id = Number(json, "device_id");
  if (const auto bdf = Number(json, "bdf")) {
    gpu.pci = fmt::format("{:04x}:{:02x}:{:02x}.{}", Number(json, "domain").value_or(0),
                          *bdf >> 8 & 0xff, *bdf >> 3 & 0x1f, *bdf & 7);
  }
  gpu.compute_units = Number(json, "compute_units");
  if (const auto caches = json.find("cache_bytes"); caches != json.end() && caches->is_array()) {
    const auto level = [&](size_t i) -> std::optional<uint64_t> {
      if (i >= caches->size() || !(*caches)[i].is_number_unsigned()) return std::nullopt;
      const auto bytes = (*caches)[i].get<uint64_t>();
      return bytes == 0 ? std::nullopt : std::optional(bytes);
    };
    gpu.l2_bytes = level(1);
    gpu.l3_bytes = level(2);
  }
  return gpu;
}

RuntimeGpu HipGpu(const Json& json) {
  RuntimeGpu gpu;
  gpu.name = Text(json, "name");
  gpu.target = Text(json, "arch");
  if (const auto bus = Number(json, "pci_bus")) {
    gpu.pci = fmt::format("{:04x}:{:02x}:{:02x}.0", Number(json, "pci_domain").value_or(0), *bus,
                          Number(json, "pci_device").value_or(0));
  }
  gpu.compute_units = Number(json, "multiprocessors");
  gpu.l2_bytes = Number(json, "l2_bytes");
  gpu.large_bar = Truth(json, "large_bar");
  gpu.managed_memory = Truth(json, "managed_memory");
  return gpu;
}

void ReadAnswer(const Json& json, bool is_hip, Runtime* runtime) {
  runtime->missing = Truth(json, "missing").value_or(false);
  runtime->error = Text(json, "error");
  runtime->library = Text(json, "library");
  runtime->version = Text(json, "version");
  std::erase(runtime->version, '"');  // some builds of HSA say it in quotes
  runtime->svm = Truth(json, "svm");
  runtime->xnack = Truth(json, "xnack");
  const auto gpus = json.find("gpus");
  if (gpus == json.end() || !gpus->is_array()) return;
  for (const Json& one : *gpus) {
    if (!one.is_object()) continue;
    RuntimeGpu gpu = is_hip ? HipGpu(one) : HsaGpu(one);
    gpu.clock_mhz = Number(one, "clock_mhz");
    gpu.memory_clock_mhz = Number(one, "memory_clock_mhz");
    gpu.memory_width = Number(one, "memory_width");
    gpu.memory_bytes = Number(one, "memory_bytes");
    gpu.wavefront = Number(one, "wavefront");
    gpu.lds_bytes = Number(one, "lds_bytes");
    gpu.firmware = Number(one, "firmware");
    gpu.sdma_firmware = Number(one, "sdma_firmware");
    runtime->gpus.push_back(std::move(gpu));
  }
}

// amd-smi's layout differs by release: a value is looked for by its key at any depth.
const Json* FindDeep(const Json& json, const char* key) {
  if (json.is_object()) {
    if (const auto found = json.find(key); found != json.end()) return &*found;
  }
  if (!json.is_structured()) return nullptr;
  for (const Json& inner : json)
    if (const Json* found = FindDeep(inner, key)) return found;
  return nullptr;
}

std::string DeepText(const Json& json, const char* key) {
  const Json* found = FindDeep(json, key);
  if (found == nullptr) return {};
  if (found->is_string()) return found->get<std::string>();
  return found->is_number_integer() ? std::to_string(found->get<int64_t>()) : "";
}

}  // namespace

void ReadProbe(const std::string& output, const std::string& end, Runtime* hsa, Runtime* hip) {
  for (Runtime* runtime : {hsa, hip})
    if (runtime != nullptr) runtime->asked = true;
  bool hsa_answered = false;
  bool hip_answered = false;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) continue;
    const std::string name = Text(json, "runtime");
    if (name == "hsa" && hsa != nullptr) ReadAnswer(json, false, hsa);
    if (name == "hip" && hip != nullptr) ReadAnswer(json, true, hip);
    hsa_answered |= name == "hsa";
    hip_answered |= name == "hip";
  }
  const std::string why = end.empty() ? "gave no answer" : end;
  if (hsa != nullptr && !hsa_answered) hsa->error = "the HSA runtime " + why;
  // HSA is asked first: if it killed the probe, HIP never had its turn.
  if (hip != nullptr && !hip_answered)
    hip->error = hsa != nullptr && !hsa_answered ? "was not asked" : "the HIP runtime " + why;
}

Runtime ReadSmi(const std::string& output) {
  Runtime smi;
  smi.asked = true;
  Json json = Json::parse(output, nullptr, false);
  if (json.is_discarded()) {
    smi.error = "its output is not JSON";
    return smi;
  }
  if (json.is_object() && json.contains("gpu_data")) json = Json(json["gpu_data"]);
  if (!json.is_array()) json = Json::array({json});
  for (const Json& one : json) {
    RuntimeGpu gpu;
    gpu.name = DeepText(one, "market_name");
    gpu.target = DeepText(one, "target_graphics_version");
    gpu.pci = DeepText(one, "bdf");
    if (const std::string units = DeepText(one, "num_compute_units"); !units.empty())
      gpu.compute_units = strtoull(units.c_str(), nullptr, 10);
    smi.gpus.push_back(std::move(gpu));
  }
  return smi;
}

}  // namespace rochound::doctor
