// SPDX-License-Identifier: MIT
//
// Feeds arbitrary bytes to the readers of code objects and of the files that contain them: they end
// with an error or with tables, never in a crash.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "codeobj/code_object.h"
#include "codeobj/fat_binary.h"
#include "codeobj/swap.h"

namespace {

using namespace rochound::codeobj;

constexpr size_t kMaxInput = 1 << 16;
constexpr uint64_t kMaxUnfolded = 1 << 22;

uint64_t Use(std::string_view bytes) {
  const auto object = CodeObject::Parse(bytes);
  if (!object.ok()) return object.error().message.size();
  uint64_t sum = 0;
  for (const Kernel& kernel : object.value().kernels()) {
    for (const Argument& argument : kernel.arguments) {
      for (const char byte : argument.BytesOf(bytes)) sum += static_cast<uint8_t>(byte);
    }
    sum += kernel.code_size + SameArguments(object.value().kernels()[0], kernel).ok();
    const SwapSide side{object.value(), bytes};
    sum += PlanSwap(side, side, kernel.name, std::nullopt).ok();
  }
  for (const Relocation& relocation : object.value().relocations()) sum += relocation.size();
  sum += object.value().GetKernel("none").ok();
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > kMaxInput) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  volatile uint64_t sum = Use(bytes);
  const auto objects = FindCodeObjects(bytes, kMaxUnfolded);
  if (!objects.ok()) return 0;
  for (const EmbeddedObject& object : objects.value()) sum = sum + Use(object.bytes);
  return 0;
}
