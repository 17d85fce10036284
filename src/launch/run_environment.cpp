// SPDX-License-Identifier: MIT
#include "launch/run_environment.h"

#include <unistd.h>

#include <regex>
#include <sstream>

#include "contract/variables.h"
#include "launch/preload.h"

namespace rochound::launch {
namespace {

// As the HSA runtime reads it: words separated by spaces, a backslash before what is meant as it
// is.
std::string ToolWord(const std::string& path) {
  std::string word;
  for (const char c : path) {
    if (c == ' ' || c == '"' || c == '\\') word.push_back('\\');
    word.push_back(c);
  }
  return word;
}

// The one way in is HSA_TOOLS_LIB. A ROCr with rocprofiler-register reads it only if no other
// profiler has registered, or if it is told to read it all the same.
void SetWayIn(const std::filesystem::path& agent, Environment* environment,
              std::vector<std::string>* remarks) {
  Environment& variables = *environment;
  // Tools are loaded in this order, and the last one is nearest to the program.
  std::string& tools = variables["HSA_TOOLS_LIB"];
  if (!tools.empty()) tools.push_back(' ');
  tools += ToolWord(agent.string());
  variables.emplace("HSA_TOOLS_REPORT_LOAD_FAILURE", "1");
  // rocprofiler-sdk sets it to 0 in its own process, and so for all that this one starts.
  variables["HSA_TOOLS_ROCPROFILER_V1_TOOLS"] = "1";

  const auto other = variables.find("ROCPROFILER_REGISTER_LIBRARY");
  if (other == variables.end()) return;
  const std::filesystem::path library = other->second;
  std::error_code error;
  if (library.filename() == agent.filename()) {
    variables.erase(other);  // ours, of a run around this one
  } else if (library.is_absolute() && !std::filesystem::exists(library, error) && !error) {
    remarks->push_back("ROCPROFILER_REGISTER_LIBRARY names '" + library.string() +
                       "', which is not there. ROCm ends programs for that, so the variable is not "
                       "passed on; unset it, it was left behind by another profiler.");
    variables.erase(other);
  }
}

}  // namespace

Environment CurrentEnvironment() {
  Environment environment;
  for (char** line = environ; line != nullptr && *line != nullptr; ++line) {
    const std::string text = *line;
    const size_t equals = text.find('=');
    if (equals != std::string::npos)
      environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

std::vector<std::string> Lines(const Environment& environment) {
  std::vector<std::string> lines;
  lines.reserve(environment.size());
  for (const auto& [name, value] : environment) lines.push_back(name + "=" + value);
  return lines;
}

std::vector<std::string> SetRecording(const Recording& recording, Environment* environment) {
  Environment& variables = *environment;
  std::vector<std::string> remarks;
  SetWayIn(recording.agent, environment, &remarks);
  variables[contract::variables::kLogDir] = recording.log_directory.string();
  std::string& list = variables[contract::variables::kRecord];
  list = "kernels,copies,roctx";
  if (recording.hip) list += ",hip";
  if (recording.hsa) list += ",hsa";
  if (recording.stacks) list += ",stacks";
  // Only what was asked for: RPDT_AUTOSTART and the like speak otherwise.
  const auto set = [&](const char* name, const std::string& value) {
    value.empty() ? static_cast<void>(variables.erase(name))
                  : static_cast<void>(variables[name] = value);
  };
  if (recording.start_off) variables[contract::variables::kStart] = "off";
  set(contract::variables::kKeep, recording.last);
  set(contract::variables::kDelay, recording.delay);
  set(contract::variables::kDuration, recording.duration);
  set(contract::variables::kRange, recording.range);
  set(contract::variables::kOverride, recording.overrides);
  set(contract::variables::kSwapList, recording.swap_list.string());
  set(contract::variables::kSwapShared, recording.swap_shared ? "1" : "");
  set(contract::variables::kSwapAb, recording.swap_ab ? "1" : "");
  set(contract::variables::kSwapVerify,
      recording.swap_verify != 0 ? std::to_string(recording.swap_verify) : "");
  set(contract::variables::kFaultBundle,
      recording.fault_bundle ? (recording.log_directory / "fault.bundle").string() : "");

  const char* const preload = variables.count("LD_PRELOAD") ? variables["LD_PRELOAD"].c_str() : "";
  const std::string with_runtime = WithSanitizerRuntime(preload);
  if (with_runtime != preload) variables["LD_PRELOAD"] = with_runtime;
  return remarks;
}

bool IsOverrides(const std::string& text) {
  static const std::regex kPart("(cu|clock|memory)=[1-9][0-9]{0,8}|name=[^,]+");
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');)
    if (!std::regex_match(part, kPart)) return false;
  return true;
}

}  // namespace rochound::launch
