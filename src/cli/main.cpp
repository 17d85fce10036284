// SPDX-License-Identifier: MIT
//
// The rochound command: parses the command line and hands over to one subcommand.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "base/log.h"
#include "cli/ctl_command.h"
#include "cli/exit_codes.h"
#include "cli/log_command.h"
#include "cli/run_command.h"
#include "cli/softgpu_command.h"
#include "cli/usage_formatter.h"

namespace {

using rochound::cli::kExitSuccess;
using rochound::cli::kExitUsage;

constexpr const char* kMore = "\nrochound COMMAND --help tells more about a command.\n";

int Main(std::vector<std::string> arguments) {
  CLI::App app("rochound: see what your program does on AMD GPUs", "rochound");
  app.set_version_flag("--version", "rochound " ROCHOUND_VERSION);
  rochound::cli::UsageFormatter::Set(app, "rochound COMMAND [OPTIONS]");
  app.require_subcommand(0, 1);
  rochound::cli::CtlCommand ctl(app);
  rochound::cli::LogCommand log(app);
  rochound::cli::RunCommand run(app);
  rochound::cli::SoftgpuCommand softgpu(app);

  // What stands behind the first -- is somebody else's command line and must not be parsed as ours.
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  std::vector<std::string> program;
  if (dashes != arguments.end()) program.assign(dashes + 1, arguments.end());
  arguments.erase(dashes, arguments.end());
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants it

  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    const char* more = softgpu.Chosen() ? rochound::cli::SoftgpuCommand::kExamples
                       : ctl.Chosen()   ? rochound::cli::CtlCommand::kExamples
                       : log.Chosen()   ? rochound::cli::LogCommand::kExamples
                       : run.Chosen()   ? rochound::cli::RunCommand::kExamples
                                        : kMore;
    fmt::print("{}{}", app.help(), more);
    return kExitSuccess;
  } catch (const CLI::Success& answer) {  // --version
    return app.exit(answer);
  } catch (const CLI::ParseError& problem) {
    rochound::base::LogError(problem.what());
    rochound::base::LogInfo(softgpu.Chosen() ? "See rochound softgpu --help."
                            : ctl.Chosen()   ? "See rochound ctl --help."
                            : log.Chosen()   ? "See rochound log --help."
                            : run.Chosen()   ? "See rochound run --help."
                                             : "See rochound --help.");
    return kExitUsage;
  }
  if (run.Chosen()) return run.Run(program);
  if (softgpu.Chosen()) return softgpu.Run(program);
  if (ctl.Chosen()) return ctl.Run();
  if (log.Chosen()) return log.Run();
  fmt::print(stderr, "{}{}", app.help(), kMore);
  return kExitUsage;
}

}  // namespace

int main(int argc, char** argv) {
  // Nothing of ours throws, but the libraries may (out of memory); end with a message all the same.
  try {
    return Main(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& problem) {
    rochound::base::LogError(problem.what());
    return rochound::cli::kExitSetup;
  }
}
