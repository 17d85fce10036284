// SPDX-License-Identifier: MIT
//
// Windows of all ranks of a job, fetched into a folder of ours: daemons write them there where they
// see the same folder, or into a storage, from where they are read and removed. One thread. A rank
// whose window is missing is part of the result, not an Error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/command/job_request.h"

namespace rochound::fleet {

struct WindowRequest {
  std::string job;
  uint64_t from_ns = 0, to_ns = 0;  // CLOCK_REALTIME
  std::string output;
  std::string by;  // s3://BUCKET/PREFIX; empty: daemons see the folder
};

struct Windows {
  std::vector<std::string> folders;  // flight logs, one per process
  nlohmann::json result;             // as written into OUTPUT/window.json
  std::string text;                  // the same for people
  bool whole = false;                // nobody is missing
};

base::Result<Windows> FetchWindows(JobRequests& requests, const WindowRequest& request);

// One trace of all of them, each a node.
base::Result<void> MergeWindows(const std::vector<std::string>& folders, const std::string& trace);

}  // namespace rochound::fleet
