// SPDX-License-Identifier: MIT
#include "softgpu/driver/device_tree.h"

#include <charconv>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "base/files.h"

namespace rochound::softgpu {
namespace {

using base::Error;
using base::Result;

class Conf {
 public:
  explicit Conf(std::string_view text) {
    while (!text.empty()) {
      const size_t end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      text = end == text.npos ? std::string_view() : text.substr(end + 1);
      const size_t space = line.find(' ');
      if (space != line.npos) values_[line.substr(0, space)] = line.substr(space + 1);
    }
  }

  void Get(const char* key, std::string& out) {
    const auto found = values_.find(key);
    if (found == values_.end())
      Fail(key, "is missing");
    else
      out = found->second;
  }

  template <typename Number>
  void Get(const char* key, Number& out) {
    std::string text;
    Get(key, text);
    if (!error_.empty()) return;
    uint64_t number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    out = static_cast<Number>(number);
    if (code != std::errc() || end != text.data() + text.size() || uint64_t{out} != number)
      Fail(key, "is not a number that fits");
  }

  const std::string& error() const { return error_; }

 private:
  void Fail(const char* key, const char* what) {
    if (error_.empty()) error_ = std::string("'") + key + "' " + what;
  }

  std::map<std::string_view, std::string_view> values_;
  std::string error_;
};

}  // namespace

Result<GpuFacts> ParseGpuFacts(const std::string& text) {
  Conf conf(text);
  GpuFacts facts;
  conf.Get("name", facts.name);
  conf.Get("marketing_name", facts.marketing_name);
  conf.Get("target", facts.target);
  conf.Get("node", facts.node);
  conf.Get("gpu_id", facts.gpu_id);
  conf.Get("render_minor", facts.render_minor);
  conf.Get("device_id", facts.device_id);
  conf.Get("revision_id", facts.revision_id);
  conf.Get("family_id", facts.family_id);
  conf.Get("asic_revision", facts.asic_revision);
  conf.Get("vram_bytes", facts.vram_bytes);
  conf.Get("vram_type", facts.vram_type);
  conf.Get("vram_width_bits", facts.vram_width_bits);
  conf.Get("vram_host_visible", facts.vram_host_visible);
  conf.Get("memory_clock_mhz", facts.memory_clock_mhz);
  conf.Get("engine_clock_mhz", facts.engine_clock_mhz);
  conf.Get("counter_khz", facts.counter_khz);
  conf.Get("cu_count", facts.cu_count);
  conf.Get("num_xcc", facts.num_xcc);
  conf.Get("shader_engines", facts.shader_engines);
  conf.Get("arrays_per_engine", facts.arrays_per_engine);
  conf.Get("simd_per_cu", facts.simd_per_cu);
  conf.Get("max_waves_per_simd", facts.max_waves_per_simd);
  conf.Get("lds_bytes", facts.lds_bytes);
  conf.Get("gws", facts.gws);
  if (!conf.error().empty()) return Error{conf.error()};
  return facts;
}

Result<std::vector<GpuFacts>> ReadDeviceTree(const std::string& root) {
  std::vector<GpuFacts> all;
  for (uint32_t node = 1;; ++node) {
    const std::string path = root + "/devices/" + std::to_string(node) + ".conf";
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) break;
    ROCHOUND_TRY(const std::string text, base::ReadFile(path));
    auto facts = ParseGpuFacts(text);
    if (!facts.ok()) return facts.error().In(path);
    if (facts.value().node != node)
      return Error{path + ": says it is node " + std::to_string(facts.value().node)};
    all.push_back(std::move(facts).value());
  }
  if (all.empty()) return Error{root + ": no device tree here (no devices/1.conf)"};
  return all;
}

}  // namespace rochound::softgpu
