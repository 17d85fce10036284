// SPDX-License-Identifier: MIT
#include "cli/optimize_llm.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/files.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/sha256.h"
#include "launch/limited_run.h"
#include "launch/run_environment.h"
#include "optimize/builder.h"
#include "optimize/judge.h"
#include "optimize/kernel_facts.h"
#include "optimize/model_answer.h"

namespace rochound::cli {
namespace {

namespace fs = std::filesystem;
using base::Result;
using nlohmann::ordered_json;

constexpr std::chrono::minutes kFactLimit(10);

// What a command of rochound wrote, or nothing: a fact that is missing is left out.
bool RunQuietly(const std::vector<std::string>& command) {
  const auto run =
      launch::RunLimited(command, launch::Lines(launch::CurrentEnvironment()), kFactLimit);
  return run.ok() && run.value().ok();
}

std::string TextOf(const fs::path& file) {
  auto text = base::ReadFile(file, base::kMostText);
  return text.ok() ? std::move(text).value() : std::string();
}

void PrintRequest(const std::string& request) {
  const auto body = ordered_json::parse(request, nullptr, false);
  for (const ordered_json& message : body["messages"])
    fmt::print("[{}]\n{}\n", message.value("role", ""),
               base::Printable(message.value("content", ""), "\n\t"));
}

}  // namespace

void LlmGenerator::AddTo(CLI::App* subcommand) {
  const auto option = [&](const char* name, auto& value, const char* type,
                          const char* description) {
    return subcommand->add_option(name, value, description)
        ->type_name(type)
        ->allow_extra_args(false);
  };
  option("--llm", source_, "FILE", "Have a model rewrite this source of the kernel");
  option("--temperature", options_.temperature, "T", "--llm: of the model (default: 0.7)")
      ->check(CLI::Range(0.0, 2.0));
  option("--max-iters", options_.iterations, "N", "--llm: ask so often (default: 8)")
      ->check(CLI::PositiveNumber);
  option("--max-repairs", options_.repairs, "N",
         "--llm: how often a source goes back that does not build (default: 2)");
  option("--min-improvement", min_improvement_percent_, "PERCENT",
         "--llm: how much better the next best has to be (default: 2)")
      ->check(CLI::NonNegativeNumber);
  option("--answer-timeout", answer_seconds_, "SECONDS",
         "--llm: how long an answer may take (default: 300)")
      ->check(CLI::PositiveNumber);
  subcommand->add_flag("--auto-approve", auto_approve_,
                       "--llm: do not ask before the source is sent, nor before a kernel is used");
  subcommand->add_flag("--print-prompt-only", print_only_,
                       "--llm: print what would be sent next, and send nothing");
}

std::string LlmGenerator::Problem() const {
  std::error_code error;
  if (!wanted()) return print_only_ ? "--print-prompt-only goes with --llm" : "";
  if (!fs::is_regular_file(source_, error))
    return fmt::format("--llm: '{}' is no file; it is the kernel's source", source_);
  return {};
}

Result<void> LlmGenerator::Prepare() {
  auto endpoint = optimize::TakeEndpoint();
  if (endpoint.ok()) {
    endpoint_ = std::move(endpoint).value();
  } else if (!print_only_) {
    return endpoint.error();
  }
  options_.model = endpoint_.model;
  options_.min_improvement = min_improvement_percent_ / 100;
  return {};
}

bool LlmGenerator::Approves(const std::string& question) const {
  if (auto_approve_) return true;
  fmt::print("{} [y/N] ", base::Printable(question));
  std::fflush(stdout);
  char answer[16] = "";
  if (std::fgets(answer, sizeof(answer), stdin) == nullptr) {
    fmt::print("\nno answer, which is no; --auto-approve asks nothing\n");
    return false;
  }
  return answer[0] == 'y' || answer[0] == 'Y';
}

// Where the given source wastes accesses, by probes in it, in the program itself.
std::string LlmGenerator::ProbeFindings(const LlmTask& task, const std::string& kernel) const {
  const auto self = base::ExecutablePath();
  if (!self.ok() || task.softgpu.empty()) return {};
  const fs::path folder = task.folder / "facts" / "probed";
  std::error_code error;
  fs::create_directories(folder, error);
  chmod(folder.c_str(), 0700);
  std::string target;
  if (const auto facts = optimize::ReadKernelFacts(task.bundles); facts.ok())
    target = facts.value().target;
  std::vector<std::string> build = {self.value().string(),
                                    "probe",
                                    "build",
                                    "--",
                                    task.hipcc.string(),
                                    "--genco",
                                    "--no-gpu-bundle-output",
                                    "--offload-arch=" + target};
  build.insert(build.end(), task.flags.begin(), task.flags.end());
  build.insert(build.end(), {"-x", "hip", fs::absolute(source_).string(), "-o",
                             (folder / "kernel.hsaco").string()});
  if (!RunQuietly(build)) return {};
  chmod((folder / "kernel.hsaco").c_str(), 0600);
  const fs::path found = task.folder / "facts" / "memory.jsonl";
  std::vector<std::string> probe = {self.value().string(),
                                    "probe",
                                    "-c",
                                    folder.string(),
                                    "-k",
                                    optimize::ExactPattern(kernel),
                                    "-d",
                                    "first",
                                    "-a",
                                    "memory",
                                    "-l",
                                    found.string(),
                                    "--softgpu",
                                    task.softgpu,
                                    "--"};
  probe.insert(probe.end(), task.program.begin(), task.program.end());
  if (!RunQuietly(probe)) return {};
  return optimize::MemoryUseText(TextOf(found));
}

Result<optimize::KernelFacts> LlmGenerator::Facts(const LlmTask& task) const {
  ROCHOUND_TRY(optimize::KernelFacts facts, optimize::ReadKernelFacts(task.bundles));
  ROCHOUND_TRY(facts.source, base::ReadFile(source_, optimize::kMostSource));
  if (task.verify != "exact") facts.tolerance = task.verify;
  // Once for each source: a run that goes on asks the same.
  const fs::path folder = task.folder / "facts";
  const fs::path kept = folder / (base::Sha256(facts.source).substr(0, 16) + ".json");
  ordered_json known = ordered_json::parse(TextOf(kept), nullptr, false);
  if (!known.is_object()) {
    base::LogInfo("profiling the kernel for the model");
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return base::ErrnoError("cannot create", folder, error.value());
    ROCHOUND_TRY(const fs::path self, base::ExecutablePath());
    std::vector<std::string> profile = {
        self.string(), "profile", "--replay",     task.bundles.front().string(),
        "-o",          folder,    "--iterations", "1"};
    if (!task.softgpu.empty()) profile.insert(profile.end(), {"--gpu", task.softgpu});
    RunQuietly(profile);
    known = {{"roofline", optimize::RooflineText(TextOf(folder / "roofline.json"), facts.kernel)},
             {"limit", optimize::LimitText(TextOf(folder / "analysis.json"), facts.kernel)},
             {"probes", ProbeFindings(task, facts.kernel)}};
    ROCHOUND_CHECK(base::WriteFileAtomically(
        kept, known.dump(2, ' ', false, ordered_json::error_handler_t::replace)));
  }
  facts.roofline = known.value("roofline", "");
  facts.limit = known.value("limit", "");
  facts.probes = known.value("probes", "");
  return facts;
}

Result<std::optional<std::string>> LlmGenerator::Ask(const LlmTask& task,
                                                     const std::string& request) {
  // What was answered in an earlier run is not asked again.
  ROCHOUND_TRY(const auto answers, task.journal->Answers(endpoint_.url, request));
  const size_t nth = asked_[base::Sha256(request)]++;
  if (nth < answers.size()) return std::optional<std::string>(answers[nth]);
  if (print_only_) {
    PrintRequest(request);
    return std::optional<std::string>();
  }
  if (!approved_ &&
      !Approves(fmt::format("Send '{}' with what is known about its kernel, {} bytes, to {} ({})?",
                            source_, request.size(), endpoint_.url, endpoint_.model))) {
    fmt::print("nothing was sent\n");
    return std::optional<std::string>();
  }
  approved_ = true;
  ROCHOUND_TRY(const int64_t id, task.journal->BeginExchange(endpoint_.url, request));
  base::LogInfo(fmt::format("asking {} at {}", base::Printable(endpoint_.model), endpoint_.url));
  const auto start = std::chrono::steady_clock::now();
  const auto answer = optimize::Post(
      endpoint_, request, std::chrono::milliseconds(static_cast<int64_t>(answer_seconds_ * 1000)));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::string body =
      answer.ok() ? optimize::WithoutKey(endpoint_, answer.value()) : std::string();
  ROCHOUND_CHECK(
      task.journal->EndExchange(id, body, answer.ok() ? "" : answer.error().message, seconds));
  if (!answer.ok()) return answer.error();
  return std::optional<std::string>(body);
}

Result<void> LlmGenerator::Run(const LlmTask& task) {
  ROCHOUND_TRY(const optimize::KernelFacts facts, Facts(task));
  const fs::path folder = fs::absolute(task.folder) / "llm";
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return base::ErrnoError("cannot create", folder, error.value());
  optimize::ModelSearchOptions options = options_;
  // Headers beside the source are found, wherever the model's version of it is.
  const std::string beside = fs::absolute(source_).lexically_normal().parent_path().string();
  const std::vector<std::string> flags = {"-iquote", beside};
  options.folders = {fs::absolute(task.folder).lexically_normal().string(), beside};
  optimize::ModelSearchParts parts;
  parts.ask = [&](const std::string& request) { return Ask(task, request); };
  parts.judge = [&](const std::string& source, uint64_t number) -> Result<optimize::JournalEntry> {
    const fs::path file = folder / fmt::format("model-{}.hip", number);
    ROCHOUND_CHECK(base::WriteFileAtomically(file, source));
    return task.judge(file, flags);
  };
  parts.wait = [](uint64_t failures) {
    std::this_thread::sleep_for(std::chrono::seconds(uint64_t{1} << (failures - 1)));
  };
  parts.stop = task.late;
  parts.tell = [&](const std::string& text) {
    base::LogWarning(base::Printable(text));
    // Whether it can be written decides nothing here.
    static_cast<void>(task.journal->AddEvent("model: " + text));
  };
  return optimize::SearchWithModel(facts, options, parts);
}

}  // namespace rochound::cli
