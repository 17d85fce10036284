// SPDX-License-Identifier: MIT
#include "cli/convert_command.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/exit_codes.h"
#include "base/log.h"
#include "cli/usage_formatter.h"
#include "store/export/export_chrome.h"
#include "store/export/export_csv.h"
#include "store/export/export_parquet.h"
#include "store/export/export_perfetto.h"
#include "store/export/export_rpd.h"

namespace rochound::cli {
namespace {

struct Format {
  const char* name;
  const char* ending;  // of the output's name
  base::Result<void> (*write)(store::TraceDatabase& trace, const std::filesystem::path& output);
  bool by_duckdb = false;  // DuckDB writes the files
};

constexpr Format kFormats[] = {
    {"rpd", ".rpd", store::ExportRpd},
    {"parquet", ".parquet", store::ExportParquet, true},
    {"perfetto", ".pftrace", store::ExportPerfetto},
    {"perfetto", ".pftrace.gz", store::ExportPerfetto},
    {"chrome", ".json", store::ExportChrome},
    {"chrome", ".json.gz", store::ExportChrome},
    {"csv", ".csv", store::ExportCsv, true},
};

const Format* FindFormat(const std::string& name, const std::string& output) {
  for (const Format& format : kFormats) {
    if (name.empty() ? output.ends_with(format.ending) : name == format.name) return &format;
  }
  return nullptr;
}

}  // namespace

ConvertCommand::ConvertCommand(CLI::App& app)
    : Command(app.add_subcommand("convert", "Write a trace in another format")) {
  UsageFormatter::Set(*subcommand_, "rochound convert TRACE... -o OUTPUT [--format FORMAT]");
  trace_.AddTo(*subcommand_, "Traces of any format that rochound reads; several become one");
  subcommand_->add_option("-o,--output", output_, "Its name's ending tells the format, as below")
      ->type_name("OUTPUT");
  subcommand_->add_option("--format", format_, "rpd, parquet, perfetto, chrome or csv")
      ->type_name("FORMAT");
}

const char* ConvertCommand::examples() const {
  return R"(
Reads  flight logs, .rpd of RPD 2 and 3, rocprofv3's rocpd databases, PyTorch's Chrome traces
       (.json, .json.gz), Parquet folders
Writes .rpd                     RPD 3, opens with sqlite3
       .parquet                 a folder, for large traces and for other tools
       .pftrace, .pftrace.gz    for ui.perfetto.dev
       .json, .json.gz          Chrome's format, for chrome://tracing and PyTorch's tools
       .csv                     a folder with a file per table, and kernel_trace.csv,
                                hip_api_trace.csv, ... with names, as rocprofv3 writes them

Examples:
  rochound convert trace.rpd -o trace.pftrace
  rochound convert rank0.json.gz -o rank0.rpd       then: rochound explain idle rank0.rpd
  rochound convert 4711_results.db -o tables --format csv

What an input has and the tables cannot hold is counted in rochound_lost; rochound explain health
shows it.
)";
}

int ConvertCommand::Run(const std::vector<std::string>& /*program*/) {
  if (trace_.traces().empty() || output_.empty()) {
    base::LogError(
        "which trace, into what? For example: rochound convert trace.rpd -o "
        "trace.pftrace");
    return base::kExitUsage;
  }
  const Format* format = FindFormat(format_, output_);
  if (format == nullptr) {
    base::LogError(
        format_.empty()
            ? fmt::format("'{}' tells no format: end it in .rpd, .parquet, .pftrace, "
                          ".json, .json.gz or .csv, or use --format",
                          output_)
            : fmt::format("--format {}: it is rpd, parquet, perfetto, chrome or csv", format_));
    return base::kExitUsage;
  }
  if (const std::string problem = OutputProblem(output_); !problem.empty()) return Usage(problem);
  auto trace = format->by_duckdb ? trace_.OpenForExport() : trace_.Open();
  if (!trace.ok()) return Failed(trace.error());
  const auto done = format->write(trace.value(), output_);
  return done.ok() ? base::kExitSuccess : Failed(done.error());
}

}  // namespace rochound::cli
