// SPDX-License-Identifier: MIT
#include "store/rpd/run_ending.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdlib>

namespace rochound::store {
namespace {

struct Signal {
  int number;
  const char* name;
  bool stops;  // others send it to end a program: by itself it tells of no mistake
};
constexpr Signal kSignals[] = {
    {SIGHUP, "SIGHUP", true},    {SIGINT, "SIGINT (Ctrl-C)", true}, {SIGQUIT, "SIGQUIT", true},
    {SIGILL, "SIGILL", false},   {SIGTRAP, "SIGTRAP", false},       {SIGABRT, "SIGABRT", false},
    {SIGBUS, "SIGBUS", false},   {SIGFPE, "SIGFPE", false},         {SIGKILL, "SIGKILL", true},
    {SIGSEGV, "SIGSEGV", false}, {SIGPIPE, "SIGPIPE", false},       {SIGTERM, "SIGTERM", true}};

const Signal* FindSignal(int number) {
  for (const Signal& signal : kSignals)
    if (signal.number == number) return &signal;
  return nullptr;
}

constexpr const char* kItsCode = "Build it for this GPU: rochound doctor -- PROGRAM says how to.";
constexpr const char* kItsOutput = "Look at the program's own output, or use a debugger.";

EndingText Crashed(const RunEnding& run, int number) {
  EndingText text{fmt::format("The program crashed: {}{}.", SignalName(number),
                              run.open_call.empty() ? "" : " in " + run.open_call),
                  kItsOutput};
  if (run.kernels > 0 || run.calls == 0 || !run.complete) return text;
  text.sentence.pop_back();
  text.sentence += ", and no kernel of the program had run.";
  if (!run.unfit_code.empty()) {
    text.sentence += fmt::format(" It has {}.", run.unfit_code);
    text.advice = kItsCode;
  }
  return text;
}

}  // namespace

int SignalOf(const std::string& status) {
  constexpr int kShellsSignals = 128;
  if (status.starts_with("signal ")) return atoi(status.c_str() + 7);
  if (!status.starts_with("exit ")) return 0;
  const int code = atoi(status.c_str() + 5);
  return FindSignal(code - kShellsSignals) != nullptr ? code - kShellsSignals : 0;
}

std::string SignalName(int number) {
  const Signal* const known = FindSignal(number);
  return known != nullptr ? known->name : fmt::format("signal {}", number);
}

std::optional<EndingText> TellEnding(const RunEnding& run, const std::string& trace) {
  if (!run.fault.empty())
    return EndingText{
        fmt::format("A GPU failed: {}{}", run.fault, run.fault.ends_with('.') ? "" : "."),
        fmt::format("See why: rochound doctor --fault '{}'.", run.evidence)};
  if (const int number = SignalOf(run.status); number > 0) {
    const Signal* const known = FindSignal(number);
    if (known == nullptr || !known->stops) return Crashed(run, number);
    return EndingText{
        fmt::format("The program was stopped by {}: the trace goes up to there.", known->name),
        "Nothing, if it was meant to end there.", true};
  }
  if (run.status == kKilled)
    return EndingText{"The program was killed, and rochound with it: the trace goes up to there.",
                      "Nothing, if it was meant to end there.", true};
  if (run.status.empty()) return std::nullopt;
  const bool well = run.status == "exit 0";
  if (run.kernels == 0 && run.calls > 0 && run.complete) {
    EndingText text{fmt::format("No kernel of the program ran{}{}.",
                                run.copies > 0 ? "; the GPU only copied and filled memory" : "",
                                well ? "" : ", and it ended with " + run.status),
                    fmt::format("See why: rochound doctor --ran {}.", trace)};
    if (run.unfit_code.empty()) return text;
    text.sentence += fmt::format(" It has {}.", run.unfit_code);
    text.advice = kItsCode;
    return text;
  }
  if (well) return std::nullopt;
  return EndingText{fmt::format("The program ended with {}.", run.status),
                    "Look at the program's own output."};
}

}  // namespace rochound::store
