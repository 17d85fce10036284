// SPDX-License-Identifier: MIT
#include "doctor/way_in.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "doctor/mapped_file.h"
#include "doctor/variables.h"

namespace rochound::doctor {
namespace {

constexpr const char* kRuntime = "libhsa-runtime64.so.1";
constexpr const char* kRegister = "librocprofiler-register.so";
constexpr const char* kV1Tools = "HSA_TOOLS_ROCPROFILER_V1_TOOLS";
constexpr const char* kRegisterLibrary = "ROCPROFILER_REGISTER_LIBRARY";

// The ROCr that the program gets; empty: none.
std::string FindRuntime(const Loader& loader, const std::string& program) {
  if (program.empty()) return loader.Find(kRuntime);
  for (const Loader::Loaded& one : loader.Closure(program))
    if (one.soname == kRuntime && !one.path.empty()) return one.path;
  return loader.Find(kRuntime);
}

bool Registers(const Sysroot& root, const std::string& runtime) {
  const auto facts = ReadLoaderFacts(root, runtime);
  return facts && std::any_of(facts->needed.begin(), facts->needed.end(),
                              [](const auto& needed) { return needed.rfind(kRegister, 0) == 0; });
}

bool ReadsV1Tools(const Sysroot& root, const std::string& runtime) {
  const MappedFile file(root.Place(runtime));
  return ReadsVariable(file.bytes(), kV1Tools) != Reads::kNo;
}

void JudgeLeftBehind(const Machine& machine, bool registers, Report* report) {
  const std::string library = Variable(machine.environment, kRegisterLibrary);
  if (!library.empty() && registers) {
    const bool gone = library[0] == '/' && !machine.root.Exists(library);
    report->findings.push_back(
        {gone ? Severity::kError : Severity::kNote,
         gone ? "profiler-missing" : "profiler-set",
         gone ? fmt::format(
                    "{} names {}, which does not exist, and ROCm ends every program for that",
                    kRegisterLibrary, library)
              : fmt::format("{} loads {} into every program that uses a GPU; rochound run records "
                            "beside it",
                            kRegisterLibrary, library),
         fmt::format("unset {}; a profiler around this shell left it behind", kRegisterLibrary),
         {}});
  }
  const std::string v1 = Variable(machine.environment, kV1Tools);
  if (v1 == "0" && registers)
    report->findings.push_back(
        {Severity::kNote,
         "tools-off",
         fmt::format("{}=0 keeps tools of HSA_TOOLS_LIB out of programs that bring a profiler; "
                     "rochound run sets it to 1",
                     kV1Tools),
         fmt::format("unset {}; rocprofiler-sdk leaves it behind for what its process starts",
                     kV1Tools),
         {}});
}

}  // namespace

void JudgeWayIn(const Machine& machine, const Loader& loader, const std::string& program,
                Report* report) {
  const std::string runtime = machine.root.Resolve(FindRuntime(loader, program));
  Fact fact{"way in", {}, Verdict::kAgree, "", false};
  const auto say = [&](std::string value) {
    fact.said.push_back({"rochound run", std::move(value)});
  };
  if (runtime.empty()) {
    say(fmt::format("none: no {} is found", kRuntime));
    fact.verdict = Verdict::kUnknown;
  } else if (!Registers(machine.root, runtime)) {
    say(fmt::format("HSA_TOOLS_LIB ({} has no rocprofiler-register)", runtime));
  } else if (ReadsV1Tools(machine.root, runtime)) {
    say(
        fmt::format("HSA_TOOLS_LIB with {}=1 ({} has rocprofiler-register, and a profiler in the "
                    "program may come first)",
                    kV1Tools, runtime));
  } else {
    say(fmt::format("HSA_TOOLS_LIB ({} has rocprofiler-register and does not know {})", runtime,
                    kV1Tools));
    report->findings.push_back({Severity::kWarning,
                                "no-way-in-beside-profilers",
                                "ROCr loads no tools here into programs that bring a profiler of "
                                "their own, so rochound run "
                                "cannot record those",
                                "update ROCm, or switch the program's own profiler off",
                                {runtime}});
  }
  report->machine.push_back(std::move(fact));
  JudgeLeftBehind(machine, !runtime.empty() && Registers(machine.root, runtime), report);
}

}  // namespace rochound::doctor
