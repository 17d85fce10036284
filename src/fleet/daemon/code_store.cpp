// SPDX-License-Identifier: MIT
#include "fleet/daemon/code_store.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <tuple>
#include <vector>

#include "base/files.h"
#include "base/mutex.h"
#include "fleet/bus/names.h"

namespace rochound::fleet {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kOrigin = ".origin";

bool IsHash(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

bool CodeStore::Has(const std::string& hash) const {
  std::error_code error;
  return IsHash(hash) && fs::exists(folder_ / hash, error);
}

// HASH has the bytes, HASH.origin where they were.
void CodeStore::Keep(const std::string& hash, std::string_view bytes, std::string_view origin) {
  if (!IsHash(hash) || bytes.size() > most_bytes_) return;
  const base::Lock lock(mutex_);
  if (Has(hash)) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  Bound(bytes.size());
  if (base::WriteFileAtomically(folder_ / (hash + kOrigin), origin).ok())
    (void)base::WriteFileAtomically(folder_ / hash, bytes).ok();
}

void CodeStore::Bound(uint64_t coming) {
  struct File {
    fs::file_time_type time;
    fs::path path;
    uint64_t bytes;
  };
  std::vector<File> files;
  uint64_t total = coming;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    std::error_code inner;
    files.push_back({it->last_write_time(inner), it->path(), it->file_size(inner)});
    if (inner) files.back().bytes = 0;
    total += files.back().bytes;
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) {
    return std::tie(a.time, a.path) < std::tie(b.time, b.path);
  });
  for (const File& file : files) {
    if (total <= most_bytes_) return;
    fs::remove(file.path, error);
    total -= file.bytes;
  }
}

std::optional<std::string> CodeStore::Answer(std::string_view request) const {
  const json wanted = json::parse(request, nullptr, false);
  if (!wanted.is_object() || !wanted.contains("hash") || !wanted["hash"].is_string())
    return std::nullopt;
  const std::string hash = wanted["hash"];
  const uint64_t offset = wanted.contains("offset") && wanted["offset"].is_number_unsigned()
                              ? wanted["offset"].get<uint64_t>()
                              : 0;
  if (!IsHash(hash)) return std::nullopt;
  const base::Lock lock(mutex_);
  std::error_code error;
  const uint64_t size = fs::file_size(folder_ / hash, error);
  std::ifstream file(folder_ / hash, std::ios::binary);
  if (error || !file) return std::nullopt;
  const auto origin = base::ReadFile(folder_ / (hash + kOrigin), base::kMostText);
  const json head = {{"size", size}, {"origin", origin.ok() ? origin.value() : ""}};
  std::string answer = head.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  if (offset >= size) return answer;
  const size_t before = answer.size(), wanted_bytes = std::min<uint64_t>(kPiece, size - offset);
  answer.resize(before + wanted_bytes);
  file.seekg(static_cast<std::streamoff>(offset));
  if (!file.read(answer.data() + before, static_cast<std::streamsize>(wanted_bytes)))
    return std::nullopt;
  return answer;
}

base::Result<void> CodeStore::Serve(Bus& bus, const std::string& tenant, const std::string& host) {
  return bus.Serve(CodeSubject(tenant, host),
                   [this](std::string_view request) { return Answer(request); });
}

}  // namespace rochound::fleet
