// SPDX-License-Identifier: MIT
//
// What is known of an architecture, as data: a JSON file per target (src/profile/architectures,
// installed with rochound) with metrics that follow from hardware counters, and operations per
// clock. Everything names its source. Offline; plain values.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "profile/counter_source.h"

namespace rochound::profile {

struct Metric {
  std::string name;
  std::string unit;
  std::string formula;
  std::string about;
  std::string source;
  // What it is a part of in the roofline: a unit and type ("matrix.f16"), "memory" or "l2"; or "".
  std::string roofline;
};

struct Architecture {
  std::string target;
  double transfers_per_memory_clock = 0;
  std::string memory_source;
  double memory_reachable = 1;  // share of the memory's peak that a plain copy reaches
  std::string operations_source;
  std::map<std::string, double> operations_per_clock;  // of a compute unit; "matrix.f16"
  std::vector<Metric> metrics;
  // Of caches between compute units and memory: "l2" of a die, "mall" of the GPU; per second where
  // one has a clock of its own. What is not known is not there.
  std::map<std::string, double> cache_bytes_per_clock;
  std::map<std::string, double> cache_bytes_per_second;
  std::string cache_source;
  std::map<std::string, size_t> counters_at_once;  // that a block can count: "SQ" 8
};

// The file of this target in the folder; an error also if a formula is wrong.
base::Result<Architecture> LoadArchitecture(const std::filesystem::path& folder,
                                            const std::string& target);

struct Device {
  std::string name;
  std::string target;
  double compute_units = 0;
  double clock_mhz = 0;
  double memory_clock_mhz = 0;
  double memory_width_bits = 0;
  std::string clock_source;   // of clock and compute units
  std::string memory_source;  // of the memory's clock and width
  double simds_per_unit = 0;
  double waves_per_simd = 0;  // at most
  double dies = 1;            // each with an L2 of its own
};

struct Peak {
  double per_second = 0;
  std::string source;  // how it was computed, and from whose figures; or how it was measured
  bool measured = false;
  // Of a measured one: what it is in the place of.
  std::optional<double> from_table = std::nullopt;
  double reachable = 1;  // of memory that was not measured: the share that a plain copy reaches
};

struct Peaks {
  std::map<std::string, Peak> operations;  // "matrix.f16"
  std::optional<Peak> memory_bytes;
  std::map<std::string, Peak> cache_bytes;  // "l2", "mall"; measured ones also "l1", "lds"
};

// Nothing for what the device or the architecture does not say.
Peaks PeaksOf(const Device& device, const Architecture& architecture);

}  // namespace rochound::profile
