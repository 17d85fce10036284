// SPDX-License-Identifier: MIT
//
// What was tried for a kernel, and what became of it: one SQLite file, one row per candidate, with
// its verdict, and one per event. A row is written when its verdict is there and never changed,
// but for its state; so a run that was killed goes on where it was, and nothing is measured twice.
// One thread per Journal; one process at a time, which SQLite's lock sees to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "optimize/verdict.h"
#include "store/database.h"

namespace rochound::optimize {

struct JournalEntry {
  int64_t id = 0;
  std::string key;    // of what was judged: file, flags, launches and options
  std::string name;   // for people
  std::string flags;  // of the compiler
  std::string stage;  // "first": one launch; "all": every one
  // judged, accepted, applied, not applied, rolled back
  std::string state;
  std::string reason, message, sha256;
  double cost = 0;  // of all its launches together; 0: none
  double speedup = 0;
  double seconds = 0;   // that judging took
  std::string verdict;  // JSON
  std::string object;   // bytes of the code object, of accepted ones
  std::string at;       // UTC
};

class Journal {
 public:
  static base::Result<std::unique_ptr<Journal>> Open(const std::filesystem::path& file);

  base::Result<std::optional<JournalEntry>> Find(const std::string& key);
  base::Result<std::optional<JournalEntry>> Get(int64_t id);
  base::Result<std::vector<JournalEntry>> All();
  // The entry's id is set.
  base::Result<void> Add(JournalEntry* entry);
  base::Result<void> SetState(int64_t id, const std::string& state);
  // Something that happened, for whoever audits.
  base::Result<void> Tell(const std::string& event);
  base::Result<std::vector<std::string>> Events();

 private:
  explicit Journal(store::Database database) : database_(std::move(database)) {}
  base::Result<std::vector<JournalEntry>> Select(const std::string& where, const std::string& text,
                                                 int64_t number);

  store::Database database_;
};

// The entry of a verdict, without key, flags and stage.
JournalEntry EntryOf(const Verdict& verdict, const std::string& object);

}  // namespace rochound::optimize
