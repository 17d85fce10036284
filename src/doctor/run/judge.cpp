// SPDX-License-Identifier: MIT
#include "doctor/run/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "base/units.h"
#include "store/rpd/probing_calls.h"
#include "store/rpd/run_ending.h"

namespace rochound::doctor {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kSecond = 1'000'000'000;
constexpr size_t kMostLines = 8;

std::string Time(int64_t ns) { return base::TimeText(ns); }

std::string Times(int64_t count) { return count == 1 ? "once" : fmt::format("{} times", count); }

double Share(int64_t part, int64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

// Of hipError_t and hsa_status_t, those that are met.
std::string ErrorName(const FailedCall& call) {
  struct Known {
    int64_t number;
    const char* name;
  };
  static constexpr Known kHip[] = {{1, "hipErrorInvalidValue"},
                                   {2, "hipErrorOutOfMemory"},
                                   {3, "hipErrorNotInitialized"},
                                   {9, "hipErrorInvalidConfiguration"},
                                   {13, "hipErrorInvalidSymbol"},
                                   {17, "hipErrorInvalidDevicePointer"},
                                   {21, "hipErrorInvalidMemcpyDirection"},
                                   {35, "hipErrorInsufficientDriver"},
                                   {98, "hipErrorInvalidDeviceFunction"},
                                   {100, "hipErrorNoDevice"},
                                   {101, "hipErrorInvalidDevice"},
                                   {200, "hipErrorInvalidImage"},
                                   {201, "hipErrorInvalidContext"},
                                   {209, "hipErrorNoBinaryForGpu"},
                                   {217, "hipErrorPeerAccessUnsupported"},
                                   {301, "hipErrorFileNotFound"},
                                   {400, "hipErrorInvalidHandle"},
                                   {401, "hipErrorIllegalState"},
                                   {500, "hipErrorNotFound"},
                                   {700, "hipErrorIllegalAddress"},
                                   {701, "hipErrorLaunchOutOfResources"},
                                   {702, "hipErrorLaunchTimeOut"},
                                   {704, "hipErrorPeerAccessAlreadyEnabled"},
                                   {705, "hipErrorPeerAccessNotEnabled"},
                                   {712, "hipErrorHostMemoryAlreadyRegistered"},
                                   {713, "hipErrorHostMemoryNotRegistered"},
                                   {719, "hipErrorLaunchFailure"},
                                   {801, "hipErrorNotSupported"},
                                   {999, "hipErrorUnknown"}};
  if (call.result == kNoMemory) return "no memory; its result was not recorded";
  if (call.domain == "hip")
    for (const Known& known : kHip)
      if (known.number == call.result) return known.name;
  return call.domain == "hsa" ? fmt::format("status {:#x}", call.result)
                              : fmt::format("error {}", call.result);
}

// The error tells a state, or repeats an earlier error.
bool IsNoFailure(const FailedCall& call) {
  constexpr int64_t kNotReady = 600, kPeerAlreadyEnabled = 704, kInfoBreak = 1;
  if (call.domain == "hsa") return call.result == kInfoBreak;
  return call.result == kNotReady || call.result == kPeerAlreadyEnabled ||
         call.function.find("LastError") != std::string::npos;
}

// Calls that fail in healthy programs, too; and HSA's, which HIP makes and answers for.
bool IsProbe(const FailedCall& call) {
  return call.domain != "hip" || store::IsProbingCall(call.function);
}

std::string Described(const FailedCall& call) {
  return fmt::format("{}({}) gave {}, {}, first at {}", call.function,
                     call.arguments.substr(0, 120), ErrorName(call), Times(call.count),
                     Time(call.first_ns));
}

std::string Ended(const RunFacts& run) {
  if (run.status == store::kKilled) return "it was killed";
  return run.status.empty() ? "how it ended is not known" : "it ended with " + run.status;
}

bool EndedWell(const RunFacts& run) { return run.status.empty() || run.status == "exit 0"; }

class Judge {
 public:
  explicit Judge(const RunFacts& run) : run_(run) {
    report_.of_machine = false;
    Figures();
    Hangs();
    Lost();
    Unrecorded();
    Died();
    Failures();
    Dispatches();
    HostBurns();
    Operators();
    CudaLayers();
  }

  Report Take() { return std::move(report_); }

 private:
  void AddFigure(const char* name, std::string value) {
    report_.machine.push_back({name, {{"trace", std::move(value)}}, Verdict::kAgree, "", false});
  }
  void Find(Severity severity, const char* id, std::string what, std::string remedy,
            std::vector<std::string> evidence) {
    report_.findings.push_back(
        {severity, id, std::move(what), std::move(remedy), std::move(evidence)});
  }

  void Figures() {
    AddFigure("run", fmt::format("{}{}, {} since the GPU's runtime started", run_.command,
                                 run_.status.empty() ? "" : " (" + run_.status + ")",
                                 Time(run_.length_ns)));
    AddFigure("dispatches", fmt::format("{} of the program, {} of the runtime, and {} copies",
                                        run_.dispatches, run_.runtime_kernels, run_.copies));
    AddFigure("GPU busy", fmt::format("{}{} with kernels, {} with kernels or copies",
                                      run_.usage.empty() ? "" : run_.usage + ": ",
                                      Time(run_.busy_ns), Time(run_.busy_copying_ns)));
    if (const int64_t work = HostWork(run_); work >= kMillisecond)
      AddFigure("host", fmt::format("at least {} of CPU time outside of HIP while no GPU was busy",
                                    Time(work)));
    std::set<std::string> chains;
    for (const RunProcess& process : run_.processes)
      if (!process.layers.empty() && chains.insert(Chain(process.layers)).second)
        AddFigure("chain", Chain(process.layers));
  }

  void Lost() {
    if (!run_.lost.empty() && !run_.processes.empty())
      Find(Severity::kNote, "trace-incomplete",
           "The trace does not have everything, so what is missing below may have happened", "",
           run_.lost);
    if (!run_.has_failures)
      Find(Severity::kNote, "no-results",
           "This trace is of an older release and does not tell which calls failed", "", {});
  }

  void Unrecorded() {
    if (run_.unrecorded.empty()) return;
    Find(Severity::kError, "unrecorded-process",
         fmt::format("{} used a GPU and {} not recorded, so this trace does not tell what the GPU "
                     "did",
                     run_.unrecorded.size() == 1
                         ? std::string("A process")
                         : fmt::format("{} processes", run_.unrecorded.size()),
                     run_.unrecorded.size() == 1 ? "was" : "were"),
         "do what the reason says, and record it again", run_.unrecorded);
  }

  void Hangs() {
    if (run_.unfinished.empty()) return;
    const UnfinishedKernel& first = run_.unfinished.front();
    std::vector<std::string> evidence = {
        fmt::format("on GPU {}, process {}; its queue had been at it for {}", first.gpu, first.pid,
                    Time(first.running_ns))};
    for (const std::string& call : run_.unreturned)
      evidence.push_back("this call had not returned: " + call);
    if (run_.unfinished.size() > 1)
      evidence.push_back(fmt::format("{} more kernels had not finished, most likely after it",
                                     run_.unfinished.size() - 1));
    std::string what = fmt::format("Kernel {}, submitted {} before the end, never finished",
                                   first.name, Time(first.submitted_ns));
    if (first.longest_ns > 0)
      evidence.push_back(fmt::format("its other launches took {} at most", Time(first.longest_ns)));
    if (!first.hangs()) {
      Find(Severity::kNote, "kernel-unfinished", std::move(what), "", std::move(evidence));
      return;
    }
    Find(Severity::kError, "kernel-hangs", std::move(what),
         "Look for a loop in it that waits for something that does not come, or for input that "
         "makes it very long: rochound run --fault-bundle keeps the launch, rochound replay runs "
         "it again",
         std::move(evidence));
  }

  void Dispatches() {
    if (run_.dispatches > 0) return;
    std::vector<std::string> evidence;
    if (run_.processes.empty() && !run_.unrecorded.empty()) return;  // it was used, unseen
    if (run_.processes.empty()) {
      evidence = run_.lost;
      if (run_.program_cpu_ns >= 0)
        evidence.push_back(fmt::format("it used {} of CPU time", Time(run_.program_cpu_ns)));
      Find(Severity::kError, "gpu-not-used",
           "Nothing ran on the GPU: no process of the program started the GPU's runtime",
           "See which libraries it would use: rochound doctor -- PROGRAM (or --python PYTHON)",
           std::move(evidence));
      return;
    }
    evidence.push_back(
        fmt::format("{} calls of the runtime, no kernel of the program", run_.calls));
    if (run_.runtime_kernels + run_.copies > 0)
      evidence.push_back(
          fmt::format("{} copies and {} kernels of the runtime itself (fills, copies)", run_.copies,
                      run_.runtime_kernels));
    if (const int64_t work = HostWork(run_); work >= 0)
      evidence.push_back(fmt::format("{} of CPU time outside of HIP", Time(work)));
    bool failed = false;
    for (const FailedCall& call : run_.failures) {
      if (IsNoFailure(call) || IsProbe(call)) continue;
      failed = true;
      evidence.push_back(Described(call));
    }
    // A program may be there to copy and for nothing else.
    if (run_.runtime_kernels + run_.copies > 0 && !failed && HostWork(run_) < kSecond / 10) {
      Find(Severity::kWarning, "copies-only",
           "The GPU copied and filled memory, and ran no kernel of the program", "",
           std::move(evidence));
      return;
    }
    Find(
        Severity::kError, "no-dispatch",
        "Nothing ran on the GPU: the program started the runtime and launched no kernel",
        "Look at the first failed call above, or, if there is none, at how the program chooses its "
        "device",
        std::move(evidence));
  }

  void Died() {
    const bool killed = run_.status == store::kKilled;
    if (!killed && !run_.status.starts_with("signal")) return;
    const std::string by = killed ? "" : " by " + store::SignalName(store::SignalOf(run_.status));
    Find(Severity::kError, "died",
         fmt::format("The program was {}{}; the trace goes up to there",
                     killed ? "killed" : "ended", by),
         "if a GPU failed, rochound doctor --fault TRACE.rpd.fault says why; otherwise look at the "
         "program's own output, or use a debugger",
         {});
  }

  void Failures() {
    bool fell_back = false;
    std::vector<std::string> probes, handled, ended;
    for (const FailedCall& call : run_.failures) {
      if (IsNoFailure(call)) continue;
      if (IsProbe(call)) {
        probes.push_back(Described(call));
      } else if (!EndedWell(run_)) {
        ended.push_back(Described(call));
      } else if (!fell_back && call.dispatches_after == 0 &&
                 (run_.dispatches == 0 || (call.time_after_ns >= kSecond / 10 &&
                                           call.time_after_ns >= run_.length_ns / 10))) {
        fell_back = true;
        Find(
            Severity::kError, "fell-back-after-error",
            fmt::format("{} failed ({}), and from then on nothing ran on the GPU: the program went "
                        "on without it and said nothing",
                        call.function, ErrorName(call)),
            "Check the result of every HIP call; make the program stop, or say that it goes on "
            "with the CPU",
            {Described(call),
             fmt::format("{} dispatches before, 0 in the {} after it", run_.dispatches,
                         Time(call.time_after_ns)),
             fmt::format("{} calls of HIP after it; {}", call.calls_after, Ended(run_))});
      } else if (call.category == "memory" && call.same_after > 0 && call.dispatches_after > 0) {
        handled.push_back(Described(call));
      } else {
        Find(Severity::kWarning, "ignored-error",
             fmt::format("{} failed {} ({}) and the program went on", call.function,
                         Times(call.count), ErrorName(call)),
             "Check the result of every HIP call",
             {Described(call), fmt::format("{} calls of HIP and {} dispatches after it; {}",
                                           call.calls_after, call.dispatches_after, Ended(run_))});
      }
    }
    if (!ended.empty())
      Find(Severity::kNote, "failed-calls",
           fmt::format("Calls failed, and the program did not end well ({})", run_.status), "",
           std::move(ended));
    if (!handled.empty())
      Find(Severity::kNote, "handled-error",
           "Memory was refused, asked for again and given: the program seems to have dealt with it",
           "", std::move(handled));
    if (!probes.empty())
      Find(Severity::kNote, "failed-probes",
           "Calls by which libraries try something out failed, which is usual", "",
           std::move(probes));
  }

  void HostBurns() {
    const int64_t work = HostWork(run_);
    const bool hangs = !run_.unfinished.empty() && run_.unfinished[0].hangs();
    if (hangs || run_.dispatches == 0 || work < kSecond || work < run_.length_ns / 2 ||
        run_.busy_ns >= run_.length_ns / 10)
      return;
    Find(Severity::kWarning, "host-burns",
         fmt::format("The host computed for {} outside of HIP while the GPU was idle", Time(work)),
         "Find out what it computes: rochound explain idle, or a profiler of the host's code; put "
         "roctx ranges around the operators to see which fall back",
         {fmt::format("a GPU was busy for {} of {} ({:.1f}%)", Time(run_.busy_ns),
                      Time(run_.length_ns), Share(run_.busy_ns, run_.length_ns)),
          fmt::format("{} dispatches", run_.dispatches)});
  }

  // Names of work that belongs on the host.
  static bool IsHostWork(const std::string& name) {
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(tolower(c)); });
    for (const char* word : {"load", "read", "data", "batch", "decode", "token", "collate", "log",
                             "save", "write", "checkpoint", "print", "init", "sleep", "wait"})
      if (lower.find(word) != std::string::npos) return true;
    return false;
  }

  void Operators() {
    std::vector<std::string> fallen, by_design;
    int64_t host = 0, count = 0;
    // An operator that copies to the host and back is what a framework's fallback does. Where there
    // are such, one that copies nothing may as well be of a model on the CPU.
    const bool round_trips = std::any_of(run_.operators.begin(), run_.operators.end(),
                                         [](const Operator& one) { return one.round_trips > 0; });
    for (const Operator& one : run_.operators) {
      const bool same_name = one.with + one.others_with > 0;
      if (one.round_trips > 0 && !IsHostWork(one.name)) {
        fallen.push_back(fmt::format(
            "'{}'{}: no kernel in {} of {}, and {} of them copied to the host and back; first at "
            "{}",
            one.name, one.parent.empty() ? "" : " in '" + one.parent + "'", one.without,
            one.without + one.with, one.round_trips, Time(one.first_without_ns)));
        count += one.without;
        host += one.host_ns;
        continue;
      }
      // Short ones do nothing that a GPU could do; long ones inside of HIP copy or wait.
      if ((!same_name && one.siblings_with == 0) || one.host_ns < kMillisecond ||
          one.host_ns < one.without_ns / 2 || one.host_ns < run_.length_ns / 1000)
        continue;
      std::string line = fmt::format(
          "'{}'{}: no kernel in {} of {}, {} on the host, first at {}; {}", one.name,
          one.parent.empty() ? "" : " in '" + one.parent + "'", one.without, one.without + one.with,
          Time(one.host_ns), Time(one.first_without_ns),
          same_name ? fmt::format("{} others of this name have kernels", one.with + one.others_with)
                    : fmt::format("{} ranges beside it have kernels", one.siblings_with));
      if (round_trips || (!same_name && IsHostWork(one.name))) {
        by_design.push_back(std::move(line));
        continue;
      }
      count += one.without;
      host += one.host_ns;
      fallen.push_back(std::move(line));
    }
    const auto cut = [](std::vector<std::string> lines) {
      if (lines.size() > kMostLines) {
        const size_t more = lines.size() - kMostLines;
        lines.resize(kMostLines);
        lines.push_back(fmt::format("and {} more", more));
      }
      return lines;
    };
    if (!fallen.empty()) {
      const size_t kinds = fallen.size();
      Find(Severity::kWarning, "operator-fell-back",
           fmt::format("Fell back to CPU: {} operators of {} {} launched no kernel and took {} of "
                       "the host",
                       count, kinds, kinds == 1 ? "kind" : "kinds", Time(host)),
           "See why these have no kernel here: a type or shape that is not supported, an operator "
           "without a HIP version, or tensors that are on the CPU",
           cut(std::move(fallen)));
    }
    if (!by_design.empty())
      Find(Severity::kNote, "host-operators",
           round_trips ? "Ranges without a kernel that copied nothing to the host: host work, or "
                         "operators whose data are there"
                       : "Ranges without a kernel that are host work by their names",
           "", cut(std::move(by_design)));
  }

  void CudaLayers() {
    std::set<std::string> seen;
    for (const RunProcess& process : run_.processes) {
      const std::string chain = Chain(process.layers);
      std::vector<std::string> evidence;
      std::string what;
      bool amd = false;
      for (const Layer& layer : process.layers) {
        if (layer.kind == "hip" || layer.kind == "hsa") amd = true;
        if (layer.kind != "cuda") continue;
        if (what.empty() || layer.what == "ZLUDA") what = layer.what;
        evidence.push_back(layer.path);
        for (const std::string& line : layer.evidence) evidence.push_back(layer.name + ": " + line);
      }
      if (what.empty() || !amd || !seen.insert(chain).second) continue;
      Find(Severity::kNote, "cuda-layer",
           fmt::format("CUDA calls reach the GPU through a layer ({}): {}", what, chain), "",
           std::move(evidence));
    }
  }

  const RunFacts& run_;
  Report report_;
};

}  // namespace

Report JudgeRun(const RunFacts& run) { return Judge(run).Take(); }

Json RunJson(const RunFacts& run) {
  Json json = {{"command", run.command},
               {"status", run.status},
               {"length_ns", run.length_ns},
               {"calls", run.calls},
               {"dispatches", run.dispatches},
               {"runtime_kernels", run.runtime_kernels},
               {"copies", run.copies},
               {"busy_ns", run.busy_ns},
               {"busy_copying_ns", run.busy_copying_ns},
               {"gpus", run.gpus},
               {"lost", run.lost},
               {"unrecorded", run.unrecorded}};
  json["host_work_ns"] = HostWork(run) >= 0 ? Json(HostWork(run)) : Json(nullptr);
  json["processes"] = Json::array();
  for (const RunProcess& process : run.processes) {
    Json chain = Json::array();
    for (const Layer& layer : process.layers)
      chain.push_back({{"name", layer.name},
                       {"kind", layer.kind},
                       {"path", layer.path},
                       {"what", layer.what},
                       {"evidence", layer.evidence}});
    json["processes"].push_back(
        {{"pid", process.pid},
         {"executable", process.executable},
         {"note", process.note},
         {"dispatches", process.dispatches},
         {"cpu_ns", process.cpu_ns >= 0 ? Json(process.cpu_ns) : Json(nullptr)},
         {"gpu_cpu_ns", process.gpu_cpu_ns},
         {"in_calls_ns", process.in_calls_ns},
         {"chain", chain}});
  }
  json["failures"] = Json::array();
  for (const FailedCall& call : run.failures)
    json["failures"].push_back({{"function", call.function},
                                {"result", call.result},
                                {"error", ErrorName(call)},
                                {"count", call.count},
                                {"first_ns", call.first_ns},
                                {"arguments", call.arguments},
                                {"calls_after", call.calls_after},
                                {"dispatches_after", call.dispatches_after},
                                {"time_after_ns", call.time_after_ns}});
  json["unfinished"] = Json::array();
  for (const UnfinishedKernel& kernel : run.unfinished)
    json["unfinished"].push_back({{"kernel", kernel.name},
                                  {"pid", kernel.pid},
                                  {"gpu", kernel.gpu},
                                  {"submitted_before_end_ns", kernel.submitted_ns},
                                  {"running_ns", kernel.running_ns}});
  json["operators_without_kernel"] = Json::array();
  for (const Operator& one : run.operators)
    json["operators_without_kernel"].push_back({{"name", one.name},
                                                {"parent", one.parent},
                                                {"with", one.with},
                                                {"without", one.without},
                                                {"host_ns", one.host_ns},
                                                {"first_ns", one.first_without_ns},
                                                {"others_with", one.others_with},
                                                {"siblings_with", one.siblings_with}});
  return json;
}

}  // namespace rochound::doctor
