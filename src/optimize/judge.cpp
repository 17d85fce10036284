// SPDX-License-Identifier: MIT
#include "optimize/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/count.h"
#include "base/sha256.h"
#include "capture/bundle.h"
#include "codeobj/demangle.h"
#include "launch/limited_run.h"
#include "optimize/builder.h"
#include "optimize/clock_watch.h"
#include "optimize/confinement.h"
#include "profile/counter_source.h"
#include "profile/profile_files.h"
#include "profile/roofline.h"

namespace rochound::optimize {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;
using nlohmann::ordered_json;

// A trace has a line for each of them.
constexpr uint64_t kMostTraced = 400'000;
// How much longer than the original a candidate may take, and the least that it gets.
constexpr double kSlowdown = 50, kLeastSeconds = 5;
// What else a process does: start, read a bundle, find what is written.
constexpr double kOverheadSeconds = 120;
constexpr uint64_t kMostCandidate = uint64_t{64} << 20;
// What is on its way to memory may stay in a cache that is so much faster.
constexpr double kCacheGain = 4;

// Instructions of a record that the access trace has lines of.
uint64_t MemoryInstructions(const ordered_json& record) {
  uint64_t count = 0;
  if (!record.contains("instructions")) return count;
  for (const auto& [name, number] : record["instructions"]["by_class"].items())
    if (name == "smem" || name.find("_load") != std::string::npos ||
        name.find("_store") != std::string::npos || name.find("_atomic") != std::string::npos)
      count += number.get<uint64_t>();
  return count;
}

Measurement MeasurementFrom(const ordered_json& original, const ordered_json& candidate,
                            const char* values, const char* speedup, double unit) {
  Measurement measured;
  measured.original = original[values].value("median", 0.0) * unit;
  measured.candidate = candidate[values].value("median", 0.0) * unit;
  measured.ratio = candidate[speedup].value("ratio", 0.0);
  measured.low = candidate[speedup].value("low", 0.0);
  measured.high = candidate[speedup].value("high", 0.0);
  return measured;
}

// "1 element differs; the first is out[1023] (float): 3 instead of 4".
std::string Describe(const ordered_json& differences) {
  const auto count = differences.value("count", uint64_t{0});
  std::string text = base::Count(count, "element differs", "elements differ");
  if (differences.contains("first") && !differences["first"].empty()) {
    const ordered_json& first = differences["first"][0];
    const std::string argument = first.value("argument", "");
    text += fmt::format(
        "; the first is {}[{}] ({}): {} instead of {}",
        argument.empty() ? fmt::format("region {}", first.value("region", 0)) : argument,
        first.value("index", uint64_t{0}), first.value("type", ""), first.value("got", ""),
        first.value("expected", ""));
  }
  if (const double worst = differences.value("worst_relative", 0.0); worst > 0)
    text += fmt::format("; the worst is off by {:.3g} of its value", worst);
  return text;
}

bool AllFirst(const ordered_json& differences, const char* field, std::string_view value) {
  if (!differences.contains("first") || differences["first"].empty()) return false;
  const ordered_json& first = differences["first"];
  return std::all_of(first.begin(), first.end(),
                     [&](const ordered_json& one) { return one.value(field, "") == value; });
}

// What the comparison says, the candidate's entry of it; none: it is right.
std::optional<Rejection> JudgeComparison(const ordered_json& captured, const ordered_json& entry,
                                         LaunchEvidence* evidence) {
  const std::string verdict = entry.value("verdict", "");
  const std::string message = entry.value("message", "");
  const bool original_varies = captured.value("verdict", "") == "not deterministic";
  if (entry.contains("within_tolerance")) evidence->within_tolerance = entry["within_tolerance"];
  if (verdict == "equal") {
    evidence->comparison = entry.value("proof", verdict);
    return std::nullopt;
  }
  if (verdict == "not deterministic") {
    if (!original_varies) return Rejection{Reason::kNotDeterministic, message};
    evidence->comparison =
        "within what the original gives, which does not give the same result each time";
    return std::nullopt;
  }
  if (verdict == "different") {
    evidence->differences = entry.value("differences", ordered_json::object());
    const std::string what = Describe(evidence->differences);
    if (evidence->differences.contains("inputs")) return Rejection{Reason::kOtherInputs, what};
    if (AllFirst(evidence->differences, "got", "not written"))
      return Rejection{Reason::kWritesNothing, what};
    if (AllFirst(evidence->differences, "expected", "not written"))
      return Rejection{Reason::kWritesOutside, what};
    return Rejection{Reason::kDifferent, what};
  }
  if (verdict == "fault") return Rejection{Reason::kFaults, message};
  if (verdict == "timeout") return Rejection{Reason::kHangs, message};
  if (verdict == "refused") return Rejection{Reason::kSignature, message};
  if (verdict == "not verified") return Rejection{Reason::kNotVerified, message};
  return Rejection{Reason::kCannotJudge, message.empty() ? verdict : message};
}

std::string Describe(const Stray& stray) {
  return fmt::format("{} {} {} {:#x}, by '{}' at +{:#x} of wave {} in workgroup {}", stray.what,
                     base::Count(stray.bytes, "byte", "bytes"),
                     stray.what.ends_with("LDS") ? "at offset" : "at", stray.address,
                     stray.instruction, stray.pc, stray.wave, stray.group);
}

}  // namespace

std::string ExactPattern(const std::string& name) {
  std::string pattern = "^";
  for (const char letter : name) {
    const bool plain = isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
    pattern += plain ? std::string(1, letter) : std::string("\\") + letter;
  }
  return pattern + "$";
}

void AddOwnMemory(const ordered_json& answer, ByteSet* readable) {
  if (!answer.contains("own_memory")) return;
  for (const auto& [name, range] : answer["own_memory"].items()) {
    const uint64_t base = strtoull(range.value("base", "0").c_str(), nullptr, 16);
    // Scalar loads take whole lines of arguments.
    readable->Add(base, (range.value("size", uint64_t{0}) + 63) / 64 * 64);
  }
}

Result<std::unique_ptr<Judge>> Judge::Open(const std::vector<fs::path>& bundles,
                                           const JudgeOptions& options, const JudgeTools& tools) {
  std::error_code error;
  fs::path temporary = tools.temporary;
  if (temporary.empty()) temporary = fs::temp_directory_path(error);
  ROCHOUND_TRY(base::TempDir folder,
               base::TempDir::Create(error ? "/tmp" : temporary, "rochound-judge-"));
  std::unique_ptr<Judge> judge(new Judge(options, tools, std::move(folder)));
  for (const char* const name : {"input", "own"}) {
    fs::create_directory(judge->folder_.path() / name, error);
    if (error)
      return base::ErrnoError("cannot create", judge->folder_.path() / name, error.value());
  }
  for (const fs::path& bundle : bundles) ROCHOUND_CHECK(judge->AddBundle(bundle));
  for (Original& original : judge->originals_) {
    ROCHOUND_CHECK(judge->MeasureOriginal(&original));
    judge->FindInputs(&original);
  }
  if (!options.reference.empty()) ROCHOUND_CHECK(judge->OpenReference());
  return judge;
}

Result<void> Judge::AddBundle(const fs::path& path) {
  Original original;
  original.path = fs::absolute(path);
  auto bundle = capture::Bundle::Open(original.path);
  if (!bundle.ok()) return bundle.error();
  original.bundle = std::make_unique<capture::Bundle>(std::move(bundle).value());
  const capture::Manifest& manifest = original.bundle->manifest();
  if (manifest.agent < 0 || static_cast<size_t>(manifest.agent) >= manifest.agents.size())
    return Error{fmt::format("'{}' does not say which GPU ran the launch", path.string())};
  if (manifest.launch.unfinished)
    return Error{fmt::format(
        "the launch in '{}' failed, or did not end: there are no results to compare with. Capture "
        "one that ends (rochound capture --nth)",
        path.string())};
  const std::string& isa = manifest.agents[static_cast<size_t>(manifest.agent)].isa;
  ROCHOUND_TRY(const codeobj::Target gpu, codeobj::ParseTarget(isa));
  if (originals_.empty()) {
    kernel_ = manifest.kernel;
    demangled_ = codeobj::Demangle(kernel_);
    gpu_ = gpu;
    processor_ = gpu.processor;
  } else if (manifest.kernel != kernel_ || gpu.Id() != gpu_.Id()) {
    return Error{fmt::format("'{}' is a launch of {} on {}, the first bundle one of {} on {}",
                             path.string(), manifest.kernel, gpu.Id(), kernel_, gpu_.Id())};
  }
  auto file =
      KernelFile::Find(std::string(capture::AsText(original.bundle->code_object())), kernel_, gpu);
  if (!file.ok()) return file.error().In(path.string());
  original.file = std::move(file).value();
  const capture::Launch& launch = manifest.launch;
  original.launch = {launch.grid, launch.workgroup, launch.group_bytes, launch.private_bytes,
                     false};
  original.shape =
      fmt::format("grid {}x{}x{} in workgroups of {}x{}x{}", launch.grid[0], launch.grid[1],
                  launch.grid[2], launch.workgroup[0], launch.workgroup[1], launch.workgroup[2]);
  originals_.push_back(std::move(original));
  return {};
}

Result<ordered_json> Judge::Ask(const std::vector<std::string>& arguments, double limit_seconds) {
  const fs::path own = folder_.path() / "own";
  Limits limits;
  limits.writable = {own};
  limits.cpu_seconds = static_cast<uint64_t>(limit_seconds * 64) + 1;  // of many threads
  ROCHOUND_TRY(const Confinement confinement, Confinement::Prepare(limits));
  gaps_ = confinement.gaps();
  std::vector<std::string> command = {tools_.rochound.string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ROCHOUND_TRY(
      const launch::LimitedRun run,
      launch::RunLimited(command, HarmlessEnvironment(own),
                         std::chrono::milliseconds(static_cast<int64_t>(limit_seconds * 1000)), {},
                         [&] { return confinement.Apply(); }));
  auto answer = ordered_json::parse(run.out, nullptr, false);
  if (!answer.is_object()) {
    const size_t start = run.err.size() > 500 ? run.err.size() - 500 : 0;
    return Error{fmt::format("rochound {} {} without an answer: {}", arguments[0], run.End(),
                             run.err.substr(start))};
  }
  return answer;
}

double Judge::LaunchLimit(const Original& original) const {
  return std::min(options_.timeout_seconds,
                  std::max(kLeastSeconds, original.launch_seconds * kSlowdown));
}

std::vector<std::string> Judge::CompareArguments(const Original& original, const fs::path& file,
                                                 uint64_t rounds) const {
  std::vector<std::string> arguments = {"replay",
                                        "compare",
                                        original.path.string(),
                                        file.string(),
                                        "--json",
                                        "--verify",
                                        options_.verify,
                                        "--iterations",
                                        std::to_string(rounds),
                                        "--warmup",
                                        "1",
                                        "--timeout",
                                        fmt::format("{}", LaunchLimit(original))};
  if (!options_.as.empty()) arguments.insert(arguments.end(), {"--as", options_.as});
  return arguments;
}

// The captured kernel itself: a bundle that cannot be replayed proves nothing.
Result<void> Judge::MeasureOriginal(Original* original) {
  const fs::path counters = folder_.path() / "own" / "original.jsonl";
  const fs::path trace = folder_.path() / "own" / "original.accesses";
  const auto run = [&](const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {"softgpu", "--gpu", tools_.softgpu};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(),
                     {"--", tools_.rochound.string(), "replay", "run", original->path.string(),
                      "--json", "--timeout", fmt::format("{}", options_.timeout_seconds)});
    return Ask(arguments, options_.timeout_seconds * 4 + kOverheadSeconds);
  };
  ROCHOUND_TRY(const ordered_json answer, run({"--counters", counters.string()}));
  const std::string verdict = answer.value("verdict", "");
  // What the launch did not change is judged candidate by candidate.
  if (verdict != "equal" && verdict != "not deterministic" && verdict != "not verified")
    return Error{fmt::format("'{}' cannot be replayed, so nothing can be compared with it: {}, {}",
                             original->path.string(), verdict, answer.value("message", ""))};
  if (answer.contains("wall_ns"))
    original->launch_seconds = answer["wall_ns"].value("median", 0.0) * 1e-9;
  ROCHOUND_TRY(const std::string lines, base::ReadFile(counters, base::kMostText));
  uint64_t traced = 0;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    const auto record = ordered_json::parse(lines.substr(at, end - at), nullptr, false);
    if (record.is_object()) traced = std::max(traced, MemoryInstructions(record));
    at = end + 1;
  }
  if (traced > kMostTraced) {
    original->not_traced =
        fmt::format("accesses are not checked: the launch has {} memory instructions, more than {}",
                    traced, kMostTraced);
    return {};
  }
  ROCHOUND_TRY(const ordered_json again,
               run({"--accesses", trace.string(), "--accesses-kernel", ExactPattern(kernel_)}));
  auto accesses = ReadAccesses(trace, kernel_, {nullptr, nullptr, true, true});
  std::error_code ignored;
  if (!accesses.ok()) {
    fs::remove(trace, ignored);
    original->not_traced = "accesses are not checked: " + accesses.error().message;
    return {};
  }
  original->accesses = std::move(accesses).value();
  // What it does itself, a candidate may do.
  const AccessRules races{nullptr, &original->accesses->written,
                          false,   false,
                          true,    !SynchronisesWorkgroups(*original->file)};
  const auto found = ReadAccesses(trace, kernel_, races);
  original->races = found.ok() && found.value().global_race;
  fs::remove(trace, ignored);
  for (const capture::Region& region : original->bundle->manifest().regions) {
    if (original->accesses->read.Touches(region.base, region.size) ||
        original->accesses->written.Touches(region.base, region.size))
      original->touched.Add(region.base, region.size);
  }
  return {};
}

std::optional<Rejection> Judge::CheckAccesses(const Original& original, const fs::path& file,
                                              bool right, LaunchEvidence* evidence) {
  if (!original.accesses) {
    evidence->notes.push_back(original.not_traced);
    return std::nullopt;
  }
  const fs::path trace = folder_.path() / "own" / "candidate.accesses";
  const auto answer =
      Ask({"softgpu", "--gpu", tools_.softgpu, "--accesses", trace.string(), "--accesses-kernel",
           ExactPattern(kernel_), "--", tools_.rochound.string(), "replay", "run",
           original.path.string(), "--hsaco", file.string(), "--json", "--verify", "none",
           "--timeout", fmt::format("{}", LaunchLimit(original))},
          LaunchLimit(original) * 4 + kOverheadSeconds);
  if (!answer.ok()) return Rejection{Reason::kCannotJudge, answer.error().message};
  ByteSet readable = original.touched;
  AddOwnMemory(answer.value(), &readable);
  const auto accesses =
      ReadAccesses(trace, kernel_,
                   {&readable, &original.accesses->written, !original.accesses->stray_lds,
                    !original.accesses->race, !original.races, !original.races && !synchronises_});
  std::error_code ignored;
  fs::remove(trace, ignored);
  if (!accesses.ok()) return Rejection{Reason::kCannotJudge, accesses.error().message};
  const Accesses& found = accesses.value();
  if (found.stray_write) {
    return Rejection{Reason::kWritesOutside,
                     Describe(*found.stray_write) + ", which the original does not write"};
  }
  if (found.stray_read)
    return Rejection{Reason::kReadsOutside,
                     Describe(*found.stray_read) + ", in no memory that the original uses"};
  if (found.stray_lds)
    return Rejection{Reason::kReadsUninitialised,
                     Describe(*found.stray_lds) +
                         ", which its workgroup has not written: it holds what was left there"};
  if (found.race)
    return Rejection{
        Reason::kRaces,
        fmt::format("{}, and no barrier is between that and a wave that {} it: wave {}",
                    Describe(found.race->access),
                    found.race->access.what == "reads LDS" ? "writes" : "accesses",
                    found.race->other_wave)};
  // What is wrong anyway is better explained by its results.
  if (right && found.global_race) {
    const Race& race = *found.global_race;
    return Rejection{
        Reason::kRaces,
        race.other_group
            ? fmt::format("{}, which workgroup {} {}, and nothing orders the two",
                          Describe(race.access), *race.other_group,
                          race.access.what == "reads" ? "writes" : "reads")
            : fmt::format("{}, and no barrier is between that and wave {}, which accesses it",
                          Describe(race.access), race.other_wave)};
  }
  if (original.races)
    evidence->notes.emplace_back(
        "races for global memory are not looked for: the original has one itself");
  else if (synchronises_)
    evidence->notes.emplace_back(
        "races between workgroups are not looked for: it has atomics or fences, which may order "
        "them");
  if (found.written.bytes() == 0 && original.accesses->written.bytes() > 0)
    return Rejection{Reason::kWritesNothing,
                     fmt::format("the original writes {}, and it none",
                                 base::Count(original.accesses->written.bytes(), "byte", "bytes"))};
  evidence->accesses_checked = found.completed;
  for (const std::string& instruction : found.untraced)
    evidence->notes.push_back("accesses of " + instruction + " are not traced");
  return std::nullopt;
}

std::optional<Rejection> Judge::Validate(const fs::path& outputs) const {
  // Somebody's own command, not the candidate's: it is not confined.
  const std::string command =
      fmt::format("{} '{}' '{}'", options_.validate, (outputs / "original").string(),
                  (outputs / "candidate").string());
  std::vector<std::string> environment;
  for (char** line = environ; *line != nullptr; ++line) environment.emplace_back(*line);
  const auto run =
      launch::RunLimited({"/bin/sh", "-c", command}, environment, std::chrono::seconds(600));
  if (!run.ok()) return Rejection{Reason::kCannotJudge, run.error().message};
  if (run.value().ok()) return std::nullopt;
  std::string said = run.value().out + run.value().err;
  said = said.substr(0, std::min<size_t>(said.find('\n'), 200));
  return Rejection{Reason::kNotValid, fmt::format("'{}' {}{}", options_.validate, run.value().End(),
                                                  said.empty() ? "" : ": " + said)};
}

Result<void> Judge::JudgeLaunch(const Original& original, const fs::path& file,
                                LaunchEvidence* evidence) {
  evidence->bundle = original.path.filename().string();
  evidence->shape = original.shape;
  const fs::path outputs = folder_.path() / "own" / "outputs";
  std::error_code ignored;
  fs::remove_all(outputs, ignored);
  uint64_t vary = options_.other_inputs;
  bool more = true;  // integers and special numbers
  const bool dumps = !options_.validate.empty() || !options_.reference.empty();
  ordered_json answer;
  evidence->notes = original.notes;
  for (;;) {
    std::vector<std::string> arguments = CompareArguments(original, file, options_.rounds);
    arguments.insert(arguments.end(), {"--softgpu", tools_.softgpu, "--count"});
    if (vary > 0) arguments.insert(arguments.end(), {"--vary", std::to_string(vary)});
    if (vary > 0 && more && !original.integers.empty())
      arguments.insert(arguments.end(), {"--vary-integers", original.integers});
    if (vary > 0 && more && original.special) arguments.emplace_back("--vary-special");
    if (dumps) arguments.insert(arguments.end(), {"--dump", outputs.string()});
    auto asked = Ask(arguments, LaunchLimit(original) * 8 + kOverheadSeconds);
    if (!asked.ok()) {
      evidence->rejection = Rejection{Reason::kCannotJudge, asked.error().message};
      return {};
    }
    answer = std::move(asked).value();
    if (answer.contains("candidates") && answer["candidates"].size() >= 2) break;
    // The captured code itself did not bear inputs that no program gave it.
    if (vary > 0 && answer.value("candidate", "") == "captured") {
      const bool had_more = more && (!original.integers.empty() || original.special);
      evidence->notes.push_back(
          fmt::format("{} were not tried: with them the original does not work ({})",
                      had_more ? "other integers and special numbers" : "other inputs",
                      answer.value("message", "")));
      more = false;
      if (!had_more) vary = 0;
      continue;
    }
    evidence->rejection =
        Rejection{Reason::kCannotJudge,
                  fmt::format("{}: {}", answer.value("verdict", ""), answer.value("message", ""))};
    return {};
  }
  const ordered_json& captured = answer["candidates"][0];
  const ordered_json& entry = answer["candidates"][1];
  if (answer.contains("varied")) {
    evidence->other_inputs = answer["varied"].value("runs", size_t{0});
    evidence->varied_elements = answer["varied"].value("elements", size_t{0});
    evidence->varied_integers = answer["varied"].value("integers", size_t{0});
    evidence->special_inputs =
        answer["varied"].value("special", false) && evidence->varied_elements > 0;
    evidence->varied_elements += evidence->varied_integers;
    if (evidence->varied_elements == 0 && original.notes.empty())
      evidence->notes.push_back(
          "no argument is known to point to numbers, so inputs were the captured ones (--as tells "
          "what memory holds)");
  }
  std::optional<Rejection> wrong = JudgeComparison(captured, entry, evidence);
  const bool ended =
      !wrong || (wrong->reason != Reason::kFaults && wrong->reason != Reason::kHangs &&
                 wrong->reason != Reason::kSignature);
  // A stray access explains wrong results, and is wrong without any.
  const ordered_json counts = entry.value("counts", ordered_json::object());
  if (ended && MemoryInstructions(counts) > 4 * kMostTraced) {
    evidence->notes.push_back("accesses are not checked: the candidate has too many");
  } else if (ended) {
    if (auto stray = CheckAccesses(original, file, !wrong, evidence)) wrong = std::move(stray);
  }
  if (!wrong && !options_.reference.empty()) wrong = CheckPrecision(original, outputs, evidence);
  if (!wrong && !options_.validate.empty()) {
    wrong = Validate(outputs);
    evidence->validated = !wrong;
  }
  evidence->rejection = std::move(wrong);
  if (evidence->rejection) return {};
  if (entry.contains("modelled_cycles")) {
    evidence->model = MeasurementFrom(captured, entry, "modelled_cycles", "modelled_speedup", 1);
    const ordered_json& before = captured["counts"];
    const std::string lines = fmt::format("lines_{}", before["memory"].value("line_bytes", 128));
    const double written = before["footprint"]["global"][lines].value("written", 0.0);
    const auto& manifest = original.bundle->manifest();
    const double units =
        std::max(1u, manifest.agents[static_cast<size_t>(manifest.agent)].compute_units);
    evidence->model->floor = std::floor(written / units);
    evidence->original_instructions = before["instructions"].value("total", uint64_t{0});
    evidence->candidate_instructions = counts["instructions"].value("total", uint64_t{0});
    evidence->original_roofline = RooflineOf(before);
    evidence->candidate_roofline = RooflineOf(counts);
  }
  return options_.on_gpu ? MeasureOnGpu(original, file, counts, evidence) : Result<void>();
}

Result<void> Judge::MeasureOnGpu(const Original& original, const fs::path& file,
                                 const ordered_json& counts, LaunchEvidence* evidence) {
  ClockWatch clocks(tools_.machine);
  ROCHOUND_TRY(const ordered_json answer, Ask(CompareArguments(original, file, options_.gpu_rounds),
                                              LaunchLimit(original) * 8 + kOverheadSeconds));
  evidence->clocks = clocks.Stop();
  if (!evidence->clocks)
    evidence->notes.push_back("no file of the driver tells the GPU's clock, so it was not watched");
  else if (!evidence->clocks->steady())
    evidence->notes.push_back(
        "the GPU's clock was not steady while it was measured, so times vary with it; a fixed "
        "clock (rocm-smi --setperfdeterminism) gives clearer ones");
  if (!answer.contains("candidates") || answer["candidates"].size() < 2) {
    evidence->rejection = Rejection{Reason::kCannotJudge, fmt::format("on this machine's GPU: {}",
                                                                      answer.value("message", ""))};
    return {};
  }
  const ordered_json& captured = answer["candidates"][0];
  const ordered_json& entry = answer["candidates"][1];
  // With more inputs it was proved before; this proof is for this GPU and the captured input.
  const std::string proved = evidence->comparison;
  if (auto wrong = JudgeComparison(captured, entry, evidence)) {
    wrong->message = "on this machine's GPU: " + wrong->message;
    evidence->rejection = std::move(wrong);
    return {};
  }
  evidence->comparison = proved;
  const bool software = entry.contains("interpreter_speedup");
  if (software)
    evidence->notes.push_back(
        "this machine's GPU is a software GPU: times are its interpreter's, not those of silicon");
  evidence->seconds = MeasurementFrom(captured, entry, "gpu_ns",
                                      software ? "interpreter_speedup" : "speedup", 1e-9);
  // Time stamps of the GPU against the clock of the host: a launch cannot be shorter for the GPU
  // than it is worked on.
  const double wall = entry["wall_ns"].value("median", 0.0) * 1e-9;
  if (evidence->seconds->candidate > wall)
    evidence->notes.push_back("the GPU's time stamps are longer than the host waited");
  if (!tools_.peaks) {
    evidence->notes.push_back("no peaks are known for this GPU, so there is no floor");
    return {};
  }
  const auto roofline = RooflineOf(counts);
  if (!roofline) return {};
  double floor = roofline->compute_seconds.value_or(0);
  if (roofline->memory_seconds_least)
    floor = std::max(floor, *roofline->memory_seconds_least / kCacheGain);
  evidence->seconds->floor = floor;
  return {};
}

std::optional<profile::KernelRoofline> Judge::RooflineOf(const ordered_json& counts) const {
  if (!tools_.peaks) return std::nullopt;
  const fs::path record = folder_.path() / "input" / "counts.jsonl";
  if (!base::WriteFile(record, counts.dump() + "\n").ok()) return std::nullopt;
  const auto set = profile::SoftgpuCounters(record)->Read();
  if (!set.ok()) return std::nullopt;
  auto rooflines = profile::MakeRooflines(set.value(), *tools_.peaks);
  if (rooflines.empty()) return std::nullopt;
  return std::move(rooflines.front());
}

// Before and after, for each launch. On the roofline both have the same place at best; where they
// are by the model's cycles is what changes.
void Judge::AddRoofline(Verdict* verdict) const {
  if (!tools_.peaks || tools_.device.clock_mhz <= 0) return;
  std::vector<profile::KernelRoofline> kernels;
  std::vector<std::pair<std::string, double>> names;  // and modelled seconds
  for (const LaunchEvidence& launch : verdict->launches) {
    if (!launch.original_roofline || !launch.candidate_roofline || !launch.model) continue;
    const double second = tools_.device.clock_mhz * 1e6;
    kernels.push_back(*launch.original_roofline);
    names.emplace_back("before, " + launch.bundle, launch.model->original / second);
    kernels.push_back(*launch.candidate_roofline);
    names.emplace_back("after, " + launch.bundle, launch.model->candidate / second);
  }
  if (kernels.empty()) return;
  profile::CounterSet set;
  set.source = "the software GPU's counters and its model of cycles";
  verdict->roofline = ordered_json::parse(
      profile::RooflineJson(set, tools_.device, *tools_.peaks, kernels), nullptr, false);
  for (size_t i = 0; i < names.size(); ++i) {
    ordered_json& kernel = verdict->roofline["kernels"][i];
    kernel["kernel"] = kernel["name"] = names[i].first;
    kernel["modelled_seconds"] = names[i].second;
  }
}

void Judge::Finish(Rejection rejection, Verdict* verdict) const {
  verdict->reason = rejection.reason;
  verdict->message = std::move(rejection.message);
  verdict->gaps = gaps_;
  const bool right = !verdict->launches.empty() && !verdict->launches.back().rejection;
  if (right) verdict->not_varied = NotVaried(*verdict);
}

std::vector<std::string> Judge::NotVaried(const Verdict& verdict) const {
  std::vector<std::string> all;
  const Original& first = originals_.front();
  const auto same = [&](const auto& of) {
    return std::all_of(originals_.begin(), originals_.end(),
                       [&](const Original& one) { return of(one) == of(first); });
  };
  std::vector<std::string> scalars;
  const auto& arguments = first.bundle->manifest().arguments;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].value_kind != "by_value") continue;
    const bool stays = same([&](const Original& one) {
      const std::string_view bytes = capture::AsText(one.bundle->kernarg());
      return std::string(
          bytes.substr(std::min<size_t>(arguments[i].offset, bytes.size()), arguments[i].size));
    });
    if (stays) scalars.push_back(arguments[i].name.empty() ? std::to_string(i) : arguments[i].name);
  }
  if (!scalars.empty())
    all.push_back(fmt::format("{} {}", scalars.size() == 1 ? "scalar argument" : "scalar arguments",
                              fmt::join(scalars, ", ")));
  if (same([](const Original& one) { return one.launch.grid; })) all.emplace_back("the grid");
  if (same([](const Original& one) { return one.launch.workgroup; }))
    all.emplace_back("the workgroup's size");
  const auto none = [&](size_t LaunchEvidence::* member) {
    return std::all_of(verdict.launches.begin(), verdict.launches.end(),
                       [&](const LaunchEvidence& launch) { return launch.*member == 0; });
  };
  if (none(&LaunchEvidence::varied_elements))
    all.emplace_back("values in memory");
  else
    all.emplace_back("the range of values in memory, but for NaN, infinities and the like");
  if (none(&LaunchEvidence::varied_integers)) all.emplace_back("integers in memory");
  return all;
}

Result<Verdict> Judge::JudgeFile(const fs::path& candidate, const fs::path& source,
                                 const std::vector<std::string>& flags, const Gate& gate) {
  const auto start = std::chrono::steady_clock::now();
  Verdict verdict;
  verdict.kernel = kernel_;
  verdict.demangled = demangled_;
  verdict.target = processor_;
  verdict.candidate = candidate.filename().string();
  object_.clear();
  const auto finish = [&](Rejection rejection) {
    Finish(std::move(rejection), &verdict);
    verdict.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return verdict;
  };
  const auto read = base::ReadFile(candidate, kMostCandidate);
  if (!read.ok()) return read.error();
  object_ = read.value();
  const bool is_source = IsSource(candidate, object_);
  if (is_source && !source.empty())
    return Error{"--source names what a code object was built from, and the candidate is a source"};
  if (is_source || !source.empty()) {
    BuildRequest request;
    request.hipcc = tools_.hipcc;
    request.source = is_source ? candidate : source;
    request.folder = folder_.path() / "own";
    request.target = gpu_.Id();
    request.flags = options_.flags;
    request.flags.insert(request.flags.end(), flags.begin(), flags.end());
    request.headers = options_.headers;
    ROCHOUND_TRY(const std::string text, base::ReadFile(request.source, kMostCandidate));
    verdict.source_sha256 = base::Sha256(text);
    ROCHOUND_TRY(Built built, BuildTwice(request));
    gaps_ = built.gaps;
    if (!built.ok) {
      verdict.build_log = built.log;
      return finish(built.rejection);
    }
    if (is_source) object_ = std::move(built.object);
    if (!is_source) {
      const auto theirs = KernelFile::Find(object_, kernel_, gpu_);
      const auto ours = KernelFile::Find(built.object, kernel_, gpu_);
      if (!theirs.ok() || !ours.ok() || !SameCode(*theirs.value(), *ours.value()))
        return finish({Reason::kNotItsSource,
                       fmt::format("'{}' with {} does not give this code",
                                   source.filename().string(), fmt::join(request.flags, " "))});
    }
  }
  verdict.sha256 = base::Sha256(object_);
  // What is judged cannot change any more: children may not write there.
  const fs::path file = folder_.path() / "input" / "candidate.hsaco";
  ROCHOUND_CHECK(base::WriteFile(file, object_));
  const auto found = KernelFile::Find(object_, kernel_, gpu_);
  if (!found.ok()) return finish({Reason::kSignature, found.error().message});
  const KernelFile& kernel = *found.value();
  synchronises_ = SynchronisesWorkgroups(kernel);
  for (const Original& original : originals_) {
    if (auto rejection = CompareFiles(*original.file, kernel, original.launch, gpu_))
      return finish(std::move(*rejection));
  }
  const Original& first = originals_.front();
  const uint64_t items =
      uint64_t{first.launch.workgroup[0]} * first.launch.workgroup[1] * first.launch.workgroup[2];
  const uint64_t fixed = first.file->kernel().group_segment_fixed_size;
  const uint64_t dynamic =
      first.launch.group_bytes - std::min<uint64_t>(first.launch.group_bytes, fixed);
  verdict.original = ResourcesOf(*first.file, items, fixed + dynamic);
  verdict.resources =
      ResourcesOf(kernel, items, kernel.kernel().group_segment_fixed_size + dynamic);
  if (auto rejection = DoesNotFit(*verdict.resources, *verdict.original))
    return finish(std::move(*rejection));
  if (gate)
    if (auto rejection = gate(*verdict.resources)) return finish(std::move(*rejection));
  for (const Original& original : originals_) {
    LaunchEvidence& evidence = verdict.launches.emplace_back();
    ROCHOUND_CHECK(JudgeLaunch(original, file, &evidence));
    if (evidence.rejection)
      return finish(
          {evidence.rejection->reason, evidence.bundle + ": " + evidence.rejection->message});
  }
  Rejection speed = DecideSpeed(verdict.launches, options_.on_gpu, options_.margin, &verdict);
  if (speed.reason == Reason::kFaster) AddRoofline(&verdict);
  return finish(std::move(speed));
}

}  // namespace rochound::optimize
