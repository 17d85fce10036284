// SPDX-License-Identifier: MIT
#include "agent/override.h"

#include <hsa/hsa_ext_amd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <set>
#include <string_view>

#include "agent/calls/ranges.h"
#include "agent/runtime.h"
#include "agent/session.h"
#include "agent/thread_state.h"

namespace rochound::agent {
namespace {

Overrides& Mutable() {
  alignas(Overrides) static std::byte place[sizeof(Overrides)];
  static auto* const overrides = new (place) Overrides;  // takes no memory
  return *overrides;
}

bool ReadNumber(std::string_view text, uint64_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && *number != 0;
}

void Say(const std::string& text) {
  const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  static_cast<void>(written);  // nobody to tell
}

hsa_status_t AgentGetInfo(hsa_agent_t agent, hsa_agent_info_t what, void* value) {
  const hsa_status_t status = Real().core.hsa_agent_get_info_fn(agent, what, value);
  const auto cu = TheOverrides().compute_units;
  if (status != HSA_STATUS_SUCCESS || !cu || !IsGpu(AgentIndex(agent)) ||
      static_cast<uint32_t>(what) != HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT)
    return status;
  auto* const count = static_cast<uint32_t*>(value);
  if (*count == *cu) return status;
  Guarded("no memory for an override", [&] {
    Corrected("hsa_agent_get_info", "COMPUTE_UNIT_COUNT", std::to_string(*count),
              std::to_string(*cu));
  });
  *count = *cu;
  return status;
}

}  // namespace

bool ReadOverrides(const std::string& text, Overrides* overrides, std::string* problem) {
  for (std::string_view rest = text; !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view part = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const size_t equals = part.find('=');
    const std::string_view key = part.substr(0, equals);
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1);
    uint64_t number = 0;
    const bool is_number = ReadNumber(value, &number) && number <= UINT32_MAX;
    if (key == "cu" && is_number) {
      overrides->compute_units = static_cast<uint32_t>(number);
    } else if (key == "clock" && is_number) {
      overrides->clock_mhz = static_cast<uint32_t>(number);
    } else if (key == "memory" && is_number) {
      overrides->memory_bytes = number << 30;
    } else if (key == "name" && !value.empty()) {
      overrides->name = std::string(value);
    } else {
      *problem = std::string(part);
      return false;
    }
  }
  return true;
}

const Overrides& TheOverrides() { return Mutable(); }

void PrepareOverrides() {
  const char* const text = getenv("ROCHOUND_OVERRIDE");
  std::string problem;
  if (text == nullptr || ReadOverrides(text, &Mutable(), &problem)) return;
  Mutable() = {};
  Say("rochound: nothing is overridden: '" + problem +
      "' in ROCHOUND_OVERRIDE is none of cu=N, clock=MHZ, memory=GIB, name=TEXT.\n");
}

void Corrected(const char* function, const char* property, const std::string& from,
               const std::string& to) {
  const std::string text =
      std::string("override: ") + function + " " + property + " " + from + " -> " + to;
  RecordRange(trace::RangeKind::kMark, text.c_str(), 0);
  static constinit std::mutex saying;
  static auto* const said = new std::set<std::string>;
  const std::lock_guard lock(saying);
  if (said->insert(text).second)
    Say(std::string("rochound: ") + function + " answers " + to + " instead of " + from + " for " +
        property + " (--override).\n");
}

void HookOverrides(CoreApiTable* core) {
  if (TheOverrides().compute_units) core->hsa_agent_get_info_fn = AgentGetInfo;
}

}  // namespace rochound::agent
