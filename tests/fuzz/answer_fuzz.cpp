// SPDX-License-Identifier: MIT
//
// Reads arbitrary bytes as the answer of a control socket, as `rochound ctl` does.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "launch/control_client.h"

namespace {

void MustBePrintable(std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rochound::launch;
  const ControlAnswer answer = ParseControlAnswer({reinterpret_cast<const char*>(data), size});
  MustBePrintable(answer.error);
  if ((answer.outcome == ControlAnswer::kDone) != answer.error.empty() && !answer.values.empty())
    abort();
  for (const auto& [key, value] : answer.values) {
    MustBePrintable(key);
    MustBePrintable(value);
    (void)answer.Number(key);
  }
  for (const InFlight& work : answer.LongWork()) MustBePrintable(work.kernel);
  return 0;
}
