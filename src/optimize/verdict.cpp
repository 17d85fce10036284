// SPDX-License-Identifier: MIT
#include "optimize/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/count.h"
#include "base/printable.h"

namespace rochound::optimize {
namespace {

using nlohmann::ordered_json;

constexpr const char* kModelNote =
    "Modelled cycles are what a simple model makes of the software GPU's exact counts "
    "(docs/softgpu-counters.md). They are no measurement of silicon.";

const std::optional<Measurement>& MeasurementOf(const LaunchEvidence& launch, bool on_gpu) {
  return on_gpu ? launch.seconds : launch.model;
}

std::string Amount(double value, bool on_gpu) {
  return on_gpu ? fmt::format("{:.2f} us", value * 1e6) : fmt::format("{:.0f}", value);
}

std::string Times(double ratio) {
  return ratio >= 1 ? fmt::format("{:.2f} times faster", ratio)
                    : fmt::format("{:.2f} times slower", ratio > 0 ? 1 / ratio : 0);
}

ordered_json MeasurementJson(const Measurement& one) {
  ordered_json json = {{"original", one.original},
                       {"candidate", one.candidate},
                       {"ratio", one.ratio},
                       {"low", one.low},
                       {"high", one.high}};
  if (one.floor > 0) json["floor"] = one.floor;
  return json;
}

ordered_json ResourcesJson(const Resources& one) {
  return {{"vgprs", one.vgprs},
          {"agprs", one.agprs},
          {"sgprs", one.sgprs},
          {"vgpr_spills", one.vgpr_spills},
          {"sgpr_spills", one.sgpr_spills},
          {"lds_bytes", one.lds},
          {"scratch_bytes", one.scratch},
          {"code_bytes", one.code},
          {"waves_per_simd", one.waves},
          {"wave_slots", one.slots},
          {"limited_by", one.limited_by}};
}

std::string ResourceRows(const Resources& original, const Resources& candidate) {
  std::string text = fmt::format("\n  {:<24}{:>12}{:>12}\n", "resources", "original", "candidate");
  const auto row = [&](const char* name, uint64_t one, uint64_t other, bool always) {
    if (always || one != 0 || other != 0)
      text += fmt::format("  {:<24}{:>12}{:>12}\n", name, one, other);
  };
  row("vector registers", original.vgprs, candidate.vgprs, true);
  row("accumulation registers", original.agprs, candidate.agprs, false);
  row("scalar registers", original.sgprs, candidate.sgprs, true);
  row("spilled registers", original.vgpr_spills + original.sgpr_spills,
      candidate.vgpr_spills + candidate.sgpr_spills, true);
  row("LDS, bytes", original.lds, candidate.lds, true);
  row("scratch, bytes", original.scratch, candidate.scratch, true);
  row("code, bytes", original.code, candidate.code, true);
  if (original.slots != 0 && candidate.slots != 0)
    text += fmt::format("  {:<24}{:>12}{:>12}\n", "waves per SIMD",
                        fmt::format("{} of {}", original.waves, original.slots),
                        fmt::format("{} of {}", candidate.waves, candidate.slots));
  return text;
}

std::string LaunchRow(const LaunchEvidence& launch, bool on_gpu) {
  std::string text = fmt::format("  {}: {}\n", base::Printable(launch.bundle), launch.shape);
  if (launch.rejection) return text + "    rejected here\n";
  if (const auto& measured = MeasurementOf(launch, on_gpu)) {
    text += fmt::format("    {} {} before, {} after: {:.3f} ({:.3f} to {:.3f})\n",
                        on_gpu ? "GPU time" : "modelled cycles", Amount(measured->original, on_gpu),
                        Amount(measured->candidate, on_gpu), measured->ratio, measured->low,
                        measured->high);
    if (measured->floor > 0)
      text += fmt::format("    no right candidate takes less than {}\n",
                          Amount(measured->floor, on_gpu));
  }
  text += fmt::format("    results: {}", launch.comparison);
  if (launch.other_inputs > 0)
    text += fmt::format(", with {} changed",
                        base::Count(launch.varied_elements, "element", "elements"));
  if (launch.varied_integers > 0)
    text += fmt::format(" ({} of integers)", base::Count(launch.varied_integers, "one", "ones"));
  if (launch.special_inputs) text += ", and with NaN, infinities and the like";
  text += launch.accesses_checked ? "; every access is within its memory\n"
                                  : "; accesses were not checked\n";
  if (launch.precision)
    text += fmt::format(
        "    against the reference: worst error {:.3g} before, {:.3g} after (of the largest "
        "value)\n",
        launch.precision->original, launch.precision->candidate);
  if (launch.clocks)
    text += fmt::format("    the GPU's clock was {:.0f} to {:.0f} MHz meanwhile\n",
                        launch.clocks->least, launch.clocks->most);
  if (launch.validated) text += "    the validation command accepts its results\n";
  for (const std::string& note : launch.notes)
    text += fmt::format("    note: {}\n", base::Printable(note));
  return text;
}

}  // namespace

Rejection DecideSpeed(const std::vector<LaunchEvidence>& launches, bool on_gpu, double margin,
                      Verdict* verdict) {
  double original = 0, least = 0, most = 0, candidate = 0;
  verdict->metric = on_gpu ? "GPU time" : "modelled cycles";
  verdict->margin = margin;
  std::string slower;  // a launch, if one is
  for (const LaunchEvidence& launch : launches) {
    const auto& measured = MeasurementOf(launch, on_gpu);
    if (!measured || measured->original <= 0 || measured->candidate <= 0 || measured->low <= 0)
      return {Reason::kCannotJudge,
              fmt::format("there is no {} of '{}'", verdict->metric, launch.bundle)};
    // Each shape on its own, before anything is added up.
    for (const bool gpu : {false, true}) {
      const auto& one = MeasurementOf(launch, gpu);
      if (one && one->floor > 0 && one->candidate < one->floor)
        return {Reason::kBelowFloor,
                fmt::format("'{}' took {} ({}), and what it has to do takes {} at least",
                            launch.bundle, Amount(one->candidate, gpu),
                            gpu ? "GPU time" : "modelled cycles", Amount(one->floor, gpu))};
    }
    original += measured->original;
    candidate += measured->original / measured->ratio;
    least += measured->original / measured->low;
    most += measured->original / measured->high;
    if (measured->high < 1 / (1 + margin))
      slower = fmt::format("'{}' is slower: {:.3f}", launch.bundle, measured->ratio);
  }
  if (launches.empty()) return {Reason::kCannotJudge, "there is no launch"};
  verdict->speedup = original / candidate;
  verdict->low = original / least;
  verdict->high = original / most;
  const std::string figures =
      fmt::format("{} by {} ({:.3f}, between {:.3f} and {:.3f}) over {}", Times(verdict->speedup),
                  verdict->metric, verdict->speedup, verdict->low, verdict->high,
                  base::Count(launches.size(), "launch", "launches"));
  if (verdict->high < 1 / (1 + margin)) return {Reason::kSlower, figures};
  if (!slower.empty())
    return {Reason::kSlowerSomewhere, fmt::format("{}; all together {}", slower, figures)};
  if (verdict->low < 1 + margin)
    return {Reason::kNoDifference,
            fmt::format("{}; wanted is {:.3f} at least", figures, 1 + margin)};
  return {Reason::kFaster, figures};
}

std::optional<Rejection> OccupancyTooLow(const Resources& resources,
                                         const std::optional<Resources>& best) {
  constexpr uint64_t kLeastPart = 4;
  if (!best || best->slots == 0 || resources.slots == 0) return std::nullopt;
  // As shares: a SIMD has other numbers of slots for other sizes of waves.
  if (uint64_t{resources.waves} * best->slots * kLeastPart >=
      uint64_t{best->waves} * resources.slots)
    return std::nullopt;
  return Rejection{Reason::kLowOccupancy,
                   fmt::format("not measured: {} of {} waves per SIMD, limited by {}; the best so "
                               "far has {} of {}",
                               resources.waves, resources.slots, resources.limited_by, best->waves,
                               best->slots)};
}

std::optional<Rejection> DoesNotFit(const Resources& resources, const Resources& original) {
  if (resources.slots == 0 || resources.workgroups > 0 || original.workgroups == 0)
    return std::nullopt;
  return Rejection{
      Reason::kLimits,
      fmt::format("no workgroup of the launch fits on the GPU: it is limited by {} ({} vector "
                  "registers, {} bytes of LDS)",
                  resources.limited_by, resources.vgprs + resources.agprs, resources.lds)};
}

Verdict OfHeldOut(Verdict verdict) {
  if (ExitCodeOf(verdict.reason) != 1) return verdict;
  verdict.message = fmt::format("in a launch that the search did not see, {}: {}",
                                AboutOf(verdict.reason), verdict.message);
  verdict.reason = Reason::kHeldOut;
  return verdict;
}

std::string VerdictText(const Verdict& verdict) {
  const bool on_gpu = verdict.metric == "GPU time";
  std::string text = verdict.accepted()
                         ? fmt::format("accepted: {}\n", base::Printable(verdict.message))
                         : fmt::format("rejected, {}: {}\n", AboutOf(verdict.reason),
                                       base::Printable(verdict.message));
  text += fmt::format("  candidate {}", base::Printable(verdict.candidate));
  if (!verdict.sha256.empty()) text += fmt::format(" (SHA-256 {})", verdict.sha256.substr(0, 16));
  text += fmt::format(" for {} on {}\n", base::Printable(verdict.demangled), verdict.target);
  for (const std::string& gap : verdict.gaps)
    text += fmt::format("  not confined: {}\n", base::Printable(gap));
  if (!verdict.launches.empty()) text += "\n";
  for (const LaunchEvidence& launch : verdict.launches) text += LaunchRow(launch, on_gpu);
  if (!verdict.not_varied.empty())
    text += fmt::format(
        "  not varied: {}. A candidate that is right for these alone is accepted; other launches "
        "of the kernel as further bundles vary them\n",
        base::Printable(fmt::format("{}", fmt::join(verdict.not_varied, "; "))));
  if (verdict.original && verdict.resources)
    text += ResourceRows(*verdict.original, *verdict.resources);
  if (!verdict.build_log.empty()) text += "\n" + base::Printable(verdict.build_log, "\n") + "\n";
  if (verdict.metric == "modelled cycles") text += fmt::format("\n{}\n", kModelNote);
  return text;
}

ordered_json VerdictJson(const Verdict& verdict) {
  ordered_json json = {{"verdict", verdict.accepted() ? "accepted" : "rejected"},
                       {"reason", NameOf(verdict.reason)},
                       {"message", verdict.message},
                       {"kernel", verdict.kernel},
                       {"demangled", verdict.demangled},
                       {"target", verdict.target},
                       {"candidate", verdict.candidate},
                       {"sha256", verdict.sha256}};
  if (!verdict.source_sha256.empty()) json["source_sha256"] = verdict.source_sha256;
  if (!verdict.metric.empty()) {
    json["metric"] = verdict.metric;
    json["speedup"] = {{"ratio", verdict.speedup}, {"low", verdict.low}, {"high", verdict.high}};
    json["margin"] = verdict.margin;
    if (verdict.metric == "modelled cycles") json["note"] = kModelNote;
  }
  auto& launches = json["launches"] = ordered_json::array();
  for (const LaunchEvidence& launch : verdict.launches) {
    ordered_json one = {{"bundle", launch.bundle}, {"shape", launch.shape}};
    if (launch.rejection) {
      one["reason"] = NameOf(launch.rejection->reason);
      one["message"] = launch.rejection->message;
    } else {
      one["comparison"] = launch.comparison;
    }
    if (!launch.differences.is_null()) one["differences"] = launch.differences;
    if (!launch.within_tolerance.is_null()) one["within_tolerance"] = launch.within_tolerance;
    one["other_inputs"] = launch.other_inputs;
    one["varied_elements"] = launch.varied_elements;
    one["varied_integers"] = launch.varied_integers;
    one["special_inputs"] = launch.special_inputs;
    if (launch.precision)
      one["precision"] = {{"original", launch.precision->original},
                          {"candidate", launch.precision->candidate}};
    if (launch.clocks)
      one["clock_mhz"] = {{"least", launch.clocks->least},
                          {"most", launch.clocks->most},
                          {"samples", launch.clocks->samples}};
    one["accesses_checked"] = launch.accesses_checked;
    if (launch.validated) one["validated"] = true;
    if (launch.model) one["modelled_cycles"] = MeasurementJson(*launch.model);
    if (launch.seconds) one["gpu_seconds"] = MeasurementJson(*launch.seconds);
    if (launch.original_instructions != 0)
      one["instructions"] = {{"original", launch.original_instructions},
                             {"candidate", launch.candidate_instructions}};
    one["notes"] = launch.notes;
    launches.push_back(std::move(one));
  }
  if (verdict.original) json["original_resources"] = ResourcesJson(*verdict.original);
  if (verdict.resources) json["candidate_resources"] = ResourcesJson(*verdict.resources);
  if (!verdict.roofline.is_null()) json["roofline"] = verdict.roofline;
  if (!verdict.build_log.empty()) json["build_log"] = verdict.build_log;
  json["not_varied"] = verdict.not_varied;
  json["not_confined"] = verdict.gaps;
  json["seconds"] = verdict.seconds;
  return json;
}

std::optional<Resources> ResourcesIn(const ordered_json& verdict) {
  if (!verdict.is_object() || !verdict.contains("candidate_resources")) return std::nullopt;
  const ordered_json& json = verdict["candidate_resources"];
  if (!json.is_object()) return std::nullopt;
  Resources resources;
  resources.waves = json.value("waves_per_simd", 0u);
  resources.slots = json.value("wave_slots", 0u);
  resources.limited_by = json.value("limited_by", "");
  return resources;
}

int ExitCodeOf(Reason reason) {
  switch (reason) {
    case Reason::kFaster:
      return 0;
    case Reason::kNoDifference:
    case Reason::kSlower:
    case Reason::kSlowerSomewhere:
      return 3;
    case Reason::kLowOccupancy:
    case Reason::kNotVerified:
    case Reason::kCannotJudge:
      return 4;
    default:
      return 1;
  }
}

}  // namespace rochound::optimize
