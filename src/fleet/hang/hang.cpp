// SPDX-License-Identifier: MIT
#include "fleet/hang/hang.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "codeobj/demangle.h"

namespace rochound::fleet {
namespace {

using nlohmann::json;

// In flight for less than this is at work, not waiting.
constexpr uint64_t kLongNs = 2'000'000'000;

bool IsCollective(const std::string& kernel) {
  return kernel.find("ncclDevKernel") != std::string::npos ||
         kernel.find("ncclKernel") != std::string::npos;
}

double Seconds(uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

const Card::Launch* LongCollective(const Card& card) {
  for (const Card::Launch& launch : card.oldest)
    if (IsCollective(launch.kernel) && launch.since_ns >= kLongNs) return &launch;
  return nullptr;
}

std::string Doing(const Card& card) {
  if (card.state == "ended") return "its process has ended";
  if (card.state == "stopped") return "its process is stopped (SIGSTOP or a debugger)";
  std::string text;
  for (const Card::Launch& launch : card.oldest) {
    text = fmt::format("kernel {} in flight for {:.1f} s", codeobj::Demangle(launch.kernel),
                       Seconds(launch.since_ns));
    break;
  }
  for (const Card::Call& call : card.calls) {
    text += fmt::format("{}call {} for {:.1f} s", text.empty() ? "" : ", in ", call.function,
                        Seconds(call.since_ns));
    break;
  }
  if (text.empty())
    text = "nothing on its GPU and no call of the runtime: it is in code of its own";
  return text;
}

std::string Names(const std::vector<int64_t>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

}  // namespace

std::vector<Card> CardsOf(const std::vector<json>& answers) {
  std::vector<Card> cards;
  for (const json& answer : answers)
    for (const json& one : answer.value("cards", json::array())) {
      try {
        Card card;
        card.host = answer.at("host");
        card.rank = one.at("rank");
        card.ranks = one.at("ranks");
        card.process = one.at("pid");
        card.state = one.at("state");
        card.collectives = one.at("collectives");
        card.in_flight = one.at("in_flight");
        for (const json& launch : one.at("oldest"))
          card.oldest.push_back({launch.at("kernel"), launch.at("since_ns")});
        for (const json& call : one.value("open_calls", json::array()))
          card.calls.push_back({call.at("function"), call.at("since_ns")});
        cards.push_back(std::move(card));
      } catch (const json::exception&) {
        continue;
      }
    }
  return cards;
}

HangReport ExplainHang(const std::vector<Card>& all) {
  HangReport report;
  report.cards = all.size();
  // A rank that was started again has an ended process beside its running one.
  std::vector<const Card*> cards;
  for (const Card& card : all) {
    const bool replaced = card.state == "ended" && card.rank >= 0 &&
                          std::any_of(all.begin(), all.end(), [&](const Card& other) {
                            return other.rank == card.rank && other.state != "ended";
                          });
    if (!replaced) cards.push_back(&card);
  }
  if (cards.empty()) {
    report.conclusion = "no daemon has seen a process of this job";
    return report;
  }
  std::sort(cards.begin(), cards.end(), [](const Card* a, const Card* b) {
    return std::pair(a->rank, a->process) < std::pair(b->rank, b->process);
  });
  // The collective that those inside are in is their newest one.
  uint64_t newest = 0;
  int64_t expected = -1;
  std::set<int64_t> seen;
  for (const Card* card : cards) {
    expected = std::max(expected, card->ranks);
    seen.insert(card->rank);
    if (LongCollective(*card) != nullptr) newest = std::max(newest, card->collectives);
  }
  for (int64_t rank = 0; rank < expected; ++rank)
    if (!seen.contains(rank)) report.not_answering.push_back(rank);
  std::vector<int64_t> inside, missing, behind;
  std::string collective;
  std::set<std::string> kinds;
  for (const Card* card : cards) {
    HangReport::Rank rank{card->rank, card->host,   card->process,    false,
                          false,      Doing(*card), card->collectives};
    if (const Card::Launch* launch = LongCollective(*card)) {
      kinds.insert(launch->kernel);
      rank.inside = true;
      rank.missing = card->state == "ended" || card->state == "stopped";
      if (!rank.missing && card->collectives < newest) behind.push_back(card->rank);
    } else {
      rank.missing = newest != 0;
    }
    (rank.missing ? missing : inside).push_back(card->rank);
    report.ranks.push_back(std::move(rank));
  }
  if (!kinds.empty()) collective = codeobj::Demangle(*kinds.begin());
  if (newest == 0) {
    // Nobody waits in a collective: is anybody stuck at all?
    std::vector<int64_t> stuck;
    for (const HangReport::Rank& rank : report.ranks) {
      const Card& card = *cards[static_cast<size_t>(&rank - report.ranks.data())];
      const bool hangs =
          card.state == "stopped" || (!card.oldest.empty() && card.oldest[0].since_ns >= kLongNs);
      if (hangs) stuck.push_back(rank.rank);
    }
    report.conclusion =
        stuck.empty()
            ? "no rank waits in a collective, and no kernel is in flight for long"
            : fmt::format("no rank waits in a collective; stuck by itself: {}", Names(stuck));
  } else if (!missing.empty() || !report.not_answering.empty()) {
    std::vector<int64_t> waited = missing;
    waited.insert(waited.end(), report.not_answering.begin(), report.not_answering.end());
    std::sort(waited.begin(), waited.end());
    report.conclusion =
        fmt::format("{} of {} ranks wait in collective {} ({}); waited for: {}", inside.size(),
                    cards.size() + report.not_answering.size(), newest, collective, Names(waited));
  } else if (kinds.size() > 1) {
    report.conclusion =
        fmt::format("all ranks wait, in different collectives: {} kinds", kinds.size());
  } else if (!behind.empty()) {
    report.conclusion =
        fmt::format("all ranks wait in a collective; behind the others: {}", Names(behind));
  } else {
    report.conclusion =
        fmt::format("all ranks are in collective {} ({}): the library or the network under it",
                    newest, collective);
  }
  return report;
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
  return {{"conclusion", conclusion}, {"ranks", list}, {"not_answering", not_answering}};
}

std::string HangReport::AsText() const {
  std::string text = conclusion + "\n";
  for (const Rank& rank : ranks)
    text += fmt::format("{} rank {:>4}  {}, process {}: {}\n", rank.missing ? "!" : " ", rank.rank,
                        rank.host, rank.process, rank.doing);
  for (const int64_t rank : not_answering)
    text += fmt::format("! rank {:>4}  no daemon has seen it\n", rank);
  return text;
}

}  // namespace rochound::fleet
