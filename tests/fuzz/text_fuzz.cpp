// SPDX-License-Identifier: MIT
//
// Feeds arbitrary text to everything that reads what people write: times and sizes, lists of
// injected faults, files of settings. The first byte chooses.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/injected_faults.h"
#include "base/printable.h"
#include "base/units.h"
#include "doctor/profile.h"
#include "doctor/settings.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rochound;
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      (void)base::ParseTime(text);
      (void)base::ParseSize(text);
      break;
    case 1:
      (void)base::ParseInjectedFaults(text).ok();
      break;
    case 2: {
      const auto settings = doctor::ParseSettings(text);
      if (!settings.ok()) break;
      for (const doctor::Setting& setting : settings.value())
        for (const char* file : {"/nowhere/a.sh", "/nowhere/a.conf"})
          (void)doctor::PlanApply(setting, file).ok();
      break;
    }
    default:
      (void)base::Printable(text, "\n");
      (void)doctor::ShellWord(text);
  }
  return 0;
}
