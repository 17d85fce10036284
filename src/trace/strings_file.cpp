// SPDX-License-Identifier: MIT
#include "trace/strings_file.h"

#include <unistd.h>

#include <cstring>
#include <utility>

#include "base/files.h"
#include "trace/layout.h"

namespace rochound::trace {

std::string StringsFile::Load(const std::filesystem::path& path, const OpenFile& open) {
  content_.clear();
  starts_.clear();
  auto content = ReadFileBy(open, path, base::kMostFile);
  StringsHeader header{};
  if (content.ok() && content.value().size() >= sizeof header) {
    content_ = std::move(content).value();
    memcpy(&header, content_.data(), sizeof header);
  }
  if (content_.empty() || header.magic != kStringsMagic || header.version != kLogVersion) {
    content_.clear();
    return "the strings file is missing or damaged; names are missing";
  }
  starts_.resize(content_.size() / 8);
  size_t at = sizeof header;
  StringHead head{};
  while (content_.size() - at >= sizeof head) {
    memcpy(&head, content_.data() + at, sizeof head);
    if (head.kind == StringKind::kEnd) break;
    const bool known = head.kind == StringKind::kString || head.kind == StringKind::kFiller;
    if (!known || head.bytes > content_.size() - at - sizeof head) {
      return "the strings file is damaged; some names are missing";
    }
    if (head.kind == StringKind::kString) starts_[at / 8] = true;
    at += (sizeof head + head.bytes + 7) / 8 * 8;
    if (at > content_.size()) break;
  }
  return {};
}

std::optional<std::string_view> StringsFile::Find(uint32_t id) const {
  if (id >= starts_.size() || !starts_[id]) return std::nullopt;
  StringHead head;
  memcpy(&head, content_.data() + uint64_t{id} * 8, sizeof head);
  return std::string_view(content_).substr(uint64_t{id} * 8 + sizeof head, head.bytes);
}

std::optional<std::string> ReadString(const std::filesystem::path& path, const OpenFile& open,
                                      uint32_t id) {
  const auto opened = open(path, nullptr);
  if (!opened.ok()) return std::nullopt;
  const auto offset = static_cast<off_t>(uint64_t{id} * 8);
  StringHead head{};
  std::string text;
  const bool found =
      pread(opened.value(), &head, sizeof head, offset) == static_cast<ssize_t>(sizeof head) &&
      head.kind == StringKind::kString && head.bytes <= kLongestString;
  if (found) text.resize(head.bytes);
  const bool whole =
      found && pread(opened.value(), text.data(), text.size(),
                     offset + static_cast<off_t>(sizeof head)) == static_cast<ssize_t>(text.size());
  close(opened.value());
  return whole ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace rochound::trace
