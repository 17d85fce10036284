// SPDX-License-Identifier: MIT
#include "cli/reference_command.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/exit_codes.h"
#include "base/log.h"
#include "cli/trace_commands.h"
#include "cli/usage_formatter.h"
#include "cli/variables.h"
#include "softgpu/tree/gpu_model.h"

namespace rochound::cli {
namespace {

using Json = nlohmann::ordered_json;

const char* SetByName(SetBy set_by) {
  switch (set_by) {
    case SetBy::kPerson:
      return "person";
    case SetBy::kOption:
      return "option";
    case SetBy::kCommand:
      return "command";
    case SetBy::kTest:
      return "test";
  }
  return "";
}

Json Variables() {
  Json all = Json::array();
  for (const EnvironmentVariable& variable : EnvironmentVariables())
    all.push_back({{"name", variable.name},
                   {"set_by", SetByName(variable.set_by)},
                   {"instead", variable.instead},
                   {"value", variable.value},
                   {"about", variable.about}});
  return all;
}

}  // namespace

ReferenceCommand::ReferenceCommand(CLI::App& app, const Commands& commands)
    : Command(app.add_subcommand("reference", "All commands and variables, as JSON")->group("")),
      commands_(commands) {
  UsageFormatter::Set(*subcommand_, "rochound reference");
}

const char* ReferenceCommand::examples() const {
  return "\nFor programs that make pages and completions: commands, options, variables.\n";
}

int ReferenceCommand::Run(const std::vector<std::string>& /*program*/) {
  Json commands = Json::array();
  for (const auto& command : commands_)
    if (command.get() != this) commands.push_back(command->Reference());
  Json gpus = Json::array();
  const auto models = softgpu::LoadKnownGpuModels();
  if (!models.ok()) base::LogWarning(models.error().message);
  if (models.ok())
    for (const softgpu::GpuModel& model : models.value()) gpus.push_back(model.name);
  const Json all = {{"commands", commands},
                    {"variables", Variables()},
                    {"values", {{"GPU", gpus}, {"QUESTION", QuestionNames()}}}};
  fmt::print("{}\n", all.dump(1));
  return base::kExitSuccess;
}

}  // namespace rochound::cli
