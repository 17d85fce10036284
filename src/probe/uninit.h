// SPDX-License-Identifier: MIT
//
// The analyzer `uninit`: reads of LDS that no wave of the workgroup has written before, and of
// device memory that nothing has written since it was allocated. LDS holds what the last workgroup
// there left, so that such a read is right on some days. A store of another wave counts if its
// message came before, which a barrier makes sure of. What a copy passes on is written if it was at
// its source. Where something may have written device memory without telling which bytes, nothing is
// judged: a read that is named is wrong, and the answer counts those that are not judged.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "probe/analyzer.h"

namespace rochound::probe {

struct UnwrittenRead {
  std::string kernel;
  bool lds = true;  // otherwise device memory
  Location at;
  std::string action;  // load, atomic
  uint64_t bytes = 0;  // of each lane
  uint64_t lanes = 0;
  uint64_t groups = 0;  // workgroups in which it happened
  // The first one.
  uint64_t process = 0, dispatch = 0, group = 0, wave = 0, lane = 0;
  uint64_t offset = 0;      // in LDS, or in the allocation
  uint64_t allocation = 0;  // its address, if it is device memory
};

class UninitAnalyzer final : public Analyzer {
 public:
  explicit UninitAnalyzer(const AnalyzerOutput& output) : format_(output.format) {}
  void OnAccess(const AccessMessage& message) override;
  void OnMemory(const MemoryMessage& message) override;
  void OnWritten(const WrittenMessage& message) override;
  std::string Answer(const StreamSummary& summary) override;
  std::vector<UnwrittenRead> Reads() const;  // of most lanes first

 private:
  struct Group {
    std::vector<bool> written;  // each byte
    uint64_t last_message = 0;
  };
  struct Place {
    UnwrittenRead read;
    std::set<std::pair<const Dispatch*, uint64_t>> groups;
  };
  // Bytes from one allocation to another. Kernels that were launched before it may send messages
  // after it was told, so whether the source is written is asked when the copy is read.
  struct Copy {
    uint64_t from = 0, to = 0;  // in the allocation that has it
    uint64_t source = 0;        // address
    bool operator==(const Copy&) const = default;
  };
  struct Memory {
    uint64_t size = 0;
    bool unknown = false;                  // any bytes of it may be written
    std::map<uint64_t, uint64_t> written;  // beginnings and ends, apart from each other
    std::vector<Copy> copies;
  };
  enum class Found { kWritten, kUnwritten, kUnknown };
  using Key = std::tuple<std::string, bool, std::string, uint64_t, uint64_t, std::string>;
  using Memories = std::map<std::pair<uint64_t, uint64_t>, Memory>;  // by process and address

  void ForgetOldGroups();
  void OnLds(const AccessMessage& message);
  void OnGlobal(const AccessMessage& message);
  Memories::iterator Find(uint64_t process, uint64_t address);
  void Forget(uint64_t process, uint64_t base);
  void AddCopy(Memory* memory, const Copy& copy, uint64_t process);
  Found Look(uint64_t process, const Memory& memory, uint64_t from, uint64_t to);
  Found LookThroughCopies(uint64_t process, const Memory& memory, uint64_t at, int depth);
  static void Write(Memory* memory, uint64_t from, uint64_t to);
  void Add(const AccessMessage& message, uint64_t lane, uint64_t offset, uint64_t allocation);
  std::string WhyNotJudged(const StreamSummary& summary) const;

  AnswerFormat format_;
  std::map<std::pair<const Dispatch*, uint64_t>, Group> groups_;
  std::map<Key, Place> places_;
  Memories memory_;
  std::set<uint64_t> watched_;  // processes whose writes are all told
  bool unwatched_ = false;      // there is another one
  uint64_t judged_ = 0;         // lanes that read device memory
  uint64_t unknown_ = 0;        // and those where anything may have been written
  uint64_t messages_ = 0;
};

}  // namespace rochound::probe
