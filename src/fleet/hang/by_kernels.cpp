// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "codeobj/demangle.h"
#include "fleet/hang/hang.h"

namespace rochound::fleet {
namespace {

// Kernels of RCCL, whose names NCCL gave.
bool IsCollective(const std::string& kernel) {
  return kernel.find("ncclDevKernel") != std::string::npos ||
         kernel.find("ncclKernel") != std::string::npos;
}

const Card::Launch* LongCollective(const Card& card) {
  for (const Card::Launch& launch : card.oldest)
    if (IsCollective(launch.kernel) && launch.since_ns >= kLongNs) return &launch;
  return nullptr;
}

}  // namespace

HangReport ExplainByKernels(const std::vector<const Card*>& cards) {
  HangReport report;
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
  std::vector<int64_t> inside, missing, behind, stuck;
  std::set<std::string> kinds;
  for (const Card* card : cards) {
    HangReport::Rank rank{card->rank, card->host,          card->process,    false,
                          false,      DescribeRank(*card), card->collectives};
    if (const Card::Launch* launch = LongCollective(*card)) {
      kinds.insert(launch->kernel);
      rank.inside = true;
      rank.missing = card->state == "ended" || card->state == "stopped";
      if (!rank.missing && card->collectives < newest) behind.push_back(card->rank);
    } else {
      rank.missing = newest != 0;
    }
    if (card->state == "stopped" || (!card->oldest.empty() && card->oldest[0].since_ns >= kLongNs))
      stuck.push_back(card->rank);
    (rank.missing ? missing : inside).push_back(card->rank);
    report.ranks.push_back(std::move(rank));
  }
  const std::string collective = kinds.empty() ? "" : codeobj::Demangle(*kinds.begin());
  if (newest == 0) {
    // Nobody waits in a collective: is anybody stuck at all?
    report.verdict = stuck.empty() ? HangVerdict::kNoHang : HangVerdict::kStuckAlone;
    for (HangReport::Rank& rank : report.ranks)
      rank.missing = std::find(stuck.begin(), stuck.end(), rank.rank) != stuck.end();
    report.conclusion =
        stuck.empty()
            ? "no rank waits in a collective, and no kernel is in flight for long"
            : fmt::format("no rank waits in a collective; stuck by itself: {}", NameRanks(stuck));
    return report;
  }
  report.doubts.push_back(
      "no calls of RCCL were recorded: its kernels are counted, whichever communicator they are of");
  if (!missing.empty() || !report.not_answering.empty()) {
    std::vector<int64_t> waited = missing;
    waited.insert(waited.end(), report.not_answering.begin(), report.not_answering.end());
    std::sort(waited.begin(), waited.end());
    report.verdict = HangVerdict::kWaitedFor;
    report.conclusion = fmt::format("{} of {} ranks wait in collective {} ({}); waited for: {}",
                                    inside.size(), cards.size() + report.not_answering.size(),
                                    newest, collective, NameRanks(waited));
  } else if (kinds.size() > 1) {
    report.verdict = HangVerdict::kDifferent;
    report.conclusion =
        fmt::format("all ranks wait, in different collectives: {} kinds", kinds.size());
  } else if (!behind.empty()) {
    report.verdict = HangVerdict::kWaitedFor;
    report.conclusion =
        fmt::format("all ranks wait in a collective; behind the others: {}", NameRanks(behind));
  } else {
    report.verdict = HangVerdict::kAllInside;
    report.conclusion =
        fmt::format("all ranks are in collective {} ({}): the library or the network under it",
                    newest, collective);
  }
  return report;
}

}  // namespace rochound::fleet
