// SPDX-License-Identifier: MIT
#include "store/rpd/sqlite_pages.h"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/files.h"

namespace rochound::store {
namespace {

// Numbers of the file format.
constexpr char kTableLeaf = 0x0d, kTableInterior = 0x05, kIndexLeaf = 0x0a, kIndexInterior = 0x02;
constexpr size_t kLeafHeader = 8, kInteriorHeader = 12;
constexpr size_t kFileHeader = 100;
constexpr size_t kAtPageSize = 16, kAtReserved = 20, kAtChangeCounter = 24, kAtPageCount = 28,
                 kAtSchemaFormat = 44, kAtLargestRoot = 52, kAtVersionValidFor = 92;
constexpr size_t kLargestLocal =
    35;  // a row longer than a page less this would need overflow pages
constexpr size_t kMaxVarint = 9;
constexpr size_t kWriteBytes = 1 << 20;

void PutBig16(char* at, size_t value) {
  at[0] = static_cast<char>(value >> 8);
  at[1] = static_cast<char>(value);
}

void PutBig32(char* at, uint32_t value) {
  const uint32_t big = __builtin_bswap32(value);
  memcpy(at, &big, sizeof(big));
}

uint32_t GetBig32(const char* at) {
  uint32_t big;
  memcpy(&big, at, sizeof(big));
  return __builtin_bswap32(big);
}

size_t VarintSize(uint64_t value) {
  return value >> 56 != 0 ? kMaxVarint : (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7;
}

char* PutVarint(char* at, uint64_t value) {
  if (value < 0x80) {
    *at = static_cast<char>(value);
    return at + 1;
  }
  const size_t size = VarintSize(value);
  size_t groups = size;
  if (size == kMaxVarint) {  // the ninth byte has all its eight bits
    at[8] = static_cast<char>(value);
    value >>= 8;
    groups = 8;
  }
  for (size_t i = groups; i-- > 0; value >>= 7) {
    const bool more = i + 1 < groups || size == kMaxVarint;
    at[i] = static_cast<char>((value & 0x7f) | (more ? 0x80 : 0));
  }
  return at + size;
}

}  // namespace

void Record::Int(int64_t value) {
  ROCHOUND_DCHECK(header_size_ < sizeof header_);
  if (value == 0 || value == 1) {  // these have serial types of their own, and no body
    header_[header_size_++] = static_cast<unsigned char>(8 + value);
    return;
  }
  // Bytes that a signed number needs -> serial type and size.
  static constexpr unsigned char kTypes[9] = {0, 1, 2, 3, 4, 5, 5, 6, 6};
  static constexpr unsigned char kSizes[9] = {0, 1, 2, 3, 4, 6, 6, 8, 8};
  const auto magnitude = static_cast<uint64_t>(value ^ (value >> 63));
  const size_t bytes = static_cast<size_t>(std::bit_width(magnitude)) / 8 + 1;
  const size_t size = kSizes[bytes];
  header_[header_size_++] = kTypes[bytes];
  if (body_.size() < body_size_ + sizeof(uint64_t)) body_.resize(2 * body_.size());
  const uint64_t big = __builtin_bswap64(static_cast<uint64_t>(value) << (64 - 8 * size));
  memcpy(&body_[body_size_], &big, sizeof(big));
  body_size_ += size;
}

void Record::Real(double value) {
  ROCHOUND_DCHECK(header_size_ < sizeof header_);
  header_[header_size_++] = 7;
  if (body_.size() < body_size_ + sizeof(uint64_t)) body_.resize(2 * body_.size());
  const auto bits = std::bit_cast<uint64_t>(value);
  for (int shift = 56; shift >= 0; shift -= 8)
    body_[body_size_++] = static_cast<unsigned char>(bits >> shift);
}

void Record::Text(std::string_view text) {
  const size_t type = 13 + 2 * text.size();
  char* const begin = reinterpret_cast<char*>(header_ + header_size_);
  ROCHOUND_DCHECK(header_size_ + VarintSize(type) <= sizeof header_);
  header_size_ += static_cast<size_t>(PutVarint(begin, type) - begin);
  if (body_.size() < body_size_ + text.size() + sizeof(uint64_t))
    body_.resize(2 * (body_size_ + text.size()) + sizeof(uint64_t));
  if (!text.empty()) memcpy(&body_[body_size_], text.data(), text.size());
  body_size_ += text.size();
}

char* Record::CopyTo(char* target) const {
  ROCHOUND_DCHECK(header_size_ + 1 < 0x80 && body_size_ <= body_.size());
  *target++ = static_cast<char>(header_size_ + 1);
  memcpy(target, header_, header_size_);
  memcpy(target + header_size_, body_.data(), body_size_);
  return target + header_size_ + body_size_;
}

base::Result<std::unique_ptr<PageFile>> PageFile::Open(const std::filesystem::path& path,
                                                       uint64_t lock_byte) {
  std::unique_ptr<PageFile> file(new PageFile);
  file->path_ = path;
  file->fd_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file->fd_ < 0) return base::ErrnoError("cannot open", path, errno);
  char header[kFileHeader];
  if (pread(file->fd_, header, sizeof(header), 0) != static_cast<ssize_t>(sizeof(header)))
    return base::ErrnoError("cannot read the header of", path, errno);
  file->page_size_ = static_cast<unsigned char>(header[kAtPageSize]) * size_t{256} +
                     static_cast<unsigned char>(header[kAtPageSize + 1]);
  if (file->page_size_ < 512 || header[kAtReserved] != 0 ||
      GetBig32(header + kAtLargestRoot) != 0 || GetBig32(header + kAtSchemaFormat) != 4) {
    return base::Error{"'" + path.string() + "' has a form that pages cannot be added to: " +
                       "auto-vacuum, reserved bytes or an old schema format"};
  }
  file->pages_ = GetBig32(header + kAtPageCount);
  file->lock_page_ = lock_byte / file->page_size_ + 1;
  file->buffer_.reserve(kWriteBytes + file->page_size_);
  return file;
}

PageFile::~PageFile() {
  if (fd_ >= 0) close(fd_);
}

uint32_t PageFile::Append(const char* page) {
  if (pages_ + 1 == lock_page_) {
    buffer_.append(page_size_, '\0');
    ++pages_;
  }
  buffer_.append(page, page_size_);
  ++pages_;
  if (buffer_.size() >= kWriteBytes) Flush();
  return pages_;
}

void PageFile::Replace(uint32_t number, const char* page) {
  ROCHOUND_DCHECK(number != 0 && number <= pages_);
  Write(page, page_size_, (static_cast<uint64_t>(number) - 1) * page_size_);
}

void PageFile::Flush() {
  ROCHOUND_DCHECK(bytes() >= buffer_.size() && buffer_.size() % page_size_ == 0);
  Write(buffer_.data(), buffer_.size(), bytes() - buffer_.size());
  buffer_.clear();
}

void PageFile::Write(const char* data, size_t size, uint64_t offset) {
  while (size > 0 && error_ == 0) {
    const ssize_t written = pwrite(fd_, data, size, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      error_ = written < 0 ? errno : EIO;
      return;
    }
    data += written;
    size -= static_cast<size_t>(written);
    offset += static_cast<uint64_t>(written);
  }
}

base::Result<void> PageFile::Finish() {
  Flush();
  char header[kFileHeader];
  if (error_ == 0 && pread(fd_, header, sizeof(header), 0) != static_cast<ssize_t>(sizeof(header)))
    error_ = EIO;
  if (error_ == 0) {
    // The page count counts only when the two change counters agree.
    const uint32_t change = GetBig32(header + kAtChangeCounter) + 1;
    PutBig32(header + kAtChangeCounter, change);
    PutBig32(header + kAtVersionValidFor, change);
    PutBig32(header + kAtPageCount, pages_);
    Write(header, sizeof(header), 0);
  }
  if (error_ != 0) return base::ErrnoError("cannot write", path_, error_);
  return {};
}

TreeBuilder::TreeBuilder(PageFile* file, Kind kind, uint32_t root_page)
    : file_(file), kind_(kind), root_(root_page), levels_(1) {
  Reset(levels_[0], true);
}

void TreeBuilder::Reset(Page& page, bool leaf) const {
  if (page.image.empty()) {
    page.image.resize(file_->page_size());
    page.header = leaf ? kLeafHeader : kInteriorHeader;
    page.image[0] = kind_ == Kind::kTable ? (leaf ? kTableLeaf : kTableInterior)
                                          : (leaf ? kIndexLeaf : kIndexInterior);
  }
  page.cells = 0;
  page.last = 0;
  page.content = page.image.size();
}

bool TreeBuilder::Fits(const Page& page, size_t cell) const {
  return page.header + 2 * (page.cells + 1) + cell <= page.content;
}

char* TreeBuilder::Put(Page& page, size_t cell) {
  ROCHOUND_DCHECK(Fits(page, cell));
  page.content -= cell;
  PutBig16(&page.image[page.header + 2 * page.cells], page.content);
  ++page.cells;
  page.last = cell;
  return &page.image[page.content];
}

std::string_view TreeBuilder::LastCell(const Page& page) const {
  return {&page.image[page.content], page.last};
}

void TreeBuilder::RemoveLast(Page& page) const {
  ROCHOUND_DCHECK(page.cells != 0 && page.last != 0);
  --page.cells;
  page.content += page.last;
  page.last = 0;  // only one is ever taken off
}

void TreeBuilder::Seal(Page& page, uint32_t right_child) const {
  PutBig16(&page.image[3], page.cells);
  PutBig16(&page.image[5], page.content);
  if (page.header == kInteriorHeader) PutBig32(&page.image[8], right_child);
  // What an earlier use of this buffer left between offsets and cells says nothing; keep files
  // alike.
  const size_t free = page.header + 2 * page.cells;
  ROCHOUND_DCHECK(free <= page.content && page.content <= page.image.size());
  memset(&page.image[free], 0, page.content - free);
}

void TreeBuilder::AddRow(int64_t rowid, const Record& record) {
  ROCHOUND_DCHECK(kind_ == Kind::kTable && rowid > last_rowid_);
  const size_t payload = record.size();
  const size_t cell = VarintSize(payload) + VarintSize(static_cast<uint64_t>(rowid)) + payload;
  if (payload > file_->page_size() - kLargestLocal) return file_->Fail(EFBIG);
  if (!Fits(levels_[0], cell)) CloseLeaf();
  char* at = Put(levels_[0], cell);
  at = PutVarint(at, payload);
  at = PutVarint(at, static_cast<uint64_t>(rowid));
  record.CopyTo(at);
  last_rowid_ = rowid;
}

void TreeBuilder::AddEntry(const Record& record) {
  ROCHOUND_DCHECK(kind_ == Kind::kIndex);
  const size_t payload = record.size();
  const size_t cell = VarintSize(payload) + payload;
  if (!Fits(levels_[0], cell)) CloseLeaf();
  record.CopyTo(PutVarint(Put(levels_[0], cell), payload));
}

void TreeBuilder::CloseLeaf() {
  Page& leaf = levels_[0];
  if (kind_ == Kind::kTable) {
    char key[kMaxVarint];
    const char* const end = PutVarint(key, static_cast<uint64_t>(last_rowid_));
    Seal(leaf, 0);
    const uint32_t number = file_->Append(leaf.image.data());
    AddChild(1, number, {key, static_cast<size_t>(end - key)});
  } else {
    // An index holds each entry once: the one that separates two leaves is only above them.
    const std::string entry(LastCell(leaf));
    RemoveLast(leaf);
    Seal(leaf, 0);
    const uint32_t number = file_->Append(leaf.image.data());
    AddChild(1, number, entry);
  }
  Reset(levels_[0], true);
}

void TreeBuilder::AddChild(size_t level, uint32_t child, std::string_view key) {
  ROCHOUND_DCHECK(level != 0 && level <= levels_.size() && child != 0);
  if (level == levels_.size()) {
    levels_.emplace_back();
    Reset(levels_[level], false);
  }
  const size_t cell = sizeof(uint32_t) + key.size();
  if (!Fits(levels_[level], cell)) {
    // The last child becomes the page's right-most one, and its key goes one level up.
    const std::string last(LastCell(levels_[level]));
    ROCHOUND_DCHECK(last.size() > sizeof(uint32_t));
    RemoveLast(levels_[level]);
    Seal(levels_[level], GetBig32(last.data()));
    const uint32_t number = file_->Append(levels_[level].image.data());
    AddChild(level + 1, number, std::string_view(last).substr(sizeof(uint32_t)));
    Reset(levels_[level], false);
  }
  char* const at = Put(levels_[level], cell);
  PutBig32(at, child);
  memcpy(at + sizeof(uint32_t), key.data(), key.size());
}

void TreeBuilder::Finish() {
  uint32_t child = 0;
  for (size_t level = 0; level < levels_.size(); ++level) {
    Seal(levels_[level], child);
    if (level + 1 < levels_.size()) child = file_->Append(levels_[level].image.data());
  }
  file_->Replace(root_, levels_.back().image.data());
}

}  // namespace rochound::store
