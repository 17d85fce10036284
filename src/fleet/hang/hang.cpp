// SPDX-License-Identifier: MIT
//
// The n-th collective of a communicator is one and the same on all its ranks, and so is the n-th
// message from one rank to another. A rank that is in such an operation waits for every rank that
// has not come to it. Who is waited for and waits for nobody is the reason; where all who are
// waited for wait themselves, they wait in a circle.
#include "fleet/hang/hang.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "codeobj/demangle.h"

namespace rochound::fleet {
namespace {

// An operation that all ranks are in has time to end.
constexpr uint64_t kVeryLongNs = 15'000'000'000;

// Where a rank waits.
struct Wait {
  const Card* card = nullptr;
  std::string communicator;
  int64_t ranks = -1, rank = -1;  // of the communicator
  std::string kind;               // of the line; a function's name where it has none
  int64_t peer = -1;
  Operation operation;
  auto Key() const { return std::tuple(communicator, kind, peer, operation.number); }
};

bool IsGone(const Card& card) { return card.state == "ended" || card.state == "stopped"; }

// What an operation must have in common on all ranks. Messages have lengths that must agree; roots
// and reductions are -1 where there are none.
auto SignatureOf(const Operation& operation) {
  return std::tuple(operation.function, operation.count, operation.datatype, operation.operation,
                    operation.root);
}

std::string DescribeOperation(const Operation& operation) {
  std::string text = operation.function;
  text += fmt::format(" of {} elements", operation.count);
  if (operation.datatype >= 0) text += fmt::format(" of type {}", operation.datatype);
  if (operation.root >= 0) text += fmt::format(", root {}", operation.root);
  return text;
}

// Short, and parts of a communicator can be told from it.
std::string NameCommunicator(const std::string& id) {
  return id.substr(0, 8) + id.substr(std::min(id.find('/'), id.size()));
}

class Analysis {
 public:
  Analysis(std::vector<const Card*> cards, const std::vector<Card>& before)
      : cards_(std::move(cards)) {
    for (const Card& card : before) before_[{card.host, card.process}] = &card;
    for (const Card* card : cards_) expected_ = std::max(expected_, card->ranks);
    FindMembers();
    for (const Card* card : cards_) {
      std::vector<Wait> now = WaitsOf(*card, kLongNs);
      // What has gone on since is no wait.
      if (const Card* const earlier = Before(*card)) {
        const std::vector<Wait> then = WaitsOf(*earlier, 0);
        std::erase_if(now, [&](const Wait& wait) {
          return std::none_of(then.begin(), then.end(),
                              [&](const Wait& one) { return one.Key() == wait.Key(); });
        });
      }
      for (Wait& wait : now) waits_.push_back(std::move(wait));
    }
    for (const Wait& wait : waits_) FindAbsent(wait);
  }

  bool knows_rccl() const { return !members_.empty() || !waits_.empty(); }
  HangReport Report();

 private:
  struct Member {
    const Card* card = nullptr;
    const Communicator* communicator = nullptr;
  };

  const Card* Before(const Card& card) const {
    const auto found = before_.find({card.host, card.process});
    return found == before_.end() ? nullptr : found->second;
  }

  void FindMembers() {
    std::map<std::string, std::vector<Member>> by_id;
    for (const Card* card : cards_)
      for (const Communicator& one : card->communicators)
        if (!one.id.empty()) by_id[one.id].push_back({card, &one});
    const auto parent_rank = [](const Member& member) {
      for (const Communicator& one : member.card->communicators)
        if (one.id == member.communicator->parent) return one.rank;
      return member.card->rank;
    };
    for (auto& [id, members] : by_id) {
      // A part of another: its ranks are in the order of their keys.
      if (members.front().communicator->rank < 0)
        std::sort(members.begin(), members.end(), [&](const Member& a, const Member& b) {
          return std::pair(a.communicator->key, parent_rank(a)) <
                 std::pair(b.communicator->key, parent_rank(b));
        });
      for (size_t i = 0; i < members.size(); ++i) {
        const int64_t rank = members[i].communicator->rank;
        members_[id][rank < 0 ? static_cast<int64_t>(i) : rank] = members[i];
      }
    }
  }

  int64_t RankIn(const std::string& communicator, const Card& card) const {
    const auto members = members_.find(communicator);
    if (members != members_.end())
      for (const auto& [rank, member] : members->second)
        if (member.card->process == card.process && member.card->host == card.host) return rank;
    return -1;
  }

  int64_t SizeOf(const std::string& communicator) const {
    const auto members = members_.find(communicator);
    if (members == members_.end()) return -1;
    const int64_t ranks = members->second.begin()->second.communicator->ranks;
    return ranks >= 0 ? ranks : static_cast<int64_t>(members->second.size());
  }

  // Where it waits for at least so long.
  std::vector<Wait> WaitsOf(const Card& card, uint64_t least_ns) const {
    std::vector<Wait> waits;
    if (IsGone(card)) return waits;
    const Card::Call* group = nullptr;
    for (const Card::Call& call : card.calls) {
      if (!call.rccl || call.since_ns < least_ns) continue;
      if (call.function == "ncclGroupEnd") group = &call;
      Wait wait{&card, call.communicator, call.ranks, call.rank, call.kind, call.peer, {}};
      if (wait.communicator.empty()) continue;
      if (call.operation) wait.operation = *call.operation;
      if (wait.kind.empty()) wait.kind = wait.operation.function = call.function;
      wait.operation.since_ns = call.since_ns;
      waits.push_back(std::move(wait));
    }
    for (const Communicator& communicator : card.communicators)
      for (const Line& line : communicator.lines)
        for (const Operation& operation : line.recent) {
          // Of a group that is being launched, all operations wait.
          const bool grouped = operation.state == "called" && group != nullptr;
          if (!grouped && (operation.state != "in flight" || operation.since_ns < least_ns))
            continue;
          if (!operation.waits_for.empty() || communicator.id.empty()) continue;
          waits.push_back({&card, communicator.id, SizeOf(communicator.id),
                           RankIn(communicator.id, card), line.kind, line.peer, operation});
          break;  // those after it are queued
        }
    return waits;
  }

  // How a rank of a communicator stands to an operation that another one waits in.
  enum class Standing { kNotThere, kInside, kComplete, kDifferent };
  Standing StandingOf(const Member& member, const Wait& wait, Operation* found) const {
    // It is about the communicator itself.
    if (wait.operation.number == 0) {
      for (const Card::Call& call : member.card->calls)
        if (call.communicator == wait.communicator && call.function == wait.kind)
          return Standing::kInside;
      // Who has the communicator has made it.
      return wait.kind.starts_with("ncclCommInit") && member.communicator != nullptr
                 ? Standing::kComplete
                 : Standing::kNotThere;
    }
    std::string kind = wait.kind;
    int64_t peer = wait.peer;
    if (kind != "collective") {
      kind = kind == "send" ? "receive" : "send";
      peer = wait.rank;
    }
    const auto same = [&](const Operation& other) {
      if (wait.kind == "collective") return SignatureOf(other) == SignatureOf(wait.operation);
      return other.count == wait.operation.count && other.datatype == wait.operation.datatype;
    };
    for (const Card::Call& call : member.card->calls)
      if (call.communicator == wait.communicator && call.operation && call.kind == kind &&
          call.peer == peer && call.operation->number == wait.operation.number) {
        *found = *call.operation;
        return same(*found) ? Standing::kInside : Standing::kDifferent;
      }
    if (member.communicator == nullptr) return Standing::kNotThere;
    for (const Line& line : member.communicator->lines) {
      if (line.kind != kind || line.peer != peer) continue;
      if (line.calls < wait.operation.number) return Standing::kNotThere;
      for (const Operation& operation : line.recent) {
        if (operation.number != wait.operation.number) continue;
        *found = operation;
        if (!same(operation)) return Standing::kDifferent;
        if (operation.state == "complete") return Standing::kComplete;
        return operation.waits_for.empty() ? Standing::kInside : Standing::kNotThere;
      }
      return Standing::kComplete;  // long ago
    }
    return Standing::kNotThere;
  }

  // A communicator's rank as a rank of the job; -1: not known.
  int64_t JobRank(const Wait& wait, int64_t rank) const {
    const auto members = members_.find(wait.communicator);
    if (members != members_.end())
      if (const auto member = members->second.find(rank); member != members->second.end())
        return member->second.card->rank;
    for (const Wait& other : waits_)
      if (other.communicator == wait.communicator && other.rank == rank) return other.card->rank;
    // As many as the job has: nobody numbers those twice.
    return wait.ranks == expected_ && wait.rank == wait.card->rank ? rank : -1;
  }

  const Card* CardOf(int64_t job_rank) const {
    for (const Card* card : cards_)
      if (card->rank == job_rank) return card;
    return nullptr;
  }

  void FindAbsent(const Wait& wait) {
    std::vector<int64_t> others;
    if (wait.kind == "send" || wait.kind == "receive") {
      others.push_back(wait.peer);
    } else {
      for (int64_t rank = 0; rank < wait.ranks; ++rank)
        if (rank != wait.rank) others.push_back(rank);
    }
    for (const int64_t rank : others) {
      const int64_t job_rank = JobRank(wait, rank);
      Member member;
      const auto members = members_.find(wait.communicator);
      if (members != members_.end())
        if (const auto known = members->second.find(rank); known != members->second.end())
          member = known->second;
      if (member.card == nullptr) member.card = CardOf(job_rank);
      if (member.card == nullptr) {
        absent_[wait.card->rank].insert(job_rank);
        continue;
      }
      Operation found;
      const Standing standing = StandingOf(member, wait, &found);
      if (standing == Standing::kDifferent) {
        different_[wait.Key()][wait.card->rank] = wait.operation;
        different_[wait.Key()][job_rank] = found;
      }
      if (standing == Standing::kNotThere ||
          (standing != Standing::kComplete && IsGone(*member.card)))
        absent_[wait.card->rank].insert(job_rank);
    }
  }

  bool Waits(int64_t rank) const {
    return std::any_of(waits_.begin(), waits_.end(),
                       [&](const Wait& wait) { return wait.card->rank == rank; });
  }

  bool Moves(int64_t rank) const {
    const Card* const card = CardOf(rank);
    if (card == nullptr || IsGone(*card)) return false;
    const Card* const earlier = Before(*card);
    if (earlier == nullptr) return false;
    const auto calls = [](const Card& one) {
      uint64_t sum = 0;
      for (const Communicator& communicator : one.communicators)
        for (const Line& line : communicator.lines) sum += line.calls;
      return sum;
    };
    return card->launches != earlier->launches || card->dispatches != earlier->dispatches ||
           calls(*card) != calls(*earlier);
  }

  double Busy(const Card& card) const {
    const Card* const earlier = Before(card);
    if (earlier == nullptr || card.now_ns <= earlier->now_ns ||
        card.processor_ns < earlier->processor_ns)
      return -1;
    return static_cast<double>(card.processor_ns - earlier->processor_ns) /
           static_cast<double>(card.now_ns - earlier->now_ns);
  }

  void ConcludeDifferent(HangReport* report);
  void ConcludeWaiting(HangReport* report);
  void ConcludeCrossed(HangReport* report);

  std::vector<const Card*> cards_;  // by rank
  std::map<std::pair<std::string, int64_t>, const Card*> before_;
  int64_t expected_ = -1;
  std::map<std::string, std::map<int64_t, Member>> members_;  // by communicator and rank in it
  std::vector<Wait> waits_;
  std::map<int64_t, std::set<int64_t>> absent_;  // who waits, for whom; ranks of the job
  std::map<decltype(Wait().Key()), std::map<int64_t, Operation>> different_;
};

// A line of the operation that ranks wait in: ncclAllReduce, number 7 of communicator 1a2b.
std::string NameOperation(const Wait& wait) {
  std::string text = wait.operation.function;
  if (wait.operation.number != 0) text += fmt::format(", number {}", wait.operation.number);
  if (wait.kind == "send") text += fmt::format(" to its rank {}", wait.peer);
  if (wait.kind == "receive") text += fmt::format(" from its rank {}", wait.peer);
  return text + fmt::format(" of communicator {}", NameCommunicator(wait.communicator));
}

void Analysis::ConcludeDifferent(HangReport* report) {
  const auto& operations = different_.begin()->second;
  // Who is alone with what it called differs from the others; of two, either may.
  std::map<decltype(SignatureOf({})), std::vector<int64_t>> by_signature;
  for (const auto& [rank, operation] : operations)
    by_signature[SignatureOf(operation)].push_back(rank);
  size_t most = 0;
  for (const auto& [signature, ranks] : by_signature) most = std::max(most, ranks.size());
  const bool tie = std::count_if(by_signature.begin(), by_signature.end(),
                                 [&](const auto& one) { return one.second.size() == most; }) > 1;
  std::vector<std::string> said;
  for (const auto& [signature, ranks] : by_signature) {
    said.push_back(
        fmt::format("{} {}", NameRanks(ranks), DescribeOperation(operations.at(ranks.front()))));
    if (!tie && ranks.size() == most) continue;
    for (HangReport::Rank& rank : report->ranks)
      rank.missing |= std::find(ranks.begin(), ranks.end(), rank.rank) != ranks.end();
  }
  report->verdict = HangVerdict::kDifferent;
  report->conclusion =
      fmt::format("ranks called different operations, number {} of communicator {}: {}",
                  std::get<3>(different_.begin()->first),
                  NameCommunicator(std::get<0>(different_.begin()->first)), fmt::join(said, "; "));
}

void Analysis::ConcludeWaiting(HangReport* report) {
  std::set<int64_t> reasons;
  for (const auto& [waiter, ranks] : absent_)
    for (const int64_t rank : ranks) {
      const Card* const card = CardOf(rank);
      if (!Waits(rank) || (card != nullptr && IsGone(*card))) reasons.insert(rank);
    }
  if (reasons.empty()) return ConcludeCrossed(report);
  for (HangReport::Rank& rank : report->ranks) rank.missing = reasons.contains(rank.rank);
  const std::vector<int64_t> waited(reasons.begin(), reasons.end());
  const bool late = std::all_of(waited.begin(), waited.end(), [&](int64_t r) { return Moves(r); });
  report->verdict = late ? HangVerdict::kLate : HangVerdict::kWaitedFor;
  // What those wait in who wait for the reason itself, not for somebody who waits for it.
  const Wait* where = nullptr;
  std::set<int64_t> inside;
  for (const Wait& wait : waits_) {
    inside.insert(wait.card->rank);
    const auto ranks = absent_.find(wait.card->rank);
    if (where == nullptr && ranks != absent_.end() &&
        std::any_of(ranks->second.begin(), ranks->second.end(),
                    [&](int64_t rank) { return reasons.contains(rank); }))
      where = &wait;
  }
  for (const int64_t rank : reasons) inside.erase(rank);
  report->conclusion = fmt::format(
      "{} of {} ranks wait in {}; waited for: {}{}", inside.size(),
      std::max<int64_t>(expected_, static_cast<int64_t>(cards_.size())), NameOperation(*where),
      NameRanks(waited), late ? ", which works: late, no hang" : "");
}

void Analysis::ConcludeCrossed(HangReport* report) {
  std::vector<std::string> said;
  for (const auto& [waiter, ranks] : absent_) {
    for (HangReport::Rank& rank : report->ranks) rank.missing |= rank.rank == waiter;
    for (const Wait& wait : waits_)
      if (wait.card->rank == waiter) {
        said.push_back(fmt::format("rank {} is in {} and waits for {}", waiter, NameOperation(wait),
                                   NameRanks({ranks.begin(), ranks.end()})));
        break;
      }
  }
  report->verdict = HangVerdict::kCrossed;
  report->conclusion =
      fmt::format("ranks wait for each other, in different operations: {}", fmt::join(said, "; "));
}

HangReport Analysis::Report() {
  HangReport report;
  std::set<int64_t> seen;
  for (const Card* card : cards_) {
    seen.insert(card->rank);
    HangReport::Rank rank{card->rank, card->host, card->process,    false,
                          false,      "",         card->collectives};
    for (const Wait& wait : waits_) {
      if (wait.card != card) continue;
      rank.inside = true;
      rank.doing = fmt::format("in {} for {:.1f} s", NameOperation(wait),
                               static_cast<double>(wait.operation.since_ns) * 1e-9);
      break;
    }
    if (!rank.inside || IsGone(*card)) rank.doing = DescribeRank(*card, Busy(*card));
    if (!card->exact)
      report.doubts.push_back(fmt::format(
          "records of rank {} were lost: its operations may be counted wrongly", card->rank));
    report.ranks.push_back(std::move(rank));
  }
  for (int64_t rank = 0; rank < expected_; ++rank)
    if (!seen.contains(rank)) report.not_answering.push_back(rank);
  if (!different_.empty()) {
    ConcludeDifferent(&report);
  } else if (!absent_.empty()) {
    ConcludeWaiting(&report);
  } else if (!waits_.empty()) {
    // It began when the last of them came.
    uint64_t since = UINT64_MAX;
    for (const Wait& wait : waits_)
      if (wait.Key() == waits_.front().Key()) since = std::min(since, wait.operation.since_ns);
    const bool stuck = since >= kVeryLongNs;
    report.verdict = stuck ? HangVerdict::kAllInside : HangVerdict::kNoHang;
    report.conclusion =
        fmt::format("all ranks of a communicator are in {}, for {:.1f} s{}",
                    NameOperation(waits_.front()), static_cast<double>(since) * 1e-9,
                    stuck ? ": the library, the network under it, or a long operation" : "");
  } else {
    std::vector<int64_t> stuck;
    for (HangReport::Rank& rank : report.ranks) {
      const Card& card = *CardOf(rank.rank);
      rank.missing =
          card.state == "stopped" || (!card.oldest.empty() && card.oldest[0].since_ns >= kLongNs &&
                                      !Moves(rank.rank) && WaitsOf(card, 0).empty());
      if (rank.missing) stuck.push_back(rank.rank);
    }
    report.verdict = stuck.empty() ? HangVerdict::kNoHang : HangVerdict::kStuckAlone;
    report.conclusion =
        stuck.empty()
            ? "no hang: no rank waits for long"
            : fmt::format("no rank waits for another; stuck by itself: {}", NameRanks(stuck));
  }
  return report;
}

}  // namespace

HangReport ExplainHang(const std::vector<Card>& all, const std::vector<Card>& before) {
  // A rank that was started again has an ended process beside its running one.
  std::vector<const Card*> cards;
  for (const Card& card : all) {
    const bool replaced = card.state == "ended" && card.rank >= 0 &&
                          std::any_of(all.begin(), all.end(), [&](const Card& other) {
                            return other.rank == card.rank && other.state != "ended";
                          });
    if (!replaced) cards.push_back(&card);
  }
  HangReport report;
  if (cards.empty()) {
    report.conclusion = "no daemon has seen a process of this job";
    return report;
  }
  std::sort(cards.begin(), cards.end(), [](const Card* a, const Card* b) {
    return std::pair(a->rank, a->process) < std::pair(b->rank, b->process);
  });
  Analysis analysis(cards, before);
  report = analysis.knows_rccl() ? analysis.Report() : ExplainByKernels(cards);
  report.cards = all.size();
  return report;
}

}  // namespace rochound::fleet
