// SPDX-License-Identifier: MIT
//
// The body that a language model's server sends: the source in it, or one sentence about what is
// wrong with it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/must.h"
#include "optimize/model_answer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rochound;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  for (const auto take : {optimize::SourceInAnswer, optimize::SourceInText}) {
    const auto source = take(input);
    if (source.ok())
      fuzz::Must(source.value().size() <= optimize::kMostSource);
    else
      fuzz::Must(!source.error().message.empty());
  }
  return 0;
}
