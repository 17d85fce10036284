// SPDX-License-Identifier: MIT
#include "capture/replay/modes.h"

#include <algorithm>
#include <chrono>

#include "capture/replay/statistics.h"

namespace rochound::capture::replay {
namespace {

using Clock = std::chrono::steady_clock;

// Up to here every iteration is verified; beyond, the first and the last.
constexpr uint64_t kVerifyEachBytes = uint64_t{64} << 20;

// How often a result that is not the expected one is asked for again.
constexpr size_t kRepeats = 3;

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

// After a launch whose result was not the expected one: is it at least always the same? A busy
// machine may do the same twice by chance.
bool Repeats(Session& session, Candidate& candidate, const Differences& first, size_t times) {
  for (size_t i = 0; i < times; ++i) {
    session.Restore(candidate);
    session.Launch(candidate);
    if (session.Verify(candidate, i == 0).fingerprint() != first.fingerprint()) return false;
  }
  return true;
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

  std::vector<double> gpu, wall;
  const auto launch = [&] {
    const LaunchResult result = session.Launch(candidate);
    gpu.push_back(result.gpu_ns);
    wall.push_back(result.wall_ns);
  };
  Verdict verdict = Verdict::kEqual;
  size_t verified = 0;
  const auto judge = [&](const Differences& differences) {
    ++verified;
    if (differences.equal()) return;
    if (verdict == Verdict::kEqual)
      answer.json()["differences"] = session.DifferencesJson(differences);
    // The first one was equal: so it is not the same every time.
    verdict = verified > 1 ? Verdict::kNotDeterministic : Verdict::kDifferent;
  };

  launch();
  if (options.verify) {
    const Differences first = session.Verify(candidate, true);
    judge(first);
    if (verdict == Verdict::kDifferent && !Repeats(session, candidate, first, kRepeats))
      verdict = Verdict::kNotDeterministic;
  }
  const bool each = session.memory().changed_bytes() <= kVerifyEachBytes;
  const auto start = Clock::now();
  for (size_t i = 1; i < options.iterations && verdict == Verdict::kEqual; ++i) {
    if (options.restore) {
      session.Restore(candidate);
      answer.Progress("replaying",
                      static_cast<double>(i) / static_cast<double>(options.iterations));
    }
    launch();
    if (!options.restore || !options.verify) continue;
    const bool last = i + 1 == options.iterations;
    if (each || last) judge(session.Verify(candidate, last));
  }
  if (gpu.size() > 1) {
    answer.json()["loop_ns_per_iteration"] =
        std::chrono::duration<double, std::nano>(Clock::now() - start).count() /
        static_cast<double>(gpu.size() - 1);
  }
  answer.json()["iterations"] = gpu.size();
  answer.json()["verified"] = verified;
  answer.json()["changed_bytes"] = session.memory().changed_bytes();
  answer.json()["gpu_ns"] = TimesJson(gpu);
  answer.json()["wall_ns"] = TimesJson(wall);
  for (const std::string& note : session.memory().notes()) answer.Note(note);
  if (!options.verify) answer.Note("nothing was verified (--verify none)");
  answer.End(verdict);
}

void Compare(const Options& options, const std::vector<std::string>& arguments, Answer& answer) {
  Session session(options, arguments, answer);
  Prepare(session);
  struct Entry {
    Candidate* candidate;
    Verdict verdict = Verdict::kEqual;
    nlohmann::ordered_json differences;
    std::vector<double> gpu, wall;
  };
  std::vector<Entry> entries;
  for (Candidate& candidate : session.candidates()) entries.push_back({&candidate, {}, {}, {}, {}});

  // Results first: each from the same memory, the captured build twice, since no other verdict
  // means anything if it does not repeat.
  bool fresh = true;
  for (Entry& entry : entries) {
    if (!entry.candidate->refused.empty()) {
      entry.verdict = Verdict::kRefused;
      continue;
    }
    if (!fresh) session.Restore(*entry.candidate);
    fresh = false;
    session.Launch(*entry.candidate);
    const Differences result = session.Verify(*entry.candidate, true);
    if (!result.equal()) {
      entry.verdict = Verdict::kDifferent;
      entry.differences = session.DifferencesJson(result);
    }
    if (&entry == &entries.front() || !result.equal()) {
      const size_t times = result.equal() ? 1 : kRepeats;
      if (!Repeats(session, *entry.candidate, result, times))
        entry.verdict = Verdict::kNotDeterministic;
    }
  }

  std::vector<Entry*> racing;
  for (Entry& entry : entries)
    if (entry.verdict != Verdict::kRefused) racing.push_back(&entry);
  const size_t rounds = options.warmup + options.iterations;
  for (size_t round = 0; round < rounds; ++round) {
    answer.Progress("comparing", static_cast<double>(round) / static_cast<double>(rounds));
    for (size_t i = 0; i < racing.size(); ++i) {
      Entry& entry = *racing[(round + i) % racing.size()];
      if (options.restore) session.Restore(*entry.candidate);
      const LaunchResult result = session.Launch(*entry.candidate);
      if (round < options.warmup) continue;
      entry.gpu.push_back(result.gpu_ns);
      entry.wall.push_back(result.wall_ns);
    }
  }

  const Entry& captured = entries.front();
  Verdict verdict = captured.verdict;
  auto& list = answer.json()["candidates"] = nlohmann::ordered_json::array();
  for (const Entry& entry : entries) {
    nlohmann::ordered_json json = {{"name", entry.candidate->name}};
    Verdict own = entry.verdict;
    // A build cannot be judged by memory that is another one each time.
    if (captured.verdict == Verdict::kNotDeterministic && own != Verdict::kRefused)
      own = Verdict::kNotDeterministic;
    json["verdict"] = NameOf(own);
    if (!entry.candidate->refused.empty()) json["message"] = entry.candidate->refused;
    if (!entry.differences.is_null()) json["differences"] = entry.differences;
    if (!entry.gpu.empty()) {
      json["launch"] = LaunchJson(entry.candidate->packet);
      json["registers"] = {{"vgpr", entry.candidate->kernel->vgpr_count},
                           {"agpr", entry.candidate->kernel->agpr_count},
                           {"sgpr", entry.candidate->kernel->sgpr_count}};
      json["gpu_ns"] = TimesJson(entry.gpu);
      json["wall_ns"] = TimesJson(entry.wall);
      if (&entry != &captured) {
        const Speedup speedup = CompareMedians(captured.gpu, entry.gpu);
        json["speedup"] = {{"ratio", speedup.ratio}, {"low", speedup.low}, {"high", speedup.high}};
      }
    }
    list.push_back(std::move(json));
    if (verdict == Verdict::kEqual) verdict = own;
  }
  answer.json()["rounds"] = options.iterations;
  answer.json()["warmup"] = options.warmup;
  answer.json()["interval"] = "95%, bootstrap over rounds of the ratio of median GPU times";
  answer.json()["changed_bytes"] = session.memory().changed_bytes();
  for (const std::string& note : session.memory().notes()) answer.Note(note);
  answer.End(verdict);
}

}  // namespace rochound::capture::replay
