// SPDX-License-Identifier: MIT
#include "capture/replay/counts.h"

#include <rochound/softgpu_counters.h>

namespace rochound::capture::replay {

bool Counts::OnSoftwareGpu() {
  return rochound_softgpu_find_("rochound_softgpu_counters_start") != nullptr;
}

bool Counts::Start() { return rochound_softgpu_counters_start() == 1; }

void Counts::Stop() { rochound_softgpu_counters_stop(); }

std::optional<nlohmann::ordered_json> Counts::Take(const std::string& kernel) {
  std::optional<nlohmann::ordered_json> found;
  std::string text(size_t{1} << 16, '\0');
  for (;;) {
    rochound_softgpu_counters record = {};
    record.size = sizeof(record);
    const int read = rochound_softgpu_counters_read(&record, text.data(), text.size());
    if (read == -1 && record.json_bytes > text.size()) {
      text.resize(record.json_bytes);
      continue;
    }
    if (read != 1) return found;
    auto json = nlohmann::ordered_json::parse(text.c_str(), nullptr, false);
    if (!json.is_object() || record.completed == 0) continue;
    std::string name = json.value("kernel", "");
    if (name.ends_with(".kd")) name.resize(name.size() - 3);
    if (name == kernel) found = std::move(json);
  }
}

}  // namespace rochound::capture::replay
