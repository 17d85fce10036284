// SPDX-License-Identifier: MIT
#include "cli/open_command.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/exit_codes.h"
#include "base/log.h"
#include "cli/usage_formatter.h"
#include "store/export/export_perfetto.h"

namespace rochound::cli {

OpenCommand::OpenCommand(CLI::App& app)
    : Command(app.add_subcommand("open", "Write a trace for Perfetto's viewer")) {
  UsageFormatter::Set(*subcommand_, "rochound open TRACE... [-o FILE.pftrace]");
  trace_.AddTo(*subcommand_, "Traces of any format that rochound reads; several become one");
  subcommand_->add_option("-o,--output", output_, "Where to write (the trace's name with .pftrace)")
      ->type_name("FILE");
}

const char* OpenCommand::examples() const {
  return R"(
Examples:
  rochound open trace.rpd                      writes trace.pftrace
  rochound open rank*.rpd -o all.pftrace
)";
}

int OpenCommand::Run(const std::vector<std::string>& /*program*/) {
  if (trace_.traces().empty()) {
    base::LogError("which trace? For example: rochound open trace.rpd");
    return base::kExitUsage;
  }
  std::filesystem::path output = output_;
  if (output.empty()) {
    output = trace_.traces()[0];
    if (!output.has_filename()) output = output.parent_path();  // a folder, named with its slash
    output.replace_extension(".pftrace");
  }
  auto trace = trace_.Open();
  if (!trace.ok()) return Failed(trace.error());
  if (const auto done = store::ExportPerfetto(trace.value(), output); !done.ok())
    return Failed(done.error());
  fmt::print(stderr,
             "wrote {}\nOpen https://ui.perfetto.dev and drop the file there; it is read in the "
             "browser and not sent anywhere.\n",
             output.string());
  return base::kExitSuccess;
}

}  // namespace rochound::cli
