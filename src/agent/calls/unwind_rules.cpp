// SPDX-License-Identifier: MIT
#include "agent/calls/unwind_rules.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>

#include "agent/own_memory.h"

namespace rochound::agent {

namespace {

// --- libraries

struct CodeRange {
  uint64_t begin;
  uint64_t end;
  uint64_t tables;  // address of .eh_frame_hdr; 0: none
};
struct CodeMap {
  std::vector<CodeRange> ranges;  // sorted
};
// Replaced, never changed, and never freed: somebody may be reading the one before. Libraries come
// and go rarely.
constinit std::atomic<const CodeMap*> code_map{nullptr};

const CodeRange* RangeOf(uint64_t address) {
  const CodeMap* map = code_map.load(std::memory_order_acquire);
  if (map == nullptr) return nullptr;
  auto after = std::upper_bound(map->ranges.begin(), map->ranges.end(), address,
                                [](uint64_t value, const CodeRange& r) { return value < r.begin; });
  if (after == map->ranges.begin()) return nullptr;
  --after;
  return address < after->end ? &*after : nullptr;
}

// --- reading what may not be there

template <typename T>
bool ReadMemory(uint64_t address, T* out) {
  return ReadOwnMemory(address, out, sizeof(T));
}

// A few bytes of the tables, read one after the other; past the end it yields zeros and is bad.
class Cursor {
 public:
  Cursor(const uint8_t* bytes, size_t count, uint64_t address)
      : at_(bytes), end_(bytes + count), address_(address) {}

  bool good() const { return good_; }
  bool empty() const { return at_ >= end_ || !good_; }
  uint64_t address() const { return address_; }

  template <typename T>
  T Get() {
    T value{};
    if (static_cast<size_t>(end_ - at_) < sizeof(T)) {
      good_ = false;
      return value;
    }
    std::memcpy(&value, at_, sizeof(T));
    Skip(sizeof(T));
    return value;
  }
  uint64_t Unsigned() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = Get<uint8_t>();
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    good_ = false;
    return 0;
  }
  int64_t Signed() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64;) {
      const auto byte = Get<uint8_t>();
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      shift += 7;
      if ((byte & 0x80) == 0) {
        if ((byte & 0x40) != 0 && shift < 64) value |= ~uint64_t{0} << shift;
        return static_cast<int64_t>(value);
      }
    }
    good_ = false;
    return 0;
  }
  void Skip(uint64_t bytes) {
    if (bytes > static_cast<uint64_t>(end_ - at_)) {
      good_ = false;
      return;
    }
    at_ += bytes;
    address_ += bytes;
  }

  // A pointer in one of the encodings that x86-64 compilers use; anything else is bad.
  uint64_t Pointer(uint8_t encoding) {
    const uint64_t here = address_;
    uint64_t value = 0;
    switch (encoding & 0x0f) {
      case 0x00:  // native
      case 0x04:
      case 0x0c:
        value = Get<uint64_t>();
        break;
      case 0x03:
        value = Get<uint32_t>();
        break;
      case 0x0b:
        value = static_cast<uint64_t>(static_cast<int64_t>(Get<int32_t>()));
        break;
      default:
        good_ = false;
        return 0;
    }
    switch (encoding & 0xf0) {
      case 0x00:
        return value;
      case 0x10:
        return value + here;
      default:
        good_ = false;
        return 0;
    }
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
  uint64_t address_;
  bool good_ = true;
};

// --- finding a function's description

constexpr size_t kMostDescriptionBytes = 4096;
constexpr uint8_t kTableEncoding =
    0x3b;  // signed 4 bytes, relative to the header: what linkers write
constexpr uint8_t kCountEncoding = 0x03;

// Address of the description (FDE) that covers the instruction, or 0.
uint64_t FindDescription(uint64_t tables, uint64_t instruction) {
  uint8_t header[12];
  if (!ReadMemory(tables, &header)) return 0;
  if (header[0] != 1 || header[2] != kCountEncoding || header[3] != kTableEncoding) return 0;
  // The pointer to .eh_frame, four bytes in every library that linkers make, is before the
  // count.
  if ((header[1] & 0x0f) != 0x0b && (header[1] & 0x0f) != 0x03) return 0;
  uint32_t count = 0;
  std::memcpy(&count, header + 8, sizeof(count));
  struct Row {
    int32_t function;
    int32_t description;
  };
  const auto wanted = static_cast<int64_t>(instruction - tables);
  uint32_t low = 0;
  uint32_t high = count;
  Row best{};
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    Row row;
    if (!ReadMemory(tables + 12 + uint64_t{middle} * sizeof(Row), &row)) return 0;
    if (row.function <= wanted) {
      best = row;
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? 0 : tables + static_cast<uint64_t>(static_cast<int64_t>(best.description));
}

// One entry of .eh_frame, without its length.
struct Entry {
  uint64_t address = 0;  // of the byte after the length
  size_t bytes = 0;
  uint8_t content[kMostDescriptionBytes];

  bool Read(uint64_t at) {
    uint32_t length = 0;
    if (!ReadMemory(at, &length) || length < 4 || length > sizeof(content)) return false;
    address = at + 4;
    bytes = length;
    return ReadOwnMemory(address, content, bytes);
  }
  Cursor Start() const { return {content, bytes, address}; }
};

// --- the tables' little language

enum : uint64_t { kBp = 6, kSp = 7, kReturnAddress = 16 };

struct Row {
  uint64_t cfa_register = kSp;
  int64_t cfa_offset = 0;
  bool cfa_known = false;
  bool bp_known = true;
  bool bp_saved = false;
  int64_t bp_offset = 0;
  bool return_standard = true;  // at CFA - 8
  bool outermost = false;       // the return address is said to be undefined
};

struct Common {
  uint64_t code_alignment = 1;
  int64_t data_alignment = -8;
  uint8_t encoding = 0;
  bool has_augmentation = false;
  bool signal_frame = false;
};

void SetOffset(Row* row, uint64_t reg, int64_t offset) {
  if (reg == kBp) {
    row->bp_known = true;
    row->bp_saved = true;
    row->bp_offset = offset;
  } else if (reg == kReturnAddress) {
    row->return_standard = offset == -8;
  }
}

void SetUnknown(Row* row, uint64_t reg) {
  if (reg == kBp) row->bp_known = false;
  if (reg == kReturnAddress) row->return_standard = false;
}

void Restore(Row* row, const Row& initial, uint64_t reg) {
  if (reg == kBp) {
    row->bp_known = initial.bp_known;
    row->bp_saved = initial.bp_saved;
    row->bp_offset = initial.bp_offset;
  } else if (reg == kReturnAddress) {
    row->return_standard = initial.return_standard;
    row->outermost = initial.outermost;
  }
}

// Runs the program up to the instruction `until`; false: something we do not know.
bool Run(Cursor program, const Common& common, uint64_t location, uint64_t until,
         const Row& initial, Row* row) {
  constexpr size_t kDepth = 8;
  Row saved[kDepth];
  size_t depth = 0;
  while (!program.empty()) {
    const auto opcode = program.Get<uint8_t>();
    uint64_t advance = 0;
    const uint64_t low = opcode & 0x3f;
    switch (opcode >> 6) {
      case 1:
        advance = low;
        break;
      case 2:
        SetOffset(row, low, static_cast<int64_t>(program.Unsigned()) * common.data_alignment);
        continue;
      case 3:
        Restore(row, initial, low);
        continue;
      default:
        switch (opcode) {
          case 0x00:  // nop
            continue;
          case 0x01:  // set_loc
            location = program.Pointer(common.encoding);
            if (location > until) return program.good();
            continue;
          case 0x02:
            advance = program.Get<uint8_t>();
            break;
          case 0x03:
            advance = program.Get<uint16_t>();
            break;
          case 0x04:
            advance = program.Get<uint32_t>();
            break;
          case 0x05: {  // offset_extended
            const uint64_t reg = program.Unsigned();
            SetOffset(row, reg, static_cast<int64_t>(program.Unsigned()) * common.data_alignment);
            continue;
          }
          case 0x06:  // restore_extended
            Restore(row, initial, program.Unsigned());
            continue;
          case 0x07: {  // undefined
            const uint64_t reg = program.Unsigned();
            SetUnknown(row, reg);
            if (reg == kReturnAddress) row->outermost = true;
            continue;
          }
          case 0x08: {  // same_value
            const uint64_t reg = program.Unsigned();
            if (reg == kBp) {
              row->bp_known = true;
              row->bp_saved = false;
            }
            continue;
          }
          case 0x09:  // register
            SetUnknown(row, program.Unsigned());
            program.Unsigned();
            continue;
          case 0x0a:  // remember_state
            if (depth == kDepth) return false;
            saved[depth++] = *row;
            continue;
          case 0x0b:  // restore_state
            if (depth == 0) return false;
            *row = saved[--depth];
            continue;
          case 0x0c:  // def_cfa
            row->cfa_register = program.Unsigned();
            row->cfa_offset = static_cast<int64_t>(program.Unsigned());
            row->cfa_known = true;
            continue;
          case 0x0d:  // def_cfa_register
            row->cfa_register = program.Unsigned();
            continue;
          case 0x0e:  // def_cfa_offset
            row->cfa_offset = static_cast<int64_t>(program.Unsigned());
            continue;
          case 0x0f:  // def_cfa_expression
            program.Skip(program.Unsigned());
            row->cfa_known = false;
            continue;
          case 0x10:  // expression
          case 0x16:  // val_expression
            SetUnknown(row, program.Unsigned());
            program.Skip(program.Unsigned());
            continue;
          case 0x11: {  // offset_extended_sf
            const uint64_t reg = program.Unsigned();
            SetOffset(row, reg, program.Signed() * common.data_alignment);
            continue;
          }
          case 0x12:  // def_cfa_sf
            row->cfa_register = program.Unsigned();
            row->cfa_offset = program.Signed() * common.data_alignment;
            row->cfa_known = true;
            continue;
          case 0x13:  // def_cfa_offset_sf
            row->cfa_offset = program.Signed() * common.data_alignment;
            continue;
          case 0x14:  // val_offset
            SetUnknown(row, program.Unsigned());
            program.Unsigned();
            continue;
          case 0x15:  // val_offset_sf
            SetUnknown(row, program.Unsigned());
            program.Signed();
            continue;
          case 0x2e:  // GNU_args_size
            program.Unsigned();
            continue;
          default:
            return false;
        }
    }
    location += advance * common.code_alignment;
    if (location > until) return program.good();
  }
  return program.good();
}

// Reads a common entry (CIE); leaves the cursor at its program.
bool ReadCommon(Cursor* cursor, Common* common) {
  cursor->Skip(4);
  const auto version = cursor->Get<uint8_t>();
  if (version != 1 && version != 3) return false;
  char augmentation[8] = {};
  for (size_t i = 0;; ++i) {
    const auto character = cursor->Get<char>();
    if (!cursor->good() || i == sizeof(augmentation)) return false;
    if (character == '\0') break;
    augmentation[i] = character;
  }
  common->code_alignment = cursor->Unsigned();
  common->data_alignment = cursor->Signed();
  const uint64_t return_register = version == 1 ? cursor->Get<uint8_t>() : cursor->Unsigned();
  if (return_register != kReturnAddress) return false;
  if (augmentation[0] != 'z') return augmentation[0] == '\0' && cursor->good();
  common->has_augmentation = true;
  const uint64_t length = cursor->Unsigned();
  const uint64_t program = cursor->address() + length;
  for (const char* next = augmentation + 1; *next != '\0'; ++next) {
    if (*next == 'R') {
      common->encoding = cursor->Get<uint8_t>();
    } else if (*next == 'P') {
      const auto encoding = cursor->Get<uint8_t>();
      cursor->Pointer(encoding & 0x7f);  // whether it is indirect does not matter: it is skipped
    } else if (*next == 'L') {
      cursor->Skip(1);
    } else if (*next == 'S') {
      common->signal_frame = true;
    } else {
      return false;
    }
  }
  if (!cursor->good() || cursor->address() > program) return false;
  cursor->Skip(program - cursor->address());
  return cursor->good();
}

bool Fits(int64_t offset) { return offset % 8 == 0 && offset > -(1 << 20) && offset < (1 << 20); }

// What the tables at `tables` say.
UnwindRule ReadRule(uint64_t tables, uint64_t instruction) {
  const uint64_t at = FindDescription(tables, instruction);
  Entry description;
  if (at == 0 || !description.Read(at)) return {};
  Cursor cursor = description.Start();
  const uint64_t back = cursor.Get<uint32_t>();
  Entry common_entry;
  if (back == 0 || !common_entry.Read(description.address - back)) return {};
  Common common;
  Cursor common_program = common_entry.Start();
  if (!ReadCommon(&common_program, &common) || common.signal_frame) return {};

  const uint64_t begin = cursor.Pointer(common.encoding);
  const uint64_t size = cursor.Pointer(common.encoding & 0x0f);
  if (common.has_augmentation) cursor.Skip(cursor.Unsigned());
  if (!cursor.good() || instruction < begin || instruction - begin >= size) return {};

  Row initial;
  if (!Run(common_program, common, 0, UINT64_MAX, Row{}, &initial)) return {};
  Row row = initial;
  if (!Run(cursor, common, begin, instruction, initial, &row)) return {};

  if (row.outermost) return {UnwindRule::Kind::kOutermost, true};
  if (!row.cfa_known || !row.bp_known || !row.return_standard || !Fits(row.cfa_offset) ||
      !Fits(row.bp_offset) || (row.cfa_register != kSp && row.cfa_register != kBp))
    return {};
  return UnwindRule::Step(row.cfa_register == kBp, row.cfa_offset, row.bp_saved, row.bp_offset);
}

}  // namespace

UnwindRule ReadRule(uint64_t instruction) {
  const CodeRange* range = RangeOf(instruction);
  if (range == nullptr) return {};
  UnwindRule rule;
  if (range->tables != 0) rule = ReadRule(range->tables, instruction);
  return rule.kind() == UnwindRule::Kind::kNone ? UnwindRule(rule.kind(), true) : rule;
}

namespace internal {

constinit CachedRule cached_rules[kCachedRules + 4] = {};

UnwindRule ReadAndKeep(uint64_t instruction) {
  constexpr size_t kProbes = 4;
  constexpr uint64_t kBusy = 1;
  CachedRule* const place = CachePlace(instruction);
  CachedRule* room = nullptr;
  for (CachedRule* entry = place; entry < place + kProbes; ++entry) {
    const uint64_t key = entry->instruction.load(std::memory_order_acquire);
    if (key == instruction)
      return UnwindRule::FromBits(entry->bits.load(std::memory_order_relaxed));
    if (key == 0 && room == nullptr) room = entry;
  }
  const UnwindRule rule = ReadRule(instruction);
  uint64_t free = 0;
  if (room != nullptr && room->instruction.compare_exchange_strong(free, kBusy)) {
    room->bits.store(rule.bits(), std::memory_order_relaxed);
    room->instruction.store(instruction, std::memory_order_release);
  }
  return rule;
}

}  // namespace internal

namespace {
constinit std::atomic<uint64_t> our_begin{0};
constinit std::atomic<uint64_t> our_end{0};
}  // namespace

void SetUnwindLibraries(const std::vector<Library>& libraries) {
  for (const Library& library : libraries) {
    if (!library.HasCode(reinterpret_cast<uintptr_t>(&SetUnwindLibraries))) continue;
    our_begin.store(library.code_begin, std::memory_order_relaxed);
    our_end.store(library.code_end, std::memory_order_relaxed);
  }
  auto map = std::make_unique<CodeMap>();
  for (const Library& library : libraries)
    if (library.code_end > library.code_begin)
      map->ranges.push_back({library.code_begin, library.code_end, library.unwind_tables});
  std::sort(map->ranges.begin(), map->ranges.end(),
            [](const CodeRange& a, const CodeRange& b) { return a.begin < b.begin; });
  code_map.store(map.release(), std::memory_order_release);
  for (internal::CachedRule& entry : internal::cached_rules)
    entry.instruction.store(0, std::memory_order_release);
}

bool IsOurCode(uint64_t address) {
  return address >= our_begin.load(std::memory_order_relaxed) &&
         address < our_end.load(std::memory_order_relaxed);
}

}  // namespace rochound::agent
