// SPDX-License-Identifier: MIT
//
// Cards as daemons send them, and reports as people and programs read them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codeobj/demangle.h"
#include "fleet/hang/hang.h"

namespace rochound::fleet {
namespace {

using nlohmann::json;

double Seconds(uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

// -1: not known.
int64_t RanksIn(const json& one) {
  const int64_t ranks = one.at("ranks");
  return ranks > kMostRanks ? -1 : ranks;
}

Operation OperationOf(const json& one) {
  return {one.at("number"),          one.at("function"),
          one.at("count"),           one.at("datatype"),
          one.at("operation"),       one.at("root"),
          one.at("state"),           one.value("since_ns", uint64_t{0}),
          one.value("waits_for", "")};
}

Card::Call CallOf(const json& one) {
  Card::Call call;
  call.function = one.at("function");
  call.since_ns = one.at("since_ns");
  const auto rccl = one.find("rccl");
  if (rccl == one.end()) return call;
  call.rccl = true;
  call.communicator = rccl->at("id");
  call.ranks = RanksIn(*rccl);
  call.rank = rccl->at("rank");
  call.kind = rccl->value("kind", "");
  call.peer = rccl->value("peer", int64_t{-1});
  if (const auto operation = rccl->find("operation"); operation != rccl->end()) {
    call.operation = OperationOf(*operation);
    call.operation->since_ns = call.since_ns;
  }
  return call;
}

Communicator CommunicatorOf(const json& one) {
  Communicator communicator{one.at("id"),     RanksIn(one),  one.at("rank"),
                            one.at("parent"), one.at("key"), {}};
  for (const json& line : one.at("lines")) {
    Line& added = communicator.lines.emplace_back();
    added.kind = line.at("kind");
    added.peer = line.at("peer");
    added.calls = line.at("calls");
    for (const json& operation : line.at("recent")) added.recent.push_back(OperationOf(operation));
  }
  return communicator;
}

Card CardOf(const json& one, const std::string& host) {
  Card card;
  card.host = host;
  card.rank = one.at("rank");
  card.ranks = RanksIn(one);
  card.process = one.at("pid");
  card.state = one.at("state");
  card.dispatches = one.at("dispatches");
  card.launches = one.at("launches");
  card.collectives = one.at("collectives");
  card.in_flight = one.at("in_flight");
  for (const json& launch : one.at("oldest"))
    card.oldest.push_back({launch.at("kernel"), launch.at("since_ns")});
  for (const json& call : one.at("open_calls")) card.calls.push_back(CallOf(call));
  for (const json& communicator : one.at("communicators"))
    card.communicators.push_back(CommunicatorOf(communicator));
  card.exact = one.at("exact");
  card.program = one.value("program", "");
  card.waits_in = one.value("waits_in", "");
  card.processor_ns = one.value("processor_ns", uint64_t{0});
  return card;
}

}  // namespace

std::vector<Card> CardsOf(const std::vector<json>& answers) {
  std::vector<Card> cards;
  for (const json& answer : answers)
    for (const json& one : answer.value("cards", json::array())) {
      try {
        cards.push_back(CardOf(one, answer.at("host")));
        cards.back().now_ns = answer.value("looked_ns", uint64_t{0});
      } catch (const json::exception&) {
        continue;
      }
    }
  return cards;
}

std::string NameRanks(const std::vector<int64_t>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

std::string DescribeRank(const Card& card, double busy) {
  if (card.state == "ended") return "its process has ended";
  if (card.state == "stopped") return "its process is stopped (SIGSTOP or a debugger)";
  std::vector<std::string> parts;
  if (!card.oldest.empty())
    parts.push_back(fmt::format("kernel {} in flight for {:.1f} s",
                                codeobj::Demangle(card.oldest[0].kernel),
                                Seconds(card.oldest[0].since_ns)));
  for (const Communicator& communicator : card.communicators)
    for (const Line& line : communicator.lines)
      for (const Operation& operation : line.recent)
        if (!operation.waits_for.empty() && parts.size() < 2)
          parts.push_back(
              fmt::format("{} {} is queued after it", operation.function, operation.number));
  if (!card.calls.empty())
    parts.push_back(fmt::format("in call {} for {:.1f} s", card.calls[0].function,
                                Seconds(card.calls[0].since_ns)));
  if (!parts.empty()) return fmt::format("{}", fmt::join(parts, ", "));
  std::string text = "nothing on its GPU and no call of the runtime: it is in code of its own";
  if (card.program.empty()) return text;
  text += fmt::format(" ({}", card.program);
  if (busy >= 0.5)
    text += ", computes";
  else if (!card.waits_in.empty())
    text += fmt::format(", sleeps in {}", card.waits_in);
  else if (busy >= 0)
    text += ", sleeps";
  return text + ")";
}

const char* HangVerdictName(HangVerdict verdict) {
  switch (verdict) {
    case HangVerdict::kNobodySeen:
      return "nobody seen";
    case HangVerdict::kNoHang:
      return "no hang";
    case HangVerdict::kLate:
      return "late";
    case HangVerdict::kWaitedFor:
      return "waited for";
    case HangVerdict::kDifferent:
      return "different operations";
    case HangVerdict::kCrossed:
      return "crossed";
    case HangVerdict::kAllInside:
      return "all inside";
    case HangVerdict::kStuckAlone:
      return "stuck alone";
  }
  return "";
}

bool HangReport::stuck() const {
  return verdict != HangVerdict::kNobodySeen && verdict != HangVerdict::kNoHang &&
         verdict != HangVerdict::kLate;
}

json HangReport::AsJson() const {
  json list = json::array();
  for (const Rank& rank : ranks)
    list.push_back({{"rank", rank.rank},
                    {"host", rank.host},
                    {"pid", rank.process},
                    {"inside", rank.inside},
                    {"waited_for", rank.missing},
                    {"collectives", rank.collectives},
                    {"doing", rank.doing}});
  return {{"verdict", HangVerdictName(verdict)},
          {"stuck", stuck()},
          {"conclusion", conclusion},
          {"ranks", list},
          {"not_answering", not_answering},
          {"doubts", doubts}};
}

std::string HangReport::AsText() const {
  std::string text = conclusion + "\n";
  for (const Rank& rank : ranks)
    text += fmt::format("{} rank {:>4}  {}, process {}: {}\n", rank.missing ? "!" : " ", rank.rank,
                        rank.host, rank.process, rank.doing);
  for (const int64_t rank : not_answering)
    text += fmt::format("! rank {:>4}  no daemon has seen it\n", rank);
  for (const std::string& doubt : doubts) text += "not certain: " + doubt + "\n";
  return text;
}

}  // namespace rochound::fleet
