// SPDX-License-Identifier: MIT
#include "optimize/journal.h"

#include <fmt/format.h>

namespace rochound::optimize {
namespace {

using base::Result;

constexpr const char* kTables = R"(
CREATE TABLE IF NOT EXISTS candidate (
  id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, name TEXT NOT NULL, flags TEXT NOT NULL, stage TEXT NOT NULL,
  state TEXT NOT NULL, reason TEXT NOT NULL, message TEXT NOT NULL, sha256 TEXT NOT NULL, cost REAL NOT NULL,
  speedup REAL NOT NULL, seconds REAL NOT NULL, verdict TEXT NOT NULL, object TEXT NOT NULL,
  at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')));
CREATE TABLE IF NOT EXISTS event (
  id INTEGER PRIMARY KEY, text TEXT NOT NULL, at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')));
CREATE TABLE IF NOT EXISTS exchange (
  id INTEGER PRIMARY KEY, url TEXT NOT NULL, request TEXT NOT NULL, answer TEXT NOT NULL, problem TEXT NOT NULL,
  seconds REAL NOT NULL, at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')));
)";

// SQL's tools show texts; bytes are written as one.
std::string ToHex(const std::string& bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    text += "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4];
    text += "0123456789abcdef"[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

std::string FromHex(const std::string& text) {
  const auto digit = [](char letter) { return letter >= 'a' ? letter - 'a' + 10 : letter - '0'; };
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    bytes += static_cast<char>(digit(text[i]) * 16 + digit(text[i + 1]));
  return bytes;
}

}  // namespace

Result<std::unique_ptr<Journal>> Journal::Open(const std::filesystem::path& file) {
  std::error_code error;
  const bool there = std::filesystem::exists(file, error);
  ROCHOUND_TRY(store::Database database,
               store::Database::Open(
                   file, there ? store::Database::Mode::kWrite : store::Database::Mode::kCreate));
  ROCHOUND_CHECK(database.Run("PRAGMA busy_timeout = 2000"));
  ROCHOUND_CHECK(database.Run(kTables));
  return std::unique_ptr<Journal>(new Journal(std::move(database)));
}

Result<std::unique_ptr<Journal>> Journal::OpenToRead(const std::filesystem::path& file) {
  ROCHOUND_TRY(store::Database database, store::Database::Open(file, store::Database::Mode::kRead));
  ROCHOUND_CHECK(database.Run("PRAGMA busy_timeout = 2000"));
  ROCHOUND_TRY(
      const int64_t tables,
      database.Number("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN "
                      "('candidate', 'event', 'exchange')"));
  if (tables != 3)
    return base::Error{fmt::format("'{}' is no journal of rochound optimize", file.string())};
  return std::unique_ptr<Journal>(new Journal(std::move(database)));
}

Result<std::vector<JournalEntry>> Journal::Select(const std::string& where, const std::string& text,
                                                  int64_t number) {
  ROCHOUND_TRY(store::Statement statement,
               database_.Prepare("SELECT id, key, name, flags, stage, state, reason, message, "
                                 "sha256, cost, speedup, seconds, verdict, object, at FROM "
                                 "candidate " +
                                 where + " ORDER BY id"));
  if (!text.empty()) statement.Bind(0, std::string_view(text));
  if (number != 0) statement.Bind(0, number);
  std::vector<JournalEntry> entries;
  for (;;) {
    ROCHOUND_TRY(const bool row, statement.Step());
    if (!row) return entries;
    JournalEntry entry;
    entry.id = statement.Int(0);
    entry.key = statement.Text(1);
    entry.name = statement.Text(2);
    entry.flags = statement.Text(3);
    entry.stage = statement.Text(4);
    entry.state = statement.Text(5);
    entry.reason = statement.Text(6);
    entry.message = statement.Text(7);
    entry.sha256 = statement.Text(8);
    entry.cost = statement.Real(9);
    entry.speedup = statement.Real(10);
    entry.seconds = statement.Real(11);
    entry.verdict = statement.Text(12);
    entry.object = FromHex(statement.Text(13));
    entry.at = statement.Text(14);
    entries.push_back(std::move(entry));
  }
}

Result<std::optional<JournalEntry>> Journal::Find(const std::string& key) {
  ROCHOUND_TRY(auto found, Select("WHERE key = ?", key, 0));
  if (found.empty()) return std::optional<JournalEntry>();
  return std::optional<JournalEntry>(std::move(found.front()));
}

Result<std::optional<JournalEntry>> Journal::Get(int64_t id) {
  ROCHOUND_TRY(auto found, Select("WHERE id = ?", "", id));
  if (found.empty()) return std::optional<JournalEntry>();
  return std::optional<JournalEntry>(std::move(found.front()));
}

Result<std::vector<JournalEntry>> Journal::All() { return Select("", "", 0); }

Result<void> Journal::Add(JournalEntry* entry) {
  ROCHOUND_TRY(
      store::Statement statement,
      database_.Prepare("INSERT INTO candidate (key, name, flags, stage, state, reason, message, "
                        "sha256, cost, speedup, seconds, verdict, object) VALUES (?, ?, ?, ?, ?, "
                        "?, ?, ?, ?, ?, ?, ?, ?)"));
  const std::string object = ToHex(entry->object);
  statement.BindAll(std::string_view(entry->key), std::string_view(entry->name),
                    std::string_view(entry->flags), std::string_view(entry->stage),
                    std::string_view(entry->state), std::string_view(entry->reason),
                    std::string_view(entry->message), std::string_view(entry->sha256), entry->cost,
                    entry->speedup, entry->seconds, std::string_view(entry->verdict),
                    std::string_view(object));
  ROCHOUND_CHECK(statement.Run());
  ROCHOUND_TRY(entry->id, database_.Number("SELECT last_insert_rowid()"));
  return {};
}

Result<void> Journal::SetState(int64_t id, const std::string& state) {
  ROCHOUND_TRY(store::Statement statement,
               database_.Prepare("UPDATE candidate SET state = ? WHERE id = ?"));
  statement.BindAll(std::string_view(state), id);
  ROCHOUND_CHECK(statement.Run());
  return AddEvent(fmt::format("candidate {} is {}", id, state));
}

Result<void> Journal::AddEvent(const std::string& event) {
  ROCHOUND_TRY(store::Statement statement,
               database_.Prepare("INSERT INTO event (text) VALUES (?)"));
  statement.Bind(0, std::string_view(event));
  return statement.Run();
}

Result<std::vector<std::string>> Journal::Texts(const std::string& sql,
                                                const std::vector<std::string>& values) {
  ROCHOUND_TRY(store::Statement statement, database_.Prepare(sql));
  for (size_t i = 0; i < values.size(); ++i)
    statement.Bind(static_cast<int>(i), std::string_view(values[i]));
  std::vector<std::string> texts;
  for (;;) {
    ROCHOUND_TRY(const bool row, statement.Step());
    if (!row) return texts;
    texts.push_back(statement.Text(0));
  }
}

Result<std::vector<std::string>> Journal::Events() {
  return Texts("SELECT at || ' ' || text FROM event ORDER BY id", {});
}

Result<int64_t> Journal::BeginExchange(const std::string& url, const std::string& request) {
  ROCHOUND_TRY(store::Statement statement,
               database_.Prepare("INSERT INTO exchange (url, request, answer, problem, seconds) "
                                 "VALUES (?, ?, '', 'not answered', 0)"));
  statement.BindAll(std::string_view(url), std::string_view(request));
  ROCHOUND_CHECK(statement.Run());
  return database_.Number("SELECT last_insert_rowid()");
}

Result<void> Journal::EndExchange(int64_t id, const std::string& answer, const std::string& problem,
                                  double seconds) {
  ROCHOUND_TRY(
      store::Statement statement,
      database_.Prepare("UPDATE exchange SET answer = ?, problem = ?, seconds = ? WHERE id = ?"));
  statement.BindAll(std::string_view(answer), std::string_view(problem), seconds, id);
  return statement.Run();
}

Result<std::vector<std::string>> Journal::Answers(const std::string& url,
                                                  const std::string& request) {
  return Texts(
      "SELECT answer FROM exchange WHERE url = ? AND request = ? AND problem = '' ORDER BY id",
      {url, request});
}

Result<std::vector<Exchange>> Journal::Exchanges() {
  ROCHOUND_TRY(store::Statement statement,
               database_.Prepare("SELECT id, url, request, answer, problem, seconds, at FROM "
                                 "exchange ORDER BY id"));
  std::vector<Exchange> exchanges;
  for (;;) {
    ROCHOUND_TRY(const bool row, statement.Step());
    if (!row) return exchanges;
    Exchange& one = exchanges.emplace_back();
    one.id = statement.Int(0);
    one.url = statement.Text(1);
    one.request = statement.Text(2);
    one.answer = statement.Text(3);
    one.problem = statement.Text(4);
    one.seconds = statement.Real(5);
    one.at = statement.Text(6);
  }
}

JournalEntry EntryOf(const Verdict& verdict, const std::string& object) {
  JournalEntry entry;
  entry.name = verdict.candidate;
  entry.reason = NameOf(verdict.reason);
  entry.message = verdict.message;
  entry.sha256 = verdict.sha256;
  entry.state = verdict.accepted() ? "accepted" : "judged";
  entry.speedup = verdict.speedup;
  entry.seconds = verdict.seconds;
  for (const LaunchEvidence& launch : verdict.launches) {
    const auto& measured = verdict.metric == "GPU time" ? launch.seconds : launch.model;
    if (measured) entry.cost += measured->candidate;
  }
  entry.verdict =
      VerdictJson(verdict).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  if (verdict.accepted()) entry.object = object;
  return entry;
}

}  // namespace rochound::optimize
