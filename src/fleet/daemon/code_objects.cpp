// SPDX-License-Identifier: MIT
#include "fleet/daemon/code_objects.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "base/files.h"
#include "base/parse.h"
#include "base/sha256.h"
#include "fleet/daemon/owner_files.h"
#include "launch/process_tree.h"

namespace rochound::fleet {
namespace {

// Meanwhile the daemon follows no log: SHA-256 takes a second for 200 MB, for each process.
constexpr uint64_t kMostBytes = uint64_t{16} << 20;
constexpr uint64_t kMostList = uint64_t{16} << 20;
constexpr size_t kDigits = 32;

// With 0x in front: hexadecimal.
bool ParseAnyNumber(std::string_view text, auto* value) {
  const bool hexadecimal = text.starts_with("0x");
  return base::ParseNumber(text.substr(hexadecimal ? 2 : 0), value, hexadecimal ? 16 : 10);
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

// All of them, or none.
std::string ReadPart(int file, uint64_t offset, uint64_t bytes) {
  std::string content;
  if (bytes == 0 || bytes > kMostBytes) return content;
  content.resize(bytes);
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        pread(file, content.data() + done, bytes - done, static_cast<off_t>(offset + done));
    if (got <= 0) return {};
    done += static_cast<size_t>(got);
  }
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
  } else if (!place.starts_with("memory://") || !ParseAnyNumber(place.substr(9), &origin.process)) {
    return std::nullopt;
  }
  std::string_view rest = hash < uri.size() ? uri.substr(hash + 1) : "";
  while (!rest.empty()) {
    const std::string_view part = base::TakeUntil(&rest, '&');
    uint64_t* const value = part.starts_with("offset=") ? &origin.offset
                            : part.starts_with("size=") ? &origin.size
                                                        : nullptr;
    if (value != nullptr && !ParseAnyNumber(part.substr(part.find('=') + 1), value))
      return std::nullopt;
  }
  return origin;
}

CodeObjects::CodeObjects(std::filesystem::path log)
    : log_(std::move(log)), name_(trace::ParseLogName(log_)), open_(OpenerOf(log_)) {}

// Only of the process whose log this is, and only if it is the log's owner's. -1: it is not.
int CodeObjects::OpenMemory(pid_t process) const {
  const auto owner = OwnerOf(log_);
  const auto is_its_own = [&] {
    return process != 0 && process == name_.process && trace::ProcessState(name_) != 0 && owner &&
           launch::ProcessUser(process) == owner;
  };
  if (!is_its_own()) return -1;
  const int file =
      open(("/proc/" + std::to_string(process) + "/mem").c_str(), O_RDONLY | O_CLOEXEC);
  // Another process may have had the number just then.
  if (file < 0 || is_its_own()) return file;
  close(file);
  return -1;
}

std::string CodeObjects::ReadBytes(const CodeOrigin& origin, int64_t at_ns) const {
  uint64_t bytes = origin.size;
  int file = -1;
  if (origin.path.empty()) {
    file = OpenMemory(static_cast<pid_t>(origin.process));
  } else {
    uint64_t there = 0;
    const auto opened = OpenNamedFile(log_, origin.path, &there);
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
  std::string content = ReadPart(file, origin.offset, bytes);
  close(file);
  return content.starts_with(ELFMAG) ? content : std::string();
}

void CodeObjects::Load() {
  const std::filesystem::path path = log_ / "code_objects";
  struct stat status{};
  if (!version_.Changed(path, &status)) return;
  const auto content = trace::ReadFileBy(open_, path, kMostList);
  if (!content.ok()) return;
  std::string_view text = content.value();
  while (!text.empty()) {
    std::string_view line = base::TakeUntil(&text, '\n');
    uint32_t number = 0;
    if (!base::ParseNumber(base::TakeUntil(&line, '\t'), &number)) continue;
    const std::string_view uri = base::TakeUntil(&line, '\t');
    lines_.try_emplace(number,
                       Line{std::string(uri), std::string(line), Nanoseconds(status.st_mtim)});
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
  // The bytes are needed for the hash where the recorder made none, or to keep them.
  const auto origin = ParseCodeUri(line->second.uri);
  const bool keep = store_ != nullptr && (hash.empty() || !store_->Has(hash));
  if (origin && (hash.empty() || keep)) {
    const std::string bytes = ReadBytes(*origin, line->second.at_ns);
    const std::string read = bytes.empty() ? "" : base::Sha256(bytes).substr(0, kDigits);
    if (hash.empty()) hash = read;
    if (keep && !read.empty() && read == hash) store_->Keep(hash, bytes, line->second.uri);
  }
  return hashes_[number] = hash;
}

}  // namespace rochound::fleet
