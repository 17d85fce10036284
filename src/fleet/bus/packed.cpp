// SPDX-License-Identifier: MIT
#include "fleet/bus/packed.h"

#include <zstd.h>

namespace rochound::fleet {
namespace {

constexpr int kLevel = 6;
constexpr size_t kMostBytes = size_t{64} << 20;
constexpr std::string_view kMagic = "\x28\xb5\x2f\xfd";

}  // namespace

std::string Pack(std::string_view text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  const size_t size = ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), kLevel);
  if (ZSTD_isError(size) != 0) return std::string(text);
  packed.resize(size);
  return packed;
}

base::Result<std::string> Unpack(std::string_view message) {
  if (!message.starts_with(kMagic)) return std::string(message);
  const unsigned long long size = ZSTD_getFrameContentSize(message.data(), message.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > kMostBytes)
    return base::Error{"it is packed in a way that is not ours"};
  std::string text(size, '\0');
  const size_t got = ZSTD_decompress(text.data(), text.size(), message.data(), message.size());
  if (ZSTD_isError(got) != 0 || got != size) return base::Error{"it is damaged"};
  return text;
}

}  // namespace rochound::fleet
