// SPDX-License-Identifier: MIT
#include "fleet/daemon/code_objects.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "base/files.h"
#include "base/sha256.h"

namespace rochound::fleet {
namespace {

// Meanwhile the daemon follows no log: SHA-256 takes a second for 200 MB, for each process.
constexpr uint64_t kMostBytes = uint64_t{16} << 20;
constexpr size_t kDigits = 32;

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

int64_t Nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

// `at_ns`: a file that was changed after that is another one.
std::string ReadBytes(const CodeOrigin& origin, int64_t at_ns) {
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
    struct stat status{};
    if (fstat(file, &status) != 0 || Nanoseconds(status.st_ctim) > at_ns) {
      close(file);
      return {};
    }
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
  const std::filesystem::path path = log_ / "code_objects";
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return;
  const auto content = base::ReadFile(path, base::kMostText);
  if (!content.ok()) return;
  std::string_view text = content.value();
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    uint32_t number = 0;
    const size_t tab = line.find('\t');
    if (tab == std::string_view::npos || !ParseNumber(line.substr(0, tab), &number)) continue;
    const std::string_view rest = line.substr(tab + 1);
    const size_t hash = std::min(rest.find('\t'), rest.size());
    lines_.try_emplace(number, Line{std::string(rest.substr(0, hash)),
                                    std::string(rest.substr(std::min(hash + 1, rest.size()))),
                                    Nanoseconds(status.st_mtim)});
  }
}

std::string CodeObjects::Hash(uint32_t number) {
  if (number == 0) return {};
  const auto known = hashes_.find(number);
  if (known != hashes_.end()) return known->second;
  if (!lines_.contains(number)) Load();
  const auto line = lines_.find(number);
  if (line == lines_.end()) return {};  // the log does not say yet
  std::string hash = line->second.hash.substr(0, kDigits);
  // The bytes are needed for the hash, or to keep them; not for a hash that the recorder made.
  const auto origin = ParseCodeUri(line->second.uri);
  if (origin && (hash.empty() || keeper_)) {
    const std::string bytes = ReadBytes(*origin, line->second.at_ns);
    const std::string read = bytes.empty() ? "" : base::Sha256(bytes).substr(0, kDigits);
    if (hash.empty()) hash = read;
    if (keeper_ && !read.empty() && read == hash) keeper_(hash, bytes, line->second.uri);
  }
  return hashes_[number] = hash;
}

}  // namespace rochound::fleet
