// SPDX-License-Identifier: MIT
#include "optimize/journal.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "optimize/journal_page.h"

namespace rochound::optimize {
namespace {

TEST(Journal, KeepsCandidatesAndTheirStates) {
  const auto folder =
      base::TempDir::Create(std::filesystem::temp_directory_path(), "journal-").value();
  const std::filesystem::path file = folder.path() / "journal.sqlite";
  Verdict verdict;
  verdict.reason = Reason::kFaster;
  verdict.candidate = "a.hsaco";
  const std::string bytes(
      "\x7f"
      "ELF\0\xff",
      6);
  {
    const auto journal = Journal::Open(file).value();
    JournalEntry entry = EntryOf(verdict, bytes);
    entry.key = "one";
    ASSERT_TRUE(journal->Add(&entry).ok());
    EXPECT_EQ(entry.id, 1);
    JournalEntry again = entry;
    EXPECT_FALSE(journal->Add(&again).ok());  // nothing is written twice
    ASSERT_TRUE(journal->SetState(1, "applied").ok());
  }
  const auto journal = Journal::Open(file).value();
  const auto found = journal->Find("one").value();
  const JournalEntry entry = found.value_or(JournalEntry());
  EXPECT_EQ(entry.object, bytes);
  EXPECT_EQ(entry.reason, "faster");
  EXPECT_EQ(entry.state, "applied");
  EXPECT_FALSE(journal->Find("two").value().has_value());
  EXPECT_TRUE(journal->Get(1).value().has_value());
  EXPECT_EQ(journal->All().value().size(), 1u);
  ASSERT_EQ(journal->Events().value().size(), 1u);
}

TEST(Journal, PageTellsTheBestWithItsRoofline) {
  auto folder = base::TempDir::Create("/tmp", "rochound-journal-").value();
  const auto journal = Journal::Open(folder.path() / "journal.sqlite").value();
  const auto add = [&](const char* name, Reason reason, double cost) {
    Verdict verdict;
    verdict.reason = reason;
    verdict.candidate = name;
    verdict.roofline = {{"of", name}};
    JournalEntry entry = EntryOf(verdict, "");
    entry.key = name;
    entry.stage = "all";
    entry.cost = cost;
    EXPECT_TRUE(journal->Add(&entry).ok());
  };
  add("wrong", Reason::kDifferent, 0);
  add("fast", Reason::kFaster, 10);
  add("faster", Reason::kFaster, 5);
  const auto page = [&] { return nlohmann::ordered_json::parse(JournalPage(*journal).value()); };
  EXPECT_EQ(page()["best"], 3);
  EXPECT_EQ(page()["roofline"]["of"], "faster");
  EXPECT_EQ(page()["candidates"][0]["about"], "its results are different");
  ASSERT_TRUE(journal->SetState(2, "applied").ok());
  EXPECT_EQ(page()["best"], 2);  // what the program runs with
}

TEST(Journal, KeepsWhatWasSent) {
  auto folder = base::TempDir::Create("/tmp", "rochound-journal-").value();
  const auto journal = Journal::Open(folder.path() / "journal.sqlite").value();
  // A run that was killed before the answer came.
  ASSERT_TRUE(journal->BeginExchange("url", "question").ok());
  const int64_t id = journal->BeginExchange("url", "question").value();
  EXPECT_TRUE(journal->Answers("url", "question").value().empty());
  ASSERT_TRUE(journal->EndExchange(id, "answer", "", 1).ok());
  EXPECT_EQ(journal->Answers("url", "question").value(), std::vector<std::string>{"answer"});
  EXPECT_TRUE(journal->Answers("other", "question").value().empty());
  const auto all = journal->Exchanges().value();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].request, "question");
  EXPECT_EQ(all[0].problem, "not answered");
}

}  // namespace
}  // namespace rochound::optimize
