// SPDX-License-Identifier: MIT
#include "swap/kernel_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>
#include <system_error>
#include <utility>

#include "base/file_trust.h"
#include "base/files.h"
#include "codeobj/cache_list.h"
#include "codeobj/code_object.h"
#include "codeobj/demangle.h"
#include "codeobj/fat_binary.h"
#include "codeobj/omniprobe.h"

namespace rochound::swap {
namespace {

namespace fs = std::filesystem;
using base::Result;

constexpr uint32_t kWatched = IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_ONLYDIR;
constexpr auto kEvery = std::chrono::milliseconds(50);
constexpr uintmax_t kLargestFile = uintmax_t{1} << 30;

bool IsDirectory(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// Whether it may hold code objects: those, bundles of them, compressed bundles, programs.
bool StartsLikeCode(const fs::path& file) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return false;
  char start[24] = {};
  const ssize_t got = read(descriptor, start, sizeof start);
  close(descriptor);
  const std::string_view text(start, got > 0 ? static_cast<size_t>(got) : 0);
  return text.starts_with("\177ELF") || text.starts_with("CCOB") ||
         text.starts_with("__CLANG_OFFLOAD_BUNDLE__");
}

// Triton writes such a file beside each kernel that it has compiled.
bool IsTritons(const fs::path& file) {
  std::error_code error;
  for (fs::directory_iterator it(file.parent_path(), error), end; !error && it != end;
       it.increment(error))
    if (it->path().filename().string().starts_with("__grp__")) return true;
  return false;
}

}  // namespace

fs::path KernelCacheDirectory(const std::string& asked) {
  if (asked.empty()) return {};
  std::error_code error;
  if (asked != "triton") return fs::absolute(asked, error).lexically_normal();
  if (const char* cache = getenv("TRITON_CACHE_DIR"); cache != nullptr && *cache != '\0')
    return fs::absolute(cache, error);
  const char* const home = getenv("HOME");
  return fs::path(home != nullptr ? home : "/") / ".triton" / "cache";
}

std::string WhyNotTrusted(const fs::path& directory) {
  struct stat status{};
  if (stat(directory.c_str(), &status) != 0)
    return fmt::format("there is no folder '{}'", directory.string());
  if (!S_ISDIR(status.st_mode)) return fmt::format("'{}' is not a folder", directory.string());
  const char* const advice =
      "others may write to it, and its kernels would run in your name; change that (chmod go-w), "
      "or add --kernel-cache-shared if you trust them";
  if (base::OthersMayWrite(status)) return fmt::format("'{}': {}", directory.string(), advice);
  // Who may rename what is above it can put another in its place.
  for (fs::path above = directory.parent_path();; above = above.parent_path()) {
    if (stat(above.c_str(), &status) == 0 && (status.st_mode & S_IWOTH) != 0 &&
        (status.st_mode & S_ISVTX) == 0)
      return fmt::format("'{}', above the kernel cache: {}", above.string(), advice);
    if (above == above.parent_path()) return {};
  }
}

KernelCache::KernelCache(KernelCacheOptions options, store::Filter filter, fs::path folder)
    : options_(std::move(options)),
      filter_(std::move(filter)),
      folder_(std::move(folder)),
      list_(folder_ / "list") {}

KernelCache::KernelCache(KernelCache&& other) noexcept
    : options_(std::move(other.options_)),
      filter_(std::move(other.filter_)),
      folder_(std::move(other.folder_)),
      list_(std::move(other.list_)),
      watch_(std::exchange(other.watch_, -1)),
      directories_(std::move(other.directories_)),
      files_(std::move(other.files_)),
      round_(other.round_),
      kernels_(other.kernels_),
      unpacked_(other.unpacked_),
      lines_(std::move(other.lines_)),
      remarks_(std::move(other.remarks_)) {}

KernelCache::~KernelCache() {
  if (watch_ >= 0) close(watch_);
}

Result<KernelCache> KernelCache::Open(const KernelCacheOptions& options, const fs::path& folder) {
  ROCHOUND_TRY(store::Filter filter, store::Filter::Create(options.pattern, ""));
  KernelCache cache(options, std::move(filter), folder);
  ROCHOUND_CHECK(cache.Start());
  return cache;
}

Result<void> KernelCache::Start() {
  if (mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST)
    return base::ErrnoError("cannot make", folder_, errno);
  ROCHOUND_CHECK(base::WriteFile(list_, ""));
  watch_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (watch_ < 0)
    remarks_.push_back("the kernel cache is not watched for new files: " +
                       std::generic_category().message(errno));
  AddDirectory(options_.directory);
  return WriteList();
}

bool KernelCache::Trusted(const fs::path& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return false;
  if (options_.shared || !base::OthersMayWrite(status)) return true;
  remarks_.push_back(fmt::format(
      "'{}' is left out of the kernel cache: others may write to it (--kernel-cache-shared)",
      path.string()));
  return false;
}

// Watched first, so that nothing is missed that comes while we read.
void KernelCache::AddDirectory(const fs::path& directory) {
  if (!Trusted(directory)) return;
  if (watch_ >= 0) {
    const int watch = inotify_add_watch(watch_, directory.c_str(), kWatched);
    if (watch >= 0) directories_[watch] = directory;
  }
  std::error_code error;
  std::set<fs::path> sorted;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    sorted.insert(it->path());
  for (const fs::path& path : sorted) {
    if (fs::is_directory(path, error) && !fs::is_symlink(path, error))
      AddDirectory(path);
    else if (fs::is_regular_file(path, error))
      AddFile(path);
  }
}

Result<fs::path> KernelCache::Unpack(std::string_view bytes) {
  fs::path path = folder_ / fmt::format("{}.co", ++unpacked_);
  ROCHOUND_CHECK(base::WriteFile(path, bytes));
  chmod(path.c_str(), 0600);
  return path;
}

// A new folder is told, and then what is in it once more.
bool KernelCache::IsNew(const fs::path& file) {
  struct stat status{};
  if (stat(file.c_str(), &status) != 0) return false;
  const Version now{int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec,
                    static_cast<uint64_t>(status.st_size), status.st_ino};
  const auto [known, is_new] = files_.try_emplace(file, now);
  if (!is_new && known->second == now) return false;
  known->second = now;
  return true;
}

void KernelCache::AddFile(const fs::path& file) {
  std::error_code error;
  if (fs::file_size(file, error) > kLargestFile || error || !StartsLikeCode(file)) return;
  if (!IsNew(file) || !Trusted(file)) return;
  // The program itself may be writing there, and what it writes is meant as it is.
  if (round_ > 1 && IsTritons(file)) return;
  const auto bytes = base::ReadFile(file);
  if (!bytes.ok()) return remarks_.push_back(bytes.error().message);
  const auto objects = codeobj::FindCodeObjects(bytes.value());
  if (!objects.ok()) return;  // a program or library of another kind
  for (const codeobj::EmbeddedObject& found : objects.value()) {
    const auto parsed = codeobj::CodeObject::Parse(found.bytes);
    if (!parsed.ok()) {
      remarks_.push_back(fmt::format("'{}': {}", file.string(), parsed.error().message));
      continue;
    }
    std::vector<codeobj::CacheEntry> entries;
    for (const codeobj::Kernel& kernel : parsed.value().kernels()) {
      // What omniprobe instrumented goes by the name of its original, and in its place.
      if (parsed.value().FindKernel(codeobj::OmniprobeName(kernel.name)) != nullptr) continue;
      const std::string_view original = codeobj::OriginalOfOmniprobe(kernel.name);
      const std::string symbol = original.empty() ? kernel.name : std::string(original);
      const std::string readable = codeobj::Demangle(symbol);
      if (filter_.KeepsKernel(readable) || filter_.KeepsKernel(symbol))
        entries.push_back(
            {round_, symbol, codeobj::WithoutParameters(readable), {}, file.string()});
    }
    if (entries.empty()) continue;
    fs::path object = file;
    if (found.bytes.size() != bytes.value().size()) {
      const auto unpacked = Unpack(found.bytes);
      if (!unpacked.ok()) return remarks_.push_back(unpacked.error().message);
      object = unpacked.value();
    }
    for (codeobj::CacheEntry& entry : entries) {
      entry.object = object.string();
      const std::string line = codeobj::CacheLine(entry);
      kernels_ += line.empty() ? 0 : 1;
      lines_ += line;
    }
  }
}

Result<void> KernelCache::WriteList() {
  if (lines_.empty()) return {};
  const int list = open(list_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (list < 0) return base::ErrnoError("cannot write", list_, errno);
  std::string_view rest = lines_;
  while (!rest.empty()) {
    const ssize_t written = write(list, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    rest.remove_prefix(static_cast<size_t>(written));
  }
  const int error_number = errno;
  close(list);
  lines_.clear();
  if (!rest.empty()) return base::ErrnoError("cannot write", list_, error_number);
  return {};
}

std::chrono::milliseconds KernelCache::Look() {
  if (watch_ < 0) return std::chrono::hours(1);
  alignas(inotify_event) char buffer[4096];
  std::set<fs::path> added;
  for (ssize_t got = 0; (got = read(watch_, buffer, sizeof buffer)) > 0;) {
    for (ssize_t at = 0; at < got;) {
      inotify_event event{};
      memcpy(&event, buffer + at, sizeof event);
      const char* const name = buffer + at + sizeof event;
      at += static_cast<ssize_t>(sizeof event + event.len);
      if ((event.mask & IN_Q_OVERFLOW) != 0) added.insert(options_.directory);
      const auto directory = directories_.find(event.wd);
      if (directory == directories_.end() || event.len == 0) continue;
      // A new file is looked at when whoever writes it is done.
      const bool made = (event.mask & IN_CREATE) != 0;
      if (made && (event.mask & IN_ISDIR) == 0) continue;
      added.insert(directory->second / name);
    }
  }
  if (added.empty()) return kEvery;
  ++round_;
  for (const fs::path& path : added) {
    std::error_code error;
    if (IsDirectory(path))
      AddDirectory(path);
    else if (fs::is_regular_file(path, error))
      AddFile(path);
  }
  if (const auto written = WriteList(); !written.ok()) remarks_.push_back(written.error().message);
  return kEvery;
}

}  // namespace rochound::swap
