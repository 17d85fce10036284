// SPDX-License-Identifier: MIT
#include "capture/bundle_files.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <system_error>

#include "base/files.h"
#include "capture/checksum.h"

namespace rochound::capture {
namespace {

using base::Error;
using base::Result;

constexpr uint64_t kLargestChecksums = 4096;
constexpr size_t kReadBytes = 1 << 20;

// Far above what there is, far below what would hurt.
uint64_t LargestFile(std::string_view name) {
  if (name == kManifestName) return 256ull << 20;
  if (name == kKernargName) return 1ull << 20;
  return 4ull << 30;
}

std::string Reason(int error_number) { return std::generic_category().message(error_number); }

// Takes "text " or "text\n" off the front.
bool TakeWord(std::string_view& text, char end, std::string_view& word) {
  const size_t at = text.find(end);
  if (at == std::string_view::npos) return false;
  word = text.substr(0, at);
  text.remove_prefix(at + 1);
  return true;
}

bool TakeNumber(std::string_view word, int base, uint64_t& number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number, base);
  return error == std::errc{} && end == word.data() + word.size();
}

// The lines' values, as far as they can be made out; the caller compares the whole text.
bool ParseChecksums(std::string_view text, FileLines& lines) {
  std::string_view word;
  if (!TakeWord(text, '\n', word)) return false;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string_view checksum;
    std::string_view bytes;
    if (!TakeWord(text, ' ', checksum) || !TakeWord(text, ' ', bytes) ||
        !TakeWord(text, '\n', word) || !TakeNumber(bytes, 10, lines[i].bytes))
      return false;
    if (!word.ends_with(".data") && !TakeNumber(checksum, 16, lines[i].checksum)) return false;
  }
  return true;
}

constexpr std::string_view kFirstWords = "rochound capture bundle ";

std::string ExtentProblem(const Extent& extent, const Extent* previous, uint64_t data_end,
                          Phase phase, const std::vector<Region>& regions) {
  if (extent.region >= regions.size()) return "belongs to a region that is not there";
  const Region& region = regions[extent.region];
  if (!region.taken) return "belongs to a region that was not taken";
  if (extent.bytes == 0) return "is empty";
  if (extent.offset > region.size || extent.bytes > region.size - extent.offset)
    return "lies outside its region";
  if (extent.offset % kPageBytes != 0) return "does not begin at a page";
  if (extent.bytes % kPageBytes != 0 && End(extent) != region.size) return "does not end at a page";
  if (extent.offset / kChunkBytes != (End(extent) - 1) / kChunkBytes)
    return "crosses a multiple of " + std::to_string(kChunkBytes) + " bytes";
  if (previous != nullptr &&
      (extent.region < previous->region ||
       (extent.region == previous->region && extent.offset < previous->offset)))
    return "is out of order";
  if (previous != nullptr && extent.region == previous->region && extent.offset < End(*previous))
    return "overlaps the one before it";
  switch (extent.encoding) {
    case Encoding::kRaw:
      if (extent.stored != extent.bytes) return "is stored raw with another size";
      break;
    case Encoding::kZstd:
      if (extent.stored == 0 || extent.stored >= extent.bytes)
        return "is compressed to a size that no writer makes";
      break;
    case Encoding::kZeros:
      if (phase == Phase::kBefore) return "is of zeros, which are not stored before a launch";
      if (extent.stored != 0 || extent.place != 0 || extent.checksum != 0)
        return "is of zeros and has stored bytes";
      return "";
    default:
      return "has an encoding that this rochound does not know";
  }
  if (extent.place != data_end) return "does not follow the one before it in the data file";
  return "";
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

bool ReadFully(int fd, uint64_t place, std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t got = pread(fd, into.data(), into.size(), static_cast<off_t>(place));
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errno = 0;
    if (got <= 0) return false;
    into = into.subspan(static_cast<size_t>(got));
    place += static_cast<uint64_t>(got);
  }
  return true;
}

Error BundleFiles::Wrong(const char* name, const std::string& what) const {
  return Error{"'" + (path_ / name).string() + "' " + what +
               "; the bundle is damaged, or something else than rochound made it"};
}

const FileLine& BundleFiles::Line(const char* name) const {
  size_t i = 0;
  while (strcmp(kFileNames[i], name) != 0) ++i;
  return lines_[i];
}

Result<Descriptor> BundleFiles::OpenFile(const char* name) const {
  // Not blocking: a pipe of that name must not stop us.
  Descriptor file(openat(directory_.get(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0) {
    if (errno == ELOOP) return Wrong(name, "is a symbolic link, which no bundle has");
    return base::ErrnoError("cannot open", path_ / name, errno);
  }
  struct stat status{};
  if (fstat(file.get(), &status) != 0)
    return base::ErrnoError("cannot look at", path_ / name, errno);
  if (!S_ISREG(status.st_mode)) return Wrong(name, "is not a file");
  const auto bytes = static_cast<uint64_t>(status.st_size);
  if (strcmp(name, kChecksumsName) == 0) {
    if (bytes > kLargestChecksums) return Wrong(name, "is far too long");
  } else if (bytes != Line(name).bytes) {
    return Wrong(name, "has " + std::to_string(bytes) + " bytes where " +
                           std::to_string(Line(name).bytes) + " were written");
  }
  return file;
}

Result<BundleFiles> BundleFiles::Open(const std::filesystem::path& path) {
  BundleFiles files;
  files.path_ = path;
  files.directory_ = Descriptor(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (files.directory_.get() < 0) {
    if (errno == ENOTDIR)
      return Error{"'" + path.string() +
                   "' is not a capture bundle: a bundle is a directory, made by rochound capture"};
    return base::ErrnoError("cannot open the bundle", path, errno);
  }
  struct stat status{};
  if (fstatat(files.directory_.get(), kChecksumsName, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return Error{"'" + path.string() + "' is not a complete capture bundle: it has no file '" +
                 kChecksumsName + "', which is written last"};
  }
  ROCHOUND_TRY(const Descriptor file, files.OpenFile(kChecksumsName));
  std::array<char, kLargestChecksums> buffer;
  size_t bytes = 0;
  for (;;) {
    const ssize_t got =
        pread(file.get(), buffer.data() + bytes, buffer.size() - bytes, static_cast<off_t>(bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::ErrnoError("cannot read", path / kChecksumsName, errno);
    if (got == 0) break;
    bytes += static_cast<size_t>(got);
  }
  const std::string_view text(buffer.data(), bytes);
  if (!text.starts_with(kFirstWords)) {
    return files.Wrong(kChecksumsName,
                       "does not begin with '" + std::string(kFirstWords.substr(0, 23)) + "'");
  }
  std::string_view version = text.substr(kFirstWords.size());
  version = version.substr(0, version.find('\n'));
  uint64_t number = 0;
  if (TakeNumber(version, 10, number) && number != kBundleVersion) {
    return Error{"'" + path.string() + "' has format version " + std::to_string(number) +
                 ", and this rochound reads version " + std::to_string(kBundleVersion) +
                 "; use the rochound that made it, or a newer one"};
  }
  // Made anew from its values it must be the same, so that no byte of it is without meaning.
  if (!ParseChecksums(text, files.lines_) || ChecksumsText(files.lines_) != text)
    return files.Wrong(kChecksumsName, "does not agree with itself");
  return files;
}

Result<std::vector<std::byte>> BundleFiles::Read(const char* name) const {
  ROCHOUND_TRY(const Descriptor file, OpenFile(name));
  const FileLine& line = Line(name);
  if (line.bytes > LargestFile(name))
    return Wrong(name, "is larger than " + std::to_string(LargestFile(name)) + " bytes");
  std::vector<std::byte> bytes;
  while (bytes.size() < line.bytes) {
    // Grows with what is really there, at the most to twice of it.
    const size_t have = bytes.size();
    bytes.resize(std::min<uint64_t>(line.bytes, std::max<uint64_t>(kReadBytes, 2 * have)));
    if (!ReadFully(file.get(), have, std::span(bytes).subspan(have)))
      return Wrong(name, errno == 0 ? "became shorter" : "cannot be read: " + Reason(errno));
  }
  if (Checksum(bytes) != line.checksum)
    return Wrong(name, "has other content than was written (its checksum differs)");
  return bytes;
}

Result<std::vector<Extent>> BundleFiles::ReadIndex(Phase phase,
                                                   const std::vector<Region>& regions) const {
  const bool is_before = phase == Phase::kBefore;
  const char* const name = is_before ? kBeforeIndexName : kAfterIndexName;
  const uint64_t data_bytes = Line(is_before ? kBeforeDataName : kAfterDataName).bytes;
  ROCHOUND_TRY(const Descriptor file, OpenFile(name));
  const FileLine& line = Line(name);
  IndexHeader header{};
  if (line.bytes < sizeof header || (line.bytes - sizeof header) % sizeof(Extent) != 0)
    return Wrong(name, "is cut off");
  const std::span<std::byte> header_bytes = std::as_writable_bytes(std::span(&header, 1));
  if (!ReadFully(file.get(), 0, header_bytes)) return Wrong(name, "cannot be read");
  const uint64_t count = (line.bytes - sizeof header) / sizeof(Extent);
  if (memcmp(header.magic, kIndexMagic, sizeof header.magic) != 0)
    return Wrong(name, "is not an index");
  if (header.version != kBundleVersion || header.page_bytes != kPageBytes ||
      header.phase != phase || header.zero != 0 || header.count != count)
    return Wrong(name, "has a header that does not fit");
  RunningChecksum checksum;
  checksum.Add(header_bytes);

  // Extent by extent, so that a file of a size that means harm is given up at its first bad one.
  std::vector<Extent> extents;
  std::vector<Extent> some(std::min<uint64_t>(count, kReadBytes / sizeof(Extent)));
  uint64_t data_end = 0;
  while (extents.size() < count) {
    some.resize(std::min<uint64_t>(some.size(), count - extents.size()));
    const std::span<std::byte> raw = std::as_writable_bytes(std::span(some));
    if (!ReadFully(file.get(), sizeof header + extents.size() * sizeof(Extent), raw))
      return Wrong(name, errno == 0 ? "became shorter" : "cannot be read: " + Reason(errno));
    checksum.Add(raw);
    for (const Extent& extent : some) {
      const std::string problem = ExtentProblem(extent, extents.empty() ? nullptr : &extents.back(),
                                                data_end, phase, regions);
      if (!problem.empty())
        return Wrong(name, "is wrong: extent " + std::to_string(extents.size()) + " " + problem);
      data_end += extent.stored;
      if (data_end > data_bytes) return Wrong(name, "names more data than there is");
      extents.push_back(extent);
    }
  }
  if (data_end != data_bytes) return Wrong(name, "leaves data without an extent");
  if (checksum.Value() != line.checksum)
    return Wrong(name, "has other content than was written (its checksum differs)");
  return extents;
}

Result<Descriptor> BundleFiles::OpenData(Phase phase) const {
  return OpenFile(phase == Phase::kBefore ? kBeforeDataName : kAfterDataName);
}

}  // namespace rochound::capture
