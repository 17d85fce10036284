// SPDX-License-Identifier: MIT
#include "fleet/command/job_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "fleet/bus/names.h"
#include "fleet/command/commands.h"
#include "fleet/command/daemon_message.h"

namespace rochound::fleet {
namespace {

using base::Result;
using nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds kConnect{5000};
constexpr milliseconds kBeats{2000};

}  // namespace

void AddDaemonOptions(CLI::App& command, JobSettings* settings) {
  AddBusOptions(command, &settings->bus);
  command.add_option("--tenant", settings->tenant, "Whose")->type_name("NAME");
  command.add_option("--patience", settings->patience, "How long to wait for answers")
      ->check(CLI::Range(0.1, 600.0))
      ->type_name("SECONDS");
}

void AddJobOptions(CLI::App& command, JobSettings* settings) {
  AddDaemonOptions(command, settings);
  command.add_option("--job", settings->job, "Which job; none: processes without one")
      ->required()
      ->type_name("JOB");
  command
      .add_option("--hosts", settings->hosts,
                  "How many daemons to wait for; unless told, all that have sent beats of the job")
      ->type_name("N");
}

Result<JobRequests> JobRequests::Connect(JobSettings settings) {
  ROCHOUND_CHECK(ReadServers(&settings.bus));
  if (settings.bus.servers.empty()) return base::Error{"--bus is missing: where are the daemons?"};
  settings.bus.name = "rochound-fleet";
  ROCHOUND_TRY(auto bus, Bus::Connect(settings.bus));
  const auto deadline = std::chrono::steady_clock::now() + kConnect;
  while (!bus->connected() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(milliseconds(20));
  if (!bus->connected()) return base::Error{"no server of the bus answers; is --bus right?"};
  JobRequests requests(std::move(settings), std::move(bus));
  requests.FindHosts();
  return requests;
}

Result<JobRequests::RanksOfJobs> JobRequests::ReadBeats(const std::string& pattern) {
  ROCHOUND_TRY(const auto beats,
               bus_->LastOfEach(BeatStream(settings_.tenant).name, pattern, kBeats));
  RanksOfJobs jobs;
  for (const StoredMessage& beat : beats) {
    const auto content = ParseDaemonMessage(beat.text);
    if (!content) continue;
    if (std::set<int64_t> ranks = RanksOfBeat(*content); !ranks.empty())
      jobs[content->value("job", "")][content->value("host", "")] = std::move(ranks);
  }
  return jobs;
}

Result<std::vector<std::string>> JobRequests::Jobs() {
  ROCHOUND_TRY(jobs_, ReadBeats(BeatPatternOfAllJobs(settings_.tenant)));
  std::vector<std::string> names;
  for (const auto& [job, hosts] : jobs_) names.push_back(job);
  return names;
}

void JobRequests::SelectJob(const std::string& job) {
  settings_.job = job;
  if (const auto known = jobs_.find(job); known != jobs_.end()) {
    knows_hosts_ = true;
    hosts_ = known->second;
  } else {
    FindHosts();
  }
}

void JobRequests::FindHosts() {
  auto jobs = ReadBeats(BeatPattern(settings_.tenant, settings_.job));
  knows_hosts_ = jobs.ok();
  hosts_.clear();
  if (jobs.ok()) hosts_ = std::move(jobs.value()[settings_.job]);
}

Result<JobRequests::Answers> JobRequests::Ask(const json& request) {
  Answers found;
  found.knows_silent = knows_hosts_;
  found.silent = hosts_;
  const auto take = [&](std::string_view text) {
    auto answer = ParseDaemonMessage(text);
    if (!answer) return false;
    found.silent.erase(answer->value("host", ""));
    found.answers.push_back(std::move(*answer));
    if (settings_.hosts != 0) return found.answers.size() >= settings_.hosts;
    return !hosts_.empty() && found.silent.empty();
  };
  ROCHOUND_CHECK(bus_->Gather(ControlSubject(settings_.tenant), request.dump(),
                              milliseconds(static_cast<int64_t>(settings_.patience * 1000)), take));
  if (found.answers.empty())
    return base::Error{
        fmt::format("no daemon of tenant '{}' that follows job '{}' answered within {} s{}",
                    settings_.tenant, settings_.job, settings_.patience, DescribeSilent(found))};
  std::sort(found.answers.begin(), found.answers.end(),
            [](const json& a, const json& b) { return a.value("host", "") < b.value("host", ""); });
  return found;
}

std::string DescribeSilent(const JobRequests::Answers& answers) {
  std::string text;
  for (const auto& [host, ranks] : answers.silent)
    text += fmt::format("\nno answer from {}, which has {} {}", host,
                        ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
  if (!answers.knows_silent)
    text += "\nwhether somebody did not answer is not known: beats could not be read";
  return text;
}

json SilentAsJson(const JobRequests::Answers& answers) {
  if (!answers.knows_silent) return nullptr;
  json silent = json::array();
  for (const auto& [host, ranks] : answers.silent)
    silent.push_back({{"host", host}, {"ranks", ranks}});
  return silent;
}

std::string DescribeClock(int64_t error_ns) {
  if (error_ns < 0) return "its clock is not kept in step (no NTP or PTP)";
  return fmt::format("its clock is right to {:.3f} ms", static_cast<double>(error_ns) * 1e-6);
}

int64_t WorstClock(const std::vector<json>& answers) {
  int64_t worst = 0;
  for (const json& answer : answers) {
    const int64_t error = answer.value("clock_error_ns", int64_t{-1});
    if (error < 0) return -1;
    worst = std::max(worst, error);
  }
  return worst;
}

std::string DescribeProcess(const json& answer, const json& process) {
  return fmt::format("rank {} ({}, process {})", process.value("rank", int64_t{-1}),
                     answer.value("host", ""), process.value("pid", 0));
}

std::string DescribeClocks(const std::vector<json>& answers) {
  std::string text;
  for (const json& answer : answers)
    text += fmt::format("{}: {}\n", answer.value("host", ""),
                        DescribeClock(answer.value("clock_error_ns", int64_t{-1})));
  if (answers.size() < 2) return text + "one host: times of its ranks are of one clock\n";
  const int64_t worst = WorstClock(answers);
  return text + (worst < 0 ? "times of different hosts cannot be compared\n"
                           : fmt::format("times of different hosts are right to {:.3f} ms of each "
                                         "other\n",
                                         static_cast<double>(2 * worst) * 1e-6));
}

}  // namespace rochound::fleet
