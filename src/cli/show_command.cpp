// SPDX-License-Identifier: MIT
#include "cli/show_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "base/exit_codes.h"
#include "base/files.h"
#include "base/log.h"
#include "capture/bundle.h"
#include "cli/usage_formatter.h"
#include "report/show_objects.h"

namespace rochound::cli {
namespace {

namespace fs = std::filesystem;
using base::Result;
using nlohmann::ordered_json;

constexpr const char* kShowExamples = R"(
Examples:
  rochound show add.bundle                  the launch that rochound capture kept
  rochound show add.bundle --source         and the kernel's code, with its source
  rochound show kernels.hsaco               what hipcc --genco wrote
  rochound show ./vector_add                kernels that were compiled into a program
  rochound show librocblas.so --target gfx942 --kernel Cijk --json
  rochound show kernels.hsaco --kernel reduce --workgroup 128 --dynamic-lds 16384

A BUNDLE is a folder made by rochound capture. Shown are the kernel, the shape of the
launch, its arguments with the allocation that each pointer points into, which memory
was taken, changed and left, and what the kernel needs.

A FILE is a code object, an offload bundle (compressed or not), or a program, library
or object file made by hipcc. Without --kernel all kernels are listed; with it, those
whose symbol or C++ name contains NAME are shown in full.

Occupancy is theoretical: how many waves fit on a SIMD by registers, LDS and workgroup
size, and which of these limits it. Whether they get there depends on the launch.
Disassembly needs ROCm's libamd_comgr; source lines need code compiled with -g or
-gline-tables-only, and --source reads the source files where they were.

Exit codes: 0 shown, 2 wrong command line, 125 it cannot be read.
)";

template <typename Make>
int PrintMade(const Result<Make>& made) {
  if (!made.ok()) {
    base::LogError(made.error().message);
    return base::kExitSetup;
  }
  if constexpr (std::is_same_v<Make, ordered_json>) {
    fmt::print("{}\n", made.value().dump(2, ' ', false, ordered_json::error_handler_t::replace));
  } else {
    fmt::print("{}", made.value());
  }
  return base::kExitSuccess;
}

}  // namespace

const char* ShowCommand::examples() const { return kShowExamples; }

ShowCommand::ShowCommand(CLI::App& app)
    : Command(app.add_subcommand("show", "Show a captured launch, or the kernels in a file")) {
  UsageFormatter::Set(*subcommand_, "rochound show BUNDLE|FILE [OPTIONS]");
  const auto option = [&](const char* name, auto& value, const char* type,
                          const char* description) {
    subcommand_->add_option(name, value, description)->type_name(type)->allow_extra_args(false);
  };
  option("path", path_, "", "A bundle, code object, offload bundle, program or library");
  option("--kernel", options_.kernel, "NAME", "FILE: show kernels that are called so, in full");
  option("--target", options_.target, "GPU", "FILE: only code that runs on this, such as gfx942");
  option("--workgroup", options_.workgroup, "N", "FILE: work-items per workgroup, for occupancy");
  option("--dynamic-lds", options_.dynamic_lds, "BYTES", "FILE: LDS that a launch adds");
  subcommand_->add_flag("--disassembly", options_.disassembly, "Show the kernel's instructions");
  subcommand_->add_flag("--source", options_.source, "The same, with the source they come from");
  subcommand_->add_flag("--all", options_.all,
                        "Every region and hidden argument; of a file, also its variables");
  subcommand_->add_flag("--json", json_, "For programs");
}

int ShowCommand::Run(const std::vector<std::string>& /*program*/) {
  const auto usage = [&](const std::string& problem) {
    base::LogError(problem);
    base::LogInfo("See rochound show --help.");
    return base::kExitUsage;
  };
  if (path_.empty()) return usage("what is to be shown? For example: rochound show add.bundle");
  report::ShowOptions options = options_;
  options.disassembly |= options.source;
  std::error_code error;
  const fs::file_status status = fs::status(path_, error);
  if (!fs::exists(status)) return usage(fmt::format("there is no '{}'", path_));
  if (fs::is_directory(status)) {
    for (const char* name : {"--kernel", "--target", "--workgroup", "--dynamic-lds"})
      if (subcommand_->count(name) > 0)
        return usage(fmt::format("{} is for files; a bundle holds one launch", name));
    const auto bundle = capture::Bundle::Open(path_);
    if (!bundle.ok()) {
      base::LogError(bundle.error().message);
      return base::kExitSetup;
    }
    return json_ ? PrintMade(report::BundleJson(bundle.value(), options))
                 : PrintMade(report::BundleText(bundle.value(), options));
  }
  const auto bytes = base::ReadFile(path_);
  if (!bytes.ok()) {
    base::LogError(bytes.error().message);
    return base::kExitSetup;
  }
  const auto in_file = [&](auto made) {
    if (!made.ok()) made = made.error().In(path_);
    return PrintMade(made);
  };
  return json_ ? in_file(report::ObjectsJson(path_, bytes.value(), options))
               : in_file(report::ObjectsText(path_, bytes.value(), options));
}

}  // namespace rochound::cli
