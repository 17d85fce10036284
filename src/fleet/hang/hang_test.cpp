// SPDX-License-Identifier: MIT
#include "fleet/hang/hang.h"

#include <gtest/gtest.h>

namespace rochound::fleet {
namespace {

constexpr uint64_t kSecond = 1000000000;
constexpr const char* kReduce = "ncclDevKernel_Generic_1";

// A rank that waits in a collective.
Card Waiting(int64_t rank, uint64_t collectives) {
  Card card;
  card.host = "host" + std::to_string(rank / 8);
  card.rank = rank;
  card.ranks = 4;
  card.process = 100 + rank;
  card.state = "running";
  card.collectives = collectives;
  card.in_flight = 1;
  card.oldest = {{kReduce, 20 * kSecond}};
  card.calls.emplace_back();
  card.calls[0].function = "hipStreamSynchronize";
  card.calls[0].since_ns = 20 * kSecond;
  return card;
}

std::vector<int64_t> WaitedFor(const HangReport& report) {
  std::vector<int64_t> ranks;
  for (const auto& rank : report.ranks)
    if (rank.missing) ranks.push_back(rank.rank);
  return ranks;
}

std::string DoingOf(const HangReport& report, int64_t rank) {
  for (const auto& one : report.ranks)
    if (one.rank == rank) return one.doing;
  return "";
}

// A rank with calls of RCCL that were recorded: it has called `calls` collectives of one
// communicator, and the last one is in flight.
Card InCollective(int64_t rank, uint64_t calls, const char* function = "ncclAllReduce") {
  Card card = Waiting(rank, calls);
  Line line{"collective", -1, calls, {}};
  for (uint64_t number = calls > 3 ? calls - 3 : 1; number <= calls; ++number)
    line.recent.push_back({number, number == calls ? function : "ncclAllReduce", 4096, 7, 0, -1,
                           number == calls ? "in flight" : "complete", 20 * kSecond, ""});
  card.communicators = {{"c0ffee", 4, rank, "", 0, {line}}};
  return card;
}

// One that has done its collectives and is elsewhere.
Card Elsewhere(int64_t rank, uint64_t calls) {
  Card card = InCollective(rank, calls);
  card.communicators[0].lines[0].recent.back().state = "complete";
  card.oldest.clear();
  card.calls.clear();
  card.in_flight = 0;
  return card;
}

std::vector<Card> AllIn(uint64_t calls) {
  return {InCollective(0, calls), InCollective(1, calls), InCollective(2, calls),
          InCollective(3, calls)};
}

// WORLD_SIZE of a program is what its user wrote.
TEST(CardsTest, MoreRanksThanAJobHasAreNotKnown) {
  const nlohmann::json process = {{"rank", 0},
                                  {"ranks", int64_t{1} << 60},
                                  {"pid", 7},
                                  {"state", "running"},
                                  {"dispatches", 0},
                                  {"launches", 0},
                                  {"collectives", 0},
                                  {"in_flight", 0},
                                  {"oldest", nlohmann::json::array()},
                                  {"open_calls", nlohmann::json::array()},
                                  {"communicators", nlohmann::json::array()},
                                  {"exact", true}};
  const auto cards = CardsOf({{{"host", "h"}, {"cards", {process}}}});
  ASSERT_EQ(cards.size(), 1u);
  EXPECT_EQ(cards[0].ranks, -1);
  EXPECT_TRUE(ExplainHang(cards).not_answering.empty());
}

TEST(HangByCallsTest, ARankThatDidNotCome) {
  auto cards = AllIn(7);
  cards[2] = Elsewhere(2, 6);
  const auto report = ExplainHang(cards, cards);
  EXPECT_EQ(report.verdict, HangVerdict::kWaitedFor);
  EXPECT_EQ(WaitedFor(report), std::vector<int64_t>{2});
  EXPECT_NE(report.conclusion.find("3 of 4 ranks wait in ncclAllReduce, number 7"),
            std::string::npos)
      << report.conclusion;
  EXPECT_NE(DoingOf(report, 2).find("code of its own"), std::string::npos);
}

TEST(HangByCallsTest, WhoComesLateButWorksIsLate) {
  auto cards = AllIn(7), before = AllIn(7);
  cards[2] = Elsewhere(2, 6);
  before[2] = cards[2];
  cards[2].launches = before[2].launches + 100;
  const auto report = ExplainHang(cards, before);
  EXPECT_EQ(report.verdict, HangVerdict::kLate);
  EXPECT_FALSE(report.stuck());
}

TEST(HangByCallsTest, WhatMovesIsNoHang) {
  auto cards = AllIn(8);
  cards[2] = Elsewhere(2, 7);
  EXPECT_EQ(ExplainHang(cards, AllIn(7)).verdict, HangVerdict::kNoHang);
}

TEST(HangByCallsTest, AStoppedRankInsideIsWaitedFor) {
  auto cards = AllIn(7);
  cards[1].state = "stopped";
  const auto report = ExplainHang(cards, cards);
  EXPECT_EQ(report.verdict, HangVerdict::kWaitedFor);
  EXPECT_EQ(WaitedFor(report), std::vector<int64_t>{1});
}

TEST(HangByCallsTest, AKernelBeforeTheCollective) {
  auto cards = AllIn(7);
  cards[3].communicators[0].lines[0].recent.back().waits_for = "spin";
  cards[3].oldest = {{"spin", 25 * kSecond}, {kReduce, 20 * kSecond}};
  const auto report = ExplainHang(cards, cards);
  EXPECT_EQ(report.verdict, HangVerdict::kWaitedFor);
  EXPECT_EQ(WaitedFor(report), std::vector<int64_t>{3});
  EXPECT_NE(DoingOf(report, 3).find("kernel spin in flight"), std::string::npos);
}

TEST(HangByCallsTest, ARankInAnotherCollective) {
  auto cards = AllIn(7);
  cards[1] = InCollective(1, 7, "ncclReduceScatter");
  const auto report = ExplainHang(cards, cards);
  EXPECT_EQ(report.verdict, HangVerdict::kDifferent);
  EXPECT_EQ(WaitedFor(report), std::vector<int64_t>{1});
  EXPECT_NE(report.conclusion.find("rank 1 ncclReduceScatter"), std::string::npos);
}

TEST(HangByCallsTest, CrossedCommunicators) {
  auto cards = AllIn(7);
  for (Card& card : cards) {
    Communicator other = card.communicators[0];
    other.id = "beef";
    other.lines[0].calls = 2;
    other.lines[0].recent = {{2, "ncclAllReduce", 4096, 7, 0, -1, "complete", kSecond, ""}};
    card.communicators.push_back(other);
  }
  // Rank 3 is in the other's third, and has not come to the first one's seventh.
  auto& lines = cards[3].communicators;
  lines[0].lines[0].calls = 6;
  lines[0].lines[0].recent.pop_back();
  lines[1].lines[0].calls = 3;
  lines[1].lines[0].recent.push_back(
      {3, "ncclAllReduce", 4096, 7, 0, -1, "in flight", 20 * kSecond, ""});
  const auto report = ExplainHang(cards, cards);
  EXPECT_EQ(report.verdict, HangVerdict::kCrossed) << report.conclusion;
  EXPECT_NE(report.conclusion.find("wait for each other"), std::string::npos);
}

TEST(HangByCallsTest, AReceiverWithoutASender) {
  std::vector<Card> cards = {Elsewhere(0, 6), Elsewhere(1, 6), Elsewhere(2, 6), Elsewhere(3, 6)};
  cards[0].communicators[0].lines.push_back(
      {"receive", 3, 1, {{1, "ncclRecv", 64, 7, -1, -1, "in flight", 20 * kSecond, ""}}});
  const auto report = ExplainHang(cards, cards);
  EXPECT_EQ(report.verdict, HangVerdict::kWaitedFor);
  EXPECT_EQ(WaitedFor(report), std::vector<int64_t>{3});
  EXPECT_NE(report.conclusion.find("1 of 4 ranks wait in ncclRecv"), std::string::npos);
}

TEST(HangByCallsTest, ARankThatNeverConnected) {
  std::vector<Card> cards;
  for (int64_t rank = 0; rank < 3; ++rank) {
    Card card = Waiting(rank, 0);
    card.oldest.clear();
    Card::Call call{"ncclCommInitRank", 20 * kSecond, true, "c0ffee", 4, rank, "", -1, {}};
    card.calls = {call};
    cards.push_back(card);
  }
  auto report = ExplainHang(cards, cards);
  EXPECT_EQ(report.verdict, HangVerdict::kWaitedFor);
  EXPECT_EQ(report.not_answering, std::vector<int64_t>{3});
  EXPECT_NE(report.conclusion.find("waited for: rank 3"), std::string::npos) << report.conclusion;
  // It is there, and does something else.
  Card away = Waiting(3, 0);
  away.oldest.clear();
  away.calls.clear();
  cards.push_back(away);
  report = ExplainHang(cards, cards);
  EXPECT_EQ(WaitedFor(report), std::vector<int64_t>{3});
}

TEST(HangByCallsTest, AllInsideBlamesNobody) {
  const auto report = ExplainHang(AllIn(7), AllIn(7));
  EXPECT_EQ(report.verdict, HangVerdict::kAllInside);
  EXPECT_TRUE(WaitedFor(report).empty());
}

TEST(HangByCallsTest, LostRecordsAreSaid) {
  auto cards = AllIn(7);
  cards[2] = Elsewhere(2, 6);
  cards[2].exact = false;
  EXPECT_EQ(ExplainHang(cards, cards).doubts.size(), 1u);
}

TEST(HangTest, ARankInAnEndlessKernel) {
  std::vector<Card> cards = {Waiting(0, 7), Waiting(1, 7), Waiting(2, 6), Waiting(3, 7)};
  cards[2].oldest = {{"_Z4spinPi", 25 * kSecond}};
  const auto report = ExplainHang(cards);
  EXPECT_EQ(WaitedFor(report), std::vector<int64_t>{2});
  EXPECT_NE(DoingOf(report, 2).find("spin(int*)"), std::string::npos);
  EXPECT_NE(report.conclusion.find("3 of 4 ranks wait in collective 7"), std::string::npos);
  EXPECT_NE(report.conclusion.find("waited for: rank 2"), std::string::npos);
}

TEST(HangTest, ARankInCodeOfItsOwn) {
  std::vector<Card> cards = {Waiting(0, 7), Waiting(1, 7), Waiting(2, 7), Waiting(3, 6)};
  cards[3].oldest.clear();
  cards[3].calls.clear();
  cards[3].in_flight = 0;
  const auto report = ExplainHang(cards);
  EXPECT_EQ(WaitedFor(report), std::vector<int64_t>{3});
  EXPECT_NE(DoingOf(report, 3).find("code of its own"), std::string::npos);
}

TEST(HangTest, ARankThatIsStoppedInsideTheCollective) {
  std::vector<Card> cards = {Waiting(0, 7), Waiting(1, 7), Waiting(2, 7), Waiting(3, 7)};
  cards[1].state = "stopped";
  const auto report = ExplainHang(cards);
  EXPECT_EQ(WaitedFor(report), std::vector<int64_t>{1});
  EXPECT_NE(DoingOf(report, 1).find("stopped"), std::string::npos);
}

TEST(HangTest, ARankThatEndedAndOneThatNobodyHasSeen) {
  std::vector<Card> cards = {Waiting(0, 7), Waiting(1, 7), Waiting(2, 5)};
  cards[2].state = "ended";
  cards[2].oldest.clear();
  const auto report = ExplainHang(cards);
  EXPECT_EQ(WaitedFor(report), std::vector<int64_t>{2});
  EXPECT_EQ(report.not_answering, std::vector<int64_t>{3});
  EXPECT_NE(report.conclusion.find("waited for: ranks 2, 3"), std::string::npos);
}

TEST(HangTest, ARankThatWasStartedAgainIsNotTheEndedOne) {
  std::vector<Card> cards = {Waiting(0, 7), Waiting(1, 7), Waiting(2, 7), Waiting(3, 7),
                             Waiting(2, 3)};
  cards[4].state = "ended";
  const auto report = ExplainHang(cards);
  EXPECT_TRUE(WaitedFor(report).empty());
  EXPECT_EQ(report.ranks.size(), 4u);
}

TEST(HangTest, RanksInDifferentCollectives) {
  std::vector<Card> cards = {Waiting(0, 7), Waiting(1, 7), Waiting(2, 7), Waiting(3, 7)};
  cards[0].oldest = {{"ncclDevKernel_SendRecv", 20 * kSecond}};
  const auto report = ExplainHang(cards);
  EXPECT_TRUE(WaitedFor(report).empty());
  EXPECT_NE(report.conclusion.find("different collectives"), std::string::npos);
}

TEST(HangTest, NobodyIsAccusedWhileAllWork) {
  std::vector<Card> cards = {Waiting(0, 7), Waiting(1, 7), Waiting(2, 6), Waiting(3, 7)};
  for (Card& card : cards) card.oldest[0].since_ns = kSecond / 10;
  const auto report = ExplainHang(cards);
  EXPECT_TRUE(WaitedFor(report).empty());
  EXPECT_NE(report.conclusion.find("no rank waits"), std::string::npos);
}

TEST(HangTest, WhatIsNoCardIsLeftOut) {
  const auto cards = CardsOf({nlohmann::json::parse(R"({"host":"a","cards":[{"rank":1},"x"]})"),
                              nlohmann::json::parse(R"({"host":"b"})")});
  EXPECT_TRUE(cards.empty());
  EXPECT_EQ(ExplainHang(cards).cards, 0u);
}

}  // namespace
}  // namespace rochound::fleet
