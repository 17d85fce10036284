// SPDX-License-Identifier: MIT
#include "probe/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "codeobj/demangle.h"

namespace rochound::probe {
namespace {

std::string JsonLine(const BlockUse& use) {
  nlohmann::ordered_json line = PlaceJson(use.at);
  line["kernel"] = use.kernel;
  line["function"] = use.function;
  line["block"] = use.number;
  line["executions"] = use.executions;
  line["lanes"] = use.lanes;
  line["possible_lanes"] = use.possible_lanes;
  line["cycles"] = use.cycles;
  if (use.branches) {
    line["branch"] = PlaceJson(use.branch);
    line["branch"]["split"] = use.split;
  }
  return JsonText(line);
}

// Where lanes disagree most, and what that costs.
std::string Sentences(const std::vector<BlockUse>& uses) {
  std::vector<const BlockUse*> split;
  uint64_t lanes = 0, possible = 0;
  for (const BlockUse& use : uses) {
    lanes += use.lanes;
    possible += use.possible_lanes;
    if (use.split != 0) split.push_back(&use);
  }
  if (split.empty())
    return "No divergence: at every branch, the lanes of a wave go the same way.\n";
  std::stable_sort(split.begin(), split.end(),
                   [](const BlockUse* a, const BlockUse* b) { return a->split > b->split; });
  std::string text = fmt::format("Divergence: blocks run with {:.0f}% of their waves' lanes.\n",
                                 100 * base::Share(lanes, possible));
  constexpr size_t kShown = 10;
  for (size_t i = 0; i < std::min(split.size(), kShown); ++i)
    text += fmt::format("{}: the lanes of a wave go different ways in {} of {} branches\n",
                        PlaceText(split[i]->branch), split[i]->split, split[i]->executions);
  if (split.size() > kShown)
    text += fmt::format("and {} more branches; --json has all\n", split.size() - kShown);
  return text;
}

}  // namespace

void BlockAnalyzer::OnBlock(const BlockMessage& message) {
  BlockUse& use = uses_[{message.dispatch, message.function, message.site}];
  if (use.executions++ == 0) {
    const Site& site = *message.site;
    use.kernel = message.dispatch->kernel;
    use.function = *message.function;
    use.number = site.block;
    use.at = PlaceOf(site.at.empty() ? site.branch : site.at);
    use.branches = site.branches;
    use.branch = PlaceOf(site.branch);
  }
  use.lanes += static_cast<uint64_t>(std::popcount(message.mask));
  use.possible_lanes += static_cast<uint64_t>(std::popcount(message.began_with | message.mask));
  use.cycles += message.cycles;
  const uint64_t way = message.way & message.mask;
  if (use.branches && way != 0 && way != message.mask) ++use.split;
}

std::vector<BlockUse> BlockAnalyzer::Uses() const {
  std::map<std::tuple<std::string, std::string, uint64_t, std::string, uint64_t>, BlockUse> merged;
  for (const auto& [key, use] : uses_) {
    const auto [known, fresh] =
        merged.try_emplace({use.kernel, use.function, use.number, use.at.file, use.at.line}, use);
    if (fresh) continue;
    BlockUse& all = known->second;
    all.executions += use.executions;
    all.lanes += use.lanes;
    all.possible_lanes += use.possible_lanes;
    all.cycles += use.cycles;
    all.split += use.split;
  }
  std::vector<BlockUse> uses;
  for (auto& [key, use] : merged) uses.push_back(std::move(use));
  std::stable_sort(uses.begin(), uses.end(),
                   [](const BlockUse& a, const BlockUse& b) { return a.cycles > b.cycles; });
  return uses;
}

std::string BlockAnalyzer::Answer(const StreamSummary& summary) {
  const std::vector<BlockUse> uses = Uses();
  std::string text;
  if (format_ == AnswerFormat::kJsonLines) {
    for (const BlockUse& use : uses) text += JsonLine(use);
    return text;
  }
  uint64_t cycles = 0;
  for (const BlockUse& use : uses) cycles += use.cycles;
  text = DoubtText(summary) + Sentences(uses) +
         fmt::format("\n{:>10} {:>12} {:>6} {:>10} {:>6} {:>8}  {}\n", "EXECUTIONS", "CYCLES",
                     "SHARE", "EACH", "LANES", "SPLIT", "BLOCK");
  for (const BlockUse& use : uses) {
    const std::string in = use.function == use.kernel || use.function.empty()
                               ? codeobj::Demangle(use.kernel)
                               : codeobj::Demangle(use.function);
    text += fmt::format(
        "{:>10} {:>12} {:>5.0f}% {:>10.1f} {:>5.0f}% {:>8}  {} block {} of {}\n", use.executions,
        use.cycles, 100 * base::Share(use.cycles, cycles), base::Share(use.cycles, use.executions),
        100 * base::Share(use.lanes, use.possible_lanes),
        use.branches ? std::to_string(use.split) : "", PlaceText(use.at), use.number, in);
  }
  return text;
}

}  // namespace rochound::probe
