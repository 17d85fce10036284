// SPDX-License-Identifier: MIT
//
// For tests: a HIP before 5.3, which tells a tracer of each function by callbacks of its own, and
// whose functions have other numbers and arguments than those of any header.
#include <cstdint>
#include <cstring>

namespace {

using Api = void (*)(uint32_t domain, uint32_t id, const void* data, void* argument);
using Activity = void* (*)(uint32_t id, void*, const void*, void* argument);

struct Data {
  uint64_t correlation;
  uint32_t phase;
  unsigned char arguments[2000];  // of the longest function
};

constexpr uint32_t kFunctions = 2;
struct Callbacks {
  Api api;
  Activity activity;
  void* argument;
};
Callbacks callbacks[kFunctions + 1];
int last_error = 0;

int Report(uint32_t id, int result) {
  const Callbacks& here = callbacks[id];
  auto* const data = static_cast<Data*>(
      here.activity != nullptr ? here.activity(id, nullptr, nullptr, nullptr) : nullptr);
  if (data != nullptr) {
    // Pointers that lead nowhere, for whoever takes them for arguments that he knows.
    std::memset(data->arguments, 0xff, sizeof data->arguments);
    here.api(3, id, data, nullptr);
    data->phase = 1;
  }
  last_error = result;
  if (data != nullptr) {
    here.api(3, id, data, nullptr);
    here.activity(id, nullptr, nullptr, here.argument);
  }
  return result;
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))
EXPORTED const char* hipApiName(uint32_t id) {
  return id == 1 ? "hipOfThen" : id == 2 ? "hipOfOldTimes" : "unknown";
}
EXPORTED int hipRegisterApiCallback(uint32_t id, void* function, void*) {
  if (id == 0 || id > kFunctions) return 1;
  callbacks[id].api = reinterpret_cast<Api>(function);
  return 0;
}
EXPORTED int hipRegisterActivityCallback(uint32_t id, void* function, void* argument) {
  if (id == 0 || id > kFunctions) return 1;
  callbacks[id].activity = reinterpret_cast<Activity>(function);
  callbacks[id].argument = argument;
  return 0;
}
EXPORTED int hipPeekAtLastError() { return last_error; }
EXPORTED int hipOfThen() { return Report(1, 0); }
EXPORTED int hipOfOldTimes() { return Report(2, 3); }
