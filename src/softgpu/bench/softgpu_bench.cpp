// SPDX-License-Identifier: MIT
//
// `./dev bench softgpu [--json]`: how fast the software GPU is. Instruction rates are measured on
// the machine alone, launch rates through the real HIP runtime. Machines are noisy: each rate is
// the best of several rounds, and one core is compared with two inside one run.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "softgpu/machine/local_machine.h"

namespace rochound::softgpu {
namespace {

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr int kRounds = 10;
constexpr int kTurns = 4;
constexpr uint16_t kGroup = 256;

struct Rate {
  double instructions_per_second = 0;
  double runs_per_second = 0;
};

// The best of several rounds of one launch.
Rate Measure(LocalMachine& machine, const LocalMachine::Launch& launch) {
  Rate best;
  for (int round = 0; round < kRounds; ++round) {
    uint64_t before = machine.device().instructions_executed();
    double begin = Seconds();
    machine.Submit(launch);
    if (!machine.Wait()) {
      std::fprintf(stderr, "bench: %s\n", machine.error().c_str());
      std::exit(1);
    }
    double took = Seconds() - begin;
    auto ran = static_cast<double>(machine.device().instructions_executed() - before);
    best.instructions_per_second = std::max(best.instructions_per_second, ran / took);
    best.runs_per_second = std::max(best.runs_per_second, 1 / took);
  }
  return best;
}

// All kernels on one device with this many threads; in a process of its own, because the number of
// threads is fixed once they run.
nlohmann::json MeasureMachine(DeviceConfig config, unsigned threads, const std::string& folder) {
  config.worker_threads = threads;
  LocalMachine machine(config);
  machine.LoadCodeObject(folder + "/bench_softgpu_" + config.target + ".hsaco");
  nlohmann::json result;

  struct {
    float* out;
    int rounds;
    float a, b;
    char hidden[256];
  } fma = {};
  constexpr uint32_t kFmaGrid = 64 * kGroup;
  fma.out = static_cast<float*>(machine.Allocate(kFmaGrid * sizeof(float)));
  fma.rounds = 200;
  fma.a = 1.0001f;
  fma.b = 0.5f;
  auto kernarg = [&machine](const void* data, size_t size) {
    void* place = machine.Allocate(size);
    std::memcpy(place, data, size);
    // Hidden arguments of code object 5 and later: block counts, then group sizes.
    return static_cast<uint8_t*>(place);
  };
  uint8_t* fma_arguments = kernarg(&fma, sizeof(fma));
  auto set_hidden = [](uint8_t* arguments, size_t explicit_bytes, uint32_t grid) {
    uint32_t blocks[3] = {grid / kGroup, 1, 1};
    uint16_t sizes[6] = {kGroup, 1, 1, 0, 0, 0};
    std::memcpy(arguments + explicit_bytes, blocks, sizeof(blocks));
    std::memcpy(arguments + explicit_bytes + sizeof(blocks), sizes, sizeof(sizes));
  };
  set_hidden(fma_arguments, 24, kFmaGrid);
  result["fma_loop"] =
      Measure(machine, {machine.KernelObject("fma_loop"), kFmaGrid, kGroup, fma_arguments, 0})
          .instructions_per_second;

  constexpr uint32_t kElements = 1 << 21;
  struct {
    float *a, *b, *c;
    int n;
    char hidden[260];
  } add = {};
  add.a = static_cast<float*>(machine.Allocate(kElements * sizeof(float)));
  add.b = static_cast<float*>(machine.Allocate(kElements * sizeof(float)));
  add.c = static_cast<float*>(machine.Allocate(kElements * sizeof(float)));
  for (uint32_t i = 0; i < kElements; ++i) {
    add.a[i] = static_cast<float>(i);
    add.b[i] = 1.0f;
    add.c[i] = 0.0f;
  }
  add.n = static_cast<int>(kElements);
  uint8_t* add_arguments = kernarg(&add, sizeof(add));
  set_hidden(add_arguments, 32, kElements);
  result["vector_add"] =
      Measure(machine, {machine.KernelObject("vector_add"), kElements, kGroup, add_arguments, 0})
          .instructions_per_second;
  for (uint32_t i = 0; i < kElements; ++i) {
    if (add.c[i] != static_cast<float>(i) + 1.0f) {
      std::fprintf(stderr, "bench: vector_add is wrong at %u\n", i);
      std::exit(1);
    }
  }
  return result;
}

std::string ReadAll(FILE* stream) {
  std::string text;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof(buffer), stream)) > 0;) text.append(buffer, n);
  return text;
}

nlohmann::json MeasureApart(const DeviceConfig& config, unsigned threads,
                            const std::string& folder) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(1);
  pid_t child = fork();
  if (child == 0) {
    std::string text = MeasureMachine(config, threads, folder).dump();
    if (write(ends[1], text.data(), text.size()) < 0) _exit(1);
    _exit(0);
  }
  close(ends[1]);
  FILE* stream = fdopen(ends[0], "r");
  std::string text = ReadAll(stream);
  fclose(stream);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) std::exit(1);
  return nlohmann::json::parse(text);
}

void KeepBest(nlohmann::json* best, const nlohmann::json& rates) {
  for (const auto& [kernel, rate] : rates.items())
    (*best)[kernel] = std::max(best->value(kernel, 0.0), rate.get<double>());
}

nlohmann::json MeasureLaunches(const std::string& gpu, const std::string& folder) {
  std::string command =
      folder + "/rochound softgpu --gpu " + gpu + " -- " + folder + "/bench_softgpu_launch_rate";
  FILE* stream = popen(command.c_str(), "r");
  std::string text = ReadAll(stream);
  if (pclose(stream) != 0) {
    std::fprintf(stderr, "bench: failed: %s\n", command.c_str());
    std::exit(1);
  }
  nlohmann::json result;
  char name[64];
  double value;
  int used = 0;
  const char* at = text.c_str();
  while (std::sscanf(at, "%63s %lf%n", name, &value, &used) == 2) {
    result[name] = value;
    at += used;
  }
  return result;
}

}  // namespace
}  // namespace rochound::softgpu

int main(int argc, char** argv) {
  using namespace rochound::softgpu;
  bool json = argc > 1 && std::strcmp(argv[1], "--json") == 0;
  std::string folder = argv[0];
  folder = folder.substr(0, folder.find_last_of('/'));
  nlohmann::json all;
  struct {
    const char* gpu;
    DeviceConfig config;
  } devices[] = {{"mi300x", LocalMachine::Mi300x()}, {"rx6800xt", LocalMachine::Rx6800xt()}};
  for (auto& [gpu, config] : devices) {
    // In turns, so that a slow moment of the machine does not fall on one of them alone.
    nlohmann::json one = nlohmann::json::object();
    nlohmann::json two = nlohmann::json::object();
    for (int turn = 0; turn < kTurns; ++turn) {
      KeepBest(&one, MeasureApart(config, 1, folder));
      KeepBest(&two, MeasureApart(config, 2, folder));
    }
    nlohmann::json& result = all[gpu];
    for (const char* kernel : {"fma_loop", "vector_add"}) {
      double rate = one[kernel];
      double both = two[kernel];
      result[kernel] = {{"wave_instructions_per_second_and_core", rate},
                        {"two_cores_over_one", both / rate}};
    }
    result["launch"] = MeasureLaunches(gpu, folder);
  }
  if (json) {
    std::printf("%s\n", all.dump(2).c_str());
    return 0;
  }
  for (auto& [gpu, result] : all.items()) {
    for (const char* kernel : {"fma_loop", "vector_add"}) {
      double rate = result[kernel]["wave_instructions_per_second_and_core"];
      double ratio = result[kernel]["two_cores_over_one"];
      std::printf("%-9s %-11s %7.1f M wave instructions/s/core, two cores %.2fx\n", gpu.c_str(),
                  kernel, rate / 1e6, ratio);
    }
    double launches = result["launch"]["launches_per_second"];
    double latency = result["launch"]["launch_and_sync_microseconds"];
    std::printf("%-9s %-11s %7.0f launches/s, launch and sync %.1f us\n", gpu.c_str(), "empty",
                launches, latency);
  }
  return 0;
}
