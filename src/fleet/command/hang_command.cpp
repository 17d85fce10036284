// SPDX-License-Identifier: MIT
//
// rochound-fleet hang: looks twice at all ranks of a job.
#include <fmt/format.h>

#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "fleet/command/commands.h"
#include "fleet/command/job_request.h"
#include "fleet/command/print_text.h"
#include "fleet/hang/hang.h"

namespace rochound::fleet {
namespace {

using base::Result;
using nlohmann::json;

constexpr int kExitStuck = 3;

struct Settings {
  JobSettings job;
  double watch = 3;
  bool json = false;
};

// How many daemons have not looked at their logs again since the first look, by `seconds` or more.
std::vector<std::string> OldLooks(const std::vector<json>& first, const std::vector<json>& second,
                                  double seconds) {
  std::map<std::string, uint64_t> then;
  for (const json& answer : first)
    then[answer.value("host", "")] = answer.value("looked_ns", uint64_t{0});
  std::vector<std::string> old;
  for (const json& answer : second) {
    const auto before = then.find(answer.value("host", ""));
    if (before != then.end() && static_cast<double>(answer.value("looked_ns", uint64_t{0})) <
                                    static_cast<double>(before->second) + seconds * 1e9)
      old.push_back(before->first);
  }
  return old;
}

Result<int> Hang(Settings& settings) {
  ROCHOUND_TRY(auto requests, JobRequests::Connect(settings.job));
  const json request = {{"what", "cards"}, {"job", settings.job.job}};
  ROCHOUND_TRY(JobRequests::Answers answers, requests.Ask(request));
  std::vector<Card> before;
  std::vector<std::string> old;
  if (settings.watch > 0) {
    const JobRequests::Answers first = answers;
    before = CardsOf(first.answers);
    std::this_thread::sleep_for(std::chrono::duration<double>(settings.watch));
    // A daemon that has much to read may be late.
    for (int tries = 0; tries < 20; ++tries) {
      if (tries != 0) std::this_thread::sleep_for(std::chrono::seconds(1));
      ROCHOUND_TRY(answers, requests.Ask(request));
      old = OldLooks(first.answers, answers.answers, settings.watch * 0.8);
      if (old.empty()) break;
    }
  }
  HangReport report = ExplainHang(CardsOf(answers.answers), before);
  for (const std::string& host : old)
    report.doubts.push_back("the daemon of " + host + " has not looked at its logs since");
  if (settings.json) {
    json all = report.AsJson();
    all["no_answer"] = SilentAsJson(answers);
    PrintJson(all);
  } else {
    PrintText("{}", report.AsText());
    if (const std::string silent = DescribeSilent(answers); !silent.empty())
      PrintText("{}\n", silent.substr(1));
  }
  if (report.cards == 0) return 1;
  return report.stuck() ? kExitStuck : 0;
}

}  // namespace

FleetCommand HangCommand(CLI::App& app) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command =
      app.add_subcommand("hang", "Which ranks of a job are waited for, and what they do instead");
  AddJobOptions(*command, &settings->job);
  command
      ->add_option("--watch", settings->watch,
                   "Time between two looks: what moves between them is not stuck; 0: one look")
      ->check(CLI::Range(0.0, 600.0))
      ->type_name("SECONDS");
  command->add_flag("--json", settings->json, "As JSON, with a card of each rank");
  command->footer("Exit code 3: ranks are stuck. 0: they are not. 1: nobody could be asked.");
  return {command, [settings] { return Hang(*settings); }};
}

}  // namespace rochound::fleet
