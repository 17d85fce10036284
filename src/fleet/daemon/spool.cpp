// SPDX-License-Identifier: MIT
#include "fleet/daemon/spool.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>
#include <vector>

#include "base/check.h"
#include "base/files.h"
#include "base/mutex.h"

namespace rochound::fleet {
namespace {

namespace fs = std::filesystem;

}  // namespace

base::Result<void> Spool::Open(const fs::path& folder, uint64_t committed) {
  const base::Lock lock(mutex_);
  folder_ = folder;
  committed_ = committed;
  sizes_.clear();
  bytes_ = 0;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return base::ErrnoError("cannot make", folder, error.value());
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    uint64_t number = 0;
    const auto [rest, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
    std::error_code inner;
    const bool ours = problem == std::errc() && std::string_view(rest) == ".json";
    if (!ours || number > committed) {
      fs::remove(it->path(), inner);
      continue;
    }
    sizes_[number] = fs::file_size(it->path(), inner);
    bytes_ += sizes_[number];
  }
  if (error) return base::ErrnoError("cannot list", folder, error.value());
  return {};
}

base::Result<void> Spool::Add(uint64_t number, std::string_view message) {
  ROCHOUND_CHECK(base::WriteFileAtomically(Path(number), message));
  const base::Lock lock(mutex_);
  // One that was not committed may be written again, with other content.
  uint64_t& size = sizes_[number];
  bytes_ += message.size() - size;
  size = message.size();
  return {};
}

void Spool::Commit(uint64_t number) {
  const base::Lock lock(mutex_);
  committed_ = number;
}

std::optional<Spool::Message> Spool::Oldest() {
  for (;;) {
    uint64_t number = 0;
    {
      const base::Lock lock(mutex_);
      if (sizes_.empty() || sizes_.begin()->first > committed_) return std::nullopt;
      number = sizes_.begin()->first;
    }
    auto text = base::ReadFile(Path(number));
    if (text.ok()) return Message{number, std::move(text).value()};
    Remove(number);  // somebody took it away
  }
}

void Spool::ForEach(const std::function<bool(const Message&)>& visit) const {
  std::vector<uint64_t> numbers;
  {
    const base::Lock lock(mutex_);
    for (const auto& [number, bytes] : sizes_)
      if (number <= committed_) numbers.push_back(number);
  }
  for (const uint64_t number : numbers) {
    auto text = base::ReadFile(Path(number));
    if (text.ok() && !visit({number, std::move(text).value()})) return;
  }
}

void Spool::Remove(uint64_t number) {
  {
    const base::Lock lock(mutex_);
    const auto one = sizes_.find(number);
    if (one == sizes_.end()) return;
    ROCHOUND_DCHECK(bytes_ >= one->second);
    bytes_ -= one->second;
    sizes_.erase(one);
  }
  std::error_code error;
  fs::remove(Path(number), error);
}

uint64_t Spool::bytes() const {
  const base::Lock lock(mutex_);
  return bytes_;
}

size_t Spool::size() const {
  const base::Lock lock(mutex_);
  return sizes_.size();
}

fs::path Spool::Path(uint64_t number) const {
  const base::Lock lock(mutex_);
  return folder_ / fmt::format("{:012}.json", number);
}

}  // namespace rochound::fleet
