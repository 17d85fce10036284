// SPDX-License-Identifier: MIT
#include "fleet/daemon/code_objects.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "base/files.h"
#include "base/sha256.h"

namespace rochound::fleet {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 30;

bool ParseNumber(std::string_view text, auto* value) {
  int base = 10;
  if (text.starts_with("0x")) {
    text.remove_prefix(2);
    base = 16;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// The loader writes characters that a URI may not have as %XX.
std::string Unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr ==
            text.data() + i + 3) {
      plain += static_cast<char>(value);
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::string ReadBytes(const CodeOrigin& origin) {
  const std::string path =
      origin.path.empty() ? "/proc/" + std::to_string(origin.process) + "/mem" : origin.path;
  uint64_t bytes = origin.size;
  int file = -1;
  if (origin.path.empty()) {
    file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  } else {
    uint64_t there = 0;
    const auto opened = base::OpenRegularFile(path, &there);
    if (!opened.ok()) return {};
    file = opened.value();
    if (bytes == 0) bytes = there - std::min(there, origin.offset);
  }
  if (file < 0) return {};
  std::string content;
  if (bytes != 0 && bytes <= kMostBytes) {
    content.resize(bytes);
    size_t done = 0;
    while (done < bytes) {
      const ssize_t got = pread(file, content.data() + done, bytes - done,
                                static_cast<off_t>(origin.offset + done));
      if (got <= 0) break;
      done += static_cast<size_t>(got);
    }
    if (done != bytes) content.clear();
  }
  close(file);
  return content;
}

}  // namespace

std::optional<CodeOrigin> ParseCodeUri(std::string_view uri) {
  CodeOrigin origin;
  const size_t hash = std::min(uri.find('#'), uri.size());
  std::string_view place = uri.substr(0, hash);
  if (place.starts_with("file://")) {
    origin.path = Unescape(place.substr(7));
    if (origin.path.empty()) return std::nullopt;
  } else if (!place.starts_with("memory://") || !ParseNumber(place.substr(9), &origin.process)) {
    return std::nullopt;
  }
  std::string_view rest = hash < uri.size() ? uri.substr(hash + 1) : "";
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    uint64_t* const value = part.starts_with("offset=") ? &origin.offset
                            : part.starts_with("size=") ? &origin.size
                                                        : nullptr;
    if (value != nullptr && !ParseNumber(part.substr(part.find('=') + 1), value))
      return std::nullopt;
  }
  return origin;
}

void CodeObjects::Load() {
  const auto content = base::ReadFile(log_ / "code_objects", base::kMostText);
  if (!content.ok()) return;
  std::string_view text = content.value();
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    uint32_t number = 0;
    const size_t tab = line.find('\t');
    if (tab != std::string_view::npos && ParseNumber(line.substr(0, tab), &number))
      uris_[number] = line.substr(tab + 1);
  }
}

std::string CodeObjects::Hash(uint32_t number) {
  if (number == 0) return {};
  const auto known = hashes_.find(number);
  if (known != hashes_.end()) return known->second;
  if (!uris_.contains(number)) Load();
  const auto uri = uris_.find(number);
  if (uri == uris_.end()) return {};  // the log does not say yet
  std::string hash;
  if (const auto origin = ParseCodeUri(uri->second))
    if (const std::string bytes = ReadBytes(*origin); !bytes.empty())
      hash = base::Sha256(bytes).substr(0, 32);
  return hashes_[number] = hash;
}

}  // namespace rochound::fleet
