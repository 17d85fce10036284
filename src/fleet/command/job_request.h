// SPDX-License-Identifier: MIT
//
// How commands ask the daemons of a job: options, one request to all of them, and who of those that
// should have answered did not. Daemons that follow no process of the job stay silent; who should
// answer is known from the beats of the last minutes. One thread.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/bus/bus.h"

namespace rochound::fleet {

struct JobSettings {
  BusOptions bus;
  std::string tenant = "default";
  std::string job;
  uint32_t hosts = 0;
  double patience = 5;
};
// Where daemons are and whose; and which of their jobs.
void AddDaemonOptions(CLI::App& command, JobSettings* settings);
void AddJobOptions(CLI::App& command, JobSettings* settings);

class JobRequests {
 public:
  static base::Result<JobRequests> Connect(JobSettings settings);

  struct Answers {
    std::vector<nlohmann::json> answers;  // by host
    // Hosts that follow the job and did not answer, with the ranks that they had.
    std::map<std::string, std::set<int64_t>> silent;
    bool knows_silent = true;
  };
  // An error if nobody answers.
  base::Result<Answers> Ask(const nlohmann::json& request);

  // Of which a process has been seen in the last minutes.
  base::Result<std::vector<std::string>> Jobs();
  // Asks for this one from now on.
  void SelectJob(const std::string& job);
  Bus& bus() { return *bus_; }

 private:
  JobRequests(JobSettings settings, std::unique_ptr<Bus> bus)
      : settings_(std::move(settings)), bus_(std::move(bus)) {}
  using RanksOfHosts = std::map<std::string, std::set<int64_t>>;
  using RanksOfJobs = std::map<std::string, RanksOfHosts>;
  base::Result<RanksOfJobs> ReadBeats(const std::string& pattern);
  void FindHosts();

  JobSettings settings_;
  std::unique_ptr<Bus> bus_;
  bool knows_hosts_ = false;
  RanksOfHosts hosts_;  // with the ranks on them
  RanksOfJobs jobs_;    // as Jobs saw them last
};

// Who did not answer, a line each; empty: all did.
std::string DescribeSilent(const JobRequests::Answers& answers);
nlohmann::json SilentAsJson(const JobRequests::Answers& answers);

// How wrong a host's clock may be; a bound of all hosts for what is said about several.
std::string DescribeClock(int64_t error_ns);
int64_t WorstClock(const std::vector<nlohmann::json>& answers);  // -1: one is not kept in step
// What the clocks of all hosts that answered allow to say.
std::string DescribeClocks(const std::vector<nlohmann::json>& answers);

// A process that an answer names.
std::string DescribeProcess(const nlohmann::json& answer, const nlohmann::json& process);

}  // namespace rochound::fleet
