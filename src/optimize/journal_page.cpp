// SPDX-License-Identifier: MIT
#include "optimize/journal_page.h"

#include <nlohmann/json.hpp>

namespace rochound::optimize {
namespace {

using nlohmann::ordered_json;

std::string About(const std::string& reason) {
  for (const ReasonText& known : kReasons)
    if (reason == known.name) return known.about;
  return reason;
}

// What the page shows of a verdict.
ordered_json LaunchesOf(const ordered_json& verdict) {
  ordered_json launches = ordered_json::array();
  if (!verdict.contains("launches")) return launches;
  for (const ordered_json& launch : verdict["launches"]) {
    ordered_json one = {{"bundle", launch.value("bundle", "")},
                        {"shape", launch.value("shape", "")}};
    for (const char* const field :
         {"reason", "message", "comparison", "modelled_cycles", "gpu_seconds", "notes"})
      if (launch.contains(field)) one[field] = launch[field];
    launches.push_back(std::move(one));
  }
  return launches;
}

// Whether this one takes the other's place as the one to be drawn.
bool IsBetter(const JournalEntry& one, const JournalEntry* other) {
  if (one.reason != NameOf(Reason::kFaster) || one.stage != "all" || one.state == "rejected")
    return false;
  if (other == nullptr) return true;
  const bool applied = one.state == "applied", other_applied = other->state == "applied";
  return applied != other_applied ? applied : one.cost < other->cost;
}

}  // namespace

base::Result<std::string> JournalPage(Journal& journal) {
  ROCHOUND_TRY(const std::vector<JournalEntry> entries, journal.All());
  ROCHOUND_TRY(const std::vector<std::string> events, journal.Events());
  ROCHOUND_TRY(const std::vector<Exchange> exchanges, journal.Exchanges());
  ordered_json page = {{"format", "rochound optimize"},
                       {"version", 1},
                       {"kernel", ""},
                       {"target", ""},
                       {"metric", ""},
                       {"best", nullptr},
                       {"candidates", ordered_json::array()},
                       {"events", events},
                       {"questions_to_models", exchanges.size()},
                       {"roofline", nullptr}};
  const JournalEntry* best = nullptr;
  for (const JournalEntry& entry : entries) {
    const auto verdict = ordered_json::parse(entry.verdict, nullptr, false);
    ordered_json one = {{"id", entry.id},
                        {"name", entry.name},
                        {"flags", entry.flags},
                        {"stage", entry.stage},
                        {"state", entry.state},
                        {"reason", entry.reason},
                        {"about", About(entry.reason)},
                        {"message", entry.message},
                        {"speedup", entry.speedup},
                        {"cost", entry.cost},
                        {"seconds", entry.seconds},
                        {"at", entry.at}};
    if (verdict.is_object()) {
      page["kernel"] = verdict.value("demangled", "");
      page["target"] = verdict.value("target", "");
      if (verdict.contains("metric")) page["metric"] = verdict["metric"];
      one["launches"] = LaunchesOf(verdict);
      for (const char* const field :
           {"build_log", "original_resources", "candidate_resources", "not_confined"})
        if (verdict.contains(field)) one[field] = verdict[field];
    }
    page["candidates"].push_back(std::move(one));
    if (!IsBetter(entry, best)) continue;
    best = &entry;
    page["best"] = entry.id;
    page["roofline"] =
        verdict.is_object() && verdict.contains("roofline") ? verdict["roofline"] : ordered_json();
  }
  return page.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace rochound::optimize
