// SPDX-License-Identifier: MIT
//
// An analyzer that somebody else wrote, in a shared library (include/rochound/analyzer.h). It may
// do anything, so whoever loads one does that in a process made for it. The library stays loaded.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"
#include "probe/analyzer.h"

namespace rochound::probe {

class Plugin : public Analyzer {
 public:
  virtual Needs needs() const = 0;
  virtual bool failed() const = 0;  // its answer was that it has none
};

// Whether -a means one.
bool IsPluginName(const std::string& name);
// Loads the library, and goes no further.
base::Result<void> CheckPlugin(const std::filesystem::path& library);
base::Result<std::unique_ptr<Plugin>> LoadPlugin(const std::filesystem::path& library,
                                                 const AnalyzerOutput& output);

}  // namespace rochound::probe
