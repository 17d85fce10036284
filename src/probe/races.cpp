// SPDX-License-Identifier: MIT
#include "probe/races.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "codeobj/demangle.h"

namespace rochound::probe {
namespace {

// More than any GPU runs at once. One that has been silent while so many others spoke has ended.
constexpr size_t kMostGroups = 1 << 15;

auto Order(const RacingPlace& place) {
  return std::tie(place.at.file, place.at.line, place.at.column, place.action);
}

std::string Described(const RacingPlace& place) {
  return fmt::format("{} {}s", PlaceText(place.at), place.action);
}

}  // namespace

bool RacingPlace::operator==(const RacingPlace& other) const {
  return Order(*this) == Order(other);
}

RaceAnalyzer::Group& RaceAnalyzer::GroupOf(const Dispatch* dispatch, uint64_t number) {
  if (groups_.size() > 2 * kMostGroups) ForgetOldGroups();
  Group& group = groups_[{dispatch, number}];
  group.last_message = ++messages_;
  return group;
}

void RaceAnalyzer::ForgetOldGroups() {
  std::vector<uint64_t> times;
  for (const auto& [key, group] : groups_) times.push_back(group.last_message);
  const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  std::erase_if(groups_, [&](const auto& entry) { return entry.second.last_message < *middle; });
}

uint32_t RaceAnalyzer::SiteOf(const Site* site) {
  const auto [known, fresh] = site_numbers_.try_emplace(site);
  if (!fresh) return known->second;
  KnownSite facts{
      {site->action, PlaceOf(*site)}, site->action != "load", site->is_atomic, site->is_volatile};
  const auto same = std::find_if(sites_.begin(), sites_.end(), [&](const KnownSite& other) {
    return other.place == facts.place && other.atomic == facts.atomic &&
           other.is_volatile == facts.is_volatile;
  });
  known->second = static_cast<uint32_t>(same - sites_.begin());
  if (same == sites_.end()) sites_.push_back(std::move(facts));
  return known->second;
}

void RaceAnalyzer::OnBarrier(const BarrierMessage& message) {
  Group& group = GroupOf(message.dispatch, message.group_number);
  ++group.barriers[message.wave];
  // What every wave has left behind is done.
  const Dispatch& dispatch = *message.dispatch;
  const uint64_t items =
      uint64_t{dispatch.workgroup[0]} * dispatch.workgroup[1] * dispatch.workgroup[2];
  if (dispatch.wave_size == 0 ||
      group.barriers.size() < (items + dispatch.wave_size - 1) / dispatch.wave_size)
    return;
  uint64_t least = UINT64_MAX;
  for (const auto& [wave, barriers] : group.barriers) least = std::min(least, barriers);
  group.intervals.erase(group.intervals.begin(), group.intervals.lower_bound(least));
}

void RaceAnalyzer::OnAccess(const AccessMessage& message) {
  const bool lds = std::strcmp(message.space, "lds") == 0;
  if (!lds && std::strcmp(message.space, "global") != 0) return;
  Group& group = GroupOf(message.dispatch, message.group_number);
  Interval& interval = group.intervals[group.barriers[message.wave]];
  Access access{static_cast<uint32_t>(message.wave), SiteOf(message.site), 0};
  const KnownSite& site = sites_[access.site];
  for (const uint64_t address : *message.addresses) {
    const uint64_t end = address + message.site->bytes;
    for (uint64_t from = address; from < end; from = (from / 4 + 1) * 4) {
      const uint64_t to = std::min(end, (from / 4 + 1) * 4);
      access.bytes = static_cast<uint8_t>(((1u << (to - from)) - 1) << from % 4);
      const uint64_t dword = from / 4 * 2 + (lds ? 1 : 0);
      std::vector<Access>& others = interval.dwords[dword];
      Access* mine = nullptr;
      for (Access& other : others) {
        if (other.wave == access.wave) {
          if (other.site == access.site) mine = &other;
          continue;
        }
        const KnownSite& that = sites_[other.site];
        // Who says volatile twice waits for something.
        if ((other.bytes & access.bytes) == 0 || !(site.writes || that.writes) ||
            ((site.atomic || site.is_volatile) && (that.atomic || that.is_volatile)))
          continue;
        if (interval.counted
                .insert(
                    {dword, std::min(access.site, other.site), std::max(access.site, other.site)})
                .second)
          Count(message, dword, access, other);
      }
      if (mine != nullptr)
        mine->bytes |= access.bytes;
      else
        others.push_back(access);
    }
  }
}

void RaceAnalyzer::Count(const AccessMessage& message, uint64_t dword, const Access& one,
                         const Access& other) {
  const bool in_order = Order(sites_[one.site].place) <= Order(sites_[other.site].place);
  const Access& first = in_order ? one : other;
  const Access& second = in_order ? other : one;
  const bool lds = dword % 2 != 0;
  Race& race = races_[{message.dispatch->kernel, lds, first.site, second.site}];
  if (race.dwords++ != 0) return;
  race.kernel = message.dispatch->kernel;
  race.lds = lds;
  race.first = sites_[first.site].place;
  race.second = sites_[second.site].place;
  race.process = message.dispatch->process;
  race.dispatch = message.dispatch->number;
  race.group = message.group_number;
  race.waves[0] = first.wave;
  race.waves[1] = second.wave;
  race.address = dword / 2 * 4;
}

std::vector<Race> RaceAnalyzer::Races() const {
  std::vector<Race> races;
  for (const auto& [key, race] : races_) races.push_back(race);
  std::stable_sort(races.begin(), races.end(),
                   [](const Race& a, const Race& b) { return a.dwords > b.dwords; });
  return races;
}

std::string RaceAnalyzer::Answer(const StreamSummary& summary) {
  const std::vector<Race> races = Races();
  std::string text;
  if (format_ == AnswerFormat::kJsonLines) {
    for (const Race& race : races) {
      nlohmann::ordered_json first = PlaceJson(race.first.at);
      nlohmann::ordered_json second = PlaceJson(race.second.at);
      first["action"] = race.first.action;
      second["action"] = race.second.action;
      text += JsonText({{"kernel", race.kernel},
                        {"space", race.lds ? "lds" : "global"},
                        {"dwords", race.dwords},
                        {"first", first},
                        {"second", second},
                        {"example",
                         {{"process", race.process},
                          {"dispatch", race.dispatch},
                          {"group_number", race.group},
                          {"waves", {race.waves[0], race.waves[1]}},
                          {"address", fmt::format("{:x}", race.address)}}}});
    }
    return text;
  }
  text = DoubtText(summary);
  if (races.empty())
    return text +
           "No races: between two barriers, no wave writes what another of its workgroup "
           "accesses.\n";
  const Race& worst = races[0];
  text += worst.first == worst.second
              ? fmt::format("Race: {} what other waves of the workgroup store there, too.\n",
                            Described(worst.first))
              : fmt::format(
                    "Race: no barrier is between {} and {} of the same {}.\n",
                    fmt::format("the {} at {}", worst.first.action, PlaceText(worst.first.at)),
                    fmt::format("the {} at {}", worst.second.action, PlaceText(worst.second.at)),
                    worst.lds ? "LDS" : "memory");
  text += fmt::format("\n{:>10}  {:<7} {}\n", "DWORDS", "SPACE", "PLACES");
  for (const Race& race : races)
    text += fmt::format(
        "{:>10}  {:<7} {}\n{:20}{}\n{:20}in {}, such as dispatch {}, workgroup {}, waves {} and "
        "{}, {} {:#x}\n",
        race.dwords, race.lds ? "lds" : "global", Described(race.first), "", Described(race.second),
        "", codeobj::Demangle(race.kernel), race.dispatch, race.group, race.waves[0], race.waves[1],
        race.lds ? "offset" : "address", race.address);
  return text +
         "\nDWORDS: of all workgroups, each once between two barriers. What locks and flags order "
         "is not known here.\n";
}

}  // namespace rochound::probe
