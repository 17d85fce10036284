// SPDX-License-Identifier: MIT
#include "doctor/hardware_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "launch/limited_run.h"
#include "launch/run_environment.h"

namespace rochound::doctor {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;
using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "rochound_hardware_report";
constexpr int kVersion = 1;

Result<std::string> Ask(const ReportedGpu& gpu, std::vector<std::string> command) {
  command.insert(command.begin(), gpu.rochound.string());
  if (!gpu.softgpu.empty())
    command.insert(command.begin(), {gpu.rochound.string(), "softgpu", "--gpu", gpu.softgpu, "--"});
  ROCHOUND_TRY(const launch::LimitedRun run,
               launch::RunLimited(command, launch::Lines(launch::CurrentEnvironment()),
                                  std::chrono::minutes(3)));
  // The doctor's exit code says how ill the machine is.
  if (run.exit_code < 0 || run.exit_code > 3)
    return Error{fmt::format("{} {}: {}", command.back(), run.End(), run.err)};
  return run.out;
}

// "PRETTY_NAME" of the distribution.
std::string Distribution() {
  const auto text = base::ReadFile("/etc/os-release", 1 << 16);
  std::istringstream lines(text.ok() ? text.value() : "");
  constexpr std::string_view kKey = "PRETTY_NAME=";
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kKey)) continue;
    line.erase(0, kKey.size());
    std::erase(line, '"');
    return line;
  }
  return "unknown";
}

// What programs and runtimes print when they fail may name the host.
Json WithoutHost(Json steps) {
  char host[256] = "";
  if (gethostname(host, sizeof host - 1) != 0 || host[0] == '\0') return steps;
  const std::string name = host;
  const auto is_word = [](char letter) {
    return isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
  };
  for (Json& program : steps) {
    for (Json& step : program["steps"]) {
      std::string why = step["why"];
      for (size_t at = why.find(name); at != std::string::npos; at = why.find(name, at + 1)) {
        const size_t end = at + name.size();
        if ((at == 0 || !is_word(why[at - 1])) && (end == why.size() || !is_word(why[end])))
          why.replace(at, name.size(), "host");
      }
      step["why"] = why;
    }
  }
  return steps;
}

Result<Json> ReadMachineCopy(const fs::path& folder) {
  Json files = Json::object();
  std::vector<fs::path> paths;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder, error))
    if (entry.is_regular_file(error)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) {
    ROCHOUND_TRY(files[path.lexically_relative(folder).string()],
                 base::ReadFile(path, base::kMostText));
  }
  return files;
}

Result<Json> ReadReport(const fs::path& path) {
  ROCHOUND_TRY(const std::string text, base::ReadFile(path, base::kMostText));
  Json report = Json::parse(text, nullptr, false);
  if (!report.is_object() || report.value(kFormat, 0) != kVersion || !report.contains("machine") ||
      !report["machine"].is_object())
    return Error{fmt::format("'{}' is no report of rochound selftest --report", path.string())};
  return report;
}

}  // namespace

Result<std::string> MakeHardwareReport(const ReportedGpu& gpu, const Json& steps) {
  const fs::path folder = gpu.scratch / "machine";
  ROCHOUND_TRY(const std::string said, Ask(gpu, {"doctor", "--json"}));
  ROCHOUND_CHECK(Ask(gpu, {"doctor", "--copy", folder.string()}));
  const Json doctor = Json::parse(said, nullptr, false);
  if (doctor.is_discarded()) return Error{"rochound doctor said nothing that can be read"};
  Json report = {{kFormat, kVersion},
                 {"rochound", ROCHOUND_VERSION},
                 {"gpu", gpu.softgpu.empty() ? "hardware" : "software GPU " + gpu.softgpu},
                 {"distribution", Distribution()}};
  report["selftest"] = WithoutHost(steps);
  report["doctor"] = doctor;
  ROCHOUND_TRY(report["machine"], ReadMachineCopy(folder));
  return doctor::WithoutPeople(report.dump(1, ' ', false, Json::error_handler_t::replace) + "\n",
                               launch::CurrentEnvironment());
}

Result<void> WriteMachineCopy(const doctor::MachineCopy& copy, const fs::path& folder) {
  std::error_code error;
  if (!fs::create_directories(folder, error) && !fs::is_empty(folder, error))
    return Error{fmt::format("'{}' is not an empty folder", folder.string())};
  for (const auto& [name, text] : copy) {
    const fs::path place = folder / name;
    fs::create_directories(place.parent_path(), error);
    ROCHOUND_CHECK(base::WriteFile(place, text));
  }
  return {};
}

Result<base::TempDir> UnpackHardwareReport(const fs::path& path) {
  ROCHOUND_TRY(const Json report, ReadReport(path));
  doctor::MachineCopy copy;
  for (const auto& [name, text] : report["machine"].items()) {
    // A report comes from a stranger; its files stay in their folder.
    const fs::path place = fs::path(name).lexically_normal();
    if (!text.is_string() || place.empty() || place.is_absolute() || *place.begin() == "..")
      return Error{fmt::format("'{}' has a file that is called '{}'", path.string(), name)};
    copy[place.string()] = text.get<std::string>();
  }
  ROCHOUND_TRY(base::TempDir folder,
               base::TempDir::Create(fs::temp_directory_path(), "rochound-machine-"));
  ROCHOUND_CHECK(WriteMachineCopy(copy, folder.path()));
  return folder;
}

Result<Outcomes> ReadOutcomes(const fs::path& path) {
  ROCHOUND_TRY(const Json report, ReadReport(path));
  Outcomes outcomes;
  try {
    for (const Json& program : report.at("selftest"))
      for (const Json& step : program.at("steps"))
        outcomes[program.at("program").get<std::string>() + " " +
                 step.at("step").get<std::string>()] = step.at("outcome").get<std::string>();
  } catch (const Json::exception& problem) {
    return Error{fmt::format("'{}': {}", path.string(), problem.what())};
  }
  return outcomes;
}

}  // namespace rochound::doctor
