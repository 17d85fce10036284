// SPDX-License-Identifier: MIT
//
// Writes big SQLite tables page by page, in the file format that SQLite documents and promises to
// keep (sqlite.org/fileformat2.html). The statements of libsqlite3 cost more than a microsecond per
// row, which is most of a conversion's time; rows that arrive in the order of their keys need none
// of it: they fill leaf pages one after the other, and the pages above follow. Used by RpdWriter
// between two sessions of libsqlite3: the first makes the schema, the second adds the small tables.
//
//   file = pages of the schema | leaf and interior pages of all tables as they fill up
//   a table's root page was made with the schema; Finish() puts the top of its tree there
//
// One thread. A failed write is remembered and reported by PageFile::Finish; until then rows are
// taken and lost. Memory: one page per table and tree level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rochound::store {

// A row in SQLite's record format, built column by column. Reused from row to row.
class Record {
 public:
  Record() { body_.resize(256); }

  void Clear() { header_size_ = body_size_ = 0; }
  void Null() { header_[header_size_++] = 0; }
  void Int(int64_t value);
  void Real(double value);
  void Text(std::string_view text);
  template <typename... Values>
  void Ints(Values... values) {
    (Int(static_cast<int64_t>(values)), ...);
  }

  size_t size() const { return 1 + header_size_ + body_size_; }
  // Writes size() bytes.
  char* CopyTo(char* target) const;

 private:
  static constexpr size_t kHeaderBytes = 120;  // so that the header's own size is a one byte varint

  unsigned char header_[kHeaderBytes];
  size_t header_size_ = 0;
  std::vector<unsigned char> body_;
  size_t body_size_ = 0;
};

// The file that the pages go to.
class PageFile {
 public:
  // The file was made by libsqlite3, is closed, and has no auto-vacuum and no reserved bytes.
  // lock_byte: where SQLite's locks live, at a place that holds no data; another one only in tests.
  static base::Result<std::unique_ptr<PageFile>> Open(const std::filesystem::path& path,
                                                      uint64_t lock_byte = 1ull << 30);
  ~PageFile();
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;

  size_t page_size() const { return page_size_; }
  // Puts a page after all others and returns its number.
  uint32_t Append(const char* page);
  // Replaces a page that was there before Open.
  void Replace(uint32_t number, const char* page);
  // As if a write had failed with this errno.
  void Fail(int error) {
    if (error_ == 0) error_ = error;
  }
  // Writes what is left and makes the pages part of the database. All trees are finished before.
  base::Result<void> Finish();
  uint64_t bytes() const { return static_cast<uint64_t>(pages_) * page_size_; }

 private:
  PageFile() = default;
  void Flush();
  void Write(const char* data, size_t size, uint64_t offset);

  std::filesystem::path path_;
  int fd_ = -1;
  size_t page_size_ = 0;
  uint64_t lock_page_ = 0;  // number of the page that is never used
  uint32_t pages_ = 0;      // in the file and in buffer_
  std::string buffer_;      // pages not written yet
  int error_ = 0;           // errno of the first failed write
};

// The B-tree of one table or index, filled in ascending key order.
class TreeBuilder {
 public:
  enum class Kind { kTable, kIndex };

  TreeBuilder(PageFile* file, Kind kind, uint32_t root_page);

  // A table's row. rowid is greater than all before. A row that does not fit a page is a failed
  // write.
  void AddRow(int64_t rowid, const Record& record);
  // An index's entry; greater than all before in the order of its columns.
  void AddEntry(const Record& record);
  // Writes the rest of the tree. Nothing may be added afterwards.
  void Finish();

 private:
  // A page while it fills up: cells from the end downwards, their offsets from the front upwards.
  struct Page {
    std::vector<char> image;
    size_t header = 0;  // bytes of the page header
    size_t cells = 0;
    size_t content = 0;  // offset of the last cell
    size_t last = 0;     // size of the last cell
  };

  void Reset(Page& page, bool leaf) const;
  bool Fits(const Page& page, size_t cell) const;
  char* Put(Page& page, size_t cell);
  std::string_view LastCell(const Page& page) const;
  void RemoveLast(Page& page) const;
  void Seal(Page& page, uint32_t right_child) const;
  void CloseLeaf();
  // The page `child` is complete; `key` is its greatest key (table), or the entry after it
  // (index).
  void AddChild(size_t level, uint32_t child, std::string_view key);

  PageFile* file_;
  Kind kind_;
  uint32_t root_;
  std::vector<Page> levels_;  // the leaf, and what is above it
  int64_t last_rowid_ = 0;
};

}  // namespace rochound::store
