// SPDX-License-Identifier: MIT
//
// The analyzer `uninit`: reads of LDS that no wave of the workgroup has written before. LDS holds
// what the last workgroup there left, so that such a read is right on some days. A store of another
// wave counts if its message came before, which a barrier makes sure of.
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
  Location at;
  std::string action;  // load, atomic
  uint64_t bytes = 0;  // of each lane
  uint64_t lanes = 0;
  uint64_t groups = 0;  // workgroups in which it happened
  // The first one.
  uint64_t process = 0, dispatch = 0, group = 0, wave = 0, lane = 0, offset = 0;
};

class UninitAnalyzer final : public Analyzer {
 public:
  explicit UninitAnalyzer(const AnalyzerOutput& output) : format_(output.format) {}
  void OnAccess(const AccessMessage& message) override;
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
  using Key = std::tuple<std::string, std::string, uint64_t, uint64_t, std::string>;

  void ForgetOldGroups();
  void Add(const AccessMessage& message, uint64_t lane, uint64_t offset);

  AnswerFormat format_;
  std::map<std::pair<const Dispatch*, uint64_t>, Group> groups_;
  std::map<Key, Place> places_;
  uint64_t messages_ = 0;
};

}  // namespace rochound::probe
