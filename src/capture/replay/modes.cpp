// SPDX-License-Identifier: MIT
#include "capture/replay/modes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "base/count.h"
#include "capture/replay/counts.h"
#include "capture/replay/statistics.h"

namespace rochound::capture::replay {
namespace {

using Clock = std::chrono::steady_clock;

// Up to here every iteration is verified; beyond, the first and the last.
constexpr uint64_t kVerifyEachBytes = uint64_t{64} << 20;

// How often a result that is not the expected one is asked for again.
constexpr size_t kRepeats = 3;
// How often code that is not deterministic is run to see what it gives.
constexpr size_t kSamples = 10;
constexpr const char* kVaries = "it does not give the same result each time";

// Finding memory that is not read: pieces are numbered from 1, 0 is all of them. After the last
// one, they come again: what the kernel writes of them.
constexpr size_t kAllPieces = 0;
constexpr size_t kMostRanges = 4000;   // as many as fit into one argument of a process
constexpr double kSearchSeconds = 30;  // no further piece is tried after that
// Inputs that make no sense can make a kernel run for ever.
constexpr double kLeastSeconds = 5, kSlowdown = 50;

nlohmann::ordered_json TimesJson(const std::vector<double>& times) {
  const Summary summary = Summarize(times);
  return {{"count", summary.count},   {"min", summary.min},   {"median", summary.median},
          {"mean", summary.mean},     {"p95", summary.p95},   {"max", summary.max},
          {"spread", summary.spread}, {"unit", "nanoseconds"}};
}

nlohmann::ordered_json LaunchJson(const Packet& packet) {
  return {{"grid", packet.grid},
          {"workgroup", packet.workgroup},
          {"group_bytes", packet.group_bytes},
          {"private_bytes", packet.private_bytes}};
}

// Is a result that is not the expected one at least always the same? A busy machine may do the same
// twice by chance.
bool Repeats(Session& session, Candidate& candidate, const Differences& first, size_t times) {
  for (size_t i = 0; i < times; ++i) {
    session.Restore(candidate);
    session.Launch(candidate);
    if (session.Verify(candidate, i == 0).fingerprint() != first.fingerprint()) return false;
  }
  return true;
}

constexpr char kNoResults[] =
    "nothing was compared: the captured launch failed, or did not end, so the bundle has no results "
    "of it";

struct Judgement {
  Verdict verdict = Verdict::kEqual;
  nlohmann::ordered_json differences;
  Tolerated tolerated;
  std::string message;
};

// The captured code is not deterministic. It and the builds are run by turns (what a kernel gives
// may depend on the time), and the values of each element are compared: see Spread::Outside.
std::vector<Judgement> JudgeBySpread(Session& session, Candidate& captured,
                                     std::span<Candidate* const> builds) {
  Spread original(session.rules(), true);
  std::vector<Spread> spreads(builds.size(), Spread(session.rules(), false));
  const auto sample = [&](Candidate& candidate, Spread* spread) {
    session.Restore(candidate);
    session.Launch(candidate);
    session.Verify(candidate, true, spread);
    spread->EndRun();
  };
  for (size_t run = 0; run < kSamples; ++run) {
    sample(captured, &original);
    for (size_t i = 0; i < builds.size(); ++i) sample(*builds[i], &spreads[i]);
  }
  std::vector<Judgement> judgements;
  for (const Spread& spread : spreads) {
    const Differences outside = spread.Outside(original);
    Judgement judgement;
    judgement.verdict = outside.equal() ? Verdict::kNotDeterministic : Verdict::kDifferent;
    if (!outside.equal()) judgement.differences = session.DifferencesJson(outside);
    judgement.message = fmt::format(
        "the captured code does not give the same result each time; {} of this build are {}",
        base::Count(spread.runs(), "run", "runs"),
        outside.equal() ? "within what it gives"
                        : "outside of what it gives, by more than its own results differ");
    judgements.push_back(std::move(judgement));
  }
  return judgements;
}

// Whether it is worth going on.
bool Undisputed(Verdict verdict) {
  return verdict == Verdict::kEqual || verdict == Verdict::kNotVerified;
}

// A build gave the captured result. Did it write it, or was it there already?
void JudgeWrites(Session& session, Candidate& candidate, Judgement* judgement) {
  if (session.poison() != nullptr && &candidate != &session.candidates().front()) {
    session.Restore(candidate);
    const Differences differences = session.RunPoisoned(candidate);
    session.Restore(candidate);
    judgement->tolerated.Add(differences);
    if (!differences.equal()) {
      judgement->verdict = Verdict::kDifferent;
      judgement->differences = session.DifferencesJson(differences);
      judgement->message =
          "it does not write the bytes that the captured code writes, as memory shows that was "
          "filled with a pattern first";
      return;
    }
  }
  if (session.shows_writes()) return;
  judgement->verdict = Verdict::kNotVerified;
  judgement->message = fmt::format(
      "nothing differs, but a kernel that does nothing would not differ either: the captured "
      "launch changed no memory, and {}",
      session.looked_for_writes()
          ? "none was found that it writes without reading it first. Capture another launch "
            "(rochound capture --nth)"
          : "what it writes was not looked for (--no-poison)");
}

// Builds that gave the captured results: do they from other inputs, too? Each is run several times,
// by turns with others, since a race shows now and then. Returns how many other inputs there were.
size_t JudgeVaried(Session& session, const Options& options, Answer& answer,
                   std::span<Candidate* const> builds, std::span<Judgement* const> judgements) {
  size_t runs = 0, inputs = 0, elements = 0, integers = 0;
  const size_t rounds = options.vary + (options.special ? 1 : 0);
  for (size_t seed = 1; seed <= rounds; ++seed) {
    const InputKind kind =
        seed > options.vary ? InputKind::kSpecial : options.integers.value_or(InputKind::kFloats);
    answer.Progress("trying other inputs", static_cast<double>(seed) / static_cast<double>(rounds));
    if (!session.StartVariation(seed, kind)) {
      answer.AddNote("other inputs were not tried: there is too much memory");
      break;
    }
    ++runs;
    elements = session.varied_elements();
    integers = std::max(integers, session.varied_integers());
    if (session.varied_elements() + session.varied_integers() > 0) ++inputs;
    for (size_t i = 0; i < builds.size(); ++i) {
      if (!Undisputed(judgements[i]->verdict)) continue;
      const Differences differences = session.RunVaried(*builds[i]);
      judgements[i]->tolerated.Add(differences);
      if (differences.equal()) continue;
      judgements[i]->verdict = Verdict::kDifferent;
      judgements[i]->differences = session.DifferencesJson(differences);
      judgements[i]->differences["inputs"] =
          kind == InputKind::kSpecial ? "special numbers" : "other";
      judgements[i]->message =
          "it gives the captured results from the captured memory, and others than the captured "
          "code from other inputs, or where results are to be written there was something else";
    }
    session.EndVariation();
  }
  answer.json()["varied"] = {{"runs", runs},
                             {"elements", elements},
                             {"integers", integers},
                             {"special", options.special && runs == rounds}};
  if (runs > 0 && inputs == 0)
    answer.AddNote(
        "no other input was tried: the memory that the launch reads has no numbers of a type that "
        "is known and may be changed. --as TYPE says what it holds, --vary-integers changes "
        "integers");
  return inputs;
}

void LearnPoison(Session& session, const Options& options) {
  if (options.poison.empty()) return;
  session.Restore(session.candidates().front());
  session.LearnPoison(options.poison);
}

// Called after a launch of another build: does the captured code always give the same?
bool CapturedRepeats(Session& session) {
  Candidate& captured = session.candidates().front();
  session.Restore(captured);
  session.Launch(captured);
  const Differences first = session.Verify(captured, true);
  return Repeats(session, captured, first, kRepeats);
}

void Prepare(Session& session) {
  session.Open();
  session.TakeAddresses();
  session.Load();
  session.Fill();
}

}  // namespace

void Run(const Options& options, const std::vector<std::string>& arguments, Answer& answer) {
  Session session(options, arguments, answer);
  Prepare(session);
  Candidate& candidate = session.candidates().back();
  answer.json()["candidate"] = candidate.name;
  answer.json()["launch"] = LaunchJson(candidate.packet);
  answer.json()["own_memory"] = session.OwnMemoryJson(candidate);

  if (options.inputs) {
    if (!session.StartVariation(1, *options.inputs))
      answer.End(Verdict::kFailed, "other inputs were not tried: there is too much memory");
    answer.json()["varied"] = {{"elements", session.varied_elements()},
                               {"integers", session.varied_integers()}};
    answer.End(Verdict::kNotVerified, "there is nothing to compare other inputs' results with");
  }
  std::vector<double> gpu, wall;
  const auto launch = [&] {
    const LaunchResult result = session.Launch(candidate);
    gpu.push_back(result.gpu_ns);
    wall.push_back(result.wall_ns);
  };
  Judgement judged;
  size_t compared = 0;
  const auto judge = [&](const Differences& differences) {
    ++compared;
    judged.tolerated.Add(differences);
    if (differences.equal()) return;
    if (Undisputed(judged.verdict)) judged.differences = session.DifferencesJson(differences);
    // The first one was equal: so it is not the same every time.
    judged.verdict = compared > 1 ? Verdict::kNotDeterministic : Verdict::kDifferent;
  };

  launch();
  const bool verify = options.verify && session.has_results();
  if (verify) {
    Candidate& captured = session.candidates().front();
    const Differences first = session.Verify(candidate, true);
    judge(first);
    if (judged.verdict == Verdict::kEqual) {
      LearnPoison(session, options);
      JudgeWrites(session, candidate, &judged);
    } else if (&candidate != &captured && !CapturedRepeats(session)) {
      Candidate* const build = &candidate;
      judged = JudgeBySpread(session, captured, {&build, 1}).front();
    } else if (!Repeats(session, candidate, first, kRepeats)) {
      judged.verdict = Verdict::kNotDeterministic;
      judged.message = kVaries;
    }
  }
  const bool each = session.memory().changed_bytes() <= kVerifyEachBytes;
  const auto start = Clock::now();
  for (size_t i = 1; i < options.iterations && Undisputed(judged.verdict); ++i) {
    if (options.restore) {
      session.Restore(candidate);
      answer.Progress("replaying",
                      static_cast<double>(i) / static_cast<double>(options.iterations));
    }
    launch();
    if (!options.restore || !verify) continue;
    const bool last = i + 1 == options.iterations;
    if (each || last) judge(session.Verify(candidate, last));
  }
  if (gpu.size() > 1) {
    answer.json()["loop_ns_per_iteration"] =
        std::chrono::duration<double, std::nano>(Clock::now() - start).count() /
        static_cast<double>(gpu.size() - 1);
  }
  answer.json()["iterations"] = gpu.size();
  answer.json()["compared"] = compared;
  answer.json()["verified"] = judged.verdict == Verdict::kNotVerified ? 0 : compared;
  answer.json()["changed_bytes"] = session.memory().changed_bytes();
  answer.json()["gpu_ns"] = TimesJson(gpu);
  answer.json()["wall_ns"] = TimesJson(wall);
  for (const std::string& note : session.memory().notes()) answer.AddNote(note);
  if (!verify) {
    judged.verdict = Verdict::kNotVerified;
    judged.message = options.verify ? kNoResults : "nothing was compared (--verify none)";
  }
  if (!judged.differences.is_null()) answer.json()["differences"] = judged.differences;
  if (judged.verdict == Verdict::kEqual) session.SayProof(judged.tolerated, 0, &answer.json());
  answer.End(judged.verdict, judged.message);
}

void FindPoison(const Options& options, const std::vector<std::string>& arguments, Answer& answer) {
  Session session(options, arguments, answer);
  Prepare(session);
  Candidate& captured = session.candidates().front();
  answer.json()["ranges"] = "";
  if (!session.has_results()) answer.End(Verdict::kEqual);
  const double usual = session.Launch(captured).wall_ns * 1e-9;
  // Without a result to rely on, nothing can be told from another one.
  if (session.Verify(captured, true).fingerprint() != 0) answer.End(Verdict::kEqual);
  session.Restore(captured);
  session.LimitTime(std::max(kLeastSeconds, usual * kSlowdown));

  const std::vector<PoisonPiece> pieces = session.PlanPoison();
  std::vector<size_t> read = options.read;
  const auto start = Clock::now();
  std::vector<Range> found;
  // Whether it is not read; then what shows a write is kept.
  const auto try_out = [&](size_t number, std::span<const PoisonPiece> tried,
                           std::vector<Range>* touched) {
    if (std::find(read.begin(), read.end(), number) != read.end()) return false;
    if (std::chrono::duration<double>(Clock::now() - start).count() > kSearchSeconds) return false;
    answer.json()["read"] = read;
    answer.json()["trying"] = number;
    std::vector<Range> ranges;
    std::set<uint64_t> outputs;  // where they start
    for (const PoisonPiece& piece : tried) {
      for (const Range& range : piece.ranges) {
        ranges.push_back(range);
        if (piece.output) outputs.insert(range.base);
      }
    }
    if (!session.LearnPoison(ranges, touched)) {
      read.push_back(number);
      return false;
    }
    const std::vector<Range>& learned = session.poison()->ranges();
    for (size_t i = 0; i < learned.size(); ++i)
      if (session.poison()->written_bytes(i) > 0 || outputs.contains(learned[i].base))
        found.push_back(learned[i]);
    return true;
  };
  // Most kernels do not read what is not const, or only what they change: all at once, then each.
  if (!try_out(kAllPieces, pieces, nullptr)) {
    for (size_t i = 0; i < pieces.size(); ++i) {
      PoisonPiece written;  // inputs and outputs may be in one piece
      if (try_out(1 + i, {&pieces[i], 1}, &written.ranges)) continue;
      if (written.ranges.empty() || written.ranges.size() > kMostRanges) continue;
      try_out(1 + pieces.size() + i, {&written, 1}, nullptr);
    }
  }
  if (found.size() > kMostRanges) found.resize(kMostRanges);
  answer.json()["ranges"] = RangesText(found);
  answer.End(Verdict::kEqual);
}

void Compare(const Options& options, const std::vector<std::string>& arguments, Answer& answer) {
  Session session(options, arguments, answer);
  Prepare(session);
  if (!session.has_results()) answer.End(Verdict::kRefused, kNoResults);
  struct Entry {
    Candidate* candidate;
    Judgement judgement;
    std::vector<double> gpu, wall, cycles;
    nlohmann::ordered_json counts;  // of its last launch
  };
  std::vector<Entry> entries;
  for (Candidate& candidate : session.candidates())
    entries.push_back({&candidate, {}, {}, {}, {}, {}});

  // Results first: each from the same memory, the captured build twice, since no other verdict
  // means anything if it does not repeat.
  const auto judge = [&](Entry& entry, size_t repeats_if_equal) {
    Candidate& candidate = *entry.candidate;
    session.Launch(candidate);
    const Differences result = session.Verify(candidate, true);
    if (!result.equal()) {
      entry.judgement.verdict = Verdict::kDifferent;
      entry.judgement.differences = session.DifferencesJson(result);
    }
    if (!Repeats(session, candidate, result, result.equal() ? repeats_if_equal : kRepeats)) {
      entry.judgement.verdict = Verdict::kNotDeterministic;
      entry.judgement.message = kVaries;
    }
    entry.judgement.tolerated.Add(result);
  };
  Entry& captured = entries.front();
  judge(captured, 1);
  if (captured.judgement.verdict == Verdict::kEqual) {
    LearnPoison(session, options);
    JudgeWrites(session, *captured.candidate, &captured.judgement);
  }
  std::vector<Entry*> spread;
  std::vector<Candidate*> builds;
  for (size_t i = 1; i < entries.size(); ++i) {
    Entry& entry = entries[i];
    if (!entry.candidate->refused.empty()) {
      entry.judgement = {Verdict::kRefused, {}, {}, entry.candidate->refused};
    } else if (captured.judgement.verdict == Verdict::kNotDeterministic) {
      spread.push_back(&entry);
      builds.push_back(entry.candidate);
    } else {
      session.Restore(*entry.candidate);
      // With other inputs to come, there is time to see whether it repeats.
      judge(entry, options.vary > 0 ? kRepeats : 0);
      if (entry.judgement.verdict == Verdict::kEqual)
        JudgeWrites(session, *entry.candidate, &entry.judgement);
    }
  }
  size_t other_inputs = 0;
  if (options.vary > 0 && captured.judgement.verdict != Verdict::kNotDeterministic) {
    std::vector<Candidate*> right;
    std::vector<Judgement*> judgements;
    for (size_t i = 1; i < entries.size(); ++i) {
      if (!Undisputed(entries[i].judgement.verdict)) continue;
      right.push_back(entries[i].candidate);
      judgements.push_back(&entries[i].judgement);
    }
    if (!right.empty()) other_inputs = JudgeVaried(session, options, answer, right, judgements);
  }
  if (!builds.empty()) {
    std::vector<Judgement> judgements = JudgeBySpread(session, *captured.candidate, builds);
    for (size_t i = 0; i < spread.size(); ++i) spread[i]->judgement = std::move(judgements[i]);
  }

  if (!options.dump.empty() && entries.size() > 1 &&
      entries[1].judgement.verdict != Verdict::kRefused)
    session.Dump(*entries[1].candidate, options.dump);

  std::vector<Entry*> racing;
  for (Entry& entry : entries)
    if (entry.judgement.verdict != Verdict::kRefused) racing.push_back(&entry);
  const std::string& kernel = captured.candidate->kernel->name;
  const bool counting = options.count && Counts::Start();
  if (options.count && !counting) answer.AddNote("nothing is counted: this is no software GPU");
  // A kernel may find out that it is measured: each result counts, not only the first ones.
  const bool each = options.vary > 0 && session.memory().changed_bytes() <= kVerifyEachBytes;
  const size_t rounds = options.warmup + options.iterations;
  for (size_t round = 0; round < rounds; ++round) {
    answer.Progress("comparing", static_cast<double>(round) / static_cast<double>(rounds));
    for (size_t i = 0; i < racing.size(); ++i) {
      Entry& entry = *racing[(round + i) % racing.size()];
      if (options.restore) session.Restore(*entry.candidate);
      const LaunchResult result = session.Launch(*entry.candidate);
      auto counts = counting ? Counts::Take(kernel) : std::nullopt;
      if (each && options.restore && entry.judgement.verdict == Verdict::kEqual) {
        const Differences differences = session.Verify(*entry.candidate, false);
        entry.judgement.tolerated.Add(differences);
        if (!differences.equal()) {
          entry.judgement.verdict = Verdict::kNotDeterministic;
          entry.judgement.differences = session.DifferencesJson(differences);
          entry.judgement.message =
              fmt::format("it gave the captured results at first, and others in round {} of {}",
                          round + 1, rounds);
        }
      }
      if (round < options.warmup) continue;
      entry.gpu.push_back(result.gpu_ns);
      entry.wall.push_back(result.wall_ns);
      if (!counts) continue;
      entry.cycles.push_back((*counts)["model"].value("cycles", 0.0));
      entry.counts = std::move(*counts);
    }
  }
  if (counting) Counts::Stop();
  for (size_t i = 1; i < entries.size() && options.vary > 0; ++i) {
    if (entries[i].judgement.verdict == Verdict::kEqual)
      JudgeWrites(session, *entries[i].candidate, &entries[i].judgement);
  }

  std::vector<Verdict> verdicts;
  auto& list = answer.json()["candidates"] = nlohmann::ordered_json::array();
  for (const Entry& entry : entries) {
    verdicts.push_back(entry.judgement.verdict);
    nlohmann::ordered_json json = {{"name", entry.candidate->name},
                                   {"verdict", NameOf(entry.judgement.verdict)}};
    if (!entry.judgement.message.empty()) json["message"] = entry.judgement.message;
    if (!entry.judgement.differences.is_null()) json["differences"] = entry.judgement.differences;
    if (entry.judgement.verdict == Verdict::kEqual)
      session.SayProof(entry.judgement.tolerated, &entry == &captured ? 0 : other_inputs, &json);
    if (!entry.cycles.empty()) {
      json["modelled_cycles"] = TimesJson(entry.cycles);
      json["modelled_cycles"]["unit"] = "cycles of the software GPU's model";
      json["counts"] = entry.counts;
      if (&entry != &captured) {
        const Speedup speedup = CompareMedians(captured.cycles, entry.cycles);
        json["modelled_speedup"] = {
            {"ratio", speedup.ratio}, {"low", speedup.low}, {"high", speedup.high}};
      }
    }
    if (!entry.gpu.empty()) {
      json["launch"] = LaunchJson(entry.candidate->packet);
      json["registers"] = {{"vgpr", entry.candidate->kernel->vgpr_count},
                           {"agpr", entry.candidate->kernel->agpr_count},
                           {"sgpr", entry.candidate->kernel->sgpr_count}};
      json["gpu_ns"] = TimesJson(entry.gpu);
      json["wall_ns"] = TimesJson(entry.wall);
      if (&entry != &captured) {
        const Speedup speedup = CompareMedians(captured.gpu, entry.gpu);
        // An interpreter's times say nothing about a GPU's.
        json[Counts::OnSoftwareGpu() ? "interpreter_speedup" : "speedup"] = {
            {"ratio", speedup.ratio}, {"low", speedup.low}, {"high", speedup.high}};
      }
    }
    list.push_back(std::move(json));
  }
  answer.json()["rounds"] = options.iterations;
  answer.json()["warmup"] = options.warmup;
  answer.json()["interval"] = "95%, bootstrap over rounds of the ratio of median GPU times";
  answer.json()["changed_bytes"] = session.memory().changed_bytes();
  for (const std::string& note : session.memory().notes()) answer.AddNote(note);
  answer.End(Overall(verdicts));
}

}  // namespace rochound::capture::replay
