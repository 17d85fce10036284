// SPDX-License-Identifier: MIT
#include "optimize/accesses.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>
#include <unordered_map>

#include "base/files.h"

namespace rochound::optimize {
namespace {

using base::Error;
using base::Result;

constexpr size_t kJoinAt = size_t{1} << 16;
// LDS is looked at by dwords, of the first workgroups that come.
constexpr size_t kMostGroups = 512;
constexpr uint64_t kMostLds = 256 << 10;
constexpr unsigned kMostWaves = 32;
constexpr size_t kMostRaceGroups = 64;  // races are looked for by bytes

// What is before the next space; takes it away.
std::string_view Word(std::string_view* line) {
  const size_t end = std::min(line->find(' '), line->size());
  const std::string_view word = line->substr(0, end);
  line->remove_prefix(std::min(end + 1, line->size()));
  return word;
}

bool Number(std::string_view word, uint64_t* value, int base) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *value, base);
  return error == std::errc() && end == word.data() + word.size();
}

struct Access {
  std::string_view action, space;
  uint64_t bytes = 0;
  uint64_t mask = 0;
  std::vector<uint64_t> addresses;
};

// ACTION SPACE BYTES MASK ADDRESSES
bool ParseAccess(std::string_view line, Access* access) {
  access->action = Word(&line);
  access->space = Word(&line);
  access->addresses.clear();
  if (access->space == "unknown") return true;
  if (!Number(Word(&line), &access->bytes, 10) || !Number(Word(&line), &access->mask, 16))
    return false;
  const size_t lanes = access->mask == 0 ? 1 : static_cast<size_t>(std::popcount(access->mask));
  const size_t step_at = line.find_first_of("+-");
  if (step_at != std::string_view::npos) {
    uint64_t first = 0, step = 0;
    if (!Number(line.substr(0, step_at), &first, 16) ||
        !Number(line.substr(step_at + 1), &step, 16))
      return false;
    if (line[step_at] == '-') step = -step;
    for (size_t i = 0; i < lanes; ++i) access->addresses.push_back(first + i * step);
    return true;
  }
  while (!line.empty()) {
    uint64_t address = 0;
    if (!Number(Word(&line), &address, 16)) return false;
    access->addresses.push_back(address);
  }
  return access->addresses.size() == lanes;
}

// Who wrote the dwords of a workgroup's LDS, and who read them without having written them before.
struct GroupLds {
  struct Dword {
    uint32_t writers = 0, readers = 0;
  };
  struct Reader {
    std::string instruction;
    uint64_t pc = 0;
  };
  std::vector<Dword> dwords;
  std::map<std::pair<uint64_t, uint64_t>, Reader> first;  // by dword and wave
};

// Who has touched the bytes of a workgroup's LDS since the last barrier. Waves of a workgroup come
// to a barrier equally often, so the number of barriers that a wave has passed tells the time.
struct GroupRaces {
  struct Byte {
    uint32_t time = 0;
    uint32_t readers = 0, writers = 0, atomics = 0;
  };
  std::vector<Byte> bytes;
  uint32_t times[kMostWaves] = {};
};

// Who has touched a dword of global memory: in the workgroup that did so last, since its last
// barrier; and workgroups, of each kind one.
struct GlobalDword {
  uint32_t group = 0;
  GroupRaces::Byte waves;
  uint32_t reader = kNobody, writer = kNobody;
  static constexpr uint32_t kNobody = ~0u;
};
constexpr size_t kMostGlobalDwords = 1 << 20;

class Reader {
 public:
  Reader(const std::string& kernel, const AccessRules& rules) : kernel_(kernel), rules_(rules) {}

  Result<void> Line(std::string_view line) {
    const std::string_view whole = line;
    const std::string_view kind = Word(&line);
    bool good = true;
    if (kind == "dispatch") {
      good = Dispatch(line);
    } else if (kind == "of") {
      inside_ = line == wanted_;
    } else if (kind == "end") {
      const std::string_view how = line.substr(std::min(line.rfind(' ') + 1, line.size()));
      if (line.substr(0, line.size() - how.size() - 1) == wanted_)
        result_.completed = how == "completed";
    } else if (kind == "b" && inside_) {
      good = Number(Word(&line), &group_, 10) && Number(Word(&line), &wave_, 10);
      if (GroupRaces* const races = good ? RacesOf() : nullptr) ++races->times[wave_];
      if (good && rules_.no_global_races) ++barriers_[{group_, wave_}];
    } else if ((kind == "a" || kind == "+") && inside_) {
      good = kind == "+" || Place(&line);
      good = good && ParseAccess(line, &access_);
      if (good) Use();
    }
    if (!good) return Error{fmt::format("this line of the access trace makes no sense: {}", whole)};
    return {};
  }

  Result<Accesses> End() {
    if (wanted_.empty()) return Error{"the access trace has no launch of " + kernel_};
    for (const auto& [group, lds] : groups_) {
      if (result_.stray_lds) break;
      for (size_t i = 0; i < lds.dwords.size() && !result_.stray_lds; ++i) {
        const auto& dword = lds.dwords[i];
        for (unsigned wave = 0; wave < kMostWaves; ++wave) {
          const uint32_t bit = uint32_t{1} << wave;
          if ((dword.readers & bit) == 0 || (dword.writers & ~bit) != 0) continue;
          const auto reader = lds.first.find({i, wave});
          if (reader == lds.first.end()) continue;
          result_.stray_lds = Stray{
              "reads LDS", reader->second.instruction, reader->second.pc, group, wave, i * 4, 4};
          break;
        }
      }
    }
    return std::move(result_);
  }

 private:
  // PROCESS ORDER QUEUE GPU TARGET WAVE_SIZE GRID GROUP ENTRY KERNEL
  bool Dispatch(std::string_view line) {
    const std::string_view all = line;
    Word(&line);
    Word(&line);
    const std::string_view name = all.substr(0, all.size() - line.size());
    for (int i = 0; i < 11; ++i) Word(&line);
    if (line != kernel_ && line != kernel_ + ".kd") return true;
    wanted_ = name.substr(0, name.size() - 1);
    result_ = {};
    groups_.clear();
    races_.clear();
    global_.clear();
    barriers_.clear();
    return true;
  }

  bool Place(std::string_view* line) {
    const bool good = Number(Word(line), &group_, 10) && Number(Word(line), &wave_, 10) &&
                      Number(Word(line), &pc_, 16);
    instruction_ = Word(line);
    return good;
  }

  void Use() {
    if (access_.space == "unknown") {
      if (std::find(result_.untraced.begin(), result_.untraced.end(), instruction_) ==
          result_.untraced.end())
        result_.untraced.emplace_back(instruction_);
      return;
    }
    const bool reads = access_.action != "store";
    const bool writes = access_.action != "load";
    if (access_.space == "lds") {
      if (rules_.initialised_lds) UseLds(reads, writes);
      if (rules_.no_races && !result_.race) FindRace();
      return;
    }
    if (access_.space == "scratch") return;
    result_.has_global_atomics |= access_.action == "atomic";
    if (rules_.no_global_races && !result_.global_race) FindGlobalRace();
    for (const uint64_t address : access_.addresses) {
      if (reads) result_.read.Add(address, access_.bytes);
      if (writes) result_.written.Add(address, access_.bytes);
      if (reads && rules_.readable != nullptr && !result_.stray_read &&
          !rules_.readable->Contains(address, access_.bytes))
        result_.stray_read = StrayAt("reads", address);
      if (writes && rules_.writable != nullptr && !result_.stray_write &&
          !rules_.writable->Contains(address, access_.bytes))
        result_.stray_write = StrayAt("writes", address);
    }
  }

  void UseLds(bool reads, bool writes) {
    if (wave_ >= kMostWaves) return;
    auto found = groups_.find(group_);
    if (found == groups_.end()) {
      if (groups_.size() >= kMostGroups) return;
      found = groups_.emplace(group_, GroupLds()).first;
    }
    GroupLds& lds = found->second;
    const uint32_t bit = uint32_t{1} << wave_;
    for (const uint64_t address : access_.addresses) {
      if (address + access_.bytes > kMostLds) continue;
      const uint64_t last = (address + access_.bytes - 1) / 4;
      if (lds.dwords.size() <= last) lds.dwords.resize(last + 1);
      for (uint64_t i = address / 4; i <= last; ++i) {
        GroupLds::Dword& dword = lds.dwords[i];
        if (reads && ((dword.writers | dword.readers) & bit) == 0) {
          dword.readers |= bit;
          lds.first.try_emplace({i, wave_}, GroupLds::Reader{std::string(instruction_), pc_});
        }
        if (writes) dword.writers |= bit;
      }
    }
  }

  // Of the group and wave of this line; none if they are not looked at.
  GroupRaces* RacesOf() {
    if (!rules_.no_races || wave_ >= kMostWaves) return nullptr;
    const auto found = races_.find(group_);
    if (found != races_.end()) return &found->second;
    return races_.size() < kMostRaceGroups ? &races_[group_] : nullptr;
  }

  // Only memory that somebody writes: what is read alone cannot race.
  void FindGlobalRace() {
    if (wave_ >= kMostWaves || rules_.writable == nullptr) return;
    const auto known = barriers_.find({group_, wave_});
    const uint32_t time = known != barriers_.end() ? known->second : 0;
    for (const uint64_t address : access_.addresses) {
      for (uint64_t at = address & ~3ull; at < address + access_.bytes; at += 4) {
        if (!rules_.writable->Touches(at, 4)) continue;
        auto found = global_.find(at);
        if (found == global_.end()) {
          if (global_.size() >= kMostGlobalDwords) continue;
          found = global_.emplace(at, GlobalDword()).first;
        }
        if (Races(&found->second, time, address)) return;
      }
    }
  }

  // True: it races with an earlier access, which is in the result now.
  bool Races(GlobalDword* dword, uint32_t time, uint64_t address) {
    const bool reads = access_.action != "store", writes = access_.action != "load";
    const auto group = static_cast<uint32_t>(group_);
    const uint32_t bit = uint32_t{1} << wave_;
    const char* const what = access_.action == "load" ? "reads" : "writes";
    if (rules_.no_group_races) {
      const uint32_t other =
          reads && dword->writer != GlobalDword::kNobody && dword->writer != group ? dword->writer
          : writes && dword->reader != group                                       ? dword->reader
                                             : GlobalDword::kNobody;
      if (other != GlobalDword::kNobody) {
        result_.global_race = Race{StrayAt(what, address), 0, other};
        return true;
      }
    }
    if (dword->group != group || dword->waves.time != time) {
      dword->group = group;
      dword->waves = {time, 0, 0, 0};
    }
    uint32_t others = dword->waves.writers;
    if (access_.action != "load") others |= dword->waves.readers;
    if (access_.action != "atomic") others |= dword->waves.atomics;
    others &= ~bit;
    // Parts of one dword are different memory.
    if (others != 0 && access_.bytes % 4 == 0 && address % 4 == 0) {
      result_.global_race =
          Race{StrayAt(what, address), static_cast<uint64_t>(std::countr_zero(others)), {}};
      return true;
    }
    (access_.action == "load"    ? dword->waves.readers
     : access_.action == "store" ? dword->waves.writers
                                 : dword->waves.atomics) |= bit;
    if (reads) dword->reader = group;
    if (writes) dword->writer = group;
    return false;
  }

  void FindRace() {
    GroupRaces* const races = RacesOf();
    if (races == nullptr) return;
    const uint32_t bit = uint32_t{1} << wave_;
    const uint32_t time = races->times[wave_];
    for (const uint64_t address : access_.addresses) {
      const uint64_t end = address + access_.bytes;
      if (end > kMostLds) continue;
      if (races->bytes.size() < end) races->bytes.resize(end);
      for (uint64_t i = address; i < end; ++i) {
        GroupRaces::Byte& byte = races->bytes[i];
        if (byte.time != time) byte = {time, 0, 0, 0};
        // Atomics do not race with each other.
        uint32_t others = byte.writers;
        if (access_.action != "load") others |= byte.readers;
        if (access_.action != "atomic") others |= byte.atomics;
        others &= ~bit;
        if (others != 0) {
          result_.race =
              Race{StrayAt(access_.action == "load" ? "reads LDS" : "writes LDS", address),
                   static_cast<uint64_t>(std::countr_zero(others)),
                   {}};
          return;
        }
        (access_.action == "load"    ? byte.readers
         : access_.action == "store" ? byte.writers
                                     : byte.atomics) |= bit;
      }
    }
  }

  Stray StrayAt(const char* what, uint64_t address) const {
    return {what,    std::string(instruction_),           pc_, group_, wave_,
            address, static_cast<uint32_t>(access_.bytes)};
  }

  const std::string& kernel_;
  const AccessRules& rules_;
  std::string wanted_;  // "PROCESS ORDER"
  bool inside_ = false;
  Accesses result_;
  std::map<uint64_t, GroupLds> groups_;
  std::map<uint64_t, GroupRaces> races_;
  std::unordered_map<uint64_t, GlobalDword> global_;            // by address
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> barriers_;  // that a wave has passed
  Access access_;
  std::string instruction_;  // stays for the lines that start with +
  uint64_t group_ = 0, wave_ = 0, pc_ = 0;
};

}  // namespace

void ByteSet::Add(uint64_t base, uint64_t size) {
  if (size == 0) return;
  if (pieces_.size() > joined_ && pieces_.back().end == base) {  // as waves do it
    pieces_.back().end += size;
    return;
  }
  pieces_.push_back({base, base + size});
  if (pieces_.size() - joined_ > kJoinAt) Join();
}

void ByteSet::Add(const ByteSet& other) {
  for (const Piece& piece : other.pieces_) Add(piece.base, piece.end - piece.base);
}

void ByteSet::Join() const {
  if (joined_ == pieces_.size()) return;
  std::sort(pieces_.begin(), pieces_.end(),
            [](const Piece& one, const Piece& other) { return one.base < other.base; });
  std::vector<Piece> joined;
  for (const Piece& piece : pieces_) {
    if (!joined.empty() && piece.base <= joined.back().end)
      joined.back().end = std::max(joined.back().end, piece.end);
    else
      joined.push_back(piece);
  }
  pieces_ = std::move(joined);
  joined_ = pieces_.size();
}

bool ByteSet::Contains(uint64_t base, uint64_t size) const {
  Join();
  const auto above =
      std::upper_bound(pieces_.begin(), pieces_.end(), base,
                       [](uint64_t wanted, const Piece& piece) { return wanted < piece.base; });
  return above != pieces_.begin() && base + size <= (above - 1)->end;
}

bool ByteSet::Touches(uint64_t base, uint64_t size) const {
  Join();
  const auto piece =
      std::upper_bound(pieces_.begin(), pieces_.end(), base,
                       [](uint64_t wanted, const Piece& one) { return wanted < one.end; });
  return piece != pieces_.end() && piece->base < base + size;
}

uint64_t ByteSet::bytes() const {
  Join();
  uint64_t bytes = 0;
  for (const Piece& piece : pieces_) bytes += piece.end - piece.base;
  return bytes;
}

Result<Accesses> ParseAccesses(std::string_view text, const std::string& kernel,
                               const AccessRules& rules) {
  Reader reader(kernel, rules);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    ROCHOUND_CHECK(reader.Line(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.End();
}

Result<Accesses> ReadAccesses(const std::filesystem::path& file, const std::string& kernel,
                              const AccessRules& rules) {
  ROCHOUND_TRY(const std::string text, base::ReadFile(file));
  return ParseAccesses(text, kernel, rules);
}

}  // namespace rochound::optimize
