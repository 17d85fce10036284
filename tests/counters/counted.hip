// SPDX-License-Identifier: MIT
//
// A program that reads its own counters (include/rochound/softgpu_counters.h); command_test.py
// starts it. `counted MODE`: "once" prints the record of one kernel as JSON; "fork" does so in two
// processes; "kill" ends by SIGKILL after its kernel; "fault" launches a kernel that faults. A
// check that fails prints FAIL and ends the process with 1.
#include <hip/hip_runtime.h>
#include <rochound/softgpu_counters.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#define CHECK(condition)                                  \
  do {                                                    \
    if (!(condition)) {                                   \
      printf("FAIL line %d: %s\n", __LINE__, #condition); \
      fflush(stdout);                                     \
      _exit(1);                                           \
    }                                                     \
  } while (0)

namespace {

constexpr int kGroups = 5;
constexpr int kGroupSize = 192;
constexpr int kItems = kGroups * kGroupSize;

__global__ void AddCounted(const float* a, const float* b, float* c) {
  const int i = static_cast<int>(blockIdx.x) * kGroupSize + static_cast<int>(threadIdx.x);
  c[i] = a[i] + b[i];
}

__global__ void Fault(int* nowhere) { *nowhere = 1; }

void Launch() {
  float* memory = nullptr;
  CHECK(hipMalloc(reinterpret_cast<void**>(&memory), 3 * kItems * sizeof(float)) == hipSuccess);
  AddCounted<<<kGroups, kGroupSize>>>(memory, memory + kItems, memory + 2 * kItems);
  CHECK(hipDeviceSynchronize() == hipSuccess);
  CHECK(hipFree(memory) == hipSuccess);
}

void CheckRecord(const rochound_softgpu_counters& c) {
  const uint64_t waves_per_group = (kGroupSize + c.wave_size - 1) / c.wave_size;
  CHECK(strstr(c.kernel, "AddCounted") != nullptr);
  CHECK(c.completed == 1);
  CHECK(c.grid[0] == kItems && c.grid[1] == 1 && c.workgroup[0] == kGroupSize);
  CHECK(c.workgroups == kGroups);
  CHECK(c.waves == kGroups * waves_per_group);
  const rochound_softgpu_memory& global = c.memory[ROCHOUND_SOFTGPU_GLOBAL];
  CHECK(global.read_bytes == 2 * kItems * sizeof(float));
  CHECK(global.written_bytes == kItems * sizeof(float));
  CHECK(global.atomic_bytes == 0);
  CHECK(c.instructions[ROCHOUND_SOFTGPU_GLOBAL_LOAD] == 2 * c.waves);
  CHECK(c.instructions[ROCHOUND_SOFTGPU_GLOBAL_STORE] == c.waves);
  CHECK(c.instructions[ROCHOUND_SOFTGPU_VALU] > 0);
  uint64_t total = 0;
  for (uint64_t count : c.instructions) total += count;
  CHECK(total == c.instructions_total);
  CHECK(c.modelled_cycles > 0);
}

void Once() {
  rochound_softgpu_counters c = {};
  int devices = 0;
  CHECK(rochound_softgpu_counters_start() == 0);  // no GPU was used yet
  CHECK(hipGetDeviceCount(&devices) == hipSuccess && devices > 0);
  CHECK(rochound_softgpu_counters_start() == 1);
  CHECK(rochound_softgpu_counters_read(&c, nullptr, 0) == -1);  // no size
  c.size = sizeof(c);
  CHECK(rochound_softgpu_counters_read(&c, nullptr, 0) == 0);
  Launch();
  char too_small[8];
  CHECK(rochound_softgpu_counters_read(&c, too_small, sizeof(too_small)) == -1);
  std::vector<char> json(c.json_bytes);
  CHECK(rochound_softgpu_counters_read(&c, json.data(), json.size()) == 1);
  CheckRecord(c);
  CHECK(c.lost == 0);
  CHECK(rochound_softgpu_counters_read(&c, nullptr, 0) == 0);
  CHECK(rochound_softgpu_counters_stop() == 1);
  Launch();
  CHECK(rochound_softgpu_counters_read(&c, nullptr, 0) == 0);
  printf("%s\n", json.data());
  fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "once";
  if (mode == "fork") {
    const pid_t child = fork();
    CHECK(child >= 0);
    Once();
    if (child == 0) return 0;
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    return 0;
  }
  if (mode == "fault") {
    Fault<<<1, 64>>>(reinterpret_cast<int*>(0x1000));
    return hipDeviceSynchronize() == hipSuccess ? 1 : 0;
  }
  Once();
  if (mode == "kill") raise(SIGKILL);
  return 0;
}
