// SPDX-License-Identifier: MIT
//
// What the runtimes say, as rochound-probe prints it, and what amd-smi says: read from text into
// plain values. The command line starts both programs and hands their output over; a copy of
// another machine holds it in files. Any thread. Whatever is missing stays empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rochound::doctor {

struct RuntimeGpu {
  std::string name;    // marketing name
  std::string target;  // gfx90a:sramecc+:xnack-
  std::string pci;     // 0000:03:00.0
  std::optional<uint64_t> node, device_id, compute_units, clock_mhz, memory_clock_mhz, memory_width,
      memory_bytes, wavefront, lds_bytes, l2_bytes, l3_bytes, firmware, sdma_firmware;
  std::optional<bool> large_bar, managed_memory;

  std::string processor() const { return target.substr(0, target.find(':')); }
};

struct Runtime {
  bool asked = false;
  bool missing = false;  // no such library
  std::string error;     // why gpus are not complete
  std::string library;   // its file
  std::string version;
  std::optional<bool> svm, xnack;
  std::vector<RuntimeGpu> gpus;
};

struct Runtimes {
  Runtime hsa;
  Runtime hip;
  // HIP asked once more with GPU_ENABLE_WGP_MODE=0, so that the doctor need not only claim it.
  Runtime hip_without_wgp;
  // amd-smi; not asked: it is not installed.
  Runtime smi;
};

// output: lines of JSON, possibly cut off. end: how the program ended if not well, e.g. "was killed
// by signal 11"; it becomes the error of a runtime that was asked for and did not answer.
void ReadProbe(const std::string& output, const std::string& end, Runtime* hsa, Runtime* hip);

// output of: amd-smi static --json
Runtime ReadSmi(const std::string& output);

}  // namespace rochound::doctor
