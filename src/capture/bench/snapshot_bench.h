// SPDX-License-Identifier: MIT
//
// How fast the writer takes memory, beside plain memcpy in the same run. For benchmarks; one
// thread. Rates are per second of one core's time, the best of several turns, since machines are
// busy.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.h"

namespace rochound::capture {

struct SnapshotRates {        // bytes per second
  double memcpy_fresh = 0;    // into memory that was never touched
  double memcpy_touched = 0;  // into memory that was
  double before = 0;          // AddRegionBytes of memory before a launch, nothing of it zero
  double after_same = 0;      // of the same memory after it: read back and found equal
  double after_other = 0;     // all changed: read back and stored
  double zeros = 0;           // of pages of zeros
  double kept_wall = 0;       // before, until all of it is on the disk, by the clock on the wall
};

// Bundles are made in folder, which has room for three times as many bytes.
base::Result<SnapshotRates> MeasureSnapshot(const std::filesystem::path& folder, uint64_t bytes,
                                            int turns);

struct PackRates {
  double ratio = 0;             // bundle's size over the bytes of memory that were taken
  double bytes_per_second = 0;  // of memory, compressed and compared; by the clock on the wall
};

// Memory as a kernel might leave it: a third floats that rise, a third zeros, a third small
// integers.
base::Result<PackRates> MeasurePacking(const std::filesystem::path& folder, uint64_t bytes);

}  // namespace rochound::capture
