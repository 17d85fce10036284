// SPDX-License-Identifier: MIT
//
// What was tried for a kernel, and what became of it: one SQLite file, one row per candidate, with
// its verdict, one per event, and one per question to a model. A row is written when its verdict is
// there and never changed, but for its state; so a run that was killed goes on where it was, and
// nothing is measured twice. One thread per Journal; one process at a time, which SQLite's lock
// sees to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "optimize/verdict.h"
#include "store/rpd/database.h"

namespace rochound::optimize {

struct JournalEntry {
  int64_t id = 0;
  std::string key;    // of what was judged: file, flags, launches and options
  std::string name;   // for people
  std::string flags;  // of the compiler
  // "first": one launch; "all": every one that the search sees; "held-out": the others
  std::string stage;
  // judged, accepted, rejected (by launches that were held out), applied, not applied, rolled back
  std::string state;
  std::string reason, message, sha256;
  double cost = 0;  // of all its launches together; 0: none
  double speedup = 0;
  double seconds = 0;   // that judging took
  std::string verdict;  // JSON
  std::string object;   // bytes of the code object, of accepted ones
  std::string at;       // UTC
};

// A question to a model. The key that a server wants is not in it.
struct Exchange {
  int64_t id = 0;
  std::string url;
  std::string request;  // the body, as it was sent
  std::string answer;   // the body; empty: none
  std::string problem;  // why there is none
  double seconds = 0;
  std::string at;  // UTC
};

class Journal {
 public:
  // Makes the file if it is not there.
  static base::Result<std::unique_ptr<Journal>> Open(const std::filesystem::path& file);
  // Changes nothing; an error if the file is something else.
  static base::Result<std::unique_ptr<Journal>> OpenToRead(const std::filesystem::path& file);

  base::Result<std::optional<JournalEntry>> Find(const std::string& key);
  base::Result<std::optional<JournalEntry>> Get(int64_t id);
  base::Result<std::vector<JournalEntry>> All();
  // The entry's id is set.
  base::Result<void> Add(JournalEntry* entry);
  base::Result<void> SetState(int64_t id, const std::string& state);
  // Something that happened, for whoever audits.
  base::Result<void> AddEvent(const std::string& event);
  base::Result<std::vector<std::string>> Events();

  // Before anything is sent; the id.
  base::Result<int64_t> BeginExchange(const std::string& url, const std::string& request);
  base::Result<void> EndExchange(int64_t id, const std::string& answer, const std::string& problem,
                                 double seconds);
  // Answers to this request, oldest first.
  base::Result<std::vector<std::string>> Answers(const std::string& url,
                                                 const std::string& request);
  base::Result<std::vector<Exchange>> Exchanges();

 private:
  explicit Journal(store::Database database) : database_(std::move(database)) {}
  base::Result<std::vector<std::string>> Texts(const std::string& sql,
                                               const std::vector<std::string>& values);
  base::Result<std::vector<JournalEntry>> Select(const std::string& where, const std::string& text,
                                                 int64_t number);

  store::Database database_;
};

// The entry of a verdict, without key, flags and stage.
JournalEntry EntryOf(const Verdict& verdict, const std::string& object);

}  // namespace rochound::optimize
