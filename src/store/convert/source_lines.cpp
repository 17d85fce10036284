// SPDX-License-Identifier: MIT
#include "store/convert/source_lines.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace rochound::store {
namespace {

// Reads what it has; beyond the end everything is zero, and ok() is false.
class Reader {
 public:
  Reader(std::string_view bytes, size_t at) : bytes_(bytes), at_(std::min(at, bytes.size())) {}

  bool ok() const { return ok_; }
  bool done() const { return !ok_ || at_ >= bytes_.size(); }
  size_t at() const { return at_; }
  void Cut(size_t end) { bytes_ = bytes_.substr(0, std::min(end, bytes_.size())); }
  void Go(size_t at) {
    ok_ = ok_ && at >= at_ && at <= bytes_.size();
    if (ok_) at_ = at;
  }
  void Skip(uint64_t count) {
    if (count > bytes_.size() - at_) {
      ok_ = false;
    } else {
      at_ += count;
    }
  }

  template <typename T>
  T Get() {
    T value{};
    if (!ok_ || bytes_.size() - at_ < sizeof(T)) {
      ok_ = false;
      return value;
    }
    memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  uint64_t Offset(bool wide) { return wide ? Get<uint64_t>() : Get<uint32_t>(); }
  uint64_t Unsigned() {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = Get<uint8_t>();
      if (shift < 64) value |= uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80) == 0 || !ok_) return value;
    }
  }
  int64_t Signed() {
    uint64_t value = 0;
    for (unsigned shift = 0;;) {
      const auto byte = Get<uint8_t>();
      if (shift < 64) value |= uint64_t{byte & 0x7fU} << shift;
      shift += 7;
      if ((byte & 0x80) != 0 && ok_) continue;
      if (shift < 64 && (byte & 0x40) != 0) value |= ~uint64_t{0} << shift;
      return static_cast<int64_t>(value);
    }
  }
  std::string_view Text() {
    const std::string_view rest = bytes_.substr(at_);
    const size_t length = rest.find('\0');
    if (length == std::string_view::npos) {
      ok_ = false;
      return {};
    }
    at_ += length + 1;
    return rest.substr(0, length);
  }

 private:
  std::string_view bytes_;
  size_t at_;
  bool ok_ = true;
};

std::string_view TextAt(std::string_view strings, uint64_t offset) {
  return offset < strings.size() ? Reader(strings, offset).Text() : std::string_view();
}

// Of DWARF's constants those that are needed.
enum : uint64_t {
  kExtended = 0,
  kCopy = 1,
  kAdvancePc = 2,
  kAdvanceLine = 3,
  kSetFile = 4,
  kConstAddPc = 8,
  kFixedAdvancePc = 9,
  kEndSequence = 1,
  kSetAddress = 2,
  kPath = 1,
  kFormBlock2 = 0x03,
  kFormBlock4 = 0x04,
  kFormData2 = 0x05,
  kFormData4 = 0x06,
  kFormData8 = 0x07,
  kFormString = 0x08,
  kFormBlock = 0x09,
  kFormBlock1 = 0x0a,
  kFormData1 = 0x0b,
  kFormStrp = 0x0e,
  kFormUdata = 0x0f,
  kFormData16 = 0x1e,
  kFormLineStrp = 0x1f,
};

}  // namespace

// One unit's header, and its program.
class SourceLines::Unit {
 public:
  struct Row {
    uint64_t address = 0, file = 1;
    int64_t line = 1;
    bool end = false;  // the sequence ends before this address
  };

  Unit(const SourceLines& sections, size_t at)
      : sections_(sections), reader_(sections.lines_, at), next_(sections.lines_.size()) {
    uint64_t length = reader_.Get<uint32_t>();
    wide_ = length == 0xffffffff;
    if (wide_) length = reader_.Get<uint64_t>();
    if (!reader_.ok() || length > sections.lines_.size() - reader_.at()) {
      good_ = false;
      return;
    }
    next_ = reader_.at() + length;
    reader_.Cut(next_);
    version_ = reader_.Get<uint16_t>();
    good_ = version_ >= 2 && version_ <= 5;
    if (!good_) return;
    if (version_ >= 5) reader_.Skip(2);  // sizes of addresses and of segment selectors
    const uint64_t header = reader_.Offset(wide_);
    program_ = reader_.at() + header;
    smallest_ = reader_.Get<uint8_t>();
    if (version_ >= 4) reader_.Skip(1);  // operations per instruction
    reader_.Skip(1);                     // whether rows are statements
    line_base_ = reader_.Get<int8_t>();
    line_range_ = reader_.Get<uint8_t>();
    opcode_base_ = reader_.Get<uint8_t>();
    for (unsigned i = 1; i < opcode_base_; ++i) arguments_[i] = reader_.Get<uint8_t>();
    good_ = reader_.ok() && line_range_ != 0 && opcode_base_ != 0 && header <= next_ &&
            program_ <= next_;
  }

  bool good() const { return good_; }
  size_t next() const { return next_; }  // offset of the unit after it

  // Calls visit(row) for every row of the program until it returns false.
  template <typename Visit>
  void Run(const Visit& visit) {
    Reader program = reader_;
    program.Go(program_);
    Row row;
    const auto advance = [&](uint64_t by) { row.address += by * smallest_; };
    while (!program.done()) {
      const uint64_t opcode = program.Get<uint8_t>();
      if (opcode >= opcode_base_) {
        const uint64_t adjusted = opcode - opcode_base_;
        advance(adjusted / line_range_);
        row.line += line_base_ + static_cast<int64_t>(adjusted % line_range_);
        if (!visit(row)) return;
      } else if (opcode == kExtended) {
        const uint64_t length = program.Unsigned();
        const size_t begin = program.at();
        const uint64_t what = length > 0 ? program.Get<uint8_t>() : 0;
        if (what == kSetAddress && length >= 9) row.address = program.Get<uint64_t>();
        if (what == kEndSequence) {
          row.end = true;
          if (!visit(row)) return;
          row = {};
        }
        if (length > sections_.lines_.size()) return;
        program.Go(begin + length);
      } else if (opcode == kCopy) {
        if (!visit(row)) return;
      } else if (opcode == kAdvancePc) {
        advance(program.Unsigned());
      } else if (opcode == kAdvanceLine) {
        row.line += program.Signed();
      } else if (opcode == kSetFile) {
        row.file = program.Unsigned();
      } else if (opcode == kConstAddPc) {
        advance((255 - opcode_base_) / line_range_);
      } else if (opcode == kFixedAdvancePc) {
        row.address += program.Get<uint16_t>();
      } else {
        for (unsigned i = 0; i < arguments_[opcode]; ++i) program.Unsigned();
      }
    }
  }

  // Without its folder; empty: not known.
  std::string_view FileName(uint64_t file) {
    Reader names = reader_;
    const std::string_view path = version_ >= 5 ? NewFile(names, file) : OldFile(names, file);
    return path.substr(path.rfind('/') + 1);
  }

 private:
  // Up to DWARF 4: folders, then files that count from 1.
  static std::string_view OldFile(Reader& names, uint64_t file) {
    while (!names.Text().empty()) {
    }
    for (uint64_t i = 1; names.ok(); ++i) {
      const std::string_view path = names.Text();
      if (path.empty() || i == file) return path;
      for (int skipped = 0; skipped < 3; ++skipped) names.Unsigned();
    }
    return {};
  }

  // DWARF 5: folders and files in a described format, both from 0.
  std::string_view NewFile(Reader& names, uint64_t file) const {
    for (const bool folders : {true, false}) {
      std::vector<std::pair<uint64_t, uint64_t>> format(names.Get<uint8_t>());
      for (auto& [what, form] : format) {
        what = names.Unsigned();
        form = names.Unsigned();
      }
      const uint64_t count = names.Unsigned();
      for (uint64_t i = 0; i < count && names.ok(); ++i) {
        std::string_view path;
        for (const auto& [what, form] : format) {
          const std::string_view text = Value(names, form);
          if (what == kPath) path = text;
        }
        if (!folders && i == file) return names.ok() ? path : std::string_view();
      }
    }
    return {};
  }

  std::string_view Value(Reader& names, uint64_t form) const {
    switch (form) {
      case kFormString:
        return names.Text();
      case kFormLineStrp:
        return TextAt(sections_.line_strings_, names.Offset(wide_));
      case kFormStrp:
        return TextAt(sections_.strings_, names.Offset(wide_));
      case kFormUdata:
        names.Unsigned();
        return {};
      case kFormBlock:
        names.Skip(names.Unsigned());
        return {};
      case kFormBlock1:
        names.Skip(names.Get<uint8_t>());
        return {};
      case kFormBlock2:
        names.Skip(names.Get<uint16_t>());
        return {};
      case kFormBlock4:
        names.Skip(names.Get<uint32_t>());
        return {};
      case kFormData1:
        names.Skip(1);
        return {};
      case kFormData2:
        names.Skip(2);
        return {};
      case kFormData4:
        names.Skip(4);
        return {};
      case kFormData8:
        names.Skip(8);
        return {};
      case kFormData16:
        names.Skip(16);
        return {};
      default:
        names.Skip(UINT64_MAX);  // its size is not known: nothing after it is either
        return {};
    }
  }

  const SourceLines& sections_;
  Reader reader_;  // at the names
  size_t next_, program_ = 0;
  bool good_ = true, wide_ = false;
  uint16_t version_ = 0;
  uint64_t smallest_ = 1, line_range_ = 1, opcode_base_ = 1;
  int64_t line_base_ = 0;
  uint8_t arguments_[256] = {};
};

SourceLines::SourceLines(std::string lines, std::string line_strings, std::string strings)
    : lines_(std::move(lines)),
      line_strings_(std::move(line_strings)),
      strings_(std::move(strings)) {
  for (size_t at = 0; at < lines_.size();) {
    Unit unit(*this, at);
    if (unit.good()) {
      uint64_t begin = 0;
      bool open = false;
      unit.Run([&](const Unit::Row& row) {
        if (!open) begin = row.address;
        open = !row.end;
        // What the linker left out is at 0.
        if (row.end && begin != 0 && row.address > begin)
          sequences_.push_back({begin, row.address, at});
        return true;
      });
    }
    if (unit.next() <= at) break;
    at = unit.next();
  }
  std::sort(sequences_.begin(), sequences_.end(),
            [](const Sequence& a, const Sequence& b) { return a.begin < b.begin; });
}

std::string SourceLines::Find(uint64_t address) const {
  auto next = std::upper_bound(sequences_.begin(), sequences_.end(), address,
                               [](uint64_t a, const Sequence& s) { return a < s.begin; });
  if (next == sequences_.begin() || address >= (--next)->end) return {};
  Unit unit(*this, next->unit);
  Unit::Row before{}, found{};
  bool open = false;
  unit.Run([&](const Unit::Row& row) {
    const bool here = open && before.address <= address && address < row.address;
    if (here) found = before;
    before = row;
    open = !row.end;
    return !here;
  });
  // The compiler gives line 0 to what it made up.
  const std::string_view file = unit.FileName(found.file);
  if (found.address == 0 || found.line <= 0 || file.empty()) return {};
  return std::string(file) + ":" + std::to_string(found.line);
}

}  // namespace rochound::store
