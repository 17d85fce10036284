// SPDX-License-Identifier: MIT
//
// Peaks that `rochound profile --measure-peaks` measured (src/profile/peaks), kept in peaks.json
// (docs/formats/profile.md), and how they take the place of those of the table. Offline; plain
// values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "profile/architecture.h"

namespace rochound::profile {

struct Measurement {
  double count = 0;  // operations or bytes
  double seconds = 0;
  double PerSecond() const { return count / seconds; }
};

struct MeasuredPeaks {
  std::string device;  // as HIP calls it
  std::string target;
  uint64_t compute_units = 0;
  bool software_gpu = false;                      // then times are those of its host
  std::map<std::string, Measurement> operations;  // "matrix.f16"
  std::map<std::string, Measurement> bytes;       // "lds", "l1", "l2", "mall", "memory"
};

// What the program printed.
base::Result<MeasuredPeaks> ParseMeasurements(const std::string& text, const std::string& target,
                                              bool software_gpu);

std::string MeasuredPeaksJson(const MeasuredPeaks& measured);
base::Result<MeasuredPeaks> LoadMeasuredPeaks(const std::filesystem::path& file);

// Puts what was measured in the place of what the table says, and keeps that beside it. An error if
// it was measured on a GPU with another target. Of a software GPU nothing is used, and a warning
// says so.
base::Result<void> UseMeasuredPeaks(const MeasuredPeaks& measured, const Device& device,
                                    Peaks* peaks, std::vector<std::string>* warnings);

// For a terminal. table: the peaks of the GPU's table; empty if it has none.
std::string MeasuredPeaksPage(const MeasuredPeaks& measured, const Peaks& table);

}  // namespace rochound::profile
