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
  card.calls = {{"hipStreamSynchronize", 20 * kSecond}};
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
