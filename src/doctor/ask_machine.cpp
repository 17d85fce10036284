// SPDX-License-Identifier: MIT
#include "doctor/ask_machine.h"

#include <sstream>
#include <utility>

#include "base/installation.h"
#include "base/progress_bar.h"
#include "launch/limited_run.h"
#include "launch/run_environment.h"

namespace rochound::doctor {
namespace {

using doctor::Machine;
using doctor::Runtime;

launch::Environment ReadEnvironment(const std::string& text) {
  launch::Environment environment;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t equals = line.find('=');
    if (equals != std::string::npos && line[0] != '#')
      environment[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return environment;
}

struct Answer {
  std::string text;
  std::string end;  // how the probe ended, if not well
};

Answer AskProbe(const Asking& asking, const launch::Environment& environment,
                const std::vector<std::string>& which, Runtime* hsa, Runtime* hip) {
  const auto probe = base::FindBesideExecutable("../libexec/rochound/rochound-probe", "the probe");
  if (!probe.ok()) {
    for (Runtime* runtime : {hsa, hip})
      if (runtime != nullptr) runtime->error = probe.error().message;
    return {};
  }
  std::vector<std::string> command = {probe.value().string()};
  command.insert(command.end(), which.begin(), which.end());
  base::ProgressBar bar("asking the GPU runtimes");
  const double limit = std::chrono::duration<double>(asking.limit).count();
  const auto run = launch::RunLimited(command, launch::Lines(environment), asking.limit,
                                      [&](const launch::LimitedRun& so_far) {
                                        bar.Show(so_far.seconds / limit);
                                        return true;
                                      });
  if (!run.ok()) {
    for (Runtime* runtime : {hsa, hip})
      if (runtime != nullptr) runtime->error = run.error().message;
    return {};
  }
  Answer answer{run.value().out, run.value().ok() ? "" : run.value().End()};
  doctor::ReadProbe(answer.text, answer.end, hsa, hip);
  return answer;
}

void AskSmi(const Asking& asking, const launch::Environment& environment, Runtime* smi) {
  const auto run = launch::RunLimited({"amd-smi", "static", "--asic", "--bus", "--json"},
                                      launch::Lines(environment),
                                      std::min(asking.limit, std::chrono::milliseconds(10000)));
  if (!run.ok()) return;  // not installed
  if (run.value().ok()) {
    *smi = doctor::ReadSmi(run.value().out);
  } else {
    smi->asked = true;
    smi->error = run.value().End();
  }
}

void ReadAnswers(Machine* machine) {
  auto& runtimes = machine->runtimes;
  if (const auto probe = machine->root.Read("/probe.jsonl"))
    doctor::ReadProbe(*probe, machine->root.ReadLine("/probe.end").value_or(""), &runtimes.hsa,
                      &runtimes.hip);
  if (const auto probe = machine->root.Read("/probe-without-wgp.jsonl"))
    doctor::ReadProbe(*probe, "", nullptr, &runtimes.hip_without_wgp);
  if (const auto smi = machine->root.Read("/amd-smi.json")) runtimes.smi = doctor::ReadSmi(*smi);
}

}  // namespace

Machine AskMachine(const Asking& asking) {
  Machine machine{doctor::Sysroot(asking.root)};
  machine.kfd = doctor::ReadKfd(machine.root);
  machine.drm = doctor::ReadDrm(machine.root);
  if (!machine.root.is_this_machine()) {
    machine.environment = ReadEnvironment(machine.root.Read("/environment").value_or(""));
    ReadAnswers(&machine);
    return machine;
  }
  machine.environment = launch::CurrentEnvironment();
  if (!asking.runtimes) return machine;
  auto& runtimes = machine.runtimes;
  const Answer both =
      AskProbe(asking, machine.environment, {"hsa", "hip"}, &runtimes.hsa, &runtimes.hip);
  machine.answers["probe.jsonl"] = both.text;
  if (!both.end.empty()) machine.answers["probe.end"] = both.end;
  AskSmi(asking, machine.environment, &runtimes.smi);
  // Only where it may explain something: HIP says half of what the driver says.
  for (const auto& gpu : runtimes.hip.gpus) {
    const bool half = std::any_of(machine.kfd.begin(), machine.kfd.end(), [&](const auto& kfd) {
      return gpu.compute_units == kfd.compute_units() / 2;
    });
    if (!half || !runtimes.hip_without_wgp.gpus.empty()) continue;
    launch::Environment environment = machine.environment;
    environment["GPU_ENABLE_WGP_MODE"] = "0";
    machine.answers["probe-without-wgp.jsonl"] =
        AskProbe(asking, environment, {"hip"}, nullptr, &runtimes.hip_without_wgp).text;
    break;
  }
  return machine;
}

}  // namespace rochound::doctor
