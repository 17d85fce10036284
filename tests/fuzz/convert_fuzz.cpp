// SPDX-License-Identifier: MIT
//
// Converts arbitrary logs (log_input.h) into all that a run leaves: that ends with files or with an
// error, never in a crash. Maps and facts of the process are bytes of the input, too.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "fuzz/log_input.h"
#include "store/convert/conversion.h"

namespace {

using namespace rochound;

// Paths of a log may be anybody's; here they are nobody's, so that inputs do the same everywhere.
std::string WithoutPaths(std::string text) {
  std::replace(text.begin(), text.end(), '/', 'x');
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (!fuzz::WriteLog(data, size)) return 0;
  const std::string input(reinterpret_cast<const char*>(data), size);
  fuzz::Write("maps", WithoutPaths(input));
  fuzz::Write("facts", input);
  const auto run = trace::RunLog::Open(fuzz::Folder());
  if (!run.ok()) return 0;
  static const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  store::TextOutput lines(nowhere, "lines"), durations(nowhere, "durations");
  store::ConversionOptions options;
  // Every eighth: a database takes longer than all the rest.
  if (data[0] % 8 == 7) options.rpd = fuzz::Folder() / "trace.rpd";
  options.jsonl = &lines;
  options.durations = &durations;
  (void)store::ConvertRun(run.value(), options).ok();
  unlink((fuzz::Folder() / "trace.rpd").c_str());
  return 0;
}
