// SPDX-License-Identifier: MIT
//
// Reads arbitrary streams of probes: that ends with messages or an error, never in a crash. The
// input: the code object (two bytes of length before it), then the stream, which names it 1.hsaco.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "fuzz/folder.h"
#include "probe/stream.h"

namespace {

struct Checked final : rochound::probe::Receiver {
  void OnAccess(const rochound::probe::AccessMessage& message) override {
    if (message.addresses->empty() || message.mask == 0) abort();
    for (const auto& at : message.site->at) sum += at.file.size() + at.line;
    sum += message.function->size() + message.dispatch->kernel.size() + message.addresses->back();
  }
  uint64_t sum = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rochound;
  constexpr size_t kMaxInput = 1 << 16;
  if (size > kMaxInput) return 0;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  fuzz::Write("1.hsaco", fuzz::TakePart(&input));
  fuzz::Write("1.probe", input);
  Checked receiver;
  (void)probe::ReadStreams(fuzz::Folder(), nullptr, &receiver);
  return 0;
}
