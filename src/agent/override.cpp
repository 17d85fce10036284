// SPDX-License-Identifier: MIT
#include "agent/override.h"

#include <hsa/hsa_ext_amd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <set>
#include <string_view>

#include "agent/calls/ranges.h"
#include "agent/runtime.h"
#include "agent/session.h"
#include "agent/thread_state.h"
#include "base/mutex.h"
#include "contract/variables.h"

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

constexpr size_t kProductNameBytes = 64;  // HSA's own limit

void CorrectNumber(const char* property, std::optional<uint32_t> wanted, uint32_t* number) {
  if (!wanted || *number == *wanted) return;
  Corrected("hsa_agent_get_info", property, std::to_string(*number), std::to_string(*wanted));
  *number = *wanted;
}

// Sizes of memory stay what they are: HIP and others divide the GPU's memory by them.
hsa_status_t AgentGetInfo(hsa_agent_t agent, hsa_agent_info_t what, void* value) {
  const hsa_status_t status = Real().core.hsa_agent_get_info_fn(agent, what, value);
  if (status != HSA_STATUS_SUCCESS || !IsGpu(AgentIndex(agent))) return status;
  const Overrides& wanted = TheOverrides();
  Guarded("no memory for an override", [&] {
    switch (static_cast<uint32_t>(what)) {
      case HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT:
        CorrectNumber("COMPUTE_UNIT_COUNT", wanted.compute_units, static_cast<uint32_t*>(value));
        break;
      case HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY:
        CorrectNumber("MAX_CLOCK_FREQUENCY", wanted.clock_mhz, static_cast<uint32_t*>(value));
        break;
      case HSA_AMD_AGENT_INFO_PRODUCT_NAME:
        CorrectName("hsa_agent_get_info", "PRODUCT_NAME", static_cast<char*>(value),
                    kProductNameBytes);
        break;
      default:
        break;
    }
  });
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
  const char* const text = getenv(contract::variables::kOverride);
  std::string problem;
  if (text == nullptr || ReadOverrides(text, &Mutable(), &problem)) return;
  Mutable() = {};
  WriteToStderr("rochound: nothing is overridden: '" + problem +
                "' in ROCHOUND_OVERRIDE is none of cu=N, clock=MHZ, memory=GIB, name=TEXT.\n");
}

void Corrected(const char* function, const char* property, const std::string& from,
               const std::string& to) {
  const std::string text =
      std::string("override: ") + function + " " + property + " " + from + " -> " + to;
  RecordRange(trace::RangeKind::kMark, text.c_str(), 0);
  static constinit base::Mutex saying;
  static auto* const said = new std::set<std::string>;
  const base::Lock lock(saying);
  if (said->insert(text).second)
    WriteToStderr(std::string("rochound: ") + function + " answers " + to + " instead of " + from +
                  " for " + property + " (--override).\n");
}

void CorrectName(const char* function, const char* property, char* name, size_t size) {
  const auto& wanted = TheOverrides().name;
  if (!wanted || name == nullptr || size == 0) return;
  const std::string_view fits = std::string_view(*wanted).substr(0, size - 1);
  const std::string now(name, strnlen(name, size));
  if (now == fits) return;
  Corrected(function, property, now, std::string(fits));
  std::memset(name, 0, size);
  fits.copy(name, fits.size());
}

void WarnThatHipIsNotCorrected() {
  if (!TheOverrides().any()) return;
  WriteToStderr(
      "rochound: --override: this HIP's answers cannot be corrected (it has no tables of "
      "functions, "
      "as HIP 5); only those of HSA are.\n");
}

void HookOverrides(CoreApiTable* core) {
  const Overrides& wanted = TheOverrides();
  if (wanted.compute_units || wanted.clock_mhz || wanted.name)
    core->hsa_agent_get_info_fn = AgentGetInfo;
}

}  // namespace rochound::agent
