// SPDX-License-Identifier: MIT
//
// `rochound profile`: runs a program on a software GPU, counts what its kernels do and says what
// limits them, and what each is worth end to end; or does that with a captured
// launch; or reads a trace, or the counters that rocprofv3 has written; or measures what the GPU
// can do at most. Called once by main on its only thread.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "profile/thread_trace_writer.h"

namespace rochound::cli {

class ProfileCommand final : public Command {
 public:
  // Adds the subcommand and its options to app; *this must outlive the parsing.
  explicit ProfileCommand(CLI::App& app);

  const char* examples() const override;

  // program: what followed "--"; its end is ours.
  int Run(const std::vector<std::string>& program) override;

 private:
  int ReadFiles(const std::vector<std::filesystem::path>& paths) const;
  int RunUnderRocprof(const std::vector<std::string>& program) const;
  int Measure() const;
  int ReadTrace() const;
  int ReadThreadTrace() const;
  // record: a trace is made as well, and dag.json of it.
  // code: where its kernels may be, for --thread-trace.
  int RunProgram(const std::string& gpu_name, const std::vector<std::string>& program, bool record,
                 std::vector<profile::CodeFile> code) const;
  int Replay();

  std::string gpu_;
  std::string kernel_;
  std::string output_ = ".";
  std::vector<std::string> att_;
  bool thread_trace_ = false;
  bool rocprof_ = false;
  std::string caches_;
  std::vector<std::string> code_;
  std::string target_;
  std::string trace_;
  std::string replay_;
  std::string svg_;
  std::string peaks_;
  bool measure_peaks_ = false;
  uint64_t iterations_ = 0;
  std::vector<std::string> read_;
  std::vector<std::string> stray_;
};

}  // namespace rochound::cli
