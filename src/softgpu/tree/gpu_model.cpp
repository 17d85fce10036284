// SPDX-License-Identifier: MIT
#include "softgpu/tree/gpu_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "base/installation.h"

namespace rochound::softgpu {
namespace {

using base::Error;
using base::Result;
using nlohmann::json;

// Takes the fields of one JSON object and remembers which, so that left-over ones can be refused.
class FieldReader {
 public:
  FieldReader(const json& object, std::string where) : object_(object), where_(std::move(where)) {}

  Result<std::string> String(const std::string& key) {
    ROCHOUND_TRY(const json* field, Take(key));
    if (!field->is_string()) return Bad(key, "must be a string");
    const std::string text = field->get<std::string>();
    // It becomes one line of a text file.
    const bool printable =
        std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= ' '; });
    if (text.empty() || !printable) return Bad(key, "must be one line of text, not empty");
    return text;
  }

  Result<uint64_t> Number(const std::string& key, uint64_t least, uint64_t most) {
    ROCHOUND_TRY(const json* field, Take(key));
    if (!field->is_number_unsigned()) return Bad(key, "must be a whole number, not negative");
    const uint64_t number = field->get<uint64_t>();
    if (number < least || number > most) {
      return Bad(key, fmt::format("is {}, must be {} to {}", number, least, most));
    }
    return number;
  }

  Result<const json*> Array(const std::string& key) {
    ROCHOUND_TRY(const json* field, Take(key));
    if (!field->is_array()) return Bad(key, "must be a list");
    return field;
  }

  Result<void> NothingLeft() const {
    for (const auto& [key, value] : object_.items()) {
      if (!taken_.count(key)) return Bad(key, "is not a known field");
    }
    return {};
  }

  Error Bad(const std::string& key, const std::string& problem) const {
    return Error{fmt::format("{}: field '{}' {}", where_, key, problem)};
  }

 private:
  Result<const json*> Take(const std::string& key) {
    const auto found = object_.find(key);
    if (found == object_.end()) return Bad(key, "is missing");
    taken_.insert(key);
    return &*found;
  }

  const json& object_;
  std::string where_;
  std::set<std::string> taken_;
};

// gfx + major (one or two digits) + minor and stepping (one hexadecimal digit each).
bool IsTarget(const std::string& target) {
  if (target.rfind("gfx", 0) != 0 || target.size() < 6 || target.size() > 7) return false;
  const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return std::all_of(target.begin() + 3, target.end() - 2, digit) &&
         std::all_of(target.end() - 2, target.end(), hex);
}

Result<CacheModel> ParseCache(const json& object, const std::string& where) {
  if (!object.is_object()) return Error{where + " must be an object"};
  FieldReader fields(object, where);
  CacheModel cache;
  ROCHOUND_TRY(const std::string kind, fields.String("kind"));
  if (kind != "data" && kind != "instruction")
    return fields.Bad("kind", "must be data or instruction");
  cache.instruction = kind == "instruction";
  ROCHOUND_TRY(cache.level, fields.Number("level", 1, 3));
  ROCHOUND_TRY(cache.kilobytes, fields.Number("kilobytes", 1, 4 << 20));
  ROCHOUND_TRY(cache.line_bytes, fields.Number("line_bytes", 1, 4096));
  ROCHOUND_TRY(cache.entries, fields.Number("entries", 1, 1024));
  ROCHOUND_CHECK(fields.NothingLeft());
  return cache;
}

}  // namespace

const std::vector<NumberField>& NumberFields() {
  using M = GpuModel;
  static const std::vector<NumberField> fields = {
      {"device_id", &M::device_id, 1, 0xffff},
      {"revision_id", &M::revision_id, 0, 0xff},
      {"family_id", &M::family_id, 1, 0xff},
      {"asic_revision", &M::asic_revision, 0, 15},
      {"cu_count", &M::cu_count, 1, 1024},
      {"num_xcc", &M::num_xcc, 1, 16},
      {"shader_engines", &M::shader_engines, 1, 64},
      {"arrays_per_engine", &M::arrays_per_engine, 1, 4},
      {"cu_per_array", &M::cu_per_array, 1, 64},
      {"simd_per_cu", &M::simd_per_cu, 1, 4},
      {"wave_size", &M::wave_size, 32, 64},
      {"max_waves_per_simd", &M::max_waves_per_simd, 1, 20},
      {"scratch_slots_per_cu", &M::scratch_slots_per_cu, 1, 80},
      {"lds_bytes", &M::lds_bytes, 1024, 1 << 20},
      {"vgprs_per_simd", &M::vgprs_per_simd, 1, 4096},
      {"max_vgprs_per_wave", &M::max_vgprs_per_wave, 1, 1024},
      {"max_sgprs_per_wave", &M::max_sgprs_per_wave, 1, 128},
      {"vram_bytes", &M::vram_bytes, 1 << 20, 1ull << 46},
      {"vram_type", &M::vram_type, 0, 32},
      {"vram_width_bits", &M::vram_width_bits, 1, 65536},
      {"vram_host_visible", &M::vram_host_visible, 0, 1},
      {"memory_clock_mhz", &M::memory_clock_mhz, 1, 100000},
      {"memory_ecc", &M::memory_ecc, 0, 1},
      {"sram_ecc", &M::sram_ecc, 0, 1},
      {"engine_clock_mhz", &M::engine_clock_mhz, 1, 100000},
      {"counter_khz", &M::counter_khz, 1, 100000000},
      {"sdma_engines", &M::sdma_engines, 1, 16},
      {"sdma_xgmi_engines", &M::sdma_xgmi_engines, 0, 16},
      {"sdma_queues_per_engine", &M::sdma_queues_per_engine, 1, 16},
      {"cp_queues", &M::cp_queues, 1, 256},
      {"gws", &M::gws, 0, 64},
      {"cp_firmware", &M::cp_firmware, 0, 1023},  // KFD keeps ten bits
      {"sdma_firmware", &M::sdma_firmware, 0, 1023},
      {"pcie_mb_per_s", &M::pcie_mb_per_s, 1, 10000000},
      {"xgmi_mb_per_s", &M::xgmi_mb_per_s, 0, 10000000},
  };
  return fields;
}

uint64_t GpuModel::GfxTargetVersion() const {
  const size_t length = target.size();
  const uint64_t major = std::stoul(target.substr(3, length - 5));
  const uint64_t minor = std::stoul(target.substr(length - 2, 1), nullptr, 16);
  const uint64_t stepping = std::stoul(target.substr(length - 1, 1), nullptr, 16);
  return major * 10000 + minor * 100 + stepping;
}

Result<GpuModel> ParseGpuModel(std::string_view text, const std::string& file_name) {
  json object;
  try {
    object = json::parse(text);
  } catch (const json::exception& failure) {
    return Error{fmt::format("{}: not valid JSON: {}", file_name, failure.what())};
  }
  if (!object.is_object()) return Error{file_name + ": must hold one JSON object"};

  FieldReader fields(object, file_name);
  GpuModel model;
  ROCHOUND_TRY(model.name, fields.String("name"));
  ROCHOUND_TRY(model.marketing_name, fields.String("marketing_name"));
  ROCHOUND_TRY(model.kfd_name, fields.String("kfd_name"));
  ROCHOUND_TRY(model.target, fields.String("target"));
  if (!IsTarget(model.target)) return fields.Bad("target", "must look like gfx942 or gfx1030");
  for (const NumberField& field : NumberFields()) {
    ROCHOUND_TRY(model.*field.member, fields.Number(field.key, field.least, field.most));
  }
  if (model.wave_size != 32 && model.wave_size != 64)
    return fields.Bad("wave_size", "must be 32 or 64");
  if (model.lds_bytes % 1024 != 0) return fields.Bad("lds_bytes", "must be whole kilobytes");
  const uint64_t places = model.shader_engines * model.arrays_per_engine * model.cu_per_array;
  if (model.cu_count > places) {
    return fields.Bad("cu_count", fmt::format("is {}, but engines x arrays x CUs make {}",
                                              model.cu_count, places));
  }
  if (model.cu_count % model.num_xcc != 0 || model.shader_engines % model.num_xcc != 0) {
    return fields.Bad("num_xcc", "must divide cu_count and shader_engines");
  }
  ROCHOUND_TRY(const json* caches, fields.Array("caches"));
  for (const json& cache : *caches) {
    ROCHOUND_TRY(CacheModel parsed,
                 ParseCache(cache, fmt::format("{}: cache {}", file_name, model.caches.size())));
    model.caches.push_back(parsed);
  }
  // ROCr divides by what it finds there.
  if (model.caches.empty()) return fields.Bad("caches", "must not be empty");
  ROCHOUND_CHECK(fields.NothingLeft());
  return model;
}

Result<GpuModel> LoadGpuModel(const std::filesystem::path& file) {
  ROCHOUND_TRY(const std::string text, base::ReadFile(file));
  return ParseGpuModel(text, file.string());
}

Result<std::vector<GpuModel>> LoadGpuModels(const std::filesystem::path& directory) {
  std::vector<GpuModel> models;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() != ".json") continue;
    ROCHOUND_TRY(GpuModel model, LoadGpuModel(entry->path()));
    models.push_back(std::move(model));
  }
  if (error)
    return base::ErrnoError("cannot read the device descriptions in", directory, error.value());
  std::sort(models.begin(), models.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return models;
}

base::Result<std::vector<GpuModel>> LoadKnownGpuModels() {
  ROCHOUND_TRY(const std::filesystem::path devices,
               base::FindBesideExecutable("../share/rochound/devices", "the device descriptions"));
  return LoadGpuModels(devices);
}

Result<GpuModel> PickGpuModel(const std::string& name, const std::vector<GpuModel>& known) {
  if (name.find('/') != std::string::npos || std::filesystem::path(name).extension() == ".json") {
    return LoadGpuModel(name);
  }
  std::vector<std::string> names;
  for (const GpuModel& model : known) {
    if (model.name == name) return model;
    names.push_back(model.name);
  }
  return Error{fmt::format("no GPU is called '{}'; there are {}, or give the path of a .json file",
                           name, fmt::join(names, ", "))};
}

}  // namespace rochound::softgpu
