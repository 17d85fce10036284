// SPDX-License-Identifier: MIT
#include "agent/calls/hip_override.h"

// First, for the types that the next one uses without including them.
#include <hip/amd_detail/hip_prof_str.h>

#include <hip/amd_detail/hip_api_trace.hpp>
#include <string>

#include "agent/override.h"
#include "agent/session.h"

namespace rochound::agent {
namespace {

template <typename Number, typename Wanted>
void Correct(const char* function, const char* property, Number* number, Wanted wanted) {
  const auto value = static_cast<Number>(wanted);
  if (*number == value) return;
  Corrected(function, property, std::to_string(*number), std::to_string(value));
  *number = value;
}

template <typename Properties>
void CorrectProperties(const char* function, Properties* properties) {
  if (properties == nullptr) return;
  const Overrides& wanted = TheOverrides();
  if (wanted.compute_units)
    Correct(function, "multiProcessorCount", &properties->multiProcessorCount,
            *wanted.compute_units);
  if (wanted.clock_mhz)
    Correct(function, "clockRate", &properties->clockRate, *wanted.clock_mhz * 1000);
  if (wanted.memory_bytes)
    Correct(function, "totalGlobalMem", &properties->totalGlobalMem, *wanted.memory_bytes);
  CorrectName(function, "name", properties->name, sizeof properties->name);
}

void CorrectAttribute(hipDeviceAttribute_t attribute, int* value) {
  if (value == nullptr) return;
  const Overrides& wanted = TheOverrides();
  if (wanted.compute_units && attribute == hipDeviceAttributeMultiprocessorCount)
    Correct("hipDeviceGetAttribute", "MultiprocessorCount", value, *wanted.compute_units);
  if (wanted.clock_mhz && attribute == hipDeviceAttributeClockRate)
    Correct("hipDeviceGetAttribute", "ClockRate", value, *wanted.clock_mhz * 1000);
}

void CorrectTotal(size_t* bytes) {
  if (bytes != nullptr && TheOverrides().memory_bytes)
    Correct("hipDeviceTotalMem", "bytes", bytes, *TheOverrides().memory_bytes);
}

void CorrectDeviceName(char* name, int size) {
  if (size > 0) CorrectName("hipDeviceGetName", "name", name, static_cast<size_t>(size));
}

decltype(HipDispatchTable::hipGetDevicePropertiesR0600_fn) next_properties = nullptr;
decltype(HipDispatchTable::hipGetDevicePropertiesR0000_fn) next_old_properties = nullptr;
decltype(HipDispatchTable::hipDeviceGetAttribute_fn) next_attribute = nullptr;
decltype(HipDispatchTable::hipDeviceTotalMem_fn) next_total = nullptr;
decltype(HipDispatchTable::hipDeviceGetName_fn) next_name = nullptr;

hipError_t Properties(hipDeviceProp_tR0600* properties, int device) {
  const hipError_t result = next_properties(properties, device);
  if (result == hipSuccess)
    Guarded("no memory for an override",
            [&] { CorrectProperties("hipGetDeviceProperties", properties); });
  return result;
}

hipError_t OldProperties(hipDeviceProp_tR0000* properties, int device) {
  const hipError_t result = next_old_properties(properties, device);
  if (result == hipSuccess)
    Guarded("no memory for an override",
            [&] { CorrectProperties("hipGetDeviceProperties", properties); });
  return result;
}

hipError_t Attribute(int* value, hipDeviceAttribute_t attribute, int device) {
  const hipError_t result = next_attribute(value, attribute, device);
  if (result == hipSuccess)
    Guarded("no memory for an override", [&] { CorrectAttribute(attribute, value); });
  return result;
}

hipError_t Total(size_t* bytes, hipDevice_t device) {
  const hipError_t result = next_total(bytes, device);
  if (result == hipSuccess) Guarded("no memory for an override", [&] { CorrectTotal(bytes); });
  return result;
}

hipError_t DeviceName(char* name, int size, hipDevice_t device) {
  const hipError_t result = next_name(name, size, device);
  if (result == hipSuccess)
    Guarded("no memory for an override", [&] { CorrectDeviceName(name, size); });
  return result;
}

template <typename Function>
void Take(Function* entry, Function* next, Function ours) {
  Function const current = __atomic_load_n(entry, __ATOMIC_RELAXED);
  if (current == nullptr || current == ours) return;
  *next = current;
  __atomic_store_n(entry, ours, __ATOMIC_RELEASE);
}

}  // namespace

void OverrideHipTable(void* table, bool (*has)(const char* function, const void* context),
                      const void* context) {
  if (!TheOverrides().any()) return;
  auto* const entries = static_cast<HipDispatchTable*>(table);
  if (has("hipGetDevicePropertiesR0600", context))
    Take(&entries->hipGetDevicePropertiesR0600_fn, &next_properties, &Properties);
  if (has("hipGetDevicePropertiesR0000", context))
    Take(&entries->hipGetDevicePropertiesR0000_fn, &next_old_properties, &OldProperties);
  if (has("hipDeviceGetAttribute", context))
    Take(&entries->hipDeviceGetAttribute_fn, &next_attribute, &Attribute);
  if (has("hipDeviceTotalMem", context)) Take(&entries->hipDeviceTotalMem_fn, &next_total, &Total);
  if (has("hipDeviceGetName", context))
    Take(&entries->hipDeviceGetName_fn, &next_name, &DeviceName);
}

void OverrideTracedAnswer(uint32_t id, const hip_api_data_s& data) {
  if (!TheOverrides().any()) return;
  Guarded("no memory for an override", [&] {
    if (id == HIP_API_ID_hipGetDevicePropertiesR0600)
      CorrectProperties("hipGetDeviceProperties", data.args.hipGetDevicePropertiesR0600.prop);
    if (id == HIP_API_ID_hipDeviceGetAttribute)
      CorrectAttribute(data.args.hipDeviceGetAttribute.attr, data.args.hipDeviceGetAttribute.pi);
    if (id == HIP_API_ID_hipDeviceTotalMem) CorrectTotal(data.args.hipDeviceTotalMem.bytes);
    if (id == HIP_API_ID_hipDeviceGetName)
      CorrectDeviceName(data.args.hipDeviceGetName.name, data.args.hipDeviceGetName.len);
  });
}

bool CorrectsTracedAnswers() { return true; }

}  // namespace rochound::agent
