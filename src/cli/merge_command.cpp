// SPDX-License-Identifier: MIT
#include "cli/merge_command.h"

#include <fmt/format.h>

#include "base/exit_codes.h"
#include "base/log.h"
#include "cli/usage_formatter.h"
#include "store/export/export_parquet.h"
#include "store/export/export_rpd.h"

namespace rochound::cli {

MergeCommand::MergeCommand(CLI::App& app)
    : Command(app.add_subcommand("merge", "Make one trace of several, e.g. of all ranks")) {
  UsageFormatter::Set(*subcommand_, "rochound merge TRACE... [-o OUTPUT]");
  trace_.AddTo(*subcommand_, "Traces of any format that rochound reads");
  subcommand_->add_option("-o,--output", output_, "merged.rpd, or a folder ending in .parquet")
      ->type_name("FILE");
}

const char* MergeCommand::examples() const {
  return R"(
Every input becomes a node: pid / 10000000 and gpuId / 1000 are its place among the inputs (views napi and nop).
Ids stay apart, and times are brought to the first input's clock. Questions take several traces, too, without
merging them first.

Examples:
  rochound merge rank*.rpd -o all.rpd
  rochound merge host1/ host2/ -o all.parquet        flight logs, and a result for large runs
)";
}

int MergeCommand::Run(const std::vector<std::string>& /*program*/) {
  if (trace_.traces().empty()) {
    base::LogError("which traces? For example: rochound merge rank0.rpd rank1.rpd -o all.rpd");
    return base::kExitUsage;
  }
  const std::filesystem::path output = output_;
  if (const std::string problem = OutputProblem(output); !problem.empty()) return Usage(problem);
  const bool parquet = output.extension() == ".parquet";
  auto trace = parquet ? trace_.OpenForExport() : trace_.Open();
  if (!trace.ok()) return Failed(trace.error());
  const auto done = parquet ? store::ExportParquet(trace.value(), output)
                            : store::ExportRpd(trace.value(), output);
  return done.ok() ? base::kExitSuccess : Failed(done.error());
}

}  // namespace rochound::cli
