// SPDX-License-Identifier: MIT
#include "cli/softgpu_command.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <system_error>

#include "base/exit_codes.h"
#include "base/files.h"
#include "base/injected_faults.h"
#include "base/installation.h"
#include "base/log.h"
#include "base/result.h"
#include "cli/usage_formatter.h"
#include "contract/variables.h"
#include "launch/exec_arguments.h"
#include "launch/preload.h"
#include "softgpu/tree/device_tree.h"
#include "softgpu/tree/device_tree_store.h"
#include "softgpu/tree/gpu_model.h"

namespace rochound::cli {
namespace {

namespace fs = std::filesystem;
using base::Result;

constexpr unsigned kMaxThreads = 1024;

Result<fs::path> FindShim() {
  return base::FindBesideExecutable("../lib/librochound_softgpu.so", "the software GPU's library");
}

// The file starts with `head`; the processes of the program append to it.
Result<void> SetFile(const char* option, const char* variable, const std::string& file,
                     const char* head) {
  if (file.empty()) return {};
  std::error_code error;
  const fs::path path = fs::absolute(file, error);
  if (error) return base::Error{fmt::format("{} {}: {}", option, file, error.message())};
  ROCHOUND_CHECK(base::WriteFile(path, head));
  setenv(variable, path.c_str(), 1);
  return {};
}

bool IsRegularExpression(const std::string& text) {
  try {
    [[maybe_unused]] const std::regex expression(text);
    return true;
  } catch (const std::regex_error&) {
    return false;
  }
}

// What the core reads: the caches of the GPU's file, with those in the list instead of them. The
// file does not say how many ways they have.
Result<std::string> CacheShapesOf(const std::vector<softgpu::GpuModel>& gpus,
                                  const std::string& list) {
  constexpr uint64_t kWays = 16;
  for (const softgpu::GpuModel& gpu : gpus)
    if (gpu.name != gpus[0].name) return base::Error{"all GPUs have to be of one model"};
  const softgpu::GpuModel& gpu = gpus[0];
  std::map<std::string, std::string> shapes = {{"mall", "0"}};
  for (const softgpu::CacheModel& cache : gpu.caches) {
    if (cache.instruction) continue;
    // Of the first level's data caches the first is the vector unit's and the second the scalar
    // unit's; RDNA's third, which several compute units share, is not modelled.
    const char* name = cache.level == 1   ? shapes.contains("l1") ? "scalar" : "l1"
                       : cache.level == 2 ? "l2"
                       : cache.level == 3 ? "mall"
                                          : nullptr;
    if (name == nullptr || (name == std::string_view("scalar") && shapes.contains(name))) continue;
    const uint64_t bytes = cache.kilobytes * 1024;
    shapes[name] = fmt::format("{}/{}/{}", bytes, cache.line_bytes, kWays);
  }
  if (list != "device") {
    std::istringstream words(list);
    for (std::string word; std::getline(words, word, ',');) {
      const size_t equals = word.find('=');
      static const std::regex kShape("(l1|scalar|l2|mall)=(0|[0-9]+/[0-9]+/[0-9]+)");
      if (!std::regex_match(word, kShape)) {
        return base::Error{fmt::format(
            "'{}' is no cache such as l2=4194304/128/16 (bytes, bytes of a line, ways)", word)};
      }
      shapes[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  std::string text =
      fmt::format("units={} dies={}", gpu.cu_count, std::max<uint64_t>(1, gpu.num_xcc));
  for (const auto& [name, shape] : shapes) text += fmt::format(" {}={}", name, shape);
  return text;
}

std::string DescribeFaults() {
  std::string text =
      "Faults to inject, separated by commas. NAME=N sets how often (one in N), seed=N which "
      "ones:";
  for (const base::InjectedFault& fault : base::KnownInjectedFaults()) {
    text += fmt::format("\n{}: {}", fault.name, fault.what);
    if (fault.usual > 1) text += fmt::format(" (default: {})", fault.usual);
  }
  return text;
}

// The program's environment, once everything that may fail is known to work.
Result<void> SetEnvironment(const std::vector<softgpu::GpuModel>& gpus, unsigned threads,
                            const std::string& counters, const std::string& faults,
                            const std::string& fault_log) {
  ROCHOUND_TRY(const fs::path shim, FindShim());
  const fs::path store = softgpu::DefaultTreeStore();
  ROCHOUND_TRY(const std::string preload, launch::PreloadList(shim, store, getenv("LD_PRELOAD")));
  ROCHOUND_TRY(
      const fs::path root,
      softgpu::StoreDeviceTree(softgpu::MakeDeviceTree(gpus, softgpu::ReadHostFacts()), store));
  ROCHOUND_CHECK(SetFile("--counters", contract::variables::kSoftgpuCounters, counters, ""));
  ROCHOUND_CHECK(SetFile("--fault-log", contract::variables::kSoftgpuFaultLog, fault_log, ""));
  if (!faults.empty()) setenv(contract::variables::kSoftgpuFaults, faults.c_str(), 1);
  setenv(contract::variables::kSoftgpuRoot, root.c_str(), 1);
  if (threads != 0)
    setenv(contract::variables::kSoftgpuThreads, std::to_string(threads).c_str(), 1);
  launch::SetSanitizerOptions();
  setenv("LD_PRELOAD", preload.c_str(), 1);
  return {};
}

// Becomes the program; comes back only if that fails.
int Exec(const std::vector<std::string>& program) {
  const std::vector<char*> arguments = launch::ExecArguments(program);
  fflush(nullptr);
  execvp(arguments[0], arguments.data());
  const int error_number = errno;
  const bool not_found = error_number == ENOENT;
  base::LogError(fmt::format(
      "cannot run '{}': {}. {}", program[0], std::generic_category().message(error_number),
      not_found
          ? "Check the name; a program in this directory is called ./name, and a script's first "
            "line must name "
            "an interpreter that exists."
          : "Check that it is a program for this machine and that you may execute it (chmod +x)."));
  return not_found ? base::kExitNotFound : base::kExitCannotRun;
}

}  // namespace

constexpr const char* kSoftgpuExamples = R"(
Examples:
  rochound softgpu -- rocminfo
  rochound softgpu --gpu rx6800xt -- ./vector_add
  rochound softgpu --gpu mi300x,mi300x,rx6800xt -- python3 train.py
  rochound softgpu --list
  rochound softgpu --counters run.jsonl -- ./vector_add
  jq -r '[.kernel, .waves, .instructions.total, .model.cycles] | @tsv' run.jsonl

The real, unmodified ROCm runtime runs on a software model of the GPU; neither a
card nor a driver is needed. Everything after -- is the program and its
arguments; its exit code and signals are passed through. GPUs are numbered in
the order given. With --counters, kernels run several times slower; every
process that the program starts appends to the file, each line when its dispatch
ends. docs/softgpu-counters.md says what the counts mean. The same holds for
--accesses, whose lines docs/formats/accesses.md describes.

Exit codes of rochound itself: 2 wrong usage, 125 set-up failed, 126 program
cannot be started, 127 program not found.
)";

const char* SoftgpuCommand::examples() const { return kSoftgpuExamples; }

SoftgpuCommand::SoftgpuCommand(CLI::App& app)
    : Command(app.add_subcommand("softgpu", "Run a program on software GPUs; no card needed")) {
  UsageFormatter::Set(*subcommand_, "rochound softgpu [OPTIONS] -- PROGRAM [ARGUMENTS]");
  subcommand_
      ->add_option("--gpu", gpus_,
                   fmt::format("GPUs of the machine, separated by commas, at most {}: names from "
                               "--list, or paths of "
                               ".json files (default: mi300x)",
                               softgpu::kMaxGpus))
      ->delimiter(',')
      ->allow_extra_args(false)  // --gpu a b: b is not a GPU
      ->type_name("GPU[,GPU...]");
  subcommand_
      ->add_option("--threads", threads_,
                   "Worker threads of the software GPUs (default: one per CPU core)")
      ->type_name("N")
      ->check(CLI::Range(1u, kMaxThreads));
  subcommand_
      ->add_option("--counters", counters_,
                   "Count what each kernel does, exactly (instructions, lanes, bytes, cache lines, "
                   "LDS conflicts, divergence, ...), with the cycles of a simple model: one line "
                   "of JSON per dispatch")
      ->type_name("FILE");
  subcommand_->add_flag("--counters-code", counters_code_,
                        "With --counters: the first dispatch of each kernel and shape also has "
                        "what each instruction of its code cost by the model");
  subcommand_
      ->add_option(
          "--cache-model", caches_,
          "With --counters: model what would be found in caches. device: those of the "
          "GPU's file; or others, such as l1=32768/128/16,l2=4194304/128/16,mall=0: bytes, "
          "bytes of a line, ways")
      ->type_name("device|LIST");
  subcommand_
      ->add_option("--accesses", accesses_,
                   "Write down every memory access of every wave, with the addresses of its lanes "
                   "(docs/formats/accesses.md)")
      ->type_name("FILE");
  subcommand_
      ->add_option("--accesses-kernel", accesses_kernel_,
                   "With --accesses: only kernels whose symbol or C++ name has a match of this "
                   "regular expression (ECMAScript)")
      ->type_name("REGEX");
  subcommand_
      ->add_option("--accesses-dispatch", accesses_dispatches_,
                   "With --accesses: only these dispatches of each process, counted from 0")
      ->type_name("N[-M][,...]");
  subcommand_->add_flag("--strict", strict_,
                        "Be as unkind as a GPU may be: all faults below that a correct program "
                        "survives (docs/softgpu-strict.md)");
  subcommand_->add_option("--fault", faults_, DescribeFaults())->type_name("LIST");
  subcommand_
      ->add_option("--fault-log", fault_log_,
                   "One line of JSON per packet that was taken early, lost its completion or was "
                   "not run")
      ->type_name("FILE");
  subcommand_->add_flag("--list", list_, "Show the GPUs there are");
  subcommand_->add_flag("--json", json_, "With --list: as JSON");
  subcommand_->add_option("program", stray_)->group("");  // only to say what is wrong with it
}

int SoftgpuCommand::List() const {
  const auto known = softgpu::LoadKnownGpuModels();
  if (!known.ok()) {
    base::LogError(known.error().message);
    return base::kExitSetup;
  }
  if (json_) {
    auto list = nlohmann::ordered_json::array();
    for (const softgpu::GpuModel& gpu : known.value()) {
      list.push_back({{"name", gpu.name},
                      {"marketing_name", gpu.marketing_name},
                      {"target", gpu.target},
                      {"cu_count", gpu.cu_count},
                      {"vram_bytes", gpu.vram_bytes}});
    }
    fmt::print("{}\n", list.dump(2));
    return base::kExitSuccess;
  }
  fmt::print("{:<12} {:<9} {:>4}  {:>7}  {}\n", "NAME", "TARGET", "CUS", "MEMORY", "GPU");
  for (const softgpu::GpuModel& gpu : known.value()) {
    const uint64_t gibibytes = (gpu.vram_bytes + (1ull << 29)) >> 30;
    fmt::print("{:<12} {:<9} {:>4}  {:>3} GiB  {}\n", gpu.name, gpu.target, gpu.cu_count, gibibytes,
               gpu.marketing_name);
  }
  return base::kExitSuccess;
}

Result<void> SoftgpuCommand::SetAccesses() const {
  ROCHOUND_CHECK(SetFile("--accesses", contract::variables::kSoftgpuAccesses, accesses_,
                         "rochound accesses 1\n"));
  if (!accesses_kernel_.empty())
    setenv(contract::variables::kSoftgpuAccessesKernel, accesses_kernel_.c_str(), 1);
  if (!accesses_dispatches_.empty())
    setenv(contract::variables::kSoftgpuAccessesDispatches, accesses_dispatches_.c_str(), 1);
  return {};
}

int SoftgpuCommand::Run(const std::vector<std::string>& program) {
  if (!stray_.empty()) {
    return Usage(
        fmt::format("put -- before the program: rochound softgpu [OPTIONS] -- {}", stray_[0]));
  }
  if (list_) {
    if (!program.empty()) return Usage("--list runs no program");
    return List();
  }
  if (json_) return Usage("--json goes with --list");
  if (program.empty()) return Usage("no program given; example: rochound softgpu -- rocminfo");
  if (counters_code_ && counters_.empty())
    return Usage("--counters-code goes with --counters FILE");
  if (!caches_.empty() && counters_.empty())
    return Usage("--cache-model goes with --counters FILE");
  if (accesses_.empty() && !(accesses_kernel_.empty() && accesses_dispatches_.empty()))
    return Usage("--accesses-kernel and --accesses-dispatch go with --accesses FILE");
  if (!IsRegularExpression(accesses_kernel_))
    return Usage(fmt::format("--accesses-kernel: '{}' is no regular expression", accesses_kernel_));
  static const std::regex kRanges("([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?");
  if (!std::regex_match(accesses_dispatches_, kRanges)) {
    return Usage(fmt::format("--accesses-dispatch: '{}' is no list of numbers such as 3,7-9",
                             accesses_dispatches_));
  }
  if (gpus_.size() > softgpu::kMaxGpus) {
    return Usage(
        fmt::format("{} GPUs asked for, at most {} are possible", gpus_.size(), softgpu::kMaxGpus));
  }

  if (strict_) faults_ = faults_.empty() ? "strict" : "strict," + faults_;
  if (const auto faults = base::ParseInjectedFaults(faults_); !faults.ok())
    return Usage("--fault: " + faults.error().message);

  const auto known = softgpu::LoadKnownGpuModels();
  if (!known.ok()) {
    base::LogError(known.error().message);
    return base::kExitSetup;
  }
  std::vector<softgpu::GpuModel> gpus;
  for (const std::string& name : gpus_) {
    auto gpu = softgpu::PickGpuModel(name, known.value());
    if (!gpu.ok()) return Usage(gpu.error().message);
    gpus.push_back(std::move(gpu).value());
  }
  auto ready = SetEnvironment(gpus, threads_, counters_, faults_, fault_log_);
  if (!caches_.empty()) {
    const auto shapes = CacheShapesOf(gpus, caches_);
    if (!shapes.ok()) return Usage("--cache-model: " + shapes.error().message);
    setenv(contract::variables::kSoftgpuCaches, shapes.value().c_str(), 1);
  }
  if (counters_code_) setenv(contract::variables::kSoftgpuCountersCode, "1", 1);
  if (ready.ok()) ready = SetAccesses();
  if (!ready.ok()) {
    base::LogError(ready.error().message);
    return base::kExitSetup;
  }
  return Exec(program);
}

}  // namespace rochound::cli
