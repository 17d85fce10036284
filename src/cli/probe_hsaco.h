// SPDX-License-Identifier: MIT
//
// `rochound probe hsaco`: compiles kernels again, with probes, from bitcode that came with them,
// and puts them into a folder for `rochound probe -c`. A part of the probe command, on main's
// thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rochound::cli {

struct ProbeHsacoOptions {
  std::vector<std::string> files;
  std::filesystem::path folder;  // made if it is not there
  std::filesystem::path plugin;
  std::string target;  // of bitcode that does not say it; may be empty
  std::string clang;   // empty: the first that is found
};

// The exit code. What cannot be instrumented is named on stderr.
int MakeProbedObjects(const ProbeHsacoOptions& options);

}  // namespace rochound::cli
